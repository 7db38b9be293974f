"""What the record keeps of a person (`domain/holding.Holding`), one holding a table, and his documents.

A row is a person's by its `user_id`, or by its `owner`: the user of the key that wrote it. Every table with
such a column is named here (a test walks the schema). Raises `Unavailable`.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import orjson

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.document import Part
from app.domain.errors import Unavailable
from app.domain.passage import Scope
from app.domain.timestamp import moment
from app.retrieval.project_tables import WHOSE
from app.stores.events import OWN, unfolded
from app.stores.part import cleared, hold
from app.stores.register import hold as take
from app.stores.transaction import transaction

PAGE = 200
"""Rows a statement: nothing is held between two, however slowly they are read."""
ERASE_SECONDS = 120.0
"""A hundred thousand turns take seconds."""
SELF_OR_OWNER = "tenant = $1 AND (user_id = $2 OR owner = $2)"
USER = "tenant = $1 AND user_id = $2"
DOCUMENT_USER = "tenant = $1 AND (owner = $2 OR users @> ARRAY[$2::text])"
TIMED = "to_char(created_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US')"
READ = """
    SELECT {key} AS key,
        to_jsonb(kept) - '{{tenant,space,terms,days,embedding,embedding_ibid}}'::text[] AS told
    FROM {table} AS kept
    WHERE {where} AND ($3::text IS NULL OR ({key}) COLLATE "C" > $3)
    ORDER BY ({key}) COLLATE "C" LIMIT $4
"""
ERASE = "WITH gone AS (DELETE FROM {table} WHERE {where} RETURNING 1) SELECT count(*) FROM gone"
# One statement sees one state: what a row that stays has told of itself stays too.
GONE = """
    WITH events AS (DELETE FROM ibid.project_event WHERE tenant = $1 AND owner = $2 AND kind = $3)
    DELETE FROM {table} WHERE {where} RETURNING {row}::text AS id
"""
WORDS = "DELETE FROM ibid.project_words WHERE kind = $1 AND id = ANY($2::text[])"
DERIVED = "DELETE FROM ibid.text_next WHERE kind = $1 AND id = ANY($2::text[])"
PARTS = f"""
    SELECT DISTINCT owner, session_id FROM ibid.document
    WHERE {DOCUMENT_USER} AND removed_at IS NULL ORDER BY owner, session_id
"""  # noqa: S608 - a constant of ours
IMPORTED = "DELETE FROM ibid.imported WHERE tenant = $1 AND user_id = $2"
AGAIN = """
    INSERT INTO ibid.outbox (engine, collection, item)
    SELECT 'qdrant', 'memory_raw', id FROM ibid.memory WHERE tenant = $1 AND user_id = $2
"""


@dataclass(frozen=True, slots=True)
class Table:
    """Where a holding's rows are."""

    name: str
    """The holding's."""
    table: str
    where: str = USER
    """Of the scope's tenant ($1) and user ($2)."""
    key: str = f"{TIMED} || ' ' || id"
    """What a row is known and ordered by: text."""


VOTES = Table("votes", "ibid.memory_vote", key=f"{TIMED} || ' ' || memory_id || ' ' || answer_id")
CHAT_LOG = Table(
    "chat_log", "public.chat_log", SELF_OR_OWNER, f"coalesce({TIMED}, '') || ' ' || lpad(id::text, 40, '0')"
)
ANSWERS = Table("answers", "ibid.answer", SELF_OR_OWNER)
ACTIVITY = Table("activity", "ibid.activity", key="user_id")
MEMORIES = Table("memories", "ibid.memory")
DOCUMENTS = Table("documents", "ibid.document", DOCUMENT_USER)
# The seeds' table may be an older tool's: its ids of another type, its times left out.
TRACES = Table(
    "vantage_traces",
    "public.vantage_answer_trace",
    SELF_OR_OWNER,
    f"coalesce({TIMED}, '') || ' ' || answer_id::text",
)
CARDS = Table("vantage_cards", "ibid.vantage_card")
FACTS = Table("vantage_facts", "ibid.vantage_fact")
# Older tools' tables too: without a key, a row's place tells rows of one id apart.
INDEXED = "coalesce(to_char(indexed_at AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US'), '')"
KEYED = f"{INDEXED} || ' ' || {{}}::text || ' ' || ctid::text"
CONVERSATIONS = Table("conversations", "public.conversation_index", WHOSE, KEYED.format("session_id"))
CODE = Table("code", "public.code_index", WHOSE, KEYED.format("id"))
SINGLE = (VOTES, CHAT_LOG, ANSWERS, ACTIVITY, TRACES, CARDS, FACTS)
"""Holdings that are a table each, and nothing beside it."""

DERIVATIVES = ("ibid.text_next", "ibid.project_words", "ibid.project_event")
TABLES: Mapping[str, tuple[str, ...]] = {
    "memories": ("ibid.text_next", "ibid.imported", "ibid.memory"),
    "votes": ("ibid.memory_vote",),
    "chat_log": ("public.chat_log",),
    "answers": ("ibid.answer",),
    "activity": ("ibid.activity",),
    "vantage_traces": ("public.vantage_answer_trace",),
    "vantage_cards": ("ibid.vantage_card",),
    "vantage_facts": ("ibid.vantage_fact",),
    "conversations": (*DERIVATIVES, "public.conversation_index"),
    "code": (*DERIVATIVES, "public.code_index"),
    "documents": (*("ibid.chunk_next", "ibid.chunk", "ibid.document_piece", "ibid.document", "ibid.job"),),
}
"""Whose files hold a holding's rows: those that are compacted after an erasure."""
NAMES_ONLY = {
    "ibid.memory_user": "when somebody was erased: without it, an answer under way would bring him back",
    "ibid.project_part": "a view of `project_event`, which goes",
    "ibid.part": "versions, which must go on growing, or a cache would take old results for new ones",
    "ibid.api_key": "a key is an administrator's to revoke; it holds nothing that was said",
}
"""Tables that name a person and are kept, with the reason."""


def in_utc(name: str, value: object) -> object:
    """A column's value; a time in UTC: Postgres writes it in its session's zone. Columns of older tools may
    be named like times and hold something else."""
    if not (name.endswith("_at") and isinstance(value, str)):
        return value
    try:
        return moment(datetime.fromisoformat(value))
    except (ValueError, OverflowError):
        return value


class Rows:
    """One table. Keeps `domain/holding.Holding`."""

    def __init__(self, pool: Pool, table: Table) -> None:
        self._pool = pool
        self._table = table
        self.name = table.name

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """Row by row, oldest first, as the columns are named; vectors are left out."""
        where = {"table": self._table.table, "where": self._table.where, "key": self._table.key}
        read, after = READ.format(**where), None
        while True:
            with postgres_faults():
                rows = await self._pool.fetch(read, scope.tenant, scope.user_id, after, PAGE)
            for row in rows:
                yield {name: in_utc(name, value) for name, value in orjson.loads(row["told"]).items()}
            if len(rows) < PAGE:
                return
            after = rows[-1]["key"]

    async def erase(self, scope: Scope) -> int:
        """Delete them."""
        statement = ERASE.format(table=self._table.table, where=self._table.where)
        with postgres_faults():
            count: int = await self._pool.fetchval(
                statement, scope.tenant, scope.user_id, timeout=ERASE_SECONDS
            )
        return count


class Indexed(Rows):
    """Rows of a project, in whichever: with them goes what was derived of them, their words."""

    def __init__(self, pool: Pool, table: Table, row: str, *, next_kind: str) -> None:
        super().__init__(pool, table)
        self._row = row
        self._next = next_kind

    async def erase(self, scope: Scope) -> int:
        """Delete them. Their words after them: whoever has just kept some has made the deletion wait."""
        where = {"table": self._table.table, "where": self._table.where}
        statement, own = GONE.format(**where, row=self._row), OWN.format(**where)
        whose = (scope.tenant, scope.user_id, self.name)
        async with transaction(self._pool) as connection:
            await unfolded(connection)
            gone = await connection.fetch(statement, *whose, timeout=ERASE_SECONDS)
            ids = [row["id"] for row in gone]
            await connection.execute(own, *whose, timeout=ERASE_SECONDS)
            await connection.execute(WORDS, self.name, ids, timeout=ERASE_SECONDS)
            await connection.execute(DERIVED, self._next, ids, timeout=ERASE_SECONDS)
        return len(ids)


class Belongings(Rows):
    """The documents uploaded by or for a user, told without their files, which have an address each."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool, DOCUMENTS)

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """Those that stand, with the address of the file, and without other users' names."""
        async for row in super().export(scope):
            if row["removed_at"] is None:
                mine = {**row, "user_id": scope.user_id, "file": f"/api/documents/{row['id']}/file"}
                yield {name: value for name, value in mine.items() if name != "users"}

    async def erase(self, scope: Scope) -> int:
        """Unseen from now on, in every session; a job clears each away. What others uploaded too stays."""
        if not scope.user_id:
            raise Unavailable("an erasure names its user")
        count = 0
        async with transaction(self._pool) as connection:
            # In their order, as every writer of several parts would: nobody waits in a ring.
            for row in await connection.fetch(PARTS, scope.tenant, scope.user_id):
                part = Part(scope.tenant, row["owner"], row["session_id"])
                await hold(connection, part)
                count += await cleared(connection, part, user=scope.user_id, seconds=ERASE_SECONDS)
        return count


class Memories(Rows):
    """The rows of memories, beside which others may have written points (`services/twofold.py`)."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool, MEMORIES)

    async def erase(self, scope: Scope) -> int:
        """Delete them, under the lock of those who write them; vectors in the making go with them, and the
        entries of those that were imported."""
        who = (scope.tenant, scope.user_id or "")
        async with transaction(self._pool) as connection:
            await take(connection, *who)
            statement = ERASE.format(table=MEMORIES.table, where=MEMORIES.where)
            count: int = await connection.fetchval(statement, *who, timeout=ERASE_SECONDS)
            await connection.execute(IMPORTED, *who, timeout=ERASE_SECONDS)
        return count

    async def enter(self, scope: Scope) -> None:
        """All points of the user's are gone: what was written meanwhile is given back."""
        with postgres_faults():
            await self._pool.execute(AGAIN, scope.tenant, scope.user_id)


def belongings(pool: Pool) -> tuple[Rows, ...]:
    """All holdings of the record that are tables alone."""
    conversations = Indexed(pool, CONVERSATIONS, "session_id", next_kind="conversation")
    code = Indexed(pool, CODE, "id", next_kind="code")
    return (*(Rows(pool, table) for table in SINGLE), conversations, code, Belongings(pool))
