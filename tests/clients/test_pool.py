"""No wait for Postgres is without an end."""

import asyncio
from datetime import timedelta
from pathlib import Path

import asyncpg
import pytest

from app.clients import pool as module
from app.clients.pool import Pool, open_pool
from tests.fakes.postgres import postgres_server


async def test_opening_touches_nothing() -> None:
    """A pool opens without a server; the first statement finds out."""
    async with open_pool("postgresql://ibid@/ibid?host=/nowhere") as pool:
        with pytest.raises(FileNotFoundError):
            await pool.fetchval("SELECT 1")


async def test_waiting_for_a_free_connection_ends(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """When all connections are taken, the next caller is told so within the deadline."""
    monkeypatch.setattr(module, "ACQUIRE_SECONDS", 0.1)
    async with open_pool(dsn, max_size=1) as pool, pool.acquire():
        with pytest.raises(TimeoutError):
            await pool.fetchval("SELECT 1")


async def test_statements_have_a_deadline(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A statement that takes too long is cancelled on the server too."""
    monkeypatch.setattr(module, "COMMAND_SECONDS", 0.1)
    async with open_pool(dsn, max_size=1) as pool:
        with pytest.raises(TimeoutError):
            await pool.execute("SELECT pg_sleep(30)")
        assert (
            await pool.fetchval("SELECT count(*) FROM pg_stat_activity WHERE query ~ '^SELECT pg_sleep'") == 0
        )


async def test_closing_ends_in_time(dsn: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that is not given back cannot hold up the shutdown."""
    monkeypatch.setattr(module, "CLOSE_SECONDS", 0.2)
    async with open_pool(dsn) as pool:
        kept = await pool.acquire()
    with pytest.raises(asyncpg.InterfaceError):
        await kept.fetchval("SELECT 1")


async def test_a_hung_server_does_not_hold_up_who_gave_up(settled: Path) -> None:
    """A deadline in the middle of a statement is over when it is over: calling the statement off is not
    waited for, nor told instead of it; once the server is back the pool works as before."""
    with postgres_server(settled) as server:
        async with open_pool(server.dsn, max_size=2) as pool:
            await pool.fetchval("SELECT 1")
            server.stop_answering()
            with pytest.raises(TimeoutError):
                async with asyncio.timeout(0.2):
                    await pool.fetchval("SELECT 2")
            asking = asyncio.create_task(pool.fetchval("SELECT 3"))
            await asyncio.sleep(0.1)
            asking.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asking
            server.resume()
            assert await pool.fetchval("SELECT 4") == 4


async def test_times_are_utc_and_aware(pool: Pool) -> None:
    """Whatever the server's zone, times come as aware UTC."""
    assert (await pool.fetchval("SELECT now()")).utcoffset() == timedelta()
    assert await pool.fetchval("SHOW timezone") == "UTC"


async def test_closed_connections_are_replaced(pool: Pool, dsn: str) -> None:
    """Connections that the server dropped are noticed, and the next statements have new ones."""
    async with pool.acquire(), pool.acquire():
        pass
    admin = await asyncpg.connect(dsn)
    ended = await admin.fetch(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    await admin.close()
    assert len(ended) == 2
    await asyncio.sleep(0.05)
    assert await asyncio.gather(*(pool.fetchval("SELECT 1") for _ in range(5))) == [1] * 5


async def test_driver_is_ours_to_subclass(pool: Pool) -> None:
    """Stores may type against asyncpg's own pool."""
    assert isinstance(pool, asyncpg.Pool)


async def test_a_transaction_left_open_is_rolled_back(dsn: str) -> None:
    """Whoever gets the connection next begins anew, although no statement undoes what the last one set."""
    async with open_pool(dsn, max_size=1) as pool:
        async with pool.acquire() as connection:
            await connection.transaction().start()
            await connection.execute("CREATE TABLE public.half (n int)")
        assert await pool.fetchval("SELECT to_regclass('public.half')") is None
        assert await pool.fetchval("SELECT pg_current_xact_id_if_assigned()") is None


async def test_giving_back_costs_no_statement(dsn: str) -> None:
    """Postgres saw what was asked and nothing else."""
    last = "SELECT query FROM pg_stat_activity WHERE pid = $1"
    async with open_pool(dsn, max_size=1) as pool, open_pool(dsn, max_size=1) as other:
        pid = await pool.fetchval("SELECT pg_backend_pid()")
        assert await other.fetchval(last, pid) == "SELECT pg_backend_pid()"
