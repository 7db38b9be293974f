"""`ibid`: the command line. One file a command or group of commands; `main.py` puts them together."""
