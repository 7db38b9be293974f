"""`python -m tests.golden`: record, compare, and list what differs.

    compare                 today's service with the record of today
    record                  write the record of today anew
    differences             from the first edition to today, by request and place
    differences --unlisted  of those, what differences.md does not list

`--configuration` takes one of the two alone. `record --checkout DIR --record first` is how the record of the
first edition was made, from a checkout of its commit.
"""

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.golden.listed import listed, unlisted
from tests.golden.record import Difference, differences
from tests.golden.run import CONFIGURATIONS, run
from tests.golden.shelf import read, write
from tests.golden.show import grouped, shown

PROGRAM = Path(sys.executable).with_name("ibid")
"""Of this checkout."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit code: 0, or 1 where something differs or an operation is not covered."""
    parser = argparse.ArgumentParser(prog="python -m tests.golden", description=__doc__.partition("\n")[0])
    parser.add_argument("command", choices=("compare", "record", "differences"))
    parser.add_argument("--configuration", choices=CONFIGURATIONS, action="append")
    parser.add_argument("--checkout", type=Path, help="serve .venv/bin/ibid of this folder")
    parser.add_argument("--record", default="today", choices=("first", "today"), help="which record")
    parser.add_argument("--unlisted", action="store_true", help="leave out what differences.md lists")
    given = parser.parse_args(arguments)
    configurations = given.configuration or CONFIGURATIONS
    if given.command == "differences":
        return told(given.unlisted, configurations)
    return max(served(given, configuration) for configuration in configurations)


def served(given: argparse.Namespace, configuration: str) -> int:
    """Run one configuration; record or compare."""
    program = given.checkout.absolute() / ".venv/bin/ibid" if given.checkout else PROGRAM
    entries, uncovered = run(program, configuration)
    for operation in uncovered:
        sys.stdout.write(f"{configuration}: no request is for {operation}\n")
    if given.command == "record":
        path = write(given.record, configuration, entries)
        sys.stdout.write(f"{configuration}: {len(entries)} requests written to {path}\n")
        return bool(uncovered)
    found = differences(read(given.record, configuration), entries)
    sys.stdout.write(shown(configuration, found, len(entries)))
    return bool(found or uncovered)


def told(only_unlisted: bool, configurations: Sequence[str]) -> int:
    """The differences from the first record to today's."""
    found = {each: differences(read("first", each), read("today", each)) for each in configurations}
    if only_unlisted:
        reasons = listed()
        found = {each: unlisted(reasons, changes) for each, changes in found.items()}
    for configuration, changes in found.items():
        sys.stdout.write(shown(configuration, changes, len(read("today", configuration))))
    every: list[Difference] = [change for changes in found.values() for change in changes]
    sys.stdout.write(grouped(every))
    return 0


if __name__ == "__main__":
    sys.exit(main())
