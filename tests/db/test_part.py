"""A part's lock, version and jobs."""

import asyncio

import pytest

from app.db.documents import Part, bump, enqueue, hold, home
from app.db.pool import Pool
from app.db.rows import transaction
from app.types import Scope

HERE = Part("acme", "alice", "s1")


@pytest.mark.parametrize(
    ("session_id", "part"),
    [
        pytest.param("s1", Part("acme", "alice", "s1"), id="session"),
        pytest.param(None, Part("acme", "", ""), id="global"),
    ],
)
def test_home(session_id: str | None, part: Part) -> None:
    """A session is its owner's; what is shared has no owner."""
    assert home(Scope(tenant="acme", owner="alice"), session_id) == part


async def test_writers_of_one_part_take_turns(pool: Pool) -> None:
    """The second waits until the first has committed; another part's writer does not."""
    holding, release, order = asyncio.Event(), asyncio.Event(), list[str]()

    async def first() -> None:
        async with transaction(pool) as connection:
            await hold(connection, HERE)
            holding.set()
            await release.wait()
            order.append("first")

    async def write(name: str, part: Part) -> None:
        async with transaction(pool) as connection:
            await hold(connection, part)
            order.append(name)

    async with asyncio.TaskGroup() as group:
        group.create_task(first())
        await holding.wait()
        group.create_task(write("second", HERE))
        await write("elsewhere", Part("acme", "alice", "s2"))
        await asyncio.sleep(0.05)
        release.set()
    assert order == ["elsewhere", "first", "second"]


async def test_versions_grow_by_one(pool: Pool) -> None:
    """From nothing, and under writers at the same moment."""

    async def change() -> None:
        async with transaction(pool) as connection:
            await bump(connection, HERE)

    await asyncio.gather(*(change() for _ in range(5)))
    assert await pool.fetchval("SELECT version FROM ibid.part") == 5


async def test_a_job_exists_if_its_transaction_commits(pool: Pool) -> None:
    """What is rolled back leaves no work."""

    async def write(*, fails: bool) -> None:
        async with transaction(pool) as connection:
            await enqueue(connection, "ingest", "d", HERE)
            if fails:
                raise LookupError

    with pytest.raises(LookupError):
        await write(fails=True)
    assert await pool.fetchval("SELECT count(*) FROM ibid.job") == 0
    await write(fails=False)
    assert await pool.fetchval("SELECT count(*) FROM ibid.job") == 1
