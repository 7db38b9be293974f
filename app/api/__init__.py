"""HTTP only: parse, call one service method, shape the reply. Errors travel as `domain/errors.py`."""
