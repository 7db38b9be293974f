"""A shelf: all that can be found in one part (a session, what a tenant shares, a project), at one version.

A value: it knows its documents and their blocks, and makes its successor when the part has changed.
"""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from app.index.block import Block, joined, settled
from app.index.place import Place, Spot

Named = TypeVar("Named", bound=Hashable)
Known = TypeVar("Known")


@dataclass(frozen=True, slots=True, eq=False)
class Shelf(Generic[Named, Known]):
    """A part's documents, ascending by id (so by time), and their blocks."""

    part: Named
    version: int
    documents: Mapping[str, Known]
    blocks: tuple[Block, ...] = ()
    exact: bool = True
    """Whether the vectors are here; else Chroma is asked for the near ones."""

    @property
    def size(self) -> int:
        """Passages."""
        return sum(block.size for block in self.blocks)

    @property
    def nbytes(self) -> int:
        """Memory, bytes; half a kilobyte a document beside its blocks, and for the shelf itself."""
        return sum(block.nbytes for block in self.blocks) + 512 * (1 + len(self.documents))

    def located(self, places: Iterable[Place]) -> dict[Place, Spot]:
        """Where passages stand; those that are not, or no more, in this part are left out."""
        at = {
            document: (number, block.firsts[position], block.firsts[position + 1])
            for number, block in enumerate(self.blocks)
            for position, document in enumerate(block.documents)
            if block.live is None or block.live[block.firsts[position]]
        }
        found: dict[Place, Spot] = {}
        for document, ordinal in places:
            number, first, end = at.get(document, (0, 0, 0))
            if first < first + ordinal <= end:
                found[document, ordinal] = (number, first + ordinal - 1)
        return found

    def missing(self, listed: Mapping[str, Known]) -> list[Known]:
        """Documents that a newer list has and this shelf has not."""
        return [document for key, document in listed.items() if key not in self.documents]

    def followed(
        self, version: int, listed: Mapping[str, Known], fresh: Sequence[Block]
    ) -> "Shelf[Named, Known]":
        """The shelf at a newer version: what the list does not name is gone, `fresh` is new."""
        gone = self.documents.keys() - listed.keys()
        blocks = [block.without(gone) for block in self.blocks]
        added = [joined(fresh)] if len(fresh) > 1 else list(fresh)
        return Shelf(self.part, version, listed, settled([*blocks, *added]), self.exact)
