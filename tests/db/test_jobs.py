"""The job queue: leases and notifications."""

import asyncio
import time
from collections import Counter

import pytest

from app.db import jobs as module
from app.db.documents import DocumentPart, enqueue
from app.db.jobs import BROKE, Job, JobStore, Listener
from app.db.pool import Pool, open_pool
from app.db.rows import transaction
from app.errors import Unavailable

HERE = DocumentPart("acme", "alice", "s1")
LONG = 60.0
SHORT = 0.05


async def add(pool: Pool, *documents: str, kind: str = "ingest", delay: float = 0) -> None:
    async with transaction(pool) as connection:
        for document in documents:
            await enqueue(connection, kind, document, HERE, delay_seconds=delay)


async def claimed(store: JobStore, *, lease: float = LONG) -> Job:
    job = await store.claim(lease_seconds=lease)
    assert job is not None
    return job


async def test_two_workers_never_have_one_job(dsn: str) -> None:
    async with open_pool(dsn, max_size=4) as one, open_pool(dsn, max_size=4) as two:
        await add(one, *(f"d{n}" for n in range(40)))
        seen: list[str] = []

        async def work(store: JobStore) -> None:
            while job := await store.claim(lease_seconds=LONG):
                seen.append(job.document_id)
                await store.finish(job)

        await asyncio.gather(*(work(JobStore(pool)) for pool in (one, two) for _ in range(4)))
    assert Counter(seen) == Counter(f"d{n}" for n in range(40))


async def test_jobs_of_one_document_run_one_after_the_other(pool: Pool) -> None:
    """A purge does not overtake the reading that it cleans up after, not even one put off."""
    await add(pool, "a")
    await add(pool, "a", kind="purge")
    store = JobStore(pool)
    reading = await claimed(store)
    assert await store.claim(lease_seconds=LONG) is None
    await store.retry(reading, delay_seconds=30)
    assert await store.claim(lease_seconds=LONG) is None
    await pool.execute("UPDATE ibid.job SET run_after = now()")
    await store.finish(await claimed(store))
    assert (await claimed(store)).kind == "purge"


async def test_racing_claims_of_one_document_keep_its_order(dsn: str) -> None:
    """Also when many ask at the same moment: never two jobs of one document at once."""
    async with open_pool(dsn, max_size=8) as pool:
        for _ in range(5):
            await add(pool, "a")
            await add(pool, "a", kind="purge")
            claims = await asyncio.gather(*(JobStore(pool).claim(lease_seconds=LONG) for _ in range(8)))
            assert [job.kind for job in claims if job] == ["ingest"]
            await pool.execute("DELETE FROM ibid.job")


async def test_a_lease_that_ran_out_is_another_s(pool: Pool) -> None:
    """The job of a dead worker is taken again, counted as lost; the dead can do nothing to it any more."""
    await add(pool, "a")
    dead, live = JobStore(pool), JobStore(pool)
    lost = await claimed(dead, lease=SHORT)
    await asyncio.sleep(2 * SHORT)
    job = await claimed(live)
    assert (job.attempts, job.lost) == (2, 1)
    assert not await dead.beat(lost, lease_seconds=LONG)
    await dead.finish(lost)
    await dead.retry(lost, delay_seconds=0)
    assert await live.beat(job, lease_seconds=LONG)


async def test_an_outage_is_no_death(pool: Pool) -> None:
    await add(pool, "a")
    store = JobStore(pool)
    await claimed(store, lease=SHORT)
    await asyncio.sleep(2 * SHORT)
    job = await claimed(store)
    assert (job.attempts, job.lost) == (2, 0)


async def test_work_that_broke_off_comes_back_marked(pool: Pool) -> None:
    await add(pool, "a")
    store = JobStore(pool)
    await store.broke(await claimed(store), delay_seconds=30)
    assert await store.claim(lease_seconds=LONG) is None
    await pool.execute("UPDATE ibid.job SET run_after = now()")
    assert (await claimed(store)).lost == BROKE


@pytest.mark.parametrize(
    ("lost", "ago", "taken"),
    [(2, 1, True), (3, 1, False), (3, 9, True), (6, 9, False), (6, 65, True), (8, 301, True)],
    ids=["third at once", "fourth waits", "8 s", "seventh waits", "64 s", "never over five minutes"],
)
async def test_over_whom_workers_die_rests_ever_longer(pool: Pool, lost: int, ago: int, taken: bool) -> None:
    """So that a file that kills costs few starts, and one that was near by chance is not lost."""
    await add(pool, "a")
    await claimed(JobStore(pool))
    ended = "UPDATE ibid.job SET lost = $1, lease_until = now() - make_interval(secs => $2)"
    await pool.execute(ended, lost, float(ago))
    job = await JobStore(pool).claim(lease_seconds=LONG)
    assert (job is not None) == taken
    assert job is None or job.lost == lost + 1


async def test_a_beat_keeps_the_lease(pool: Pool) -> None:
    await add(pool, "a")
    store = JobStore(pool)
    job = await claimed(store, lease=SHORT)
    assert await store.beat(job, lease_seconds=LONG)
    await asyncio.sleep(2 * SHORT)
    assert await store.claim(lease_seconds=LONG) is None


async def test_leases_that_are_ended_are_another_s(pool: Pool) -> None:
    """A start after a crash need not wait for them; the deaths are counted all the same."""
    await add(pool, "a")
    await claimed(JobStore(pool))
    store = JobStore(pool)
    await store.expire()
    assert (await claimed(store)).lost == 1


async def test_postgres_away_is_told(pool: Pool) -> None:
    await pool.close()
    with pytest.raises(Unavailable):
        await JobStore(pool).claim(lease_seconds=LONG)


RING = "NOTIFY bell_test"
NEVER = 30.0
SOON = 10.0
"""Far from a poll that never comes, and patient with a busy machine."""


async def waited(listener: Listener, seconds: float = 30) -> float:
    started = time.monotonic()
    await listener.wait(seconds=seconds)
    return time.monotonic() - started


async def test_a_notification_ends_the_wait(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL", NEVER)
    async with Listener(pool, "bell_test") as listener:
        wait = asyncio.create_task(waited(listener))
        await asyncio.sleep(0.05)
        await pool.execute(RING)
        assert await wait < SOON


async def test_listens_again_after_the_connection_broke(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "POLL", NEVER)
    async with Listener(pool, "bell_test") as listener:
        kill = (
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            " WHERE query LIKE 'LISTEN%' AND datname = current_database()"
        )
        assert len(await pool.fetch(kill)) == 1
        await asyncio.sleep(0.05)
        wait = asyncio.create_task(waited(listener))
        await asyncio.sleep(0.2)
        await pool.execute(RING)
        assert await wait < SOON
