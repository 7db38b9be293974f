"""Projects: knowledge (overview, rules, notes), changes of their tables, and tables that other tools made.

Writers of one project's knowledge take turns. `ibid.project_event` has a row for every change, whoever made
it; many events of a part are merged into one, which keeps the version. Column types of another tool's table
are read from the catalog; values are always parameters. If another row has an id already, the next in a chain
of UUIDv5 is used. Raises `Unavailable`, `TooMany`, `InvalidField`, `Rejected`.
"""

import asyncio
import json
import re
import uuid
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeAlias

import asyncpg

from app.db.pool import Pool, record_faults
from app.db.project_tables import CHUNK, CONVERSATION, REACHED, owners
from app.db.rows import EPOCH, Connection, closed, opened, storable, take_turns, transaction
from app.errors import InvalidField, Rejected, TooMany
from app.types import Scope


@dataclass(frozen=True, slots=True)
class KnowledgeNote:
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Knowledge:
    """A project's overview, rules and notes: part of every prompt of the project."""

    overview: str = ""
    rules: str = ""
    notes: tuple[KnowledgeNote, ...] = ()


@dataclass(frozen=True, slots=True)
class KnowledgeChange:
    overview: str | None = None
    rules: str | None = None
    notes: tuple[KnowledgeNote, ...] = ()


MOST_NOTES = 50
"""Most notes of a project: every prompt contains all of them."""


def merged(before: Knowledge, change: KnowledgeChange) -> Knowledge:
    """A note replaces the one with its title, else it is appended. Raises `TooMany`."""
    notes = {note.title: note for note in (*before.notes, *change.notes)}
    if len(notes) > MOST_NOTES:
        raise TooMany(f"a project has {MOST_NOTES} notes at most; remove some (PUT replaces all)")
    return Knowledge(
        before.overview if change.overview is None else change.overview,
        before.rules if change.rules is None else change.rules,
        tuple(notes.values()),
    )


@dataclass(frozen=True, slots=True)
class ProjectSummary:
    """The part of a project that a scope may see."""

    project: str
    conversations: int
    """Rows of conversation_index: of some projects these are dreams."""
    code: int
    knowledge: bool


GET = "SELECT overview, rules, notes FROM ibid.project_knowledge WHERE tenant = $1 AND project = $2"
PUT = """
    INSERT INTO ibid.project_knowledge (tenant, project, overview, rules, notes, updated_at)
    VALUES ($1, $2, $3, $4, $5, clock_timestamp())
    ON CONFLICT (tenant, project) DO UPDATE
    SET overview = excluded.overview, rules = excluded.rules, notes = excluded.notes,
        updated_at = excluded.updated_at
"""
PROJECTS = """
    SELECT project FROM (
        SELECT project FROM ibid.project_knowledge WHERE tenant = $1
        UNION SELECT project FROM ibid.project_part WHERE tenant = $1 AND owner IN ('', $2) AND project <> ''
    ) AS named ORDER BY project COLLATE "C"
"""
# Names that no request may have, of other tools, are left out: so an index has what is counted (0026).
ROWS = f"""
    SELECT project::text AS project, count(*) AS rows FROM {{table}}
    WHERE {REACHED} AND project <> '' AND length(project) <= 200 GROUP BY 1
"""  # noqa: S608 - constants of ours
SUMMARIES = f"""
    WITH named AS (
        SELECT project, coalesce(conversation.rows, 0) AS conversations, coalesce(chunk.rows, 0) AS code,
            coalesce(known.told, false) AS knowledge, count(*) OVER () AS total
        FROM ({ROWS.format(table=CONVERSATION.name)}) AS conversation
        FULL JOIN ({ROWS.format(table=CHUNK.name)}) AS chunk USING (project)
        FULL JOIN (
            SELECT project, (overview, rules, notes) <> ('', '', '[]') AS told
            FROM ibid.project_knowledge WHERE tenant = $1) AS known USING (project))
    SELECT * FROM named WHERE $3::text IS NULL OR project COLLATE "C" > $3
    ORDER BY project COLLATE "C" LIMIT $4
"""  # noqa: S608 - constants of ours
REMOVE = "DELETE FROM ibid.project_knowledge WHERE tenant = $1 AND project = $2 RETURNING 1"


class KnowledgeStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def get(self, scope: Scope) -> Knowledge | None:
        """Knowledge of the scope's project; None if there is none or the scope names no project."""
        with self._pool.reading():
            row = await self._pool.fetchrow(GET, *place(scope))
        return knowledge(row) if row else None

    async def put(self, scope: Scope, knowledge: Knowledge) -> None:
        async with transaction(self._pool) as connection:
            await take_turns(connection, "ibid.knowledge", *place(scope))
            await write(connection, scope, knowledge)

    async def merge(self, scope: Scope, change: KnowledgeChange) -> Knowledge:
        async with transaction(self._pool) as connection:
            await take_turns(connection, "ibid.knowledge", *place(scope))
            row = await connection.fetchrow(GET, *place(scope))
            changed = merged(knowledge(row) if row else Knowledge(), change)
            await write(connection, scope, changed)
        return changed

    async def remove(self, scope: Scope) -> bool:
        async with transaction(self._pool) as connection:
            await take_turns(connection, "ibid.knowledge", *place(scope))
            return bool(await connection.fetchval(REMOVE, *place(scope)))

    async def projects(self, scope: Scope) -> Sequence[str]:
        """Names of the tenant's projects: those with knowledge, or with rows that the scope may see."""
        with self._pool.asking():
            rows = await self._pool.fetch(PROJECTS, scope.tenant, scope.owner)
        return [row["project"] for row in rows]

    async def summaries(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[ProjectSummary], str | None, int]:
        """A page by name, the cursor of the next, and how many projects there are."""
        after = opened(cursor)[1] if cursor else None
        with self._pool.asking():
            rows = await self._pool.fetch(SUMMARIES, scope.tenant, owners(scope), after, limit + 1)
        found = [ProjectSummary(*list(row)[:4]) for row in rows[:limit]]
        more = len(rows) > limit
        return found, closed(EPOCH, found[-1].project) if more else None, rows[0]["total"] if rows else 0


def place(scope: Scope) -> tuple[str, str]:
    return scope.tenant, scope.project or ""


async def write(connection: Connection, scope: Scope, knowledge: Knowledge) -> None:
    notes = [{"title": storable(note.title), "text": storable(note.text)} for note in knowledge.notes]
    texts = (storable(knowledge.overview), storable(knowledge.rules), json.dumps(notes))
    await connection.execute(PUT, *place(scope), *texts)


def knowledge(row: asyncpg.Record | Mapping[str, str]) -> Knowledge:
    notes = tuple(KnowledgeNote(note["title"], note["text"]) for note in json.loads(row["notes"]))
    return Knowledge(row["overview"], row["rules"], notes)


COLUMNS = """
    SELECT attname AS name, format_type(atttypid, atttypmod) AS type, attnotnull AS required,
        atthasdef OR attidentity <> '' OR attgenerated <> '' AS filled
    FROM pg_attribute WHERE attrelid = $1::text::regclass AND attnum > 0 AND NOT attisdropped ORDER BY attnum
"""
VECTOR = re.compile(r"(?:\w+\.)?vector(?:\((\d+)\))?")
NEUTRAL: Mapping[str, str] = {
    **dict.fromkeys(("text", "character varying", "character", "citext"), "''"),
    **dict.fromkeys(("smallint", "integer", "bigint", "numeric", "real", "double precision"), "0"),
    **dict.fromkeys(
        ("timestamp", "timestamp with time zone", "timestamp without time zone", "date"), "now()"
    ),
    **dict.fromkeys(("jsonb", "json"), "'{}'"),
    "boolean": "false",
    "uuid": "gen_random_uuid()",
}
"""An empty value as SQL, by type without length."""
FORGET_NEXT = "DELETE FROM ibid.text_next WHERE kind = $1 AND id = ANY($2::text[])"
"""New vectors of a re-embedding under way, which are of the rows' former texts."""
REFUSES = (
    asyncpg.IntegrityConstraintViolationError,
    asyncpg.NumericValueOutOfRangeError,
    asyncpg.RaiseError,
)
"""Raised by another tool's constraints and triggers for one row; other rows may be accepted."""
LISTED = "(SELECT coalesce(array_agg(said), '{{}}') FROM jsonb_array_elements_text({}::jsonb) AS said)"


@dataclass(frozen=True, slots=True)
class TableColumn:
    name: str
    type: str
    """As SQL: `character varying(200)`, `vector(1536)`."""
    required: bool
    filled: bool
    """True if it has a default."""

    @property
    def dim(self) -> int | None:
        found = VECTOR.fullmatch(self.type)
        return int(found[1] or 0) if found else None

    @property
    def neutral(self) -> str | None:
        if self.type.endswith("[]"):
            return "'{}'"
        if self.dim:
            return f"array_fill(0, ARRAY[{self.dim}])::{self.type}"
        return NEUTRAL.get(re.sub(r"\(.*?\)", "", self.type))

    def value(self, given: str) -> str:
        """The SQL expression `given`, cut to the column's length, and never null if required."""
        return f"coalesce({given}::{self.type}, {self.neutral})" if self.wants else f"{given}::{self.type}"

    def listed(self, given: str) -> str:
        if self.type.endswith("[]"):
            array = LISTED.format(given)
            kept = array if self.required else f"CASE WHEN {given} IS NOT NULL THEN {array} END"
            return f"({kept})::{self.type}"
        return f"coalesce({given}, '[]')::{self.type}" if self.required else f"{given}::{self.type}"

    @property
    def wants(self) -> bool:
        return self.required and self.neutral is not None


Shape = Mapping[str, TableColumn]
"""A table's columns by name, in order."""


async def shape(connection: Connection, table: str) -> Shape:
    return {row["name"]: TableColumn(*row) for row in await connection.fetch(COLUMNS, table)}


def vectors(columns: Shape, dim: int, given: str) -> dict[str, str]:
    """The column for our vector: `embedding` if the length fits, else one beside it."""
    theirs = columns["embedding"]
    if theirs.dim in (0, dim):
        return {"embedding": theirs.value(given), "embedding_ibid": "NULL"}
    kept = theirs.neutral if theirs.wants else None
    return {"embedding": kept or "NULL", "embedding_ibid": given}


def filling(columns: Shape, ours: Mapping[str, str]) -> dict[str, str]:
    theirs = [column for name, column in columns.items() if name not in ours]
    return {column.name: str(column.neutral) for column in theirs if column.wants and not column.filled}


WRITE_SECONDS = 60.0
"""Deadline of a statement that writes thousands of rows."""


@dataclass(frozen=True, slots=True)
class WrittenTable:
    name: str
    id: str
    texts: tuple[str, ...]
    lists: tuple[str, ...]
    """Columns of JSON arrays."""
    next_kind: str
    """Kind in `ibid.text_next`."""
    returning: str
    replaced: str = "true"
    """SQL: rows that an UPDATE may replace, beside those of the same place."""

    def values(self, columns: Shape, dim: int) -> dict[str, str]:
        return {
            **{name: columns[name].value(f"given.{name}") for name in self.texts},
            **{name: columns[name].listed(f"given.{name}") for name in self.lists},
            "indexed_at": columns["indexed_at"].value("coalesce(given.indexed_at, clock_timestamp())"),
            "sha256": "given.sha256",
            "space": "$4::text",
            **vectors(columns, dim, "given.vector"),
        }

    def given(self) -> str:
        names = ("id", *self.texts, *self.lists, "indexed_at", "sha256", "vector")
        types = {"indexed_at": "timestamptz", "vector": "vector"}
        arrays = (f"${at}::{types.get(name, 'text')}[]" for at, name in enumerate(names, 5))
        return f"unnest({', '.join(arrays)}) AS given ({', '.join(names)})"


Row: TypeAlias = tuple[object, ...]
"""(id, texts, lists, indexed_at, sha256, vector)."""


async def write_rows(
    connection: Connection,
    columns: Shape,
    table: WrittenTable,
    rows: Sequence[Row],
    *,
    scope: Scope,
    space: str,
    there: Collection[object],
) -> tuple[list[asyncpg.Record], list[asyncpg.Record]]:
    """(updated, inserted). Rows whose id is in `there` are updated, so that another tool's own columns are
    kept; one may have been deleted meanwhile."""
    if not rows:
        return [], []
    kind, vector = columns[table.id].type, rows[0][-1]
    values = table.values(columns, len(vector) // 4 if isinstance(vector, bytes) else 0)
    place = (scope.tenant, scope.owner, scope.project or "", space)

    async def run(statement: str, some: Sequence[Row]) -> list[asyncpg.Record]:
        given = map(list, zip(*some, strict=True))
        return list(await connection.fetch(statement, *place, *given, timeout=WRITE_SECONDS)) if some else []

    await connection.execute(FORGET_NEXT, table.next_kind, [row[0] for row in rows])
    update = f"""
        UPDATE {table.name} AS kept SET {", ".join(f"{name} = {said}" for name, said in values.items())}
        FROM {table.given()}
        WHERE kept.tenant = $1::text AND kept.owner = $2::text AND kept.project = $3::text
        AND kept.{table.id} = given.id::{kind} AND {table.replaced} RETURNING {table.returning}
    """  # noqa: S608 - constants of ours, and types as the catalog spells them
    updated = await run(update, [row for row in rows if row[0] in there])
    known = {row["id"] for row in updated}
    own = {"tenant": "$1::text", "owner": "$2::text", "project": "$3::text"}
    whole = {table.id: f"given.id::{kind}", **own, **values}
    whole |= filling(columns, whole)
    insert = f"""
        INSERT INTO {table.name} AS kept ({", ".join(whole)}) SELECT {", ".join(whole.values())}
        FROM {table.given()} RETURNING {table.returning}
    """  # noqa: S608 - as above
    return updated, await run(insert, [row for row in rows if row[0] not in known])


@contextmanager
def taking(table: str) -> Iterator[None]:
    """Wraps a write: the error names the constraint or column that refuses a row, never its values."""
    with record_faults():
        try:
            yield
        except asyncpg.StringDataRightTruncationError as error:  # of names: texts are cut to their columns
            raise InvalidField(f"{table} refuses the row: {error}", field="body") from error
        except REFUSES as error:
            raise InvalidField(f"{table} refuses the row: {named(error)}", field="body") from error
        except asyncpg.DataError as error:
            raise Rejected(f"{table} refuses the row: {named(error)}") from error


def named(error: asyncpg.PostgresError) -> str:
    return str(error.constraint_name or error.column_name or type(error).__name__)


UUID, NUMBERS = "uuid", frozenset({"bigint", "numeric"})
TEXTS = frozenset({"text", "character varying", "citext"})
BITS = 63
LINKS = 4
"""Ids of a chain that are looked up at first."""

Found: TypeAlias = tuple[Collection[str], Collection[str]]
"""Of given ids: those of rows that the writer may replace, and all that exist."""


@dataclass(frozen=True, slots=True)
class Called:
    given: str | None
    """The id in the request."""
    ours: str
    """The UUID made from it."""
    keeps: bool = True
    """True if a given UUID is kept when it is free."""


def literal(type_: str, name: str) -> str | None:
    """A name as an id of the column's type; None: impossible."""
    kind = base(type_)
    if kind in TEXTS:
        return name
    if kind == UUID:
        return whole(name)
    number = name.isascii() and name.isdigit() and int(name[:20]) < 1 << BITS
    return str(int(name)) if number else None


def made(type_: str, name: str) -> str:
    return str(uuid.UUID(name).int >> (128 - BITS)) if base(type_) in NUMBERS else name


def base(type_: str) -> str:
    kind = type_.partition("(")[0]
    if kind not in {UUID, *TEXTS, *NUMBERS}:
        raise Rejected(f"ids of the type {type_} are not written here: make it uuid, text or bigint")
    return kind


def whole(name: str) -> str | None:
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return None


def links(type_: str, name: str, count: int = LINKS) -> list[str]:
    names = [name]
    while len(names) < count:
        names.append(str(uuid.uuid5(uuid.UUID(names[-1]), "next")))
    return [made(type_, each) for each in names]


def chosen(type_: str, called: Called, ours: Sequence[str], found: Found) -> str | None:
    """A row's id: that of the existing row, else the given one if it is a free UUID that may be kept, else
    the first free one of ours. None: all are taken."""
    own, taken = found
    plain = literal(type_, called.given) if called.given is not None else None
    there = next((key for key in (plain, *ours) if key in own), None)
    if there is not None:
        return there
    if plain is not None and plain not in taken and stays(called):
        return plain
    return next((key for key in ours if key not in taken), None)


def stays(called: Called) -> bool:
    return called.keeps and whole(called.given or "") is not None


def given(type_: str, names: Sequence[Called]) -> set[str]:
    values = (literal(type_, name.given) for name in names if name.given)
    return {key for key in values if key is not None}


async def located(
    type_: str,
    names: Sequence[Called],
    find: Callable[[Sequence[str]], Awaitable[Found]],
    count: int = LINKS,
) -> list[str]:
    """The id of each. Looks up `count` links of each chain first; n taken links cost as much as n rows."""
    while True:
        # In a thread: a megabyte of code has thousands of chunks, at 6 µs for each link.
        chains = await asyncio.to_thread(lambda n: [links(type_, name.ours, n) for name in names], count)
        found = await find(sorted(given(type_, names).union(*chains)))
        keys = [chosen(type_, name, chain, found) for name, chain in zip(names, chains, strict=True)]
        if None not in keys:
            return [key for key in keys if key is not None]
        count *= LINKS


MAX_EVENTS = 100
"""Events of a part that are not merged: reading them takes some 0.2 ms, 50,000 take 90 (busy machine)."""
FOLD_SECONDS = 60.0
NAME = "hashtextextended('ibid.project_event', 0)"
ALONE = f"SELECT pg_try_advisory_xact_lock({NAME})"
UNFOLDED = f"SELECT pg_advisory_xact_lock_shared({NAME})"
FOLD = """
    WITH many AS (
        SELECT tenant, kind, owner, project FROM ibid.project_event GROUP BY 1, 2, 3, 4 HAVING count(*) > $1
    ),
    gone AS (
        DELETE FROM ibid.project_event AS event USING many
        WHERE (event.tenant, event.kind, event.owner, event.project)
            = (many.tenant, many.kind, many.owner, many.project) RETURNING event.*
    )
    INSERT INTO ibid.project_event (tenant, kind, owner, project, mark)
    SELECT tenant, kind, owner, project, bit_xor(mark) FROM gone GROUP BY 1, 2, 3, 4
"""
# By the index of the ids alone. Writers of terms lock their row, so both are seen or neither.
ORPHANS = """
    DELETE FROM ibid.project_words AS words WHERE kind = $1
    AND NOT EXISTS (SELECT FROM {table} AS held WHERE held.{id} = words.id::uuid)
"""
OWN = """
    DELETE FROM ibid.project_event
    WHERE tenant = $1 AND owner = $2 AND kind = $3 AND (xmin = pg_current_xact_id()::xid
        OR project NOT IN (SELECT left(coalesce(project::text, ''), 200) FROM {table} WHERE {where}))
"""
"""Events of this transaction, and of projects without a row in `where`. A writer of such a row that waited
for the erasure has entered its event already."""


class EventStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def fold(self) -> None:
        """Merge the events of parts with many. One process at a time, and none during an erasure."""
        async with transaction(self._pool) as connection:
            if await connection.fetchval(ALONE):
                await connection.execute(FOLD, MAX_EVENTS, timeout=FOLD_SECONDS)

    async def tidy(self) -> None:
        """Delete terms of rows that no longer exist."""
        for table in (CONVERSATION, CHUNK):
            async with transaction(self._pool) as connection:
                if (await shape(connection, table.name))[table.id].type == UUID:  # other tables have no terms
                    orphans = ORPHANS.format(table=table.name, id=table.id)
                    await connection.execute(orphans, table.kind, timeout=FOLD_SECONDS)


async def unfolded(connection: Connection) -> None:
    """Block `fold` until the transaction ends: an erasure deletes every event that it sees."""
    await connection.execute(UNFOLDED)
