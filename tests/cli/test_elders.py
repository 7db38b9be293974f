"""What the doctor says of older tools, on a database of theirs and a Qdrant."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.cli.checks import Ailment
from app.cli.elders import ADOPT, AGAIN, MOVE, older
from app.db.embedded import Cluster
from app.db.memories import RAW
from app.db.pool import open_pool
from app.db.vectors import SpaceStore
from app.services.adopt import ImportStore
from app.settings import Settings
from app.types import Space
from tests.fakes.elder import Elder, elder
from tests.fakes.qdrant import Fault, QdrantServer, qdrant_server

SPACE = Space("fake@8", "fake", 8, 0.0)
TAKEN = "UPDATE {} SET space = 'fake@8', embedding_ibid = '[1,2,3,4,5,6,7,8]'"


@pytest.fixture
async def old(cluster: Cluster) -> AsyncIterator[Elder]:
    """A database that Ibid has met, and nothing more."""
    async with elder(cluster, migrated=True) as made:
        yield made


@pytest.fixture
def qdrant(tmp_path: Path) -> Iterator[QdrantServer]:
    """A server without a collection."""
    with qdrant_server(tmp_path / "qdrant") as server:
        yield server


@pytest.fixture
def config(old: Elder, qdrant: QdrantServer, tmp_path: Path) -> Settings:
    """Both."""
    return Settings(
        ibid={"data_dir": tmp_path / "data"}, postgres={"dsn": old.dsn}, qdrant={"url": qdrant.url}
    )


async def start(old: Elder) -> None:
    """The space of a first start, recorded."""
    async with open_pool(old.dsn) as pool:
        await SpaceStore(pool).keep(SPACE)
        await SpaceStore(pool).make_current(SPACE.name)


async def taken(old: Elder) -> None:
    """All rows that say something are in our space."""
    await start(old)
    for table in ("conversation_index", "code_index"):
        await old.run(TAKEN.format(table))


async def test_rows_without_a_space_are_told(config: Settings, old: Elder) -> None:
    """How many of which table, and what takes them over; before the first start nobody knows the space."""
    assert "before the first start" in await older(config)
    await start(old)
    with pytest.raises(Ailment) as told:
        await older(config)
    assert "35 rows of public.conversation_index, 20 rows of public.code_index" in told.value.detail
    assert told.value.advice == ADOPT
    await taken(old)
    assert await older(config) == "57 rows of projects in fake@8"


async def test_rows_of_another_space_are_told_first(config: Settings, old: Elder) -> None:
    """Nothing can be taken over before they have moved."""
    await start(old)
    await old.run("UPDATE code_index SET space = 'gone@9'")
    with pytest.raises(Ailment, match="20 rows of public") as told:
        await older(config)
    assert told.value.advice == MOVE


async def test_memories_in_vectors_of_others_are_told(
    config: Settings, old: Elder, qdrant: QdrantServer
) -> None:
    """Nothing could be remembered; a home of ours in another space waits for a move. A server that is away is
    for another check to tell."""
    await taken(old)
    qdrant.create(RAW, {"vectors": {"size": 9, "distance": "Cosine"}})
    with pytest.raises(Ailment, match=RAW) as told:
        await older(config)
    assert told.value.advice == ADOPT
    qdrant.create("home", {"vectors": {"size": 9, "distance": "Cosine"}})
    async with open_pool(old.dsn) as pool:
        await ImportStore(pool).keep_home(RAW, "home", None)
    with pytest.raises(Ailment, match="home") as moved:
        await older(config)
    assert moved.value.advice == MOVE
    qdrant.fault = Fault(status=500)
    assert "57 rows" in await older(config)


async def test_a_collection_that_an_earlier_version_adopted_is_told(
    config: Settings, old: Elder, qdrant: QdrantServer
) -> None:
    """It has a copy in Qdrant and no rows; not once its points are rows, nor when there are none."""
    await taken(old)
    qdrant.create("wiki", {"vectors": {"size": 9, "distance": "Cosine"}})
    async with open_pool(old.dsn) as pool:
        await ImportStore(pool).keep_home("wiki", "wiki_ibid", None)
        assert "57 rows" in await older(config)
        qdrant.plant("wiki", [{"id": 1, "vector": [1.0] * 9, "payload": {"text": "tides"}}])
        with pytest.raises(Ailment, match="wiki") as told:
            await older(config)
        assert told.value.advice == AGAIN
        await pool.execute("INSERT INTO ibid.imported VALUES ('wiki', '1', 'default', '', 'x', '')")
    assert "57 rows" in await older(config)


async def test_a_database_that_is_not_migrated_is_not_read(cluster: Cluster, tmp_path: Path) -> None:
    """The check of Postgres tells that."""
    async with elder(cluster) as before:
        config = Settings(ibid={"data_dir": tmp_path / "data"}, postgres={"dsn": before.dsn})
        assert await asyncio.wait_for(older(config), 20) == "not looked at: see postgres"
