"""`ibid`: the command line. One small file a command group; `program.py` puts them together."""

from app.cli.program import main

__all__ = ["main"]
