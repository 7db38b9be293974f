"""What tells of changes in the projects' tables: in nobody's way, never the same twice, folded."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

import asyncpg
import pytest

from app.db import projects, users
from app.db.embedded import Cluster
from app.db.pool import Pool
from app.db.projects import EventStore
from app.db.rows import Connection, transaction
from app.retrieval.project_tables import CHUNK, Analysed, keep
from app.types import Scope
from tests.fakes.rows import chunked

ROW = "INSERT INTO public.conversation_index (tenant, owner, project, title) VALUES ($1, $2, $3, 'Ferry')"
THN, DAAS, ADAS = ("default", "", "THN"), ("default", "", "DAAS"), ("default", "ada", "THN")
VERSION = "SELECT version FROM ibid.project_part WHERE (tenant, owner, project) = ($1, $2, $3)"
COUNT = "SELECT count(*) FROM ibid.project_event"


@asynccontextmanager
async def tools(pool: Pool, count: int) -> AsyncIterator[list[Connection]]:
    """Others that write, each in a transaction that is open until the end."""
    async with AsyncExitStack() as stack:
        yield [await stack.enter_async_context(transaction(pool)) for _ in range(count)]


async def test_nobody_who_writes_waits_for_another(pool: Pool) -> None:
    """Two tools in opposite order, and a third beside them that is in no hurry to end."""
    async with asyncio.timeout(5), tools(pool, 3) as (one, other, slow):
        await slow.execute(ROW, *THN)
        await one.execute(ROW, *THN)
        await other.execute(ROW, *DAAS)
        await asyncio.gather(one.execute(ROW, *DAAS), other.execute(ROW, *THN))
        await pool.execute(ROW, *THN)
    assert await pool.fetchval("SELECT count(*) FROM conversation_index") == 6


async def test_what_is_committed_late_is_another_version(pool: Pool) -> None:
    """Though it was written before what is seen already; and no version comes twice."""
    seen = []
    async with tools(pool, 1) as (slow,):
        await slow.execute(ROW, *THN)
        for _ in range(3):
            await pool.execute(ROW, *THN)
            seen.append(await pool.fetchval(VERSION, *THN))
    seen.append(await pool.fetchval(VERSION, *THN))
    assert len(set(seen)) == 4


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE conversation_index SET project = 'DAAS'",
        "DELETE FROM conversation_index",
        "TRUNCATE conversation_index",
    ],
    ids=["moved", "deleted", "emptied"],
)
async def test_every_change_is_noted(pool: Pool, change: str) -> None:
    """Where the rows were."""
    await pool.execute(ROW, *THN)
    before = await pool.fetchval(VERSION, *THN)
    await pool.execute(change)
    assert await pool.fetchval(VERSION, *THN) not in {before, None}
    assert (await pool.fetchval(VERSION, *DAAS) is not None) is ("DAAS" in change)


async def test_folded_events_are_the_same_version(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is read anew for it; what is being written meanwhile counts when it is there."""
    monkeypatch.setattr(projects, "MANY", 3)
    for _ in range(4):
        await pool.execute(ROW, *THN)
    for _ in range(3):
        await pool.execute(ROW, *DAAS)
    versions = "SELECT array_agg(version ORDER BY project) FROM ibid.project_part"
    async with tools(pool, 1) as (slow,):
        await slow.execute(ROW, *THN)
        before = await pool.fetchval(versions)
        await EventStore(pool).fold()
        assert await pool.fetchval(COUNT) == 1 + 3
        assert await pool.fetchval(versions) == before
    assert await pool.fetchval(versions) != before


async def test_what_was_derived_of_rows_that_went_is_dropped(pool: Pool) -> None:
    """Whoever removed them; nothing where their ids are of another type, for then none is kept."""
    ids = await chunked(pool, Scope(), "THN", ["x", "y"])
    await keep(pool, CHUNK, {key: Analysed(b"", 1) for key in ids})
    await pool.execute("DELETE FROM public.code_index WHERE id = $1::uuid", ids[0])
    await EventStore(pool).tidy()
    assert [row["id"] for row in await pool.fetch("SELECT id FROM ibid.project_words")] == ids[1:]
    await pool.execute("ALTER TABLE public.code_index ALTER COLUMN id TYPE text")
    await EventStore(pool).tidy()


async def test_an_erasure_takes_them_along(pool: Pool) -> None:
    """His alone; and what he writes afterwards is a version that never was."""
    seen = set()
    for _ in range(3):
        await pool.execute(ROW, *ADAS)
        seen.add(await pool.fetchval(VERSION, *ADAS))
    await pool.execute(ROW, *THN)
    holding = next(each for each in users.belongings(pool) if each.name == "conversations")
    assert await holding.erase(Scope(user_id="ada")) == 3
    assert await pool.fetchval(COUNT) == 1
    for _ in range(3):
        await pool.execute(ROW, *ADAS)
        seen.add(await pool.fetchval(VERSION, *ADAS))
    assert len(seen) == 6


async def test_an_erasure_leaves_what_is_committed_after_it(pool: Pool) -> None:
    """A row that it did not see stays, and is found."""
    await pool.execute(ROW, *ADAS)
    holding = next(each for each in users.belongings(pool) if each.name == "conversations")
    async with tools(pool, 1) as (slow,):
        await slow.execute(ROW, *ADAS)
        assert await holding.erase(Scope(user_id="ada")) == 1
    assert await pool.fetchval(COUNT) == await pool.fetchval("SELECT count(*) FROM conversation_index") == 1


async def test_an_erasure_takes_what_a_writer_told_meanwhile(pool: Pool) -> None:
    """It waited for the row, and took it: nothing is left to be told of."""
    await pool.execute(ROW, *ADAS)
    holding = next(each for each in users.belongings(pool) if each.name == "conversations")
    async with tools(pool, 1) as (slow,):
        await slow.execute("UPDATE conversation_index SET title = 'anew'")
        erasing = asyncio.create_task(holding.erase(Scope(user_id="ada")))
        done, _ = await asyncio.wait({erasing}, timeout=0.3)
        assert not done
    assert await erasing == 1
    assert await pool.fetchval(COUNT) == 0


async def test_nothing_is_folded_while_somebody_is_erased(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What is folded then would be new to the erasure, and stay with his name."""
    monkeypatch.setattr(projects, "MANY", 1)
    for _ in range(2):
        await pool.execute(ROW, *ADAS)
    async with transaction(pool) as erasing:
        await projects.unfolded(erasing)
        await EventStore(pool).fold()
        assert await pool.fetchval(COUNT) == 2
    await EventStore(pool).fold()
    assert await pool.fetchval(COUNT) == 1


async def test_a_role_without_rights_on_ours_writes_theirs(dsn: str, pool: Pool, cluster: Cluster) -> None:
    """Its writes are noted; it can neither read nor write what notes them."""
    database = dsn.split("?", maxsplit=1)[0].rpartition("/")[2]
    async with AsyncExitStack() as stack:
        admin = await asyncpg.connect(cluster.quarters.dsn("postgres", database))
        stack.push_async_callback(admin.close)
        await admin.execute(f"CREATE ROLE {database}; GRANT ALL ON conversation_index TO {database}")
        stack.push_async_callback(
            admin.execute, f"RESET ROLE; DROP OWNED BY {database}; DROP ROLE {database}"
        )
        await admin.execute(f"SET ROLE {database}; SET search_path = ''")
        seen = set()
        for change in (
            "INSERT INTO public.conversation_index (project, title) VALUES ('THN', 'Ferry')",
            "UPDATE public.conversation_index SET title = 'Bread'",
            "DELETE FROM public.conversation_index",
            "TRUNCATE public.conversation_index",
        ):
            await admin.execute(change)
            seen.add(await pool.fetchval(VERSION, *THN))
        assert len(seen - {None}) == 4
        with pytest.raises(asyncpg.InsufficientPrivilegeError):
            await admin.fetch("SELECT FROM ibid.project_event")
