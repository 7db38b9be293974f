"""Collections that stand for others of the same name; on the real engine."""

import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.clients.edge import Edge, open_edge
from app.clients.guarded import GuardedPoints
from app.clients.lodged import Lodged
from app.clients.points import Point, Where
from app.domain.errors import RetrievalError
from tests.fakes.filing import bag

ONE, TWO = "6f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d", "7f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d"
ANN = Where(has=(("user_id", ("ann",)),))


@pytest.fixture
def drive(tmp_path: Path) -> Iterator[Path]:
    """A fresh folder, in memory where it can be."""
    memory = Path("/dev/shm")  # noqa: S108 - a folder of our own in it
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else tmp_path) as folder:
        yield Path(folder)


@pytest.fixture
async def edge(drive: Path) -> AsyncIterator[Edge]:
    """With an old collection of eight dimensions, and a corpus."""
    async with open_edge(drive) as opened:
        await opened.create("raw", 8)
        await opened.put("raw", [Point(ONE, {"user_id": "ann"}, bag("old", 8))])
        await opened.create("zoo", 32)
        yield opened


@pytest.fixture
def lodged(edge: Edge) -> Lodged:
    """`raw` lives elsewhere."""
    return Lodged(edge, {"raw": "raw_ibid"})


async def shapes(points: Edge | Lodged) -> list[tuple[str, int, int]]:
    """Name, dimensions, points."""
    return [(each.name, each.dim, each.points) for each in await points.collections()]


async def test_what_is_written_is_at_home(edge: Edge, lodged: Lodged) -> None:
    """Found by the name that it is asked by; the other tool's stays as it is, and is not listed."""
    assert await shapes(lodged) == [("zoo", 32, 0)]
    await lodged.create("raw", 32, keys=("kind",))
    await lodged.put("raw", [Point(TWO, {"user_id": "ann"}, bag("new"))])
    assert await shapes(lodged) == [("raw", 32, 1), ("zoo", 32, 0)]
    assert await shapes(edge) == [("raw", 8, 1), ("raw_ibid", 32, 1), ("zoo", 32, 0)]
    [found] = await lodged.search("raw", ANN, bag("new"), 5)
    assert (found.id, await lodged.count("raw", ANN)) == (TWO, 1)
    assert [point.id for point in await lodged.scroll("raw", ANN, limit=5)] == [TWO]


async def test_what_is_to_be_gone_goes_from_both(edge: Edge, lodged: Lodged) -> None:
    """Else it came back from the other tool's."""
    await lodged.create("raw", 32)
    await lodged.put("raw", [Point(TWO, {"user_id": "ann"}, bag("new"))])
    await lodged.remove("raw", ANN)
    assert await shapes(edge) == [("raw", 8, 0), ("raw_ibid", 32, 0), ("zoo", 32, 0)]


async def test_only_ours_is_dropped(edge: Edge, lodged: Lodged) -> None:
    """The other tool's is its own."""
    await lodged.create("raw", 32)
    await lodged.drop("raw")
    assert await shapes(edge) == [("raw", 8, 1), ("zoo", 32, 0)]


async def test_files_of_both_are_rewritten(edge: Edge, lodged: Lodged) -> None:
    """One that is not there has none; of what lives nowhere else it is a refusal, as ever."""
    await lodged.compact("raw")
    await lodged.compact("zoo")
    with pytest.raises(RetrievalError):
        await lodged.compact("nothing")


async def test_an_engine_behind_it_is_still_known(edge: Edge) -> None:
    """Whether it is embedded, and whom it tells of a loss; without homes nothing is in between."""
    points = GuardedPoints(edge)
    assert points.lodged({}) is points
    behind = points.lodged({"raw": "raw_ibid"})
    assert behind.embedded
    behind.on_renewal(print)
    assert edge.renewed is print
    assert (await behind.check())["server"] == "embedded"
