"""Waiting for documents to be read."""

import asyncio
import time
from pathlib import Path

import asyncpg
import pytest

from app.db.documents import TICK, DocumentStore, State, Watch
from app.db.pool import Pool, open_pool
from app.errors import Unavailable
from tests.fakes.uploads import ALICE, read, upload


async def test_ready_ends_the_wait(pool: Pool, tmp_path: Path) -> None:
    """Within the longest pause of its being ready."""
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    wait = asyncio.create_task(store.finished(document.id, seconds=30))
    await asyncio.sleep(0.1)
    await read(pool, document.id)
    async with asyncio.timeout(10):
        found = await wait
    assert found is not None
    assert found.state is State.READY


async def test_time_up_tells_how_it_stands(pool: Pool, tmp_path: Path) -> None:
    """Still being read; no longer than was asked for."""
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    found = await store.finished(document.id, seconds=0.2)
    assert found is not None
    assert found.state is State.PROCESSING


async def test_a_stop_ends_all_waits(pool: Pool, tmp_path: Path) -> None:
    """The one under way and those that begin later tell how it stands, at once."""
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    wait = asyncio.create_task(store.finished(document.id, seconds=30))
    await asyncio.sleep(0.1)
    store.hurry()
    async with asyncio.timeout(5):
        found = [await wait, await store.finished(document.id, seconds=30)]
    assert [each.state for each in found if each] == [State.PROCESSING, State.PROCESSING]


async def test_a_removed_one_is_gone(pool: Pool, tmp_path: Path) -> None:
    """Who waits for it hears so at once."""
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    await store.remove(ALICE, document.id)
    assert await store.finished(document.id, seconds=30) is None


async def test_hundreds_wait_with_few_looks(dsn: str, tmp_path: Path) -> None:
    """Waiters share their looks: a pool of two is enough for three hundred, and mostly idle."""
    async with open_pool(dsn, max_size=2) as small:
        store = DocumentStore(small)
        document, _ = await store.admit(ALICE, upload(tmp_path))
        looks = 0
        look = store._watch._look_for_all

        async def counted() -> None:
            nonlocal looks
            looks += 1
            await look()

        store._watch._look_for_all = counted  # type: ignore[method-assign] # counts the real one's calls
        started = time.monotonic()
        waits = [asyncio.create_task(store.finished(document.id, seconds=30)) for _ in range(300)]
        await asyncio.sleep(1)
        await read(small, document.id)
        found = await asyncio.gather(*waits)
    assert {document.state for document in found if document} == {State.READY}
    assert looks <= (time.monotonic() - started) / TICK + 1


async def written(pool: Pool, document_id: str) -> bool:
    """The document read in, as a worker does it: tried again while connections are still dying."""
    try:
        await read(pool, document_id)
    except Unavailable:
        return False
    return True


async def test_an_outage_in_the_middle_is_bridged(pool: Pool, tmp_path: Path) -> None:
    """Postgres may restart while somebody waits."""
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    wait = asyncio.create_task(store.finished(document.id, seconds=30))
    await asyncio.sleep(0.05)
    await pool.expire_connections()
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
        await pool.execute(kill)
    async with asyncio.timeout(10):
        while not await written(pool, document.id):  # noqa: ASYNC110 - nobody tells when the last one has died
            await asyncio.sleep(0.05)
    found = await wait
    assert found is not None
    assert found.state is State.READY


async def test_an_outage_to_the_end_is_told(pool: Pool) -> None:
    """`Unavailable` for everybody who waits, none of them long after the time was up."""
    watch = Watch(pool)
    await pool.close()
    ends = await asyncio.gather(
        *(watch.finished("a", seconds=0.1) for _ in range(50)), return_exceptions=True
    )
    assert all(isinstance(end, Unavailable) for end in ends)


async def test_nobody_left_waiting_is_remembered(pool: Pool) -> None:
    """A cancelled wait leaves nothing behind."""
    watch = Watch(pool)
    task = asyncio.create_task(watch.finished("a", seconds=30))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait({task})
    assert not watch._waiting
