"""Collections made anew, with what others wrote in them; on the real engine."""

import json
import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.clients.edge import Edge, open_edge
from app.clients.points import Point, Where
from app.domain.errors import RetrievalError
from app.index.catalogue import Indexed
from app.index.resettle import Resettlement
from app.retrieval.retrievers.qdrant import MARK
from tests.fakes.keeping import FakeVectors
from tests.fakes.uploads import SPACE

NAME = "memory_raw"
FIELDS = Indexed(keys=("kind",), tenants=("tenant", "user_id"))
OLD = b"\x00\x00\x80\x3f" + bytes(12)
"""A vector of four dimensions."""
MINE = "6f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d"
THEIRS = [
    Point("7", {"content": "A journal of the sea.", "user_id": "ada"}, OLD),
    Point("8", {"user_id": "ada", "mood": ["good"]}, OLD),
]


@dataclass
class House:
    """An engine with a collection of an old space, and what moves it."""

    edge: Edge
    folder: Path
    embedder: FakeVectors = field(default_factory=FakeVectors)

    @property
    def move(self) -> Resettlement:
        """One move, as `ibid reembed` begins it."""
        return Resettlement(self.edge, self.embedder, SPACE, self.folder)

    async def mine(self, points: Sequence[str]) -> set[str]:
        """As the record would say."""
        return {point for point in points if point == MINE}

    async def whole(self) -> int:
        """A move from its beginning to its end; how many of others' points came along."""
        await self.move.clear(NAME, self.mine)
        return await self.move.restore(NAME, FIELDS)

    async def held(self) -> dict[str, Point]:
        """Everything in the collection."""
        return {point.id: point for point in await self.edge.scroll(NAME, Where(), limit=99, vectors=True)}


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Path]:
    """A fresh folder, in memory where it can be."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture
async def house(drive: Path, tmp_path: Path) -> AsyncIterator[House]:
    """With one point of ours and two of others'."""
    async with open_edge(drive) as edge:
        await edge.create(NAME, 4)
        await edge.put(NAME, [Point(MINE, {"text": "mine"}, OLD), *THEIRS])
        yield House(edge, tmp_path / "moves")


async def test_what_others_wrote_is_embedded_anew(house: House) -> None:
    """Its payload as it was; ours comes back from the record, not from here."""
    assert await house.whole() == 2

    held = await house.held()
    assert sorted(held) == ["7", "8"]
    assert held["7"].payload == THEIRS[0].payload
    assert held["7"].dense
    assert (await house.edge.collections())[0].dim == SPACE.dim
    assert house.embedder.asked == ["A journal of the sea."]


async def test_a_point_without_text_is_not_lost(house: House) -> None:
    """It cannot be searched by meaning, and was not before."""
    await house.whole()

    kept = (await house.held())["8"]
    assert (kept.payload, kept.dense) == (THEIRS[1].payload, None)


async def test_a_move_that_breaks_off_is_finished_by_the_next(house: House) -> None:
    """Nothing is lost when the embedder fails in between, nor what came in meanwhile."""
    await house.move.clear(NAME, house.mine)
    assert await house.edge.collections() == []
    house.embedder.error = RetrievalError("embedding")
    with pytest.raises(RetrievalError):
        await house.move.restore(NAME, FIELDS)
    house.embedder.error = None
    await house.edge.create(NAME, 4)
    await house.edge.put(NAME, [Point("9", {"text": "later"}, OLD)])

    assert await house.whole() == 3

    assert sorted(await house.held()) == ["7", "8", "9"]
    assert list(house.folder.iterdir()) == []


async def test_what_is_put_down_is_read_by_nobody_else(house: House) -> None:
    """It is what people said."""
    await house.move.clear(NAME, house.mine)

    (file,) = house.folder.iterdir()
    assert file.stat().st_mode & 0o777 == 0o600
    assert [row["id"] for row in json.loads(file.read_text())] == ["7", "8"]


async def test_a_collection_that_is_not_there_is_none(house: House) -> None:
    """Nothing to drop, nothing to bring back."""
    await house.move.clear("elsewhere", house.mine)

    assert await house.move.restore("elsewhere", FIELDS) == 0
    assert not house.folder.exists()


async def test_what_was_erased_does_not_come_back(house: House) -> None:
    """A point of ours that the record does not have is no other tool's."""
    erased = "7a3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d"
    older = {"text": "secret", "space": "before", "tenant": "default", "tokens": 1}
    for payload in ({**MARK, "text": "secret"}, older):
        await house.edge.create(NAME, 4)
        await house.edge.put(NAME, [Point(erased, payload, OLD), *THEIRS])
        move = Resettlement(house.edge, house.embedder, SPACE, house.folder, ["before"])
        await move.clear(NAME, house.mine)
        assert await move.restore(NAME, FIELDS) == len(THEIRS)
        await house.edge.drop(NAME)
