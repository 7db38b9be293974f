"""What Ibid does, one story a file. Built in `app/wiring.py`, called by `app/api` and `app/cli`."""
