"""HTTP only: parse, call one service method, shape the reply. Errors travel as `errors.py`."""
