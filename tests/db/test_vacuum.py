"""What was deleted is in no file of the embedded server: a whole cluster folder is read, byte by byte."""

import asyncio
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from anyio.from_thread import start_blocking_portal

from app.db import postgres
from app.db.embedded import Cluster, open_cluster
from app.db.postgres import compact, superuser
from app.errors import Unavailable

CANARY = "the canary of Sankt Andreasberg sings at dawn"
TABLE = "CREATE TABLE public.kept (id integer PRIMARY KEY, words text)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """As a service runs it, but for the disk's promise."""
    home = tmp_path_factory.mktemp("vacuum") / "postgres"
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_cluster(home, {"fsync": "off"})) as cluster,
    ):
        yield cluster


@pytest.fixture
async def connection(server: Cluster) -> object:
    """Our own role's, on a database with one table of our own."""
    opened = await asyncpg.connect(server.dsn)
    await opened.execute("DROP TABLE IF EXISTS public.kept")
    await opened.execute(TABLE)
    try:
        yield opened
    finally:
        await opened.close()


def found(home: Path, words: str = CANARY) -> list[str]:
    """Files that hold the words."""
    files = [path for path in home.rglob("*") if path.is_file()]
    return [str(path.relative_to(home)) for path in files if words.encode() in path.read_bytes()]


async def test_deleted_words_are_in_no_file(server: Cluster, connection: asyncpg.Connection) -> None:
    """Not in the table, nor in an index, the statistics or the log; what others keep stays."""
    await connection.executemany(
        "INSERT INTO public.kept VALUES ($1, $2)", [(n, CANARY if n % 3 else "others") for n in range(3_000)]
    )
    await connection.execute("CREATE INDEX ON public.kept (words)")
    await connection.execute("ANALYZE public.kept")
    before = found(server.quarters.home)
    await connection.execute("DELETE FROM public.kept WHERE words = $1", CANARY)

    await compact(superuser(server.dsn), ["public.kept"])

    assert len(before) > 1
    assert found(server.quarters.home) == []
    assert await connection.fetchval("SELECT count(*) FROM public.kept WHERE words = 'others'") == 1_000


async def test_a_statement_that_still_sees_it_is_waited_for(
    server: Cluster, connection: asyncpg.Connection
) -> None:
    """A rewritten table would keep for it what it may still read."""
    await connection.execute("INSERT INTO public.kept VALUES (1, $1)", CANARY)
    reader = await asyncpg.connect(server.dsn)
    reading = reader.transaction(isolation="repeatable_read")
    await reading.start()
    await reader.fetchval("SELECT 1")
    await connection.execute("DELETE FROM public.kept")

    compacting = asyncio.create_task(compact(superuser(server.dsn), ["public.kept"]))
    await asyncio.sleep(0.3)
    waited = not compacting.done()
    await reading.rollback()
    await reader.close()
    await compacting

    assert waited
    assert found(server.quarters.home) == []


async def test_a_table_in_use_is_not_waited_for_at_length(
    server: Cluster, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody who came later would wait behind: it is tried again, and then left for another time."""
    monkeypatch.setattr(postgres, "TRIES", 2)
    monkeypatch.setattr(postgres, "LOCK_SECONDS", 0.1)
    async with connection.transaction():
        await connection.execute("LOCK TABLE public.kept IN ACCESS SHARE MODE")
        with pytest.raises(Unavailable, match=r"public\.kept is in use"):
            await compact(superuser(server.dsn), ["public.kept"])


async def test_a_server_that_is_away_is_told(tmp_path: Path) -> None:
    """As everywhere."""
    with pytest.raises(Unavailable):
        await compact(f"postgresql://postgres@/ibid?host={tmp_path}", [])
