"""Conversations and dreams of a project in `public.conversation_index`: value types and store.

A row keeps its given id where possible, else a UUIDv5 of (tenant, owner, project, id). Its input is hashed,
so that writing the same again costs nothing. Another tool may have created the table (other id types, no
unique index), so a row is updated, or inserted if there was none, by one writer of a tenant at a time. Rows
of other tools are only read. Lengths are characters. Raises `Unavailable`, `NoRoom`, `Rejected`,
`RemovedMeanwhile`, `KeptElsewhere`, `InvalidField`.
"""

import asyncio
import hashlib
import json
import re
import uuid
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import TypeAlias

import asyncpg

from app.db.pool import Pool
from app.db.project_tables import (
    CONVERSATION,
    IN_PROJECT,
    REACHED,
    WHOSE,
    Analysed,
    conversation_analysed,
    forget,
    keep,
)
from app.db.project_text import LISTS, TEXTS
from app.db.projects import (
    FORGET_NEXT,
    UUID,
    Called,
    Found,
    Shape,
    WrittenTable,
    links,
    literal,
    located,
    shape,
    taking,
    write_rows,
)
from app.db.rows import (
    CLOCK,
    Connection,
    check_not_erased,
    closed,
    opened,
    storable,
    take_turns,
    transaction,
)
from app.errors import KeptElsewhere
from app.types import DEFAULT_TENANT, Embedding, Scope

IDS = uuid.UUID("5b8f1a52-6f0e-5c39-9f3b-7a1d2c44e0d6")
"""UUIDv5 namespace of conversation ids."""
CONTENT_VERSION = 1
"""Raise it when the hash's input changes: every entry is then written again."""


class ConversationOutcome(StrEnum):
    CREATED = "created"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class SaidTurn:
    role: str
    """user or assistant; others are skipped."""
    text: str


@dataclass(frozen=True, slots=True)
class Summary:
    title: str = ""
    summary_short: str = ""
    summary_detailed: str = ""
    memory_snippet: str = ""


TITLE, SHORT, DETAILED, SNIPPET = 80, 300, 1_500, 300
"""Maximum lengths of the summary's parts."""
ENDS = re.compile(r"[.!?…](?=\s|$)|[。！？।؟]")


def shortened(text: str, most: int) -> str:
    """One line of at most `most` characters, cut after a whole sentence, else after a word with `…`."""
    if len(text) <= most:
        return text
    whole = [found.end() for found in ENDS.finditer(text, 0, most) if found.end() >= most // 3]
    if whole:
        return text[: whole[-1]]
    cut = text[: most - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[most // 3 :] else cut).rstrip() + "…"


@dataclass(frozen=True, slots=True)
class ConversationDraft:
    """A row as the client sends it; None for fields that it left out."""

    id: str | None = None
    title: str | None = None
    tags: tuple[str, ...] | None = None
    key_entities: tuple[str, ...] | None = None
    summary_short: str | None = None
    summary_detailed: str | None = None
    memory_snippet: str | None = None
    indexed_at: datetime | None = None
    said: tuple[SaidTurn, ...] = ()
    text: str = ""

    @property
    def wanting(self) -> bool:
        made = (self.title, self.summary_short, self.summary_detailed, self.memory_snippet)
        return None in made and bool(self.said or self.text)

    def completed(self, made: Summary) -> "ConversationDraft":
        found = {name: value for name, value in asdict(made).items() if value and getattr(self, name) is None}
        return replace(self, **found)


@dataclass(frozen=True, slots=True)
class ConversationEntry:
    draft: ConversationDraft
    sha256: str


def entry(draft: ConversationDraft) -> ConversationEntry:
    at = draft.indexed_at and draft.indexed_at.astimezone(UTC).isoformat()
    content = asdict(replace(draft, id=None, indexed_at=None)) | {
        "indexed_at": at,
        "version": CONTENT_VERSION,
    }
    return ConversationEntry(draft, hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class Conversation:
    """A stored row; in another tool's row any field may be None."""

    session_id: str
    project: str
    title: str | None
    tags: tuple[str, ...]
    key_entities: tuple[str, ...]
    summary_short: str | None
    summary_detailed: str | None
    memory_snippet: str | None
    indexed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Known:
    began: datetime
    """Postgres's time."""
    rows: Sequence[Conversation | None]
    """One for each entry; None if it is not stored with this content and a vector of the requested space."""


Written: TypeAlias = tuple[Conversation, ConversationOutcome]


def names(scope: Scope, entry: ConversationEntry) -> tuple[str | None, str]:
    given = entry.draft.id
    if given is None:
        return None, derived(scope, "", entry.sha256)
    plain = scope.tenant == DEFAULT_TENANT and not scope.owner
    return given if plain else None, derived(scope, given)


def derived(scope: Scope, *name: str) -> str:
    return str(uuid.uuid5(IDS, "\x1f".join((scope.tenant, scope.owner, scope.project or "", *name))))


TABLE = "public.conversation_index"
LONG = 100_000
"""Bytes above which a column of tags or entities is ignored."""
WHOLE = 1_000_000
"""Characters read of each text column."""
LISTED = f"CASE WHEN octet_length(kept.{{0}}::text) < {LONG} THEN to_jsonb(kept.{{0}})::text END AS {{0}}"
READ = ", ".join(
    (
        "kept.session_id::text AS id, kept.project::text AS project, kept.indexed_at::timestamptz AS at",
        *(f"left(kept.{name}::text, {{most}}) AS {name}" for name in TEXTS),
        *(LISTED.format(name) for name in LISTS),
    )
)
ALL = READ.format(most=WHOLE)
FIND = f"""
    SELECT {ALL}, kept.tenant, kept.owner, kept.sha256, kept.space FROM {TABLE} AS kept
    WHERE kept.session_id = ANY($1::text[]::{{type}}[])
"""  # noqa: S608 - constants of ours, and a type as the catalog spells it
ROWS = WrittenTable(TABLE, "session_id", TEXTS, LISTS, "conversation", returning=ALL)


@dataclass(frozen=True, slots=True)
class RowSlot:
    id: str
    row: asyncpg.Record | None


async def find_slots(
    connection: Connection, columns: Shape, scope: Scope, entries: Sequence[ConversationEntry]
) -> list[RowSlot]:
    kind = columns["session_id"].type
    named = [Called(*names(scope, entry)) for entry in entries]
    # Another tool may have overwritten a row of ours: only our rows have such an id.
    ours = {key for each in named for key in links(kind, each.ours)}
    own: dict[str, asyncpg.Record] = {}

    async def find(ids: Sequence[str]) -> Found:
        rows = await connection.fetch(FIND.format(type=kind), ids)
        own.update({row["id"]: row for row in rows if owned(scope, row, ours)})
        return own, {row["id"] for row in rows}

    return [RowSlot(key, own.get(key)) for key in await located(kind, named, find)]


def owned(scope: Scope, row: asyncpg.Record, ours: Collection[str]) -> bool:
    """True if the scope's owner has the row in its project and Ibid wrote it; adopted rows have no hash."""
    place = (row["tenant"], row["owner"], row["project"])
    written = row["sha256"] is not None or row["id"] in ours
    return bool(place == (scope.tenant, scope.owner, scope.project)) and written


def unchanged_row(entry: ConversationEntry, place: RowSlot, space: str) -> Conversation | None:
    row = place.row
    if row is None or row["sha256"] != entry.sha256 or row["space"] != space:
        return None
    return conversation(row)


def row_values(key: str, entry: ConversationEntry, vector: Embedding) -> tuple[object, ...]:
    draft = entry.draft
    return (
        key,
        *(storable_or_none(getattr(draft, name)) for name in TEXTS),
        *(listed(getattr(draft, name)) for name in LISTS),
        draft.indexed_at,
        entry.sha256,
        vector,
    )


def storable_or_none(text: str | None) -> str | None:
    return None if text is None else storable(text)


def listed(words: Sequence[str] | None) -> str | None:
    return None if words is None else json.dumps([storable(word) for word in words], ensure_ascii=False)


def conversation(row: asyncpg.Record) -> Conversation:
    return Conversation(
        session_id=row["id"],
        project=row["project"] or "",
        indexed_at=row["at"],
        tags=words(row["tags"]),
        key_entities=words(row["key_entities"]),
        **{name: row[name] for name in TEXTS},
    )


def words(stored: str | None) -> tuple[str, ...]:
    """Strings of a JSON column, even if the JSON is encoded twice; none if it is invalid."""
    value: object = stored
    for _ in range(2):
        try:
            value = json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            return ()
    return tuple(str(each) for each in value if each is not None) if isinstance(value, list) else ()


BRIEF = 10_000
# A row without a time is the oldest; a cursor can hold both infinities.
AT = "least(greatest(coalesce(kept.indexed_at::timestamptz, '0001-01-02'), '0001-01-02'), '9999-12-30')"
LIST = f"""
    SELECT {READ.format(most=BRIEF)}, {AT} AS place FROM {TABLE} AS kept
    WHERE {REACHED} AND {IN_PROJECT.format("$3")}
    AND ($4::timestamptz IS NULL OR ({AT}, kept.session_id::text) < ($4, $5))
    ORDER BY {AT} DESC, kept.session_id::text DESC LIMIT $6
"""  # noqa: S608 - constants of ours
REMOVE = f"""
    DELETE FROM {TABLE} WHERE {WHOSE} AND {IN_PROJECT.format("$3")}
    AND ($4::text IS NULL OR session_id::text = $4) AND sha256 IS NOT NULL RETURNING session_id::text AS id
"""  # noqa: S608 - constants of ours
THEIRS = f"""
    SELECT EXISTS (SELECT FROM {TABLE} WHERE {WHOSE} AND project = $3
    AND session_id::text = $4)
"""  # noqa: S608 - constants of ours
SECONDS = 120.0
"""Removing a project of a hundred thousand rows takes seconds."""


class ConversationStore:
    def __init__(self, pool: Pool, brief: Collection[str] = ()) -> None:
        """`brief`: projects whose rows are found by their short summaries alone (dreams)."""
        self._pool = pool
        self._brief = brief

    async def known(self, scope: Scope, entries: Sequence[ConversationEntry], space: str) -> Known:
        with taking(TABLE):
            async with transaction(self._pool) as connection:
                began = await connection.fetchval(CLOCK)
                found = await find_slots(connection, await shape(connection, TABLE), scope, entries)
        return Known(
            began, [unchanged_row(entry, at, space) for entry, at in zip(entries, found, strict=True)]
        )

    async def write(
        self,
        scope: Scope,
        entries: Sequence[ConversationEntry],
        embeddings: Sequence[Embedding],
        space: str,
        since: datetime,
    ) -> list[Written]:
        """Write all or none; rows are searchable on return. The same id again replaces, the last one if it
        occurs twice. `RemovedMeanwhile`: the owner was erased after `since`."""
        words = await asyncio.to_thread(analysed, entries, brief=scope.project in self._brief)
        async with self._writing(scope, since) as (connection, columns):
            found = await find_slots(connection, columns, scope, entries)
            last = {place.id: at for at, place in enumerate(found)}
            kept = {key: unchanged_row(entries[at], found[at], space) for key, at in last.items()}
            new = {key: at for key, at in last.items() if kept[key] is None}
            lines = [row_values(key, entries[at], embeddings[at]) for key, at in new.items()]
            there = {slot.id for slot in found if slot.row}
            updated, inserted = await write_rows(
                connection, columns, ROWS, lines, scope=scope, space=space, there=there
            )
            if columns["session_id"].type == UUID:  # terms are stored only for UUIDs
                await keep(
                    connection, CONVERSATION, {key: words[entries[at].sha256] for key, at in new.items()}
                )
        written = {row["id"]: (conversation(row), ConversationOutcome.REPLACED) for row in updated}
        written |= {row["id"]: (conversation(row), ConversationOutcome.CREATED) for row in inserted}
        written |= {key: (row, ConversationOutcome.UNCHANGED) for key, row in kept.items() if row is not None}
        return [written[place.id] for place in found]

    @asynccontextmanager
    async def _writing(self, scope: Scope, since: datetime) -> AsyncIterator[tuple[Connection, Shape]]:
        """A transaction that holds the lock of this tenant's writers. Raises `RemovedMeanwhile` if the owner
        was erased after `since`."""
        with taking(TABLE):
            async with transaction(self._pool) as connection:
                await check_not_erased(connection, scope.tenant, scope.owner, since)
                await take_turns(connection, "ibid.conversations", scope.tenant)
                yield connection, await shape(connection, TABLE)

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Conversation], str | None]:
        at, name = opened(cursor) if cursor else (None, "")
        asked = (scope.tenant, sorted({scope.owner, ""}), scope.project, at, name, limit + 1)
        with self._pool.asking():
            found = await self._pool.fetch(LIST, *asked)
        page = found[:limit]
        after = closed(page[-1]["place"], page[-1]["id"]) if len(found) > limit else None
        return [conversation(row) for row in page], after

    async def get(self, scope: Scope, name: str) -> tuple[Conversation, bool] | None:
        """The row of an id, or of the name its writer gave it; True if it belongs to the scope's owner."""
        shared = Scope(scope.tenant, project=scope.project)
        with taking(TABLE):
            async with transaction(self._pool) as connection:
                kind = (await shape(connection, TABLE))["session_id"].type
                ids = [key for each in (scope, shared) for key in links(kind, derived(each, name))]
                ids += [key for key in [literal(kind, name)] if key is not None]
                found = await connection.fetch(FIND.format(type=kind), ids)
        seen = [row for row in found if reached(scope, row)]
        best = min(seen, key=lambda row: nearness(scope, row, name), default=None)
        return (conversation(best), owner(best) == scope.owner) if best else None

    async def remove(self, scope: Scope, id: str | None) -> int:  # noqa: A002 - its name
        """Delete the owner's row of that id, or all in the project; returns how many. Derived rows are
        deleted last, because a search that has just written terms holds the rows' locks."""
        place = (scope.tenant, scope.owner, scope.project, id)
        async with transaction(self._pool) as connection:
            gone = [row["id"] for row in await connection.fetch(REMOVE, *place, timeout=SECONDS)]
            await forget(connection, CONVERSATION, gone)
            await connection.execute(FORGET_NEXT, ROWS.next_kind, gone)
            if id and not gone and await connection.fetchval(THEIRS, *place):
                raise KeptElsewhere("another tool wrote this row; remove it with that tool")
        return len(gone)


def nearness(scope: Scope, row: asyncpg.Record, name: str) -> tuple[bool, ...]:
    """Sort key for rows that share a name: the scope's own, then Ibid's, then those with the id itself."""
    return owner(row) != scope.owner, row["sha256"] is None, row["id"] != name


def analysed(entries: Sequence[ConversationEntry], *, brief: bool) -> dict[str, Analysed]:
    return {entry.sha256: conversation_analysed(columns_of(entry), brief=brief) for entry in entries}


def columns_of(entry: ConversationEntry) -> dict[str, object]:
    return {name: getattr(entry.draft, name) for name in (*TEXTS, *LISTS)}


def reached(scope: Scope, row: asyncpg.Record) -> bool:
    tenant = DEFAULT_TENANT if row["tenant"] is None else row["tenant"]
    return (tenant, row["project"]) == (scope.tenant, scope.project) and owner(row) in {scope.owner, ""}


def owner(row: asyncpg.Record) -> str:
    return row["owner"] or ""
