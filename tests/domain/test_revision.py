"""The index ends with what the record has."""

from collections.abc import Sequence

from app.domain.passage import Embedding
from app.domain.revision import ROUNDS, Marked, settled


class Index:
    """Texts as they were put; the record moves on while the first so many are."""

    def __init__(self, moves: int) -> None:
        self.put_: list[list[str]] = []
        self.moves = moves

    async def put(self, rows: Sequence[str], embeddings: Sequence[Embedding]) -> None:
        """Written down."""
        assert list(embeddings) == [row.encode() for row in rows]
        self.put_.append(list(rows))

    async def mark(self, rows: Sequence[str]) -> Marked[str]:
        """The first one moves on, the last one is gone; the others are marked."""
        if len(self.put_) > self.moves:
            return Marked()
        return Marked([rows[-1]] if len(rows) > 1 else [], [pair(rows[0] + "x")])


def pair(text: str) -> tuple[str, Embedding]:
    """A row and its vector."""
    return text, text.encode()


async def test_what_has_moved_on_is_put_again_as_it_is_now() -> None:
    """Alone; what is gone is told at the end."""
    index = Index(2)

    assert await settled([pair("a"), pair("b"), pair("c")], index.put, index.mark) == ["c"]
    assert index.put_ == [["a", "b", "c"], ["ax"], ["axx"]]


async def test_a_row_that_never_rests_is_left() -> None:
    """To the next repair."""
    index = Index(99)

    await settled([pair("a")], index.put, index.mark)

    assert len(index.put_) == ROUNDS


async def test_nothing_is_not_put() -> None:
    """Nor marked."""
    index = Index(0)

    assert await settled([], index.put, index.mark) == []
    assert index.put_ == []
