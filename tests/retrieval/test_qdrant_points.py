"""The contract of Qdrant's engines: embedded, a server over HTTP, and the vendor's client in memory.

The last one is the vendor's own for tests, in Python: it rounds otherwise when points are added, and does not
wait for anything. What hangs on that is asked of the two that users have.
"""

import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from uuid import UUID

import pytest
from qdrant_client import AsyncQdrantClient

from app.errors import RetrievalError
from app.retrieval.retrievers.points import (
    DENSE,
    Collection,
    Point,
    Where,
    identities,
    identity,
)
from app.retrieval.retrievers.qdrant import Qdrant, QdrantProcess
from app.retrieval.retrievers.qdrant_server import QdrantRemote, connected
from tests.fakes.points import DIM, embedding, ids, meets, owned, point
from tests.fakes.qdrant import qdrant_server

pytestmark = [  # of the vendor's own small engine
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]
NAME = "memory_raw"
EVERY = Where()


@asynccontextmanager
async def in_memory(_folder: Path) -> AsyncIterator[Qdrant]:
    engine = QdrantRemote(AsyncQdrantClient(":memory:"))
    yield engine
    await engine.close()


@asynccontextmanager
async def over_http(folder: Path) -> AsyncIterator[Qdrant]:
    with qdrant_server(folder) as server:
        engine = connected(server.url, None)
        yield engine
        await engine.close()


ENGINES: Mapping[str, Callable[[Path], AbstractAsyncContextManager[Qdrant]]] = {
    "embedded": QdrantProcess,
    "in memory": in_memory,
    "server": over_http,
}


@pytest.fixture(params=list(ENGINES))
async def points(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Qdrant]:
    async with ENGINES[request.param](tmp_path / "qdrant") as engine:
        await engine.create(NAME, DIM)
        yield engine


@pytest.fixture(params=["embedded", "server"])
async def real(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Qdrant]:
    async with ENGINES[request.param](tmp_path / "qdrant") as engine:
        await engine.create(NAME, DIM)
        yield engine


async def test_filters_are_exact(points: Qdrant) -> None:
    """Every kind of condition, alone and together, for searches, pages and counts."""
    chance = random.Random(7)  # noqa: S311 - the same on every run
    kinds = [{}, {"kind": "note"}, {"kind": "card"}, {"kind": "fact", "vantage_id": "v"}]
    stored = [point(n, chance.choice("abc"), **chance.choice(kinds)) for n in range(60)]
    await points.put(NAME, stored)
    filters = [*(drawn(chance, stored) for _ in range(25)), Where(has=(("kind", ()),)), Where(ids=())]
    for where in filters:
        wanted = {each.id for each in stored if meets(each, where)}
        found = await points.search(NAME, where, embedding(1), 60, payload=False)
        assert set(ids(found)) == wanted, where
        assert await points.count(NAME, where) == len(wanted), where
        assert {each.id for each in await points.scroll(NAME, where, limit=99)} == wanted, where


def drawn(chance: random.Random, stored: list[Point]) -> Where:
    users = (("user_id", tuple(chance.sample("abcd", 2))),)
    kinds = (("kind", tuple(chance.sample(("note", "card", "fact"), chance.randrange(1, 3)))),)
    return Where(
        has=users if chance.random() < 0.6 else (),
        lacks=kinds if chance.random() < 0.5 else (),
        open=(("vantage_id", ("v",)),) if chance.random() < 0.3 else kinds if chance.random() < 0.3 else (),
        ids=(*ids(chance.sample(stored, 20)), "no-id") if chance.random() < 0.3 else None,
    )


async def test_another_users_points_move_nothing(real: Qdrant) -> None:
    """Every id, score, order and count is the same to the last bit with fifty of another user's beside."""
    await real.put(NAME, [point(n, "ann") for n in range(40)])
    before = await real.search(NAME, owned("ann"), embedding(3), 10)
    await real.put(NAME, [point(n, "bob") for n in range(100, 150)])
    assert await real.search(NAME, owned("ann"), embedding(3), 10) == before
    assert await real.count(NAME, owned("ann")) == 40


async def test_what_is_written_is_read_back(real: Qdrant) -> None:
    """Payload of any JSON, the vector bit for bit; written again it is replaced, at once."""
    told = {"text": "Ünïcode ☃", "n": 1, "f": 1.5, "tags": ["a", "b"], "none": None, "o": {"deep": [1]}}
    one = Point(point(1).id, told, embedding(1))
    await real.put(NAME, [one, point(2)])
    assert await real.scroll(NAME, Where(ids=(one.id,)), limit=5, vectors=True) == [one]
    again = Point(one.id, {"text": "other"}, embedding(9))
    await real.put(NAME, [again])
    assert await real.scroll(NAME, Where(ids=(one.id,)), limit=5, vectors=True) == [again]
    assert await real.count(NAME, EVERY) == 2


async def test_a_point_may_lack_its_vector(points: Qdrant) -> None:
    """Then a search does not find it; it is there all the same."""
    await points.put(NAME, [Point(point(1).id, {}, embedding(1)), Point(point(2).id, {})])
    assert ids(await points.search(NAME, EVERY, embedding(1), 9)) == [point(1).id]
    assert await points.count(NAME, EVERY) == 2


async def test_pages_show_everything_once(points: Qdrant) -> None:
    """By id, however long a page is; a page after the last is empty."""
    stored = [point(n) for n in range(23)]
    await points.put(NAME, stored)
    seen: list[str] = []
    while page := await points.scroll(NAME, EVERY, limit=5, after=seen[-1] if seen else None):
        seen += ids(page)
    assert seen == sorted(ids(stored))


async def test_collections_are_listed_with_their_shape(points: Qdrant) -> None:
    """By name; one that is there already stays as it is, but for new indexes; one that is dropped is gone."""
    await points.put(NAME, [point(1)])
    await points.create("a notebook", 4, keys=("kind",), tenants=("tenant",), times=("created_at",))
    await points.create(NAME, DIM, keys=("kind",), tenants=("tenant",), times=("created_at",))
    ours = Collection("a notebook", 4, DENSE, 0), Collection(NAME, DIM, DENSE, 1)
    assert await points.collections() == list(ours)
    await points.drop("a notebook")
    await points.drop("never was there")
    assert await points.collections() == [ours[1]]


async def test_what_does_not_fit_is_told(points: Qdrant) -> None:
    """A vector of another size, an id that is none: nothing is down, and nothing is written."""
    await points.put(NAME, [point(1)])
    calls = (
        lambda: points.search(NAME, EVERY, embedding(1, DIM + 1), 1),
        lambda: points.put(NAME, [Point(point(2).id, {}, embedding(1, DIM + 1))]),
        lambda: points.put(NAME, [Point("no id", {}, embedding(1))]),
    )
    for call in calls:
        with pytest.raises(RetrievalError) as caught:
            await call()
        assert caught.value.rejected
    assert await points.count(NAME, EVERY) == 1


@pytest.mark.parametrize(
    ("text", "found"),
    [("7", 7), ("00000000-0000-0000-0000-000000000007", UUID(int=7)), ("0" * 31 + "7", UUID(int=7))],
)
def test_ids_are_numbers_or_uuids(text: str, found: object) -> None:
    """As engines know them; digits alone are a number, unless they are too many."""
    assert identity(text) == found


def test_what_can_be_no_id_is_left_out() -> None:
    """No point can have it, so a filter by it holds for none."""
    assert identities(["x", "", "٣", "-1", "18446744073709551616", "5"]) == {5}
    with pytest.raises(ValueError, match="badly formed"):
        identity("x")
