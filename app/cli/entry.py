"""The program's first step. Importing all that a service needs makes half a million objects and no garbage:
the collector, which would look for some a few hundred times, rests until all is there."""

import gc


def main() -> None:
    """The program."""
    gc.disable()
    from app.cli import program  # noqa: PLC0415 - what this is for

    gc.freeze()
    gc.enable()
    program.main()
