"""Where computing happens, and how a large part is asked when the dead crowd out the living."""

import threading
from collections.abc import Iterable
from types import SimpleNamespace

import numpy as np
import pytest

from app.clients.chroma import Vectors, Where
from app.domain.document import Part
from app.domain.space import Space
from app.index.meaning import INLINE, computed
from app.index.place import Matrix, Place, key
from app.index.vectors import VectorIndex

QUERY = np.array([1, 0], np.float32)


@pytest.mark.parametrize(
    ("size", "away"), [pytest.param(INLINE, False, id="few"), pytest.param(INLINE + 1, True, id="many")]
)
async def test_what_takes_long_leaves_the_loop(size: int, away: bool) -> None:
    """Few passages are searched at once, many in a thread."""
    assert (await computed(size, threading.get_ident) != threading.get_ident()) is away


class Crowd(SimpleNamespace):
    """A Chroma with so many passages, nearest first; remembers how wide it was asked."""

    asked: list[int]
    size: int

    async def nearest(self, collection: str, vector: Matrix, where: Where, limit: int) -> Vectors:
        """The first `limit`."""
        self.asked.append(limit)
        ids = tuple(key(("d", n + 1)) for n in range(min(limit, self.size)))
        return Vectors(ids, np.ones((len(ids), 2), np.float32))


@pytest.mark.parametrize(
    ("dead", "asked"),
    [
        pytest.param(0, [20], id="all alive: once, wider than wanted"),
        pytest.param(30, [20, 80], id="the nearest are dead: again"),
        pytest.param(10_000, [20, 80, 320], id="all dead: not for ever"),
    ],
)
async def test_the_dead_do_not_crowd_out_the_living(dead: int, asked: list[int]) -> None:
    """What is removed but not yet purged costs another question, not the answer."""
    crowd = Crowd(asked=[], size=10_000)
    index = VectorIndex(crowd, Space("m@2", "m", 2, 0.0))  # type: ignore[arg-type] # a stand-in

    def alive(places: Iterable[Place]) -> list[Place]:
        return [place for place in places if place[1] > dead]

    found = await index.nearest(Part("t"), QUERY, 5, alive)
    assert crowd.asked == asked
    assert len(found) >= 5 or dead == 10_000


async def test_a_small_collection_is_asked_once() -> None:
    """Fewer than asked for came: there is nothing more."""
    crowd = Crowd(asked=[], size=3)
    index = VectorIndex(crowd, Space("m@2", "m", 2, 0.0))  # type: ignore[arg-type] # a stand-in
    assert len(await index.nearest(Part("t"), QUERY, 5, list)) == 3
    assert crowd.asked == [20]
