"""Everything stored about a person: export, erasure, and the record of erasures.

A row is a person's by `user_id`, or by `owner`, the user of the key that wrote it; every table with such a
column is listed here (a test walks the schema). Writers for a user check `ibid.user_stands` or `erased_at`
under the user's lock, so an erasure takes both locks. Afterwards the embedded server's tables are rewritten,
so that no file holds erased rows; a configured server's files are its operator's. Raises `Unavailable`.
"""

from collections.abc import AsyncIterator, Callable, Collection, Hashable, Mapping
from dataclasses import dataclass, fields, is_dataclass
from datetime import datetime
from typing import Protocol, TypeAlias

import orjson

from app.db.documents import DocumentPart, cleared, hold
from app.db.jobs import Listener
from app.db.memories import OTHERS, RAW, lock_user
from app.db.pool import Pool, postgres_faults
from app.db.postgres import compact
from app.db.project_tables import (
    CHUNK,
    CONVERSATION,
    FORGET,
    WHOSE,
)
from app.db.projects import (
    FORGET_NEXT,
    OWN,
    unfolded,
)
from app.db.rows import take_turns, transaction
from app.errors import Unavailable
from app.types import Scope, moment


class Holding(Protocol):
    """One store or source. `scope` names tenant and user_id; both methods raise `Unavailable`."""

    @property
    def name(self) -> str:
        """Its name in the receipt: memories, chat_log, answers, …"""

    def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]: ...
    async def erase(self, scope: Scope) -> int:
        """Delete all of it; returns the number of rows, 0 if repeated."""


class Files(Protocol):
    @property
    def name(self) -> str:
        """postgres, qdrant or chroma."""

    @property
    def external(self) -> bool:
        """True for a configured server, which reclaims space by itself."""

    async def compact(self, holdings: Collection[str]) -> Collection[str]:
        """Rewrite the files of these holdings, so that no file contains erased data; may take long. Returns
        those that cannot be rewritten now and must be retried under this name. Raises `Unavailable`,
        `RetrievalError`."""


@dataclass(frozen=True, slots=True)
class Mark:
    erased_at: datetime
    dirty: tuple[str, ...] = ()
    """Holdings whose files are still to be rewritten, and names of files that could not be."""
    dirty_at: datetime | None = None
    compacted_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Due:
    tenant: str
    user_id: str
    dirty: tuple[str, ...]
    dirty_at: datetime


@dataclass(frozen=True, slots=True)
class Receipt:
    """Reply of `DELETE /users/{id}`; all zeros for an unknown user."""

    user_id: str
    erased_at: datetime
    counts: Mapping[str, int]
    """Rows or documents by holding."""
    compacted: bool
    """True if no file of ours holds erased data."""
    at: datetime | None
    """When the files were last rewritten for this user."""
    by: datetime | None
    """When they will be rewritten; None: they are, or only `pending` ones remain."""
    pending: tuple[str, ...]
    """Files of ours with erased data that are too large to rewrite for now."""
    external: tuple[str, ...]
    """Configured servers, which reclaim space by themselves."""
    engines: tuple[str, ...]
    """Search engines that have yet to delete their copies; no search returns them any more."""
    cached_until: datetime | None
    """Until then a shared cache may hold results, which no request receives; None: there is no shared
    cache."""
    notes: tuple[str, ...] = ()
    """Data of other tools that the erasure does not reach."""


Evict: TypeAlias = Callable[[Callable[[tuple[str, Hashable]], bool]], None]
"""Drops the indexes whose key (source, scope) is chosen."""

CHANNEL = "ibid_erased"
"""Notified with tenant and user after an erasure, so that replicas drop the user's indexes."""
ERASED = "SELECT pg_notify($1, $2)"
# Until it ends it is due in ten minutes: if it breaks off, all of its holdings may be dirty, so they count as
# dirty for the next erasure that begins before it has ended.
BEGIN = """
    INSERT INTO ibid.memory_user AS known (tenant, user_id, version, erased_at, due_at)
    SELECT $1, $2, 1, at, at + interval '10 minutes' FROM (SELECT clock_timestamp() AS at) AS this
    ON CONFLICT (tenant, user_id) DO UPDATE SET version = known.version + 1,
        erased_at = excluded.erased_at, due_at = excluded.due_at, ended_at = NULL,
        dirty = CASE WHEN known.erased_at IS NULL OR known.ended_at IS NOT NULL THEN known.dirty
            ELSE $3::text[] END,
        dirty_at = CASE WHEN known.erased_at IS NULL OR known.ended_at IS NOT NULL THEN known.dirty_at
            ELSE excluded.erased_at END
    RETURNING erased_at
"""
# Raises the version again: a search between both statements may have found rows that were deleted later.
# Dirty holdings get a new time: a compaction in progress began before these deletes, and clears only its own.
END = """
    UPDATE ibid.memory_user SET version = version + 1,
        ended_at = CASE WHEN erased_at = $3 THEN clock_timestamp() ELSE ended_at END,
        dirty = ARRAY(SELECT DISTINCT unnest(dirty || $4::text[]) ORDER BY 1),
        dirty_at = CASE WHEN $4::text[] = '{}' THEN dirty_at ELSE clock_timestamp() END,
        due_at = CASE WHEN erased_at <> $3 AND ended_at IS NULL THEN due_at
            WHEN dirty_at IS NOT NULL OR $4::text[] <> '{}' THEN clock_timestamp() END
    WHERE tenant = $1 AND user_id = $2 RETURNING dirty, dirty_at, compacted_at
"""
PERSONAL_COLLECTIONS = (RAW,)
"""Qdrant collections with a person's vectors: an erasure waits until they are deleted there."""
# A purge is pending for a removed document, or an engine has yet to delete a vector: rewriting files now
# would keep them. Reference texts belong to the tenant; pending ones delay no erasure.
DUE = """
    SELECT tenant, user_id, CASE WHEN ended_at IS NULL THEN $2::text[] ELSE dirty END AS dirty,
        coalesce(dirty_at, erased_at) AS dirty_at
    FROM ibid.memory_user AS known
    WHERE due_at <= clock_timestamp()
    AND NOT EXISTS (
        SELECT FROM ibid.document AS document
        WHERE document.tenant = known.tenant
        AND (document.owner = known.user_id OR document.users @> ARRAY[known.user_id])
        AND document.removed_at IS NOT NULL)
    AND NOT EXISTS (
        SELECT FROM ibid.outbox AS entry WHERE written_at <= coalesce(known.dirty_at, erased_at)
        AND (entry.engine = 'chroma' OR entry.collection = ANY($1::text[]) OR entry.item = ''))
    ORDER BY due_at LIMIT 1000
"""
LISTEN_SECONDS = 60.0
LATER = "interval '1 hour'"
"""When files that could not be rewritten are tried again."""
# Excludes an erasure in progress (due later): its earlier dirt may be clean, and it may yet break off.
DONE = f"""
    UPDATE ibid.memory_user AS known SET dirty = nullif(string_to_array(kept, ','), '{{}}'),
        dirty_at = CASE WHEN kept <> '' THEN known.dirty_at END,
        due_at = CASE WHEN due_at > clock_timestamp() THEN due_at
            WHEN kept <> '' THEN clock_timestamp() + {LATER} END,
        ended_at = CASE WHEN due_at > clock_timestamp() THEN ended_at
            ELSE coalesce(ended_at, clock_timestamp()) END,
        compacted_at = CASE WHEN kept <> '' THEN known.compacted_at ELSE clock_timestamp() END
    FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[])
        AS done (tenant, user_id, kept, dirty_at)
    WHERE known.tenant = done.tenant AND known.user_id = done.user_id
    AND coalesce(known.dirty_at, erased_at) = done.dirty_at
"""  # noqa: S608 - a constant of ours
# Nothing was ever stored for these names. The row stays until no earlier request can still write, and no
# cache (a day at most) can hold a result under a version that would recur.
BLANK = """
    DELETE FROM ibid.memory_user AS known
    WHERE ended_at < clock_timestamp() - interval '2 days' AND compacted_at IS NULL AND dirty_at IS NULL
    AND NOT EXISTS (
        SELECT FROM ibid.memory AS memory
        WHERE memory.tenant = known.tenant AND memory.user_id = known.user_id)
"""


class ErasureStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def begin(self, scope: Scope, holdings: Collection[str]) -> Mark:
        """Mark the user as erased now; from then on answers to earlier questions are not written. `holdings`
        count as dirty if the previous erasure did not end."""
        who = whose(scope)
        async with transaction(self._pool) as connection:
            for name in ("ibid.memory", "ibid.user"):
                await take_turns(connection, name, *who)
            return Mark(await connection.fetchval(BEGIN, *who, list(holdings)))

    async def end(self, scope: Scope, mark: Mark, dirty: Collection[str]) -> Mark:
        """Record the end and which holdings had rows; invalidates caches once more."""
        who = whose(scope)
        async with transaction(self._pool) as connection:
            row = await connection.fetchrow(END, *who, mark.erased_at, list(dirty))
            await connection.execute(ERASED, CHANNEL, "\x1f".join(who))
        assert row is not None  # noqa: S101 - `begin` wrote the row, which is swept only after days
        return Mark(mark.erased_at, tuple(row["dirty"]), row["dirty_at"], row["compacted_at"])

    async def due(self) -> list[Due]:
        """Erasures whose files can be compacted now, since no purge is pending."""
        with postgres_faults():
            rows = await self._pool.fetch(DUE, PERSONAL_COLLECTIONS, list(TABLES))
        return [Due(row["tenant"], row["user_id"], tuple(row["dirty"]), row["dirty_at"]) for row in rows]

    async def compacted(self, done: Collection[Due]) -> None:
        """Record compactions, unless the user was erased again meanwhile; `dirty` is what remains."""
        rows = [(each.tenant, each.user_id, ",".join(each.dirty), each.dirty_at) for each in done]
        with postgres_faults():
            await self._pool.execute(DONE, *map(list, zip(*rows, strict=True)))

    async def sweep(self) -> None:
        with postgres_faults():
            await self._pool.execute(BLANK)


async def evict_erased(pool: Pool, evict: Evict, clear: Callable[[], None]) -> None:
    """Drops an erased user's indexes on this replica, and all cached results (`clear`), after NOTIFY
    `ibid_erased`. A missed notification is
    harmless: the erasure raised the version, so the index is not used again, and the LRU drops it."""

    def heard(payload: str) -> None:
        tenant, _, user = payload.partition("\x1f")
        evict(lambda key: {tenant, user} <= key_parts(key[1]))
        clear()

    async with Listener(pool, CHANNEL, heard) as listener:
        while True:
            await listener.wait(seconds=LISTEN_SECONDS)


def key_parts(scope: object) -> set[object]:
    if isinstance(scope, tuple):
        return {*scope}
    return {getattr(scope, item.name) for item in fields(scope)} if is_dataclass(scope) else {scope}


def whose(scope: Scope) -> tuple[str, str]:
    if not scope.user_id:
        raise ValueError("an erasure names its user")
    return scope.tenant, scope.user_id


PAGE = 200
"""Rows per statement; nothing is locked between two, however slow the reader."""
ERASE_SECONDS = 120.0
"""A hundred thousand turns take seconds."""
SELF_OR_OWNER = "tenant = $1 AND (user_id = $2 OR owner = $2)"
USER = "tenant = $1 AND user_id = $2"
DOCUMENT_USER = "tenant = $1 AND (owner = $2 OR users @> ARRAY[$2::text])"
TIMED = "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
READ_PAGE = """
    SELECT {key} AS key,
        to_jsonb(kept) - '{{tenant,space,terms,days,identity,embedding,embedding_ibid}}'::text[] AS told
    FROM {table} AS kept
    WHERE {where} AND ($3::text IS NULL OR ({key}) COLLATE "C" > $3)
    ORDER BY ({key}) COLLATE "C" LIMIT $4
"""
ERASE = "WITH gone AS (DELETE FROM {table} WHERE {where} RETURNING 1) SELECT count(*) FROM gone"
# One statement sees one state, so events of remaining rows remain.
GONE = """
    WITH events AS (DELETE FROM ibid.project_event WHERE tenant = $1 AND owner = $2 AND kind = $3)
    DELETE FROM {table} WHERE {where} RETURNING {row}::text AS id
"""
PARTS = f"""
    SELECT DISTINCT owner, session_id FROM ibid.document
    WHERE {DOCUMENT_USER} AND removed_at IS NULL ORDER BY owner, session_id
"""  # noqa: S608 - a constant of ours
IMPORTED = "DELETE FROM ibid.imported WHERE tenant = $1 AND user_id = $2"
AGAIN = """
    INSERT INTO ibid.outbox (engine, collection, item)
    SELECT 'qdrant', 'memory_raw', id FROM ibid.memory WHERE tenant = $1 AND user_id = $2
"""
# As of the erasure: files are not rewritten before the engine has taken it.
ERASE_OTHERS = """
    INSERT INTO ibid.outbox (engine, collection, item, written_at)
    SELECT 'qdrant', 'memory_raw', $3, erased_at FROM ibid.memory_user WHERE tenant = $1 AND user_id = $2
"""


@dataclass(frozen=True, slots=True)
class HoldingTable:
    """A holding's table: how a person's rows are found, exported and erased, and which files hold them."""

    name: str
    table: str
    where: str = USER
    """SQL condition: the rows of tenant $1 and user $2."""
    key: str = f"{TIMED} || ' ' || id"
    """SQL text that identifies and orders rows."""
    beside: tuple[str, ...] = ()
    """Tables with derived rows, which `erase` deletes too."""

    @property
    def files(self) -> tuple[str, ...]:
        return (*self.beside, self.table)


# A session that somebody else has a part in belongs to its tenant's key: its title is this person's too.
TITLED = f"""
    tenant = $1 AND (owner = $2 OR (owner, session_id) IN (
        SELECT owner, session_id FROM public.chat_log WHERE {USER}
        UNION SELECT owner, session_id FROM ibid.document WHERE {DOCUMENT_USER}))
"""  # noqa: S608 - constants of ours
MEMORIES = HoldingTable("memories", "ibid.memory", beside=("ibid.text_next", "ibid.imported"))
CHAT_LOG = HoldingTable(
    "chat_log", "public.chat_log", SELF_OR_OWNER, f"coalesce({TIMED}, '') || ' ' || lpad(id::text, 40, '0')"
)
SINGLE = (
    HoldingTable("votes", "ibid.memory_vote", key=f"{TIMED} || ' ' || memory_id || ' ' || answer_id"),
    # Before the turns, which tell whose they are.
    HoldingTable("session_titles", "ibid.session_title", TITLED, f"{TIMED} || ' ' || session_id"),
    CHAT_LOG,
    HoldingTable("answers", "ibid.answer", SELF_OR_OWNER),
    HoldingTable("activity", "ibid.activity", key="user_id"),
    # The trace table may be an older tool's: ids of another type, no times.
    HoldingTable(
        "vantage_traces",
        "public.vantage_answer_trace",
        SELF_OR_OWNER,
        f"coalesce({TIMED}, '') || ' ' || answer_id::text",
    ),
    HoldingTable("vantage_cards", "ibid.vantage_card"),
    HoldingTable("vantage_facts", "ibid.vantage_fact"),
)
"""Holdings of a single table."""
# Also for older tools' tables: without a key, ctid distinguishes rows with one id.
INDEXED = "coalesce(to_char(indexed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US'), '')"
KEYED = f"{INDEXED} || ' ' || {{}}::text || ' ' || ctid::text"
DERIVED_TABLES = ("ibid.text_next", "ibid.project_words", "ibid.project_event")
CONVERSATIONS, CODE = (
    HoldingTable(name, table.name, WHOSE, KEYED.format(table.id), DERIVED_TABLES)
    for name, table in (("conversations", CONVERSATION), ("code", CHUNK))
)
DOCUMENTS = HoldingTable(
    "documents",
    "ibid.document",
    DOCUMENT_USER,
    beside=("ibid.chunk_next", "ibid.chunk", "ibid.document_piece", "ibid.job"),
)
HISTORY = HoldingTable("history", "ibid.past_version", SELF_OR_OWNER, "lpad(seq::text, 20, '0')")
"""Ids and times of what was deleted. Last, since the others' deletions write there."""
TABLES: Mapping[str, tuple[str, ...]] = {
    each.name: each.files for each in (MEMORIES, *SINGLE, CONVERSATIONS, CODE, DOCUMENTS, HISTORY)
}
"""Tables whose files hold a holding's rows; compacted after an erasure."""


def in_utc(name: str, value: object) -> object:
    """A column's value, with times in UTC: Postgres uses its session's zone. Columns of older tools may be
    named like times and hold something else."""
    if not (name.endswith("_at") and isinstance(value, str)):
        return value
    try:
        return moment(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        return value


class HoldingRows:
    def __init__(self, pool: Pool, table: HoldingTable) -> None:
        self._pool = pool
        self._table = table
        self._sql = {"table": table.table, "where": table.where, "key": table.key}
        self.name = table.name

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        read, after = READ_PAGE.format(**self._sql), None
        while True:
            with postgres_faults():
                rows = await self._pool.fetch(read, scope.tenant, scope.user_id, after, PAGE)
            for row in rows:
                yield {name: in_utc(name, value) for name, value in orjson.loads(row["told"]).items()}
            if len(rows) < PAGE:
                return
            after = rows[-1]["key"]

    async def erase(self, scope: Scope) -> int:
        statement = ERASE.format(**self._sql)
        with postgres_faults():
            count: int = await self._pool.fetchval(
                statement, scope.tenant, scope.user_id, timeout=ERASE_SECONDS
            )
        return count


class ProjectRows(HoldingRows):
    """A user's rows in all projects; their terms and new vectors are deleted with them."""

    def __init__(self, pool: Pool, table: HoldingTable, row: str, *, next_kind: str) -> None:
        super().__init__(pool, table)
        self._row = row
        self._next = next_kind

    async def erase(self, scope: Scope) -> int:
        """Deletes their terms last: a search that writes some holds the rows' locks."""
        statement, own = GONE.format(**self._sql, row=self._row), OWN.format(**self._sql)
        whose = (scope.tenant, scope.user_id, self.name)
        async with transaction(self._pool) as connection:
            await unfolded(connection)
            gone = await connection.fetch(statement, *whose, timeout=ERASE_SECONDS)
            ids = [row["id"] for row in gone]
            await connection.execute(own, *whose, timeout=ERASE_SECONDS)
            await connection.execute(FORGET, self.name, ids, timeout=ERASE_SECONDS)
            await connection.execute(FORGET_NEXT, self._next, ids, timeout=ERASE_SECONDS)
        return len(ids)


class Documents(HoldingRows):
    def __init__(self, pool: Pool) -> None:
        super().__init__(pool, DOCUMENTS)

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        async for row in super().export(scope):
            if row["removed_at"] is None:
                mine = {**row, "user_id": scope.user_id, "file": f"/api/documents/{row['id']}/file"}
                yield {name: value for name, value in mine.items() if name != "users"}

    async def erase(self, scope: Scope) -> int:
        """Removes them in every session; jobs purge them. Documents that others uploaded too remain."""
        if not scope.user_id:
            raise Unavailable("an erasure names its user")
        count = 0
        async with transaction(self._pool) as connection:
            # Ordered, as every writer of several parts locks them, so that there is no deadlock.
            for row in await connection.fetch(PARTS, scope.tenant, scope.user_id):
                part = DocumentPart(scope.tenant, row["owner"], row["session_id"])
                await hold(connection, part)
                count += await cleared(connection, part, user=scope.user_id, seconds=ERASE_SECONDS)
        return count


class Memories(HoldingRows):
    """Memories in Postgres; other tools may have written further points (`services/users.py`)."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool, MEMORIES)

    async def erase(self, scope: Scope) -> int:
        """Delete memories under their writers' lock, with vectors being built and the entries of imported
        ones."""
        who = (scope.tenant, scope.user_id or "")
        async with transaction(self._pool) as connection:
            await lock_user(connection, *who)
            count: int = await connection.fetchval(ERASE.format(**self._sql), *who, timeout=ERASE_SECONDS)
            await connection.execute(IMPORTED, *who, timeout=ERASE_SECONDS)
        return count

    async def enter(self, scope: Scope) -> None:
        with postgres_faults():
            await self._pool.execute(AGAIN, scope.tenant, scope.user_id)

    async def erase_others(self, scope: Scope) -> None:
        who = whose(scope)
        with postgres_faults():
            await self._pool.execute(ERASE_OTHERS, *who, OTHERS + "\x1f".join(who))


def record_holdings(pool: Pool) -> tuple[HoldingRows, ...]:
    """All holdings in Postgres except memories, which are in the index too."""
    conversations = ProjectRows(pool, CONVERSATIONS, CONVERSATION.id, next_kind="conversation")
    code = ProjectRows(pool, CODE, CHUNK.id, next_kind="code")
    single = (HoldingRows(pool, table) for table in SINGLE)
    return (*single, conversations, code, Documents(pool), HoldingRows(pool, HISTORY))


MARKS = "ibid.memory_user"
"""Rewritten each time: it is small."""


class RecordFiles:
    name = "postgres"

    def __init__(self, pool: Pool) -> None:
        self._superuser = pool.superuser

    @property
    def external(self) -> bool:
        return self._superuser is None

    async def compact(self, holdings: Collection[str]) -> Collection[str]:
        tables = [table for name in TABLES if name in holdings for table in TABLES[name]]
        if self._superuser is not None and tables:
            await compact(self._superuser, [MARKS, *tables])
        return ()
