"""The listener of the queue."""

import asyncio
import time

import asyncpg
import pytest

from app.db import jobs as module
from app.db.jobs import Listener
from app.db.pool import Pool

RING = "NOTIFY bell_test"
NEVER = 30.0
SOON = 10.0
"""Far from a poll that never comes, and patient with a busy machine."""


async def waited(listener: Listener, seconds: float = 30) -> float:
    """How long a wait took."""
    started = time.monotonic()
    await listener.wait(seconds=seconds)
    return time.monotonic() - started


async def test_a_notification_ends_the_wait(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """At once, long before the next poll."""
    monkeypatch.setattr(module, "POLL", NEVER)
    async with Listener(pool, "bell_test") as listener:
        wait = asyncio.create_task(waited(listener))
        await asyncio.sleep(0.05)
        await pool.execute(RING)
        assert await wait < SOON


async def test_a_ring_that_nobody_waited_for_is_remembered(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between a look at the queue and the wait nothing is lost; one ring is one ring."""
    monkeypatch.setattr(module, "POLL", NEVER)
    async with Listener(pool, "bell_test") as listener:
        await pool.execute(RING)
        assert await waited(listener) < SOON
        assert await waited(listener, 0.2) >= 0.2


@pytest.mark.parametrize("seconds", [0.1, 30], ids=["as asked", "a poll"])
async def test_silence_ends_by_itself(pool: Pool, monkeypatch: pytest.MonkeyPatch, seconds: float) -> None:
    """No longer than asked, nor than a poll."""
    monkeypatch.setattr(module, "POLL", 0.3)
    async with Listener(pool, "bell_test") as listener:
        assert min(seconds, 0.3) <= await waited(listener, seconds) < SOON


async def test_not_entered_it_polls(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """And takes no connection."""
    monkeypatch.setattr(module, "POLL", 0.1)
    assert await waited(Listener(pool, "bell_test")) < SOON
    assert pool.get_size() == 0


async def test_listens_again_after_the_connection_broke(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """A restart of Postgres costs a poll at most, not the notifications."""
    monkeypatch.setattr(module, "POLL", NEVER)
    async with Listener(pool, "bell_test") as listener:
        kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query LIKE 'LISTEN%'"
        assert len(await pool.fetch(kill)) == 1
        await asyncio.sleep(0.05)
        wait = asyncio.create_task(waited(listener))
        await asyncio.sleep(0.2)
        await pool.execute(RING)
        assert await wait < SOON


async def test_leaving_gives_the_connection_back(pool: Pool) -> None:
    """The pool can close afterwards."""
    async with Listener(pool, "bell_test"):
        assert pool.get_size() - pool.get_idle_size() == 1
    assert pool.get_size() == pool.get_idle_size()


async def test_a_connection_that_cannot_stop_listening_is_closed(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It does not go back to the pool listening: nothing there resets it."""
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.1)
    async with Listener(pool, "bell_test") as listener:
        listening = listener._connection
        assert listening
        server = listening.get_server_pid()

        async def hangs(*_: object) -> None:
            await asyncio.sleep(30)

        monkeypatch.setattr(asyncpg.Connection, "remove_listener", hangs)
    alive = "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND query LIKE 'LISTEN%'"
    until = time.monotonic() + SOON
    while await pool.fetchval(alive, server):
        assert time.monotonic() < until
        await asyncio.sleep(0.02)
    assert await pool.fetch("SELECT pg_listening_channels()") == []


async def test_postgres_away_is_silence(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """It never raises: the queue tells of an outage, the listener does not."""
    monkeypatch.setattr(module, "POLL", 0.1)
    await pool.close()
    async with Listener(pool, "bell_test") as listener:
        assert await waited(listener) < SOON
