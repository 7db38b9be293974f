"""The one door for writes."""

import asyncio

import asyncpg
import pytest

from app.db.pool import Pool
from app.db.rows import transaction
from app.errors import Missing, NoRoom, Unavailable

ADD = "INSERT INTO ibid.tenant (id) VALUES ('new')"
COUNT = "SELECT count(*) FROM ibid.tenant WHERE id = 'new'"


async def test_commits_at_the_end(pool: Pool) -> None:
    """What was written is there after it."""
    async with transaction(pool) as connection:
        await connection.execute(ADD)
    assert await pool.fetchval(COUNT) == 1


async def test_an_error_of_the_body_rolls_back_and_passes(pool: Pool) -> None:
    """All or none; our own errors keep their kind."""

    async def write() -> None:
        async with transaction(pool) as connection:
            await connection.execute(ADD)
            raise Missing

    with pytest.raises(Missing):
        await write()
    assert await pool.fetchval(COUNT) == 0


async def test_cancellation_rolls_back(pool: Pool) -> None:
    """A cancelled writer leaves nothing, and its connection serves the next."""
    started = asyncio.Event()

    async def write() -> None:
        async with transaction(pool) as connection:
            await connection.execute(ADD)
            started.set()
            await asyncio.sleep(60)

    task = asyncio.create_task(write())
    await started.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert await pool.fetchval(COUNT) == 0


@pytest.mark.parametrize(
    ("fault", "kind", "said"),
    [
        pytest.param(asyncpg.DiskFullError("could not extend file"), NoRoom, "no room", id="disk full"),
        pytest.param(asyncpg.AdminShutdownError("ended"), Unavailable, "does not answer", id="shutdown"),
    ],
)
async def test_faults_of_postgres_are_told(
    pool: Pool, fault: Exception, kind: type[Unavailable], said: str
) -> None:
    """A full disk is named: waiting would not help."""
    with pytest.raises(kind, match=said) as told:
        async with transaction(pool):
            raise fault
    assert type(told.value) is kind
