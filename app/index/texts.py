"""The texts of passages found lately, so that the next question need not fetch them, nor prepare them again.

A passage of a ready document never changes: what is here is right, or of a document that no shelf lists any
more, and then nobody asks for it. Bounded by count. For one event loop.
"""

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from app.domain.text import Text
from app.index.place import Place

MOST = 8_192
"""Passages: some four kilobytes each, with what is worked out from them."""


@dataclass(frozen=True, slots=True)
class Row:
    """A passage as the record has it."""

    ordinal: int
    text: Text
    page: int
    page_end: int
    heading: str
    tokens: int


class Texts:
    """The least recently found goes first."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._rows: OrderedDict[Place, Row] = OrderedDict()

    def __len__(self) -> int:
        return len(self._rows)

    def known(self, places: Iterable[Place]) -> dict[Place, Row]:
        """Those of them that are here."""
        found: dict[Place, Row] = {}
        for place in places:
            row = self._rows.get(place)
            if row is not None:
                self._rows.move_to_end(place)
                found[place] = row
        return found

    def keep(self, rows: Mapping[Place, Row]) -> None:
        """Remember them."""
        self._rows.update(rows)
        while len(self._rows) > self._most:
            self._rows.popitem(last=False)

    def forget(self, document_id: str) -> None:
        """Drop a document that is gone."""
        for place in [place for place in self._rows if place[0] == document_id]:
            del self._rows[place]
