"""Memories (`ibid.memory`): value types and store, and the recent texts of a conversation.

A memory belongs to (tenant, user_id); its id is a UUIDv5 of tenant, user, namespace and text, so the same
text is the same memory on every replica. An edited memory keeps its id; the one that its present words would
have is then its `identity`. Writers of one user take turns by an advisory lock, so a text is stored once and
`place` counts without gaps. A memory is searchable when its transaction is committed; triggers enter it in
the outbox for Qdrant. Raises `Unavailable`, `NoRoom`, `RemovedMeanwhile`, `InvalidField` (a cursor).
"""

import asyncio
import json
import uuid
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple, Protocol

import asyncpg

from app.answer import new_id
from app.db.pool import Pool
from app.db.rows import (
    DIGITS,
    Connection,
    check_not_erased,
    clock,
    closed,
    is_id,
    opened,
    storable,
    take_turns,
    transaction,
)
from app.errors import SameText
from app.text.dates import Expression, expressions, spoken
from app.text.terms import encode_terms
from app.types import Embedding, Scope, day_said

RAW = "memory_raw"
"""Qdrant collection of memories and cards."""
OTHERS = "others\x1f"
"""Prefix of an outbox entry for Qdrant, before tenant and user: delete the points that other tools wrote."""
NOTE = "note"
"""The default kind."""
CARDS = ("persona", "style", "preference")
"""Kinds that make the persona block."""
GRAVITY, DESIRE = "gravity_profile", "vb_desire_profile"
"""Kinds of the cards that profiles compute."""
ASSISTANT = "frontend/chat:assistant"
DAEMONS = ("gravity_daemon", "vb_desire_daemon", "persona_daemon")
"""Origins of derived cards, in the order of GRAVITY, DESIRE and the style card."""
EXCLUDED_ORIGINS = (ASSISTANT, *DAEMONS)
"""Origins that searches exclude; `persona_daemon` is Ibid's addition."""
IDS = uuid.UUID("a51c3a52-6f0a-5d0c-9b0e-7f2f6f6d6d31")
"""UUIDv5 namespace of memory ids."""


def memory_id(tenant: str, user_id: str, draft: "Draft") -> str:
    """UUIDv5 of namespace and text without case and white space; for a daemon's card, of its kind; for a card
    written by a person, of both, so that a note with the same text is another memory."""
    derived = draft.origin in DAEMONS
    words = "" if derived else " ".join(draft.text.casefold().split())
    card = draft.kind if derived or draft.kind in CARDS else ""
    parts = (tenant, user_id, draft.vantage_id or "", draft.origin if derived else "", card, words)
    return str(uuid.uuid5(IDS, "\x1f".join(parts)))


@dataclass(frozen=True, slots=True)
class Draft:
    text: str
    kind: str = NOTE
    tags: tuple[str, ...] = ()
    origin: str = "api"
    vantage_id: str | None = None
    thread_id: str | None = None
    """Its conversation: a search also uses the terms of its neighbours there."""
    created_at: datetime | None = None
    fields: Mapping[str, object] = field(default_factory=dict)
    """Data of a card beside its text (`weights` of a profile)."""


@dataclass(frozen=True, slots=True)
class Memory:
    id: str
    user_id: str
    text: str
    tokens: int
    created_at: datetime
    kind: str = NOTE
    tags: tuple[str, ...] = ()
    origin: str = "api"
    vantage_id: str | None = None
    thread_id: str | None = None
    place: int = 0
    """Its number among the user's memories of that thread, from 1, in the order of writing."""
    fields: Mapping[str, object] = field(default_factory=dict)
    revision: int = field(default=0, compare=False)
    """Changes with every write of the memory."""


class MemoryOutcome(StrEnum):
    CREATED = "created"
    REPEATED = "repeated"
    """The user has a memory with this text; it is kept."""
    ECHO = "echo"
    """Only repeats what was recalled, or said by the assistant, in the same thread: not stored."""


@dataclass(frozen=True, slots=True)
class Written:
    outcome: MemoryOutcome
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Tally:
    positive: int = 0
    negative: int = 0

    @property
    def net(self) -> int:
        return self.positive - self.negative


class Tallies(dict[str, Tally]):
    lost: str = ""
    """Why the outside service did not provide them (`Degraded.reason`); they are then the built-in
    store's."""


OUTSIDE = "memory_service"
"""Name of the outside service in `degraded`."""


@dataclass(frozen=True, slots=True)
class Rating:
    """What a reader thinks of an answer."""

    scope: Scope
    """The reader's; the votes are those of the user who asked."""
    value: str | None
    """None: taken back."""
    required: bool = True
    """False: an older tool's answer has nothing to keep it with."""


class Votes(Protocol):
    """`/memory_feedback`: built in (`db/votes.py`), or an outside service by MEMORY_SERVICE_URL.

    Raises `RetrievalError` from `tallies`, `Unavailable` from the others, `Missing` for another user's
    memory.
    """

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        """Vote +1 or -1, or withdraw the vote with 0; False if nothing changed. There is one vote for each
        answer and memory, and a new one replaces it. Without an answer there is one a day, and 0 withdraws
        those of all days."""

    async def judge(
        self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str, rating: Rating | None = None
    ) -> list[str]:
        """The same vote on each memory an answer used, and the rating with the answer, all or none; returns
        the memories it changed. Skips those that are not the user's. `Unavailable` if the answer is not
        stored yet."""

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        """The user's votes on these memories; memories without votes are left out."""


BeforeCommit = Callable[[Mapping[str, int]], Awaitable[None]]
"""Called before the commit with the changed memories and the change of their net votes (-2 to 2, or more if
votes of several days are withdrawn); an exception rolls the votes back."""


@dataclass(frozen=True, slots=True)
class Moment:
    """When a user last sent a message (`/temporal`)."""

    bucket: str
    """new, minutes (< 1 h), hours (< 24 h), days (< 7 d), weeks (< 31 d), months."""
    last_message_at: datetime | None = None
    seconds_since: float | None = None
    lost: str = ""
    """As for `Tallies`."""


class Temporal(Protocol):
    """`/temporal/{user_id}`: built in (`db/votes.py`), or an outside service. Raises `RetrievalError`."""

    async def last(self, scope: Scope) -> Moment: ...


NAMES = tuple(item.name for item in fields(Memory))
COLUMNS = ", ".join(NAMES)
KNOWN = f"""
    SELECT {COLUMNS}, coalesce(identity, id) AS identity FROM ibid.memory
    WHERE tenant = $1 AND user_id = $2 AND (id = ANY($3) OR identity = ANY($3))
"""  # noqa: S608 - constants of ours
HERE = f"{KNOWN} AND origin <> ALL($4)"
NOW = "SELECT clock_timestamp() AS now, nextval('ibid.revision') AS revision"
PLACES = """
    SELECT thread_id, max(place) FROM ibid.memory
    WHERE tenant = $1 AND user_id = $2 AND thread_id = ANY($3) GROUP BY thread_id
"""
BUMP = """
    INSERT INTO ibid.memory_user AS known (tenant, user_id, version) VALUES ($1, $2, 1)
    ON CONFLICT (tenant, user_id) DO UPDATE SET version = known.version + 1
"""


async def lock_user(connection: Connection, tenant: str, user: str) -> None:
    await take_turns(connection, "ibid.memory", tenant, user)


async def bump_version(connection: Connection, tenant: str, user: str) -> None:
    await connection.execute(BUMP, tenant, user)


async def decide(
    connection: Connection,
    owner: tuple[str, str],
    drafts: Sequence[Draft],
    ids: Sequence[str],
    tokens: Sequence[int],
) -> list[Written]:
    rows = await connection.fetch(HERE, *owner, list(ids), list(DAEMONS))
    known = {row["identity"]: memory(row) for row in rows}
    edited = {row["id"] for row in rows if row["identity"] != row["id"]}
    places = await last_places(connection, owner, drafts)
    now, revision = await stamp(connection)
    written = []
    for at, (draft, name, count) in enumerate(zip(drafts, ids, tokens, strict=True)):
        if name in known:
            written.append(Written(MemoryOutcome.REPEATED, known[name]))
            continue
        place, thread = 0, draft.thread_id or ""
        if draft.origin not in DAEMONS:
            place = places[thread] = places.get(thread, 0) + 1
        moment = draft.created_at or now + timedelta(microseconds=at)
        key = new_id() if name in edited else name
        this = new_memory(draft, key, owner[1], tokens=count, at=moment, place=place)
        known[name] = replace(this, revision=revision)
        written.append(Written(MemoryOutcome.CREATED, known[name]))
    return written


async def last_places(
    connection: Connection, owner: tuple[str, str], drafts: Sequence[Draft]
) -> dict[str, int]:
    threads = {draft.thread_id or "" for draft in drafts}
    rows = await connection.fetch(PLACES, *owner, list(threads))
    return {row[0]: int(row[1]) for row in rows}


async def stamp(connection: Connection) -> tuple[datetime, int]:
    now = await connection.fetchrow(NOW)
    assert now is not None  # noqa: S101 - sequences and clocks always return a row
    return now["now"], now["revision"]


def new_memory(draft: Draft, name: str, user: str, *, tokens: int, at: datetime, place: int) -> Memory:
    return Memory(
        id=name,
        user_id=user,
        text=storable(draft.text),
        tokens=tokens,
        created_at=at,
        kind=draft.kind,
        tags=draft.tags,
        origin=draft.origin,
        vantage_id=draft.vantage_id,
        thread_id=draft.thread_id,
        place=place,
        fields=draft.fields,
    )


def row_of(memory: Memory) -> tuple[object, ...]:
    values = {name: getattr(memory, name) for name in NAMES}
    return tuple(
        (values | {"thread_id": memory.thread_id or "", "fields": json.dumps(dict(memory.fields))}).values()
    )


def memory(row: asyncpg.Record) -> Memory:
    values = {name: row[name] for name in NAMES}
    changed = {
        "tags": tuple(row["tags"]),
        "thread_id": row["thread_id"] or None,
        "fields": json.loads(row["fields"]),
    }
    return Memory(**(values | changed))


# A row with this id is a card, which is replaced.
# A vector that a broken-off re-embedding made is of the former text.
WRITE = f"""
    WITH former AS (DELETE FROM ibid.text_next WHERE kind = 'memory' AND id = $3)
    INSERT INTO ibid.memory (tenant, space, {COLUMNS}, embedding, terms, days, identity)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19)
    ON CONFLICT (id) DO UPDATE SET space = excluded.space, text = excluded.text, tokens = excluded.tokens,
        created_at = excluded.created_at, kind = excluded.kind, tags = excluded.tags,
        origin = excluded.origin, vantage_id = excluded.vantage_id, thread_id = excluded.thread_id,
        place = excluded.place, fields = excluded.fields, embedding = excluded.embedding,
        terms = excluded.terms, days = excluded.days, identity = excluded.identity,
        revision = excluded.revision
"""  # noqa: S608 - a constant of ours
REMOVE = """
    DELETE FROM ibid.memory WHERE id = $1 AND tenant = $2 AND ($3::text IS NULL OR user_id = $3)
    RETURNING user_id
"""
VOTES = "DELETE FROM ibid.memory_vote WHERE tenant = $1 AND user_id = $2 AND memory_id = $3"
GET = f"""
    SELECT {COLUMNS} FROM ibid.memory
    WHERE id = $1 AND tenant = $2 AND ($3::text IS NULL OR user_id = $3)
"""  # noqa: S608 - constants of ours
COUNT = "SELECT count(*) FROM ibid.memory WHERE tenant = $1 AND user_id = $2"
PAGE = f"""
    SELECT {COLUMNS} FROM ibid.memory
    WHERE tenant = $1 AND user_id = $2
    AND ($3::timestamptz IS NULL OR created_at < $3 OR (created_at = $3 AND id > $4))
    ORDER BY created_at DESC, id LIMIT $5
"""  # noqa: S608 - constants of ours


class AnalysedText(NamedTuple):
    terms: bytes
    dates: tuple[Expression, ...]


def analysed(texts: Sequence[str]) -> list[AnalysedText]:
    """About 0.5 ms of CPU per text."""
    stored = [storable(text) for text in texts]
    return [AnalysedText(encode_terms(text), expressions(text)) for text in stored]


def written_row(
    tenant: str, space: str, memory: Memory, vector: Embedding, found: AnalysedText, *, identity: str = ""
) -> tuple[object, ...]:
    """`identity`: if it is not the memory's id."""
    at = day_said(memory.created_at)
    spans = spoken(found.dates, at) if at else ()
    days = [day for span in spans for day in (span.start, span.end)]
    own = identity if identity != memory.id else ""
    return (tenant, space, *row_of(memory), vector, found.terms, days, own or None)


class MemoryStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def admit(
        self,
        scope: Scope,
        drafts: Sequence[Draft],
        embeddings: Sequence[Embedding],
        tokens: Sequence[int],
        space: str,
        *,
        since: datetime,
    ) -> list[Written]:
        """Store drafts whose text is new to the user, in order, all or none; searchable on return. A card of
        a daemon's origin is keyed by its kind: again replaces. `RemovedMeanwhile`: the user was erased after
        `since`."""
        tenant, user = whose(scope)
        ids = [memory_id(tenant, user, draft) for draft in drafts]
        found = await asyncio.to_thread(analysed, [draft.text for draft in drafts])
        texts, terms = (draft.text for draft in drafts), (each.terms for each in found)
        self._pool.check_room(sum(map(len, (*terms, *embeddings, *texts))))
        async with transaction(self._pool) as connection:
            await lock_user(connection, tenant, user)
            await check_not_erased(connection, tenant, user, since)
            written = await decide(connection, (tenant, user), drafts, ids, tokens)
            rows = [
                written_row(tenant, space, each.memory, vector, text, identity=name)
                for each, vector, text, name in zip(written, embeddings, found, ids, strict=True)
                if each.memory and each.outcome is MemoryOutcome.CREATED
            ]
            if rows:
                await connection.executemany(WRITE, rows)
                await bump_version(connection, tenant, user)
            return written

    async def rewrite(
        self, scope: Scope, new: Memory, embedding: Embedding, space: str, *, since: datetime
    ) -> Memory | None:
        """Replace a memory by one of the same id; searchable on return. None: it is not there any more as it
        was read (`revision`). Raises `SameText`, `RemovedMeanwhile`."""
        tenant, user = scope.tenant, new.user_id
        drafted = Draft(new.text, new.kind, origin=new.origin, vantage_id=new.vantage_id)
        identity = memory_id(tenant, user, drafted)
        [found] = await asyncio.to_thread(analysed, [new.text])
        self._pool.check_room(len(new.text) + len(embedding) + len(found.terms))
        async with transaction(self._pool) as connection:
            await lock_user(connection, tenant, user)
            await check_not_erased(connection, tenant, user, since)
            row = await connection.fetchrow(GET, new.id, tenant, user)
            if row is None or row["revision"] != new.revision:
                return None
            same = await connection.fetch(KNOWN, tenant, user, [identity])
            if any(each["identity"] == identity and each["id"] != new.id for each in same):
                raise SameText("the user has another memory with this text")
            _, revision = await stamp(connection)
            changed = replace(new, text=storable(new.text), revision=revision)
            await connection.execute(
                WRITE, *written_row(tenant, space, changed, embedding, found, identity=identity)
            )
            await bump_version(connection, tenant, user)
        return changed

    async def clock(self) -> datetime:
        return await clock(self._pool)

    async def known(self, scope: Scope, drafts: Sequence[Draft]) -> Mapping[str, Memory]:
        """By id, the user's memories with the text of a draft (ignoring case and white space)."""
        tenant, user = whose(scope)
        ids = {memory_id(tenant, user, draft) for draft in drafts}
        with self._pool.asking():
            rows = await self._pool.fetch(KNOWN, tenant, user, list(ids))
        return {row["identity"]: memory(row) for row in rows if row["identity"] in ids}

    async def get(self, scope: Scope, memory_id: str) -> Memory | None:
        """A memory of the scope's tenant, and of its user if it names one."""
        if not is_name(memory_id):
            return None
        with self._pool.asking():
            row = await self._pool.fetchrow(GET, memory_id, scope.tenant, scope.user_id)
        return memory(row) if row else None

    async def list(self, scope: Scope, *, cursor: str | None, limit: int) -> tuple[list[Memory], str | None]:
        at, after = opened(cursor) if cursor else (None, "")
        with self._pool.asking():
            rows = await self._pool.fetch(PAGE, *whose(scope), at, after, limit + 1)
        found = [memory(row) for row in rows[:limit]]
        return found, closed(found[-1].created_at, found[-1].id) if len(rows) > limit else None

    async def count(self, scope: Scope) -> int:
        with self._pool.asking():
            found: int = await self._pool.fetchval(COUNT, *whose(scope))
        return found

    async def remove(self, scope: Scope, memory_id: str) -> bool:
        if not is_name(memory_id):
            return False
        async with transaction(self._pool) as connection:
            user = await connection.fetchval(REMOVE, memory_id, scope.tenant, scope.user_id)
            if user is not None:
                await connection.execute(VOTES, scope.tenant, user, memory_id)
                await bump_version(connection, scope.tenant, user)
        return user is not None


def is_name(text: str) -> bool:
    return is_id(text) or (text.isascii() and text.isdigit() and len(text) <= DIGITS)


def whose(scope: Scope) -> tuple[str, str]:
    if scope.user_id is None:
        raise ValueError("memories are a user's")
    return scope.tenant, scope.user_id


SAYINGS, RECALLS = 100, 50
"""Texts of the assistant, and answers whose memories are read: an echo repeats what was just said."""

WITH_ME = "(user_id = $4 OR (user_id IS NULL AND $3 <> ''))"
# Excludes an answer written while its own question is being stored: the question came before it.
SAID = f"""
    SELECT content FROM public.chat_log
    WHERE tenant = $1 AND owner = $2 AND thread_id = $3 AND {WITH_ME}
    AND role = 'assistant' AND content IS NOT NULL AND ($5::timestamptz IS NULL OR created_at < $5)
    ORDER BY created_at DESC NULLS LAST, id DESC LIMIT {SAYINGS}
"""  # noqa: S608 - constants of ours
RECALLED = f"""
    WITH recent AS (
        SELECT body FROM ibid.answer
        WHERE tenant = $1 AND owner = $2 AND coalesce(thread_id, session_id, '') = $3 AND {WITH_ME}
        AND ($5::timestamptz IS NULL OR created_at < $5)
        ORDER BY id DESC LIMIT {RECALLS}),
    seen AS (
        SELECT DISTINCT jsonb_path_query(body,
            '$.trace.entries[*] ? (@.verdict == "packed" && @.source == "memories").id') #>> '{{}}' AS id
        FROM recent)
    SELECT text FROM ibid.memory JOIN seen USING (id) WHERE tenant = $1 AND user_id = $4
"""  # noqa: S608 - constants of ours


class RecentTextStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def recent(self, scope: Scope, thread_id: str | None, before: datetime | None) -> list[str]:
        where = (scope.tenant, scope.owner, thread_id or "", scope.user_id, before)
        with self._pool.asking():
            said = await self._pool.fetch(SAID, *where)
            recalled = await self._pool.fetch(RECALLED, *where)
        return [row[0] for row in (*said, *recalled)]
