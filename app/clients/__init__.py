"""Doors to the outside: each opens a vendor's client as an async context manager and turns its errors
into ours (`errors.py`). Nothing is opened, read or configured at import."""
