"""`ibid`: the command line. One file per command or group of commands; `main.py` registers them."""
