"""`ibid`: the command line. One small file a command group; `program.py` puts them together."""
