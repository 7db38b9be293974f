"""The program's first step, at which the collector rests (`late.py`)."""

import gc

from app.cli.late import resting


def main() -> None:
    """The program."""
    with resting():
        from app.cli import program  # noqa: PLC0415 - what this is for
    gc.freeze()  # what has come stays, and need not be looked at again
    program.main()
