"""Document names as an asker sees them (`domain/label.distinct`), kept while the shelves stay as they are."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from app.domain.document import Part
from app.domain.label import distinct
from app.index.place import Listed
from app.index.shelf import Shelf

MOST = 256
"""Reaches whose names are kept: a few kilobytes each."""

Reach: TypeAlias = tuple[tuple[Part, int], ...]


class Naming:
    """Names by document id, for the shelves of a query."""

    def __init__(self) -> None:
        self._known: OrderedDict[Reach, Mapping[str, str]] = OrderedDict()

    def names(self, shelves: Sequence[Shelf[Part, Listed]]) -> Mapping[str, str]:
        """The session's documents keep their names; a global one of the same name shows as `name-2.pdf`."""
        reach = tuple((shelf.part, shelf.version) for shelf in shelves)
        if reach not in self._known:
            self._known[reach] = told_apart(shelves)
            while len(self._known) > MOST:
                self._known.popitem(last=False)
        return self._known[reach]


def told_apart(shelves: Sequence[Shelf[Part, Listed]]) -> Mapping[str, str]:
    """Names in the order of creation, the session's first."""
    own = [document for shelf in shelves if not shelf.part.is_global for document in shelf.documents.values()]
    shared = [document for shelf in shelves if shelf.part.is_global for document in shelf.documents.values()]
    names = distinct([document.name for document in own], [document.name for document in shared])
    every = zip([*own, *shared], [*names[0], *names[1]], strict=True)
    return {document.id: name for document, name in every}
