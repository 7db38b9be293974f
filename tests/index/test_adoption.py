"""Collections of older tools, copied into ones of ours; on the real engine."""

import tempfile
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from app.clients.edge import Edge, open_edge
from app.clients.points import Point, Where
from app.domain.adoption import Shelf
from app.domain.errors import RetrievalError
from app.domain.memory import RAW
from app.index import adoption
from app.index.adoption import Engine, ShelfAdoption
from app.index.catalogue import Indexed
from tests.fakes.keeping import FakeVectors
from tests.fakes.uploads import SPACE, vector

OLD = b"\x00\x00\x80\x3f" + bytes(12)
"""A vector of four dimensions."""
MINE = "6f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d"
THEIRS = [
    Point("7", {"content": "A journal of the sea.", "user_id": "ada", "tags": ["sea"], "created_at": 9}, OLD),
    Point("8", {"user_id": "ada", "mood": ["good"]}, OLD),
    Point("9", {"text": "Otters eat fish.", "user_id": "bob"}, OLD),
]


@dataclass
class Register:
    """Homes, and what the record has."""

    homes: dict[str, str] = field(default_factory=dict)
    settled: int = 0

    async def all(self) -> dict[str, str]:
        """By name."""
        return dict(self.homes)

    async def keep(self, name: str, home: str) -> str:
        """Once."""
        return self.homes.setdefault(name, home)

    async def known(self, points: Sequence[str]) -> set[str]:
        """One of ours."""
        return {point for point in points if point == MINE}

    async def settle(self) -> None:
        """Counted."""
        self.settled += 1


@dataclass
class House:
    """An engine that an older tool has used."""

    edge: Edge
    register: Register = field(default_factory=Register)
    embedder: FakeVectors = field(default_factory=FakeVectors)

    def work(self, *only: str) -> ShelfAdoption:
        """One run's."""
        fields = Indexed(keys=("kind",))
        engine = Engine(self.edge, self.embedder, SPACE, lambda _name: fields, only)
        return ShelfAdoption(engine, self.register, self.register, self.register.settle)

    async def carried(self) -> list[int]:
        """A whole run, step by step."""
        work = self.work()
        return [n for shelf in await work.found() async for n in work.carry(shelf)]

    async def held(self, name: str) -> list[Point]:
        """Everything in a collection."""
        return await self.edge.scroll(name, Where(), limit=99, vectors=True)


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Path]:
    """A fresh folder, in memory where it can be."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture
async def house(drive: Path) -> AsyncIterator[House]:
    """One point of ours and three of others, in vectors of another width; a corpus likewise."""
    async with open_edge(drive) as edge:
        await edge.create(RAW, 4)
        await edge.put(RAW, [Point(MINE, {"text": "mine"}, OLD), *THEIRS])
        yield House(edge)


async def test_points_are_copied_with_all_they_say(house: House) -> None:
    """Ids and payloads to the letter, vectors of ours; theirs stay, and what says nothing."""
    before = await house.held(RAW)
    assert await house.carried() == [2]
    seven, nine = await house.held(f"{RAW}_ibid")
    assert [(each.id, each.payload) for each in (seven, nine)] == [
        (each.id, each.payload) for each in THEIRS[::2]
    ]
    assert len(seven.dense or b"") == 4 * SPACE.dim
    assert await house.held(RAW) == before
    assert house.register.homes == {RAW: f"{RAW}_ibid"}


async def test_a_second_run_copies_what_has_changed(house: House) -> None:
    """The older tool goes on: what it writes and what it rewrites comes, the rest is not embedded again."""
    await house.carried()
    later = [
        Point("9", {"text": "Otters eat crabs.", "user_id": "bob"}, OLD),
        Point("10", {"text": "Hello."}, OLD),
    ]
    await house.edge.put(RAW, later)
    house.embedder.asked.clear()
    [shelf] = await house.work().found()
    assert (shelf.home, await house.work().missing(shelf)) == (f"{RAW}_ibid", 2)
    assert await house.carried() == [2]
    assert sorted(house.embedder.asked) == ["Hello.", "Otters eat crabs."]
    assert await house.carried() == []


async def test_a_run_that_breaks_off_is_finished_by_the_next(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was copied stands, under the home that was recorded first."""
    monkeypatch.setattr(adoption, "PAGE", 2)
    work = house.work()
    [shelf] = await work.found()
    steps = work.carry(shelf)
    assert await anext(steps) == 1
    house.embedder.error = RetrievalError("embedding")
    with pytest.raises(RetrievalError):
        await anext(steps)
    house.embedder.error = None
    assert house.register.homes == {RAW: f"{RAW}_ibid"}
    assert await house.carried() == [1]


async def test_figures_tell_whose_points_there_are(house: House) -> None:
    """Ours are not counted, nor a collection in which nobody else has a word."""
    await house.edge.create("ours", 8)
    await house.edge.put("ours", [Point(MINE, {"text": "mine"}, vector("mine"))])
    assert await house.work().found() == [Shelf(RAW, 2, 1, 4, fits=False)]


async def test_only_named_collections_are_looked_at(house: House) -> None:
    """As a search does: CORPUS_COLLECTIONS, and the memories."""
    for name in ("tides", "stars"):
        await house.edge.create(name, 4)
        await house.edge.put(name, [Point("1", {"text": name}, OLD)])
    assert [shelf.name for shelf in await house.work().found()] == [RAW, "stars", "tides"]
    assert [shelf.name for shelf in await house.work("tides").found()] == [RAW, "tides"]


async def test_a_name_that_is_taken_is_not_a_home(house: House) -> None:
    """Another tool's collection may be called as ours would be."""
    await house.edge.create(f"{RAW}_ibid", 4)
    await house.edge.put(f"{RAW}_ibid", [Point("1", {"text": "theirs"}, OLD)])
    assert await house.carried() == [2, 1]
    assert house.register.homes == {RAW: f"{RAW}_ibid_ibid", f"{RAW}_ibid": f"{RAW}_ibid_ibid_ibid"}


async def test_a_sample_is_of_texts_with_vectors(house: House) -> None:
    """As many as are asked for."""
    work = house.work()
    [shelf] = await work.found()
    assert await work.sample(shelf, 1) == [("A journal of the sea.", OLD)]
    assert len(await work.sample(shelf, 9)) == 2
    await work.settle()
    assert house.register.settled == 1
