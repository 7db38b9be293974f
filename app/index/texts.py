"""The texts of passages found lately, so that the next question need not fetch them, nor prepare them again.

A passage of a ready document never changes: what is here is right, or of a document that no shelf lists any
more, and then nobody asks for it. Bounded by bytes. For one event loop.
"""

import sys
from collections import OrderedDict
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from app.domain.text import Text
from app.index.place import Place

MOST_BYTES = 48 << 20
"""Some twelve thousand passages of a thousand letters, with what is worked out from them."""
OBJECT_BYTES = 1_600
"""Of a passage beside its text, with how it is called and where it lies."""
GONE_MOST = 4_096
"""Documents remembered as forgotten: a fetch that began before must not bring them back."""


class Kept(Protocol):
    """What is remembered."""

    @property
    def text(self) -> Text:
        """The passage's."""


One = TypeVar("One", bound=Kept)


@dataclass(frozen=True, slots=True)
class Row:
    """A passage as the record has it."""

    ordinal: int
    text: Text
    page: int
    page_end: int
    heading: str
    tokens: int


class Texts(Generic[One]):
    """The least recently found goes first."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most = most_bytes
        self._rows: OrderedDict[Place, One] = OrderedDict()
        self._gone: OrderedDict[str, None] = OrderedDict()
        self.nbytes = 0

    def __len__(self) -> int:
        return len(self._rows)

    def known(self, places: Iterable[Place]) -> dict[Place, One]:
        """Those of them that are here."""
        found: dict[Place, One] = {}
        for place in places:
            row = self._rows.get(place)
            if row is not None:
                self._rows.move_to_end(place)
                found[place] = row
        return found

    def keep(self, rows: Mapping[Place, One]) -> None:
        """Remember them. What was forgotten while they were fetched stays forgotten."""
        for place, row in rows.items():
            if place[0] not in self._gone:
                self._drop(place)
                self._rows[place] = row
                self.nbytes += weight(row)
        while self.nbytes > self._most:
            self._drop(next(iter(self._rows)))

    def forget(self, documents: Collection[str]) -> None:
        """Drop documents that are gone."""
        for document in documents:
            self._gone[document] = None
            self._gone.move_to_end(document)
        while len(self._gone) > GONE_MOST:
            self._gone.popitem(last=False)
        for place in [place for place in self._rows if place[0] in documents]:
            self._drop(place)

    def _drop(self, place: Place) -> None:
        """Forget one, if it is here."""
        row = self._rows.pop(place, None)
        self.nbytes -= 0 if row is None else weight(row)


def weight(row: Kept) -> int:
    """Memory of a passage, near enough to bound many: its text, its quotation, its line as it is
    hashed, its folded form."""
    return OBJECT_BYTES + 4 * sys.getsizeof(str(row.text))
