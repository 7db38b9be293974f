"""The service layer: one file per resource. Built in `app/wiring.py`, called by `app/api` and `app/cli`."""
