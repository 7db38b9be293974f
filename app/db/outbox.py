"""The outbox: Qdrant and Chroma follow the record through `ibid.outbox`, which triggers fill.

An entry means "copy this item as the record has it now"; one without an item means everything (a refill, page
by page; its entry holds the cursor). One process drains an engine: the session with its advisory lock also
deletes the entries. A failing engine is left alone for some seconds, and no writer waits for it. An engine
with another identity, position, number of rows, or vectors is refilled; its position is read before it is
overwritten, so that a write never hides that older files were restored.

Services with engines of their own on one Postgres would refill them for ever, so a service claims its engines
by an advisory lock: exclusively if embedded, else shared. Times are in seconds. Raises `StartError` for an
engine claimed by another.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Protocol, TypeAlias

import asyncpg
import structlog

from app.db.jobs import is_open
from app.db.pool import DOWN, Pool, postgres_faults
from app.db.rows import Connection
from app.errors import RetrievalError, StartError, Unavailable
from app.settings import Settings
from app.types import Probe

RefillCursor: TypeAlias = tuple[str, ...]
"""Progress of a refill: its part and the key of the last row taken; () at the beginning."""
BATCH = 256
"""Entries per step."""
POLL_SECONDS = 1.0
"""Seconds between two polls for entries; `wait_drained` wakes the drainer at once."""
RETRY_COLLECTION_SECONDS = 15.0
"""Pause before a failed collection is retried, while others work."""
RETRY_ENGINE_SECONDS = 5.0
"""Pause before an engine is retried after all its collections failed."""
COMPARE_SECONDS = 300.0
"""Seconds between two comparisons of an engine with the record."""
LOG_SECONDS = 5.0
"""Seconds between two log lines of a refill."""
UNLOCK_SECONDS = 2.0
LOOK_SECONDS = 0.01
"""First pause of `wait_drained` between two looks; it doubles, up to 0.25 s."""

COUNTED_MOST = 10_000
"""Most entries counted, so that a long outbox costs no more to look at than a short one."""

DIFFERS = "it holds more or fewer rows than the record"
DAMAGED = "it holds other vectors than the record"
REPLACED = "its files were replaced by others"
LOST = "files were lost"
UNLOCK = "SELECT pg_advisory_unlock(hashtextextended($1, 0))"
NEXT_ENTRIES = """
    SELECT seq, collection, item FROM ibid.outbox
    WHERE engine = $1 AND item <> '' AND collection <> ALL($3) ORDER BY seq LIMIT $2
"""
LAST_REFILL = """
    SELECT seq, coalesce(cursor, '{}') AS cursor FROM ibid.outbox
    WHERE engine = $1 AND item = '' ORDER BY seq DESC LIMIT 1
"""
SAVE_CURSOR = "UPDATE ibid.outbox SET cursor = $2 WHERE seq = $1"
DELETE_ENTRIES = "DELETE FROM ibid.outbox WHERE seq = ANY($1)"
DELETE_REFILLS = "DELETE FROM ibid.outbox WHERE engine = $1 AND item = '' AND seq <= $2"
SAVE_POSITION = """
    INSERT INTO ibid.engine AS known (name, seq) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET seq = greatest(known.seq, excluded.seq)
"""
STATE = f"""
    SELECT (SELECT seq FROM ibid.engine WHERE name = $1) AS taken,
        (SELECT last_value FROM ibid.outbox_seq_seq) AS last,
        (SELECT count(*) FROM (
            SELECT FROM ibid.outbox WHERE engine = $1 AND item <> '' LIMIT {COUNTED_MOST + 1}
        ) AS few) AS waiting,
        (SELECT cursor FROM ({LAST_REFILL}) AS refill) AS cursor
"""  # noqa: S608 - a constant of ours
REFILL = """
    WITH replaced AS (DELETE FROM ibid.outbox WHERE engine = $1 AND item = '')
    INSERT INTO ibid.outbox (engine) VALUES ($1)
"""
LAST = "SELECT max(seq) FROM ibid.outbox WHERE engine = $1"
WAITING = "SELECT EXISTS (SELECT FROM ibid.outbox WHERE engine = $1 AND seq <= $2)"

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Position:
    """The database and outbox entry that an engine has followed."""

    identity: str
    """The database's identity (`db/postgres.py`)."""
    seq: int
    """The last outbox entry taken."""


class Copy(Protocol):
    @property
    def name(self) -> str:
        """The engine's name in the outbox."""

    async def position(self) -> Position | None: ...
    async def save_position(self, position: Position) -> None: ...
    async def apply(self, collection: str, items: Sequence[str]) -> None:
        """Write these items as the record has them now; delete those that are not in it."""

    async def refill_page(self, cursor: RefillCursor) -> tuple[int, RefillCursor | None]:
        """Write the rows after `cursor`; returns their number and the next cursor. After the last page it
        deletes items that are not in the record and returns None."""

    async def total(self) -> int: ...
    async def is_complete(self) -> bool:
        """True if the engine holds exactly that number."""

    async def sample_matches(self) -> bool:
        """True if randomly chosen vectors of each collection equal those of the record."""


@dataclass(frozen=True, slots=True)
class EngineState:
    """How far an engine follows the record, according to Postgres."""

    taken: int | None
    """The last entry that the engine has taken; None before the first."""
    last: int
    """The newest entry."""
    waiting: int
    """At most COUNTED_MOST + 1: more are not counted."""
    cursor: Sequence[str] | None
    """Progress of the pending refill; None if there is none."""

    @property
    def refill(self) -> bool:
        return self.cursor is not None

    @property
    def backlog(self) -> str:
        return f"more than {COUNTED_MOST:,}" if self.waiting > COUNTED_MOST else f"{self.waiting:,}"


async def state(pool: Pool, engine: str) -> EngineState:
    with postgres_faults():
        row = await pool.fetchrow(STATE, engine)
    assert row is not None  # noqa: S101 - it selects no rows but its own
    return EngineState(**row)


def progress(cursor: Sequence[str]) -> tuple[int, RefillCursor]:
    if cursor and cursor[0].isdigit():
        return int(cursor[0]), tuple(cursor[1:])
    return 0, tuple(cursor)  # an earlier version counted no rows


class Outbox:
    def __init__(self, pool: Pool, copy: Copy, identity: str, claim: "EngineClaim | None" = None) -> None:
        """`identity`: of the database (`db/postgres.py`). `claim`: checked before each drain."""
        self._claim = claim
        self._pool = pool
        self._copy = copy
        self._identity = identity
        self._wake = asyncio.Event()
        self._seq = 0
        self._lost = ""
        """Why the engine lacks entries that it had taken; "" if no loss is known."""
        self._compared = 0.0
        self._connections = self._looked = 0
        """Number of reported (re)connections, and the number up to which the engine was compared."""
        self._total = 0
        """Rows of the current refill."""
        self._logged = 0.0
        self._retry_at: dict[str, float] = {}
        """When failed collections are retried."""
        self._engine_works = True
        """True if the engine took something when it was last written to."""
        self.fault: RetrievalError | Unavailable | None = None
        """Why the engine, or one of its collections, does not take what was written."""

    @property
    def name(self) -> str:
        return self._copy.name

    async def run(self) -> None:
        failed = False
        while True:
            self._wake.clear()
            try:
                await self.drain()
            except (RetrievalError, Unavailable) as error:
                if not failed:
                    log.warning("engine does not follow", engine=self._copy.name, reason=error.detail)
                failed, self.fault = True, error
                await asyncio.sleep(RETRY_ENGINE_SECONDS)
                continue
            if failed:
                log.info("engine follows again", engine=self._copy.name)
            failed = False
            if not self._waiting_for_retry():
                self.fault = None
            with suppress(TimeoutError):
                async with asyncio.timeout(POLL_SECONDS):
                    await self._wake.wait()

    def report_loss(self, reason: str = LOST) -> None:
        """The engine lost entries: the next step requests a refill from the first row."""
        self._lost = reason
        self._wake.set()

    def report_connection(self) -> None:
        self._connections += 1
        self._wake.set()

    async def drain(self) -> None:
        """Apply all entries, after a comparison if one is due. Also returns while entries of a failed
        collection are skipped or another process drains: see `pending`."""
        if self._claim and self._copy.name in await self._claim.missing():
            raise Unavailable("another service on this Postgres has an engine of its own")
        now, connections = time.monotonic(), self._connections
        pause = COMPARE_SECONDS if connections == self._looked else RETRY_ENGINE_SECONDS
        due = bool(self._lost) or not self._compared or now - self._compared > pause
        if due and not self._lost:
            await self._ask_refill_because(await self.refill_reason())
        await self._take_entries()
        if due:
            self._compared = now  # an engine that cannot count in time is not asked again at once
            differs = await self.differs()
            if differs is None:
                self._compared = now - COMPARE_SECONDS + RETRY_ENGINE_SECONDS
            await self._ask_refill_because(differs or "")
            self._looked = connections
            await self._take_entries()

    async def compare(self) -> None:
        self._compared = 0.0
        await self.drain()

    async def _ask_refill_because(self, reason: str) -> None:
        if reason:
            log.warning("engine is refilled from the record", engine=self._copy.name, reason=reason)
            await self.ask_refill()

    async def _check_loss(self) -> None:
        """Request a refill if files were lost. Under an empty record it is done here, at once."""
        if not (reason := self._lost):
            return
        if await self._copy.total():
            await self._ask_refill_because(reason)
        else:
            cursor: RefillCursor | None = ()
            while cursor is not None:
                _, cursor = await self._copy.refill_page(cursor)
        self._lost = ""

    async def _take_entries(self) -> None:
        found = await state(self._pool, self._copy.name)
        if not (found.waiting or found.refill or self._lost):
            return
        async with self._drain_lock() as holder:
            if holder:  # before the lock another drainer may still have moved the position
                self._seq = (await state(self._pool, self._copy.name)).taken or 0
            while holder and await self._step(holder):
                pass

    async def refill_reason(self) -> str:
        """Why the engine's position requires a refill from the first row; "" if it does not, or one is
        pending."""
        found, position = await state(self._pool, self._copy.name), await self._copy.position()
        last = (await state(self._pool, self._copy.name)).last  # with entries made and taken meanwhile
        if found.cursor == []:
            return ""
        if position is None:
            begun = (
                found.refill or found.taken is not None or (not found.waiting and await self._copy.total())
            )
            return "it has no position" if begun else ""
        if position.identity != self._identity:
            return "it follows another database"
        if position.seq < (found.taken or 0):
            return "its files are older than the record"
        return "its files are newer than the record" if position.seq > last else ""

    async def differs(self) -> str | None:
        """How the engine differs from the record (number of rows, or a sample of vectors); "" if it does not;
        None if that is unknown, as while it has entries to take."""
        before = await state(self._pool, self._copy.name)
        if before.waiting or before.refill:
            return None
        if not await self._copy.is_complete():
            reason = DIFFERS
        elif not await self._copy.sample_matches():
            reason = DAMAGED
        else:
            return ""
        after = await state(self._pool, self._copy.name)
        return reason if replace(after, last=before.last) == before else None  # `last` counts both engines

    async def ask_refill(self) -> None:
        with postgres_faults():
            await self._pool.execute(REFILL, self._copy.name)

    async def wait_drained(self, seconds: float) -> bool:
        pause = LOOK_SECONDS
        self._wake.set()
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                with postgres_faults():
                    last = await self._pool.fetchval(LAST, self._copy.name)
                    while last and await self._pool.fetchval(WAITING, self._copy.name, last):
                        await asyncio.sleep(pause)
                        pause = min(2 * pause, 0.25)
                return True
        return False

    async def facts(self) -> dict[str, str | int | float]:
        """For /readyz: empty while the engine is up to date."""
        now = await state(self._pool, self._copy.name)
        found: dict[str, str | int | float] = {}
        if now.waiting:
            found["waiting"] = now.backlog if now.waiting > COUNTED_MOST else now.waiting
        if now.cursor is not None:
            total = self._total or await self._copy.total()
            found["refill"] = f"{progress(now.cursor)[0]:,} of {total:,} rows" if now.cursor else "waits"
        return found

    async def pending(self) -> str:
        """A message for people on what the engine has yet to take; "" if it is up to date."""
        now = await state(self._pool, self._copy.name)
        parts = (f"{now.backlog} entries" if now.waiting else "", "a refill" if now.refill else "")
        said = " and ".join(part for part in parts if part)
        return f"{self._copy.name} has yet to take {said}" if said else ""

    @asynccontextmanager
    async def _drain_lock(self) -> AsyncIterator[Connection | None]:
        key, held = f"ibid.outbox\x1f{self._copy.name}", None
        with postgres_faults():
            async with self._pool.acquire() as holder:
                try:
                    held = await holder.fetchval(TRY_LOCK, key)
                    yield holder if held else None
                finally:
                    if held is not False:
                        await unlock(holder, key)

    async def _step(self, holder: Connection) -> bool:
        """Apply a batch of entries and a page of the refill, if any; False: nothing is left to do."""
        await self._check_loss()
        with postgres_faults():
            entries = await holder.fetch(NEXT_ENTRIES, self._copy.name, BATCH, self._waiting_for_retry())
            if not entries and not self._engine_works:  # the engine failed, not single collections
                entries = await holder.fetch(NEXT_ENTRIES, self._copy.name, BATCH, [])
            refill = await holder.fetchrow(LAST_REFILL, self._copy.name)
        fault = None
        if entries:
            done, fault = await self._apply(entries)
            if done:
                await self._check_position(refill)
                await self._delete_entries(holder, entries[-1]["seq"], DELETE_ENTRIES, done)
        if refill:
            await self._refill_page(holder, refill)
            self._engine_works = True
        if not self._engine_works and fault:
            raise fault
        return bool(entries or refill)

    async def _apply(
        self, entries: Sequence[asyncpg.Record]
    ) -> tuple[list[int], RetrievalError | Unavailable | None]:
        """Apply entries; returns the numbers of those taken, and the first fault. A collection that fails is
        skipped for a while, so that it delays no others and no refill. If all fail, the engine counts as
        failed, as always for Chroma, whose entries are of one collection."""
        items: defaultdict[str, dict[str, None]] = defaultdict(dict)
        for entry in entries:
            items[entry["collection"]][entry["item"]] = None
        failed: dict[str, RetrievalError | Unavailable] = {}
        for collection, some in items.items():
            try:
                await self._copy.apply(collection, list(some))
            except (RetrievalError, Unavailable) as error:
                failed[collection] = error
        self._retry_at |= dict.fromkeys(failed, time.monotonic() + RETRY_COLLECTION_SECONDS)
        self._engine_works = len(failed) < len(items)
        self.fault = next(iter(failed.values()), self.fault)
        for collection, fault in failed.items():
            log.warning(
                "a collection does not follow",
                engine=self._copy.name,
                collection=collection,
                reason=fault.detail,
            )
        taken = [entry["seq"] for entry in entries if entry["collection"] not in failed]
        return taken, next(iter(failed.values()), None)

    def _waiting_for_retry(self) -> list[str]:
        now = time.monotonic()
        self._retry_at = {name: until for name, until in self._retry_at.items() if until > now}
        return list(self._retry_at)

    async def _refill_page(self, holder: Connection, entry: asyncpg.Record) -> None:
        seq, (done, cursor) = entry["seq"], progress(entry["cursor"])
        try:
            if not (cursor and self._total):
                self._total = await self._copy.total()
            if not cursor:
                # Tells a restart that the engine holds what the cursor says; without it the refill starts
                # over.
                with suppress(RetrievalError, Unavailable):
                    await self._copy.save_position(Position(self._identity, self._seq))
            rows, after = await self._copy.refill_page(cursor)
        except BaseException:
            self._compared = 0.0  # a server may have lost data without reporting it
            raise
        done += rows
        if after is None:
            await self._check_position(entry)
            await self._delete_entries(holder, seq, DELETE_REFILLS, self._copy.name, seq)
            self._total = 0
            log.info("engine refilled", engine=self._copy.name, rows=done)
            return
        with postgres_faults():
            await holder.execute(SAVE_CURSOR, seq, [str(done), *after])
        if time.monotonic() - self._logged > LOG_SECONDS:
            self._logged = time.monotonic()
            log.info("engine is being refilled", engine=self._copy.name, rows=done, of=self._total)

    async def _delete_entries(self, holder: Connection, seq: int, statement: str, *values: object) -> None:
        """Delete entries and save the position in both stores; in the engine first, since its position must
        never look older than it is. Entries are not committed in order."""
        self._seq = max(self._seq, seq)
        self._pool.check_room()
        with postgres_faults():
            async with holder.transaction():
                await holder.execute(statement, *values)
                await holder.execute(SAVE_POSITION, self._copy.name, self._seq)
                # Only the session that holds the drain lock gets here, so no other process saves a position.
                await self._copy.save_position(Position(self._identity, self._seq))

    async def _check_position(self, refill: asyncpg.Record | None) -> None:
        """Request a refill if the position that is about to be overwritten is older than the last one saved.
        `refill`: the pending one. One that has not begun restores everything, so nothing is asked then."""
        if not self._seq or (refill and not refill["cursor"]):
            return
        found = await self._copy.position()
        if found is None or found.identity != self._identity or found.seq < self._seq:
            await self._ask_refill_because(REPLACED)


async def unlock(holder: Connection, key: str) -> None:
    """Release the lock. If the connection does not answer it is ended, and the lock with it."""
    given_up = False
    try:
        with suppress(*DOWN):
            await holder.execute(UNLOCK, key, timeout=UNLOCK_SECONDS)
            given_up = True
    finally:
        if not given_up:
            with suppress(*DOWN):
                holder.terminate()


class EngineProbe:
    def __init__(self, probe: Probe, outbox: Outbox) -> None:
        self._probe = probe
        self._outbox = outbox
        self.name = probe.name

    async def check(self) -> Mapping[str, str | int | float]:
        facts = await self._probe.check()
        if self._outbox.fault:
            raise self._outbox.fault.with_traceback(None)
        with suppress(Unavailable):
            facts = {**facts, **await self._outbox.facts()}
        return facts


CLAIM_TRIES = 20
"""Attempts of a start: the other service may just be ending."""
CLAIM_RETRY_SECONDS = 0.25
TEST_SECONDS = 5.0
TRY_LOCK = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))"
TRY_SHARED_LOCK = "SELECT pg_try_advisory_lock_shared(hashtextextended($1, 0))"
KEEPALIVE = "SET tcp_keepalives_idle = 10; SET tcp_keepalives_interval = 5; SET tcp_keepalives_count = 3"
"""So that Postgres soon notices when a service's machine is gone, and releases its claim."""
SERVERS = {"qdrant": "QDRANT_URL", "chroma": "CHROMA_URL"}


class EngineClaim:
    def __init__(self, pool: Pool, engines: Mapping[str, bool]) -> None:
        """`engines`: whether each is embedded, by name."""
        self._pool = pool
        self._engines = engines
        self._connection: Connection | None = None
        self._missing = [*engines]
        self._taking = asyncio.Lock()

    async def missing(self) -> list[str]:
        """Engines that another service has claimed; claims them again after the connection was lost. Raises
        `Unavailable`."""
        async with self._taking:
            if not await self._holds():
                await self.release()
                self._missing = [*self._engines]
            if self._missing:
                with postgres_faults():
                    await self._take()
            return list(self._missing)

    async def _holds(self) -> bool:
        connection = self._connection
        if connection is None or not is_open(connection):
            return False
        try:
            await connection.fetchval("SELECT 1", timeout=TEST_SECONDS)
        except DOWN:
            return False
        return True

    async def _take(self) -> None:
        if self._connection is None:
            self._connection = await self._pool.acquire()
            await self._connection.execute(KEEPALIVE)
        for name in list(self._missing):
            lock = TRY_LOCK if self._engines[name] else TRY_SHARED_LOCK
            if await self._connection.fetchval(lock, f"ibid.engine\x1f{name}"):
                self._missing.remove(name)

    async def release(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(*DOWN):
                connection.terminate()
            with suppress(*DOWN):
                await self._pool.release(connection)


@asynccontextmanager
async def claim_engines(settings: Settings, pool: Pool) -> AsyncIterator[EngineClaim | None]:
    """A service's claim until the end of the block; None: its Postgres is embedded, so not shared."""
    if settings.postgres.dsn is None:
        yield None
        return
    engines = {"qdrant": settings.qdrant.url is None, "chroma": settings.chroma.url is None}
    claim = EngineClaim(pool, engines)
    try:
        for _ in range(CLAIM_TRIES):
            if not (taken := await claim.missing()):
                break
            await asyncio.sleep(CLAIM_RETRY_SECONDS)
        else:
            raise StartError(claim_refusal(taken))
        yield claim
    finally:
        await claim.release()


def claim_refusal(engines: list[str]) -> str:
    names = " and ".join(name.capitalize() for name in engines)
    wanted = " and ".join(SERVERS[name] for name in engines)
    return (
        f"another service on this Postgres uses {names}, and one of the two has it embedded, in its own data"
        f" folder. Set {wanted} to one server for all services, or stop the other service"
    )
