"""HTTP: parse, call one service method, return a model. Errors are those of `app/errors.py`."""
