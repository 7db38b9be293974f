"""Chroma and Qdrant as `ibid doctor` looks at them: told with what to do, and left as they are."""

import asyncio
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from pydantic import SecretStr

from app.cli import indexes
from app.cli.checks import Ailment
from app.cli.doctor import Check
from app.clients.qdrant_engine import folder_of
from app.clients.qdrant_process import open_qdrant_process
from app.db.copies import QdrantCopy
from app.db.embedded import hold
from app.db.outbox import Outbox
from app.db.pool import Pool
from app.db.postgres import identity
from app.db.vectors import SpaceStore
from app.retrieval.retrievers.qdrant import CollectionCache
from app.settings import Chroma, Ibid, Postgres, Qdrant, Settings
from tests.fakes.keeping import say
from tests.fakes.points import DIM, point
from tests.fakes.qdrant import qdrant_server
from tests.fakes.uploads import SPACE


def inside(folder: Path) -> list[str]:
    """Names."""
    return sorted(path.name for path in folder.iterdir())


@asynccontextmanager
async def answering(*said: bytes) -> AsyncIterator[str]:
    """The address of a server with these answers, whatever is asked; the last one again and again."""
    left = list(said)

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        answer = left.pop(0) if len(left) > 1 else left[0]
        head = f"HTTP/1.1 200 OK\r\ncontent-length: {len(answer)}\r\nconnection: close\r\n\r\n"
        writer.write(head.encode() + answer)
        await writer.drain()
        writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def test_the_embedded_qdrant_is_opened(tmp_path: Path) -> None:
    """Where no service holds the folder."""
    assert await indexes.qdrant(Settings(ibid=Ibid(data_dir=tmp_path))) == "embedded, 0 collections"


async def test_a_qdrant_server_is_asked_what_it_is(tmp_path: Path) -> None:
    """Its version and how much there is; without the right key it does not tell."""
    with qdrant_server(tmp_path, key="secret") as server:
        known = Qdrant(url=server.url, api_key=SecretStr("secret"))
        assert await indexes.qdrant(Settings(qdrant=known)) == f"1.20.0 at {server.url}, 0 collections"
        with pytest.raises(Ailment, match="does not answer") as raised:
            await indexes.qdrant(Settings(qdrant=Qdrant(url=server.url)))
    assert "QDRANT_API_KEY" in raised.value.advice


async def test_a_qdrant_that_does_not_answer_is_told() -> None:
    """With its address and its setting."""
    with pytest.raises(Ailment, match=r"http://127\.0\.0\.1:9 does not answer") as raised:
        await indexes.qdrant(Settings(qdrant=Qdrant(url="http://127.0.0.1:9")))

    assert raised.value.advice.startswith("check QDRANT_URL")


async def test_a_chroma_server_that_does_not_answer_is_told() -> None:
    """The configured one is asked, not the folder; with its address and its setting."""
    with pytest.raises(Ailment, match=r"http://127\.0\.0\.1:9 does not answer") as raised:
        await indexes.chroma(Settings(chroma=Chroma(url="http://127.0.0.1:9")))

    assert raised.value.advice == "check CHROMA_URL"


@pytest.mark.parametrize("part", [indexes.chroma, indexes.qdrant], ids=["chroma", "qdrant"])
async def test_a_folder_that_is_not_there_is_not_made(tmp_path: Path, part: Check) -> None:
    """The first start must find that there is nothing yet."""
    await part(Settings(ibid=Ibid(data_dir=tmp_path)))

    assert {"chroma", "qdrant"}.isdisjoint(inside(tmp_path))


async def test_a_damaged_chroma_is_told_and_left(tmp_path: Path) -> None:
    """The next start moves it aside; a look does not."""
    (tmp_path / "chroma").mkdir()
    (tmp_path / "chroma" / "chroma.sqlite3").write_bytes(b"noise" * 1_000)

    with pytest.raises(Ailment, match="damaged") as raised:
        await indexes.chroma(Settings(ibid=Ibid(data_dir=tmp_path)))

    assert raised.value.advice == indexes.MENDED
    assert [name for name in inside(tmp_path) if name.startswith("chroma")] == ["chroma"]


async def test_a_damaged_collection_is_told_and_left(tmp_path: Path) -> None:
    """By its name."""
    async with open_qdrant_process(tmp_path / "qdrant") as edge:
        await edge.create("memories", DIM)
        await edge.put("memories", [point(1)])
    place = folder_of(tmp_path / "qdrant", "memories")
    for config in place.rglob("edge_config.json"):
        config.write_bytes(b"")

    with pytest.raises(Ailment, match="damaged: memories"):
        await indexes.qdrant(Settings(ibid=Ibid(data_dir=tmp_path)))

    assert inside(tmp_path / "qdrant") == [place.name]


async def test_an_older_qdrant_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The client does not support it."""
    monkeypatch.setattr("app.clients.qdrant.OLDEST", (1, 21))
    with qdrant_server(tmp_path) as server, pytest.raises(Ailment, match=r"1\.20\.0 is older than 1\.21"):
        await indexes.qdrant(Settings(qdrant=Qdrant(url=server.url)))


@pytest.mark.parametrize("said", [b"<html>", b"[]"], ids=["a web page", "another JSON"])
async def test_a_service_that_reports_nothing_is_told(tmp_path: Path, said: bytes) -> None:
    """What answers at its address is no Ibid, or a proxy's page."""
    async with hold(tmp_path) as held, answering(said) as url:
        held.publish(url)
        with pytest.raises(Ailment, match="no report"):
            await indexes.usable(Settings(ibid=Ibid(data_dir=tmp_path)), "chroma")


async def test_a_part_that_misses_a_look_under_load_is_not_damaged(tmp_path: Path) -> None:
    """It is asked again; one that never answers is told."""
    away, there = (b'{"checks": [{"name": "chroma", "ok": %s}]}' % ok for ok in (b"false", b"true"))
    settings = Settings(ibid=Ibid(data_dir=tmp_path))
    async with hold(tmp_path) as held:
        async with answering(away, away, there) as url:
            held.publish(url)
            assert await indexes.usable(settings, "chroma")
        async with answering(away) as url:
            held.publish(url)
            with pytest.raises(Ailment, match="cannot use it"):
                await indexes.usable(settings, "chroma")


async def test_an_older_folder_under_a_newer_record_is_told(dsn: str, pool: Pool, tmp_path: Path) -> None:
    """With what to do; before that, how much an engine has yet to take."""
    settings = Settings(ibid=Ibid(data_dir=tmp_path), postgres=Postgres(dsn=SecretStr(dsn)))
    assert await indexes.outbox(settings) == "not looked at before the first start"
    await SpaceStore(pool).keep(SPACE)
    await SpaceStore(pool).make_current(SPACE.name)
    folder, older = tmp_path / "qdrant", tmp_path / "older"
    for n in range(2):
        await say(pool, f"note {n}")
        assert await indexes.outbox(settings) == "qdrant has 1 changes to take; chroma has all changes"
        async with open_qdrant_process(folder) as edge:
            copy = QdrantCopy(pool, edge, CollectionCache(edge), SPACE)
            await Outbox(pool, copy, await identity(pool)).drain()
        assert await indexes.outbox(settings) == "qdrant has all changes; chroma has all changes"
        if not n:
            shutil.copytree(folder, older)
    shutil.rmtree(folder)
    older.rename(folder)

    with pytest.raises(Ailment, match="older than the record") as raised:
        await indexes.outbox(settings)
    assert "start the service" in raised.value.advice
