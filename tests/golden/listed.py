"""`differences.md`: why today's record is not the first one.

A heading names a reason; below it, an item names requests and, if it helps, places within them, both as
globs: ``- `chat-*`, `rag-*` in `body.rag.reason` ``. Without places it is for all of them.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from tests.golden.record import Difference

PAGE = Path(__file__).parent / "differences.md"
HEADING = re.compile(r"^##+ (.+)$")
ITEM = re.compile(r"- (`[^`]+`(?:, `[^`]+`)*)(?: in (`[^`]+`(?:, `[^`]+`)*))?")
CODE = re.compile(r"`([^`]+)`")


@dataclass(frozen=True)
class Listed:
    """An item of the page."""

    reason: str
    requests: tuple[str, ...]
    places: tuple[str, ...]

    def covers(self, difference: Difference) -> bool:
        """True if it explains a difference."""
        inside = any(fnmatchcase(difference.path, place) for place in self.places)
        return inside and any(fnmatchcase(difference.name, request) for request in self.requests)


def listed(text: str | None = None) -> list[Listed]:
    """The items of the page. Raises `ValueError` for one that cannot be read, or is under no reason."""
    reason, found = "", []
    for line in (PAGE.read_text() if text is None else text).splitlines():
        if heading := HEADING.match(line):
            reason = heading[1]
        elif line.startswith("- "):
            item = ITEM.fullmatch(line.rstrip())
            if not item or not reason:
                raise ValueError(f"differences.md: {line}")
            found.append(Listed(reason, tuple(CODE.findall(item[1])), tuple(CODE.findall(item[2] or "`*`"))))
    return found


def unlisted(reasons: Sequence[Listed], found: Sequence[Difference]) -> list[Difference]:
    """The differences that no item explains."""
    return [each for each in found if not any(reason.covers(each) for reason in reasons)]


def needless(reasons: Sequence[Listed], found: Sequence[Difference]) -> list[Listed]:
    """The items that explain nothing."""
    return [reason for reason in reasons if not any(reason.covers(each) for each in found)]
