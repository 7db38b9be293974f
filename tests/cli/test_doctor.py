"""`ibid doctor`: what it finds of each part, and what it advises."""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from app.cli import doctor
from app.cli.doctor import ADOPT, AGAIN, MOVE, PARTS, Ailment, Check, finding, older
from app.db.embedded import Cluster
from app.db.memories import RAW
from app.db.outbox import Outbox
from app.db.pool import Pool, open_pool
from app.db.postgres import identity, recorded
from app.db.rows import transaction
from app.db.vectors import SpaceStore
from app.errors import IbidError
from app.retrieval.copies import QdrantCopy, set_home
from app.retrieval.retrievers.qdrant import CollectionCache, QdrantProcess
from app.retrieval.retrievers.qdrant_engine import folder_of
from app.settings import (
    CacheSettings,
    Chat,
    ChromaSettings,
    Embed,
    MemorySettings,
    Postgres,
    QdrantSettings,
    Rerank,
    Settings,
)
from app.settings import Ibid as IbidKnobs
from app.types import Space
from tests.cli.conftest import Ibid, Running
from tests.fakes.elder import Elder, elder
from tests.fakes.judges import Ill as Sick
from tests.fakes.judges import rerank_server
from tests.fakes.model import Fault, model_server
from tests.fakes.outside import Ill, outside_server
from tests.fakes.points import DIM, point
from tests.fakes.qdrant import Fault as QdrantFault
from tests.fakes.qdrant import QdrantServer, qdrant_server
from tests.fakes.redis import free_port
from tests.fakes.services import say
from tests.fakes.uploads import SPACE


def parts(output: str) -> dict[str, dict[str, Any]]:
    return {line["part"]: line for line in map(json.loads, output.splitlines())}


def test_all_is_well_on_a_fresh_folder(ibid: Ibid) -> None:
    """Every part is looked at, none fails, and the exit code is 0."""
    done = ibid("doctor", "--json")

    found = parts(done.out)
    assert [part for part, line in found.items() if not line["ok"]] == []
    assert list(found) == ["settings", *PARTS]
    assert "pgvector" in found["postgres"]["found"]
    assert "384 dimensions" in found["embeddings"]["found"]
    assert done.code == 0


def test_a_running_service_is_looked_at_through_itself(held: Ibid, service: Running) -> None:
    """Its folder is not opened a second time."""
    done = held("doctor")

    assert f"held by process {service.process.pid} {service.url}" in done.out
    assert "embedded, open in the running service" in done.out
    assert done.code == 0, done.out


def test_settings_that_cannot_be_read_are_the_one_finding(
    ibid: Ibid, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The doctor itself does not fall over them."""
    monkeypatch.setenv("RAG_TIMEOUT", "6")

    done = ibid("doctor")

    assert done.code == 1
    assert done.out.startswith("FAILED  settings         unknown setting: RAG_TIMEOUT")


async def test_a_part_that_hangs_is_told() -> None:
    """The doctor always ends."""

    async def hangs(_settings: Settings) -> str:
        await asyncio.sleep(60)
        return ""

    assert not (await finding("x", hangs, Settings(), patience=0.01)).ok


async def test_a_full_disk_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before an ingest finds out."""
    monkeypatch.setattr(doctor, "DISK", 1 << 62)

    with pytest.raises(Ailment, match="MiB free"):
        await doctor.folder(Settings(ibid=IbidKnobs(data_dir=tmp_path)))


class TestChat:
    async def test_a_model_that_is_not_listed_is_remarked(self) -> None:
        """No failure: some servers take names that they do not list."""
        async with model_server() as server:
            found = await doctor.chat(Settings(chat=Chat(base_url=server.url, model="other")))

        assert "its list has only fake-model: see CHAT_MODEL" in found

    async def test_a_refused_key_is_told(self) -> None:
        """With the settings to look at."""
        async with model_server() as server:
            server.fault = Fault(status=401)

            with pytest.raises(Ailment, match="401") as raised:
                await doctor.chat(Settings(chat=Chat(base_url=server.url)))

        assert "CHAT_API_KEY" in raised.value.advice


async def test_an_embedding_server_that_fails_is_told_with_its_settings(dsn: str) -> None:
    """Whether it fails when the space is measured or later."""
    async with model_server() as server:
        server.fault = Fault(status=500)
        embed, record = Embed(base_url=server.url, model="fake-model"), Postgres(dsn=SecretStr(dsn))
        config = Settings(embed=embed, postgres=record)

        with pytest.raises(IbidError, match="EMBED_BASE_URL"):
            await doctor.embedder(config)


async def test_an_older_schema_is_told_and_left(dsn: str) -> None:
    """A running service of that version could not start again."""
    async with open_pool(dsn) as pool:
        await pool.execute("UPDATE ibid.alembic_version SET version_num = '0001'")
    config = Settings(postgres=Postgres(dsn=SecretStr(dsn)))

    with pytest.raises(Ailment, match="the schema 0001") as raised:
        await doctor.postgres(config)
    assert await doctor.recorded_space(config) == (None, False)

    assert raised.value.advice.startswith("ibid migrate")
    assert await recorded(dsn) == ["0001"]


async def test_a_cache_that_does_not_answer_is_told_without_its_password() -> None:
    """Only the name of its setting."""
    url = SecretStr(f"redis://:hunter2@127.0.0.1:{free_port()}/0")

    with pytest.raises(Ailment) as raised:
        await doctor.cache(Settings(cache=CacheSettings(url=url)))

    assert "CACHE_URL" in raised.value.advice
    assert "hunter2" not in raised.value.detail + raised.value.advice


async def test_an_outside_memory_service_is_asked_whether_it_is_there() -> None:
    """By its setting's name, if it is not; without one the built-in stores are all there is."""
    assert await doctor.memory(Settings()) == "built in"
    async with outside_server() as server:
        config = Settings(memory=MemorySettings(service_url=server.url))
        server.ill = Ill(404)
        assert await doctor.memory(config) == f"{server.url} answers"
        server.ill = Ill(500)
        with pytest.raises(Ailment, match="does not answer") as raised:
            await doctor.memory(config)
    assert raised.value.advice == "check MEMORY_SERVICE_URL"


async def test_a_reranker_is_asked_for_two_scores() -> None:
    """Whoever gives none is told by its settings; without one there is nothing to look at."""
    assert await doctor.rerank(Settings()) == "none: candidates stay in the first stage's order"
    async with rerank_server() as server:
        config = Settings(rerank=Rerank(url=server.url, model="reader"))
        assert await doctor.rerank(config) == f"{server.url}/rerank reader answers"
        server.ill = Sick(401)
        with pytest.raises(Ailment, match="does not answer") as raised:
            await doctor.rerank(config)
    assert raised.value.advice == "check RERANK_URL, RERANK_MODEL and RERANK_API_KEY"


def inside(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


async def test_a_qdrant_server_is_asked_what_it_is(tmp_path: Path) -> None:
    """Its version and how much there is; without the right key it does not tell."""
    with qdrant_server(tmp_path, key="secret") as server:
        known = QdrantSettings(url=server.url, api_key=SecretStr("secret"))
        assert await doctor.qdrant(Settings(qdrant=known)) == f"1.20.0 at {server.url}, 0 collections"
        with pytest.raises(Ailment, match="does not answer") as raised:
            await doctor.qdrant(Settings(qdrant=QdrantSettings(url=server.url)))
    assert "QDRANT_API_KEY" in raised.value.advice


async def test_a_chroma_server_that_does_not_answer_is_told() -> None:
    """The configured one is asked, not the folder; with its address and its setting."""
    with pytest.raises(Ailment, match=r"http://127\.0\.0\.1:9 does not answer") as raised:
        await doctor.chroma(Settings(chroma=ChromaSettings(url="http://127.0.0.1:9")))

    assert raised.value.advice == "check CHROMA_URL"


@pytest.mark.parametrize("part", [doctor.chroma, doctor.qdrant], ids=["chroma", "qdrant"])
async def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path, part: Check) -> None:
    """The first start must find that there is nothing yet."""
    await part(Settings(ibid=IbidKnobs(data_dir=tmp_path)))

    assert {"chroma", "qdrant"}.isdisjoint(inside(tmp_path))


async def test_a_damaged_chroma_is_told_and_left(tmp_path: Path) -> None:
    """The next start moves it aside; a look does not."""
    (tmp_path / "chroma").mkdir()
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"noise" * 1_000)

    with pytest.raises(Ailment, match="damaged") as raised:
        await doctor.chroma(Settings(ibid=IbidKnobs(data_dir=tmp_path)))

    assert raised.value.advice == doctor.MENDED
    assert [name for name in inside(tmp_path) if name.startswith("chroma")] == ["chroma"]


async def test_a_damaged_collection_is_told_and_left(tmp_path: Path) -> None:
    async with QdrantProcess(tmp_path / "qdrant") as edge:
        await edge.create("memories", DIM)
        await edge.put("memories", [point(1)])
    place = folder_of(tmp_path / "qdrant", "memories")
    for config in place.rglob("edge_config.json"):
        config.write_bytes(b"")

    with pytest.raises(Ailment, match="damaged: memories"):
        await doctor.qdrant(Settings(ibid=IbidKnobs(data_dir=tmp_path)))

    assert inside(tmp_path / "qdrant") == [place.name]


async def test_an_older_folder_under_a_newer_record_is_told(dsn: str, pool: Pool, tmp_path: Path) -> None:
    """With what to do; before that, how much an engine has yet to take."""
    settings = Settings(ibid=IbidKnobs(data_dir=tmp_path), postgres=Postgres(dsn=SecretStr(dsn)))
    assert await doctor.outbox(settings) == "not looked at before the first start"
    await SpaceStore(pool).keep(SPACE)
    await SpaceStore(pool).make_current(SPACE.name)
    folder, older = tmp_path / "qdrant", tmp_path / "older"
    for n in range(2):
        await say(pool, f"note {n}")
        assert await doctor.outbox(settings) == "qdrant has 1 changes to take; chroma has all changes"
        async with QdrantProcess(folder) as edge:
            copy = QdrantCopy(pool, edge, CollectionCache(edge), SPACE)
            await Outbox(pool, copy, await identity(pool)).drain()
        assert await doctor.outbox(settings) == "qdrant has all changes; chroma has all changes"
        if not n:
            shutil.copytree(folder, older)
    shutil.rmtree(folder)
    older.rename(folder)

    with pytest.raises(Ailment, match="older than the record") as raised:
        await doctor.outbox(settings)
    assert "start the service" in raised.value.advice


FAKE_SPACE = Space("fake@8", "fake", 8, 0.0)
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
    return Settings(
        ibid={"data_dir": tmp_path / "data"}, postgres={"dsn": old.dsn}, qdrant={"url": qdrant.url}
    )


async def start(old: Elder) -> None:
    """The space of a first start, recorded."""
    async with open_pool(old.dsn) as pool:
        await SpaceStore(pool).keep(FAKE_SPACE)
        await SpaceStore(pool).make_current(FAKE_SPACE.name)


async def taken(old: Elder) -> None:
    """All rows that say something are in our space."""
    await start(old)
    for table in ("conversation_index", "code_index"):
        await old.run(TAKEN.format(table))


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
    async with open_pool(old.dsn) as pool, transaction(pool) as connection:
        await set_home(connection, RAW, "home", None)
    with pytest.raises(Ailment, match="home") as moved:
        await older(config)
    assert moved.value.advice == MOVE
    qdrant.fault = QdrantFault(status=500)
    assert "57 rows" in await older(config)


async def test_a_collection_that_an_earlier_version_adopted_is_told(
    config: Settings, old: Elder, qdrant: QdrantServer
) -> None:
    """It has a copy in Qdrant and no rows; not once its points are rows, nor when there are none."""
    await taken(old)
    qdrant.create("wiki", {"vectors": {"size": 9, "distance": "Cosine"}})
    async with open_pool(old.dsn) as pool:
        async with transaction(pool) as connection:
            await set_home(connection, "wiki", "wiki_ibid", None)
        assert "57 rows" in await older(config)
        qdrant.plant("wiki", [{"id": 1, "vector": [1.0] * 9, "payload": {"text": "tides"}}])
        with pytest.raises(Ailment, match="wiki") as told:
            await older(config)
        assert told.value.advice == AGAIN
        await pool.execute("INSERT INTO ibid.imported VALUES ('wiki', '1', 'default', '', 'x', '')")
    assert "57 rows" in await older(config)
