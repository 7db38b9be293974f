"""Rows of public.conversation_index: found by what their writers call them, read, written.

Whatever another tool left in a column, it reads as a `Conversation`. Statements are made from names in this
file and from the catalog (`shape.py`); values are parameters always. Raises `Rejected`.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass

import asyncpg

from app.domain.conversation import Conversation, Entry, Outcome, Written, names
from app.domain.passage import Embedding, Scope
from app.stores.named import Called, Found, links, located
from app.stores.shape import Shape, filling, vectors
from app.stores.text import storable
from app.stores.transaction import Connection

TABLE = "public.conversation_index"
LONG = 100_000
"""Bytes of tags, or entities, over which they are none: nobody made them by hand."""
WHOLE = 1_000_000
"""Characters of each text that are read of a row."""
TEXTS = ("title", "summary_short", "summary_detailed", "memory_snippet")
LISTS = ("tags", "key_entities")
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
GIVEN = """
    unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::text[],
        $12::timestamptz[], $13::text[], $14::vector[])
    AS given (session_id, title, tags, key_entities, summary_short, summary_detailed, memory_snippet,
        indexed_at, sha256, vector)
"""
UPDATE = f"""
    UPDATE {TABLE} AS kept SET {{values}} FROM {GIVEN}
    WHERE kept.tenant = $1::text AND kept.owner = $2::text AND kept.project = $3::text
    AND kept.session_id = given.session_id::{{type}} RETURNING {ALL}
"""  # noqa: S608 - as above
INSERT = f"INSERT INTO {TABLE} AS kept ({{names}}) SELECT {{values}} FROM {GIVEN} RETURNING {ALL}"  # noqa: S608

STALE = "DELETE FROM ibid.text_next WHERE kind = 'conversation' AND id = ANY($1::text[])"
"""Vectors in the making are of what the rows said before."""


@dataclass(frozen=True, slots=True)
class Place:
    """Of an entry: its row's id, and what is there."""

    id: str
    row: asyncpg.Record | None


@dataclass(frozen=True, slots=True)
class New:
    """A row that is to be written."""

    id: str
    entry: Entry
    vector: Embedding


async def places(
    connection: Connection, columns: Shape, scope: Scope, entries: Sequence[Entry]
) -> list[Place]:
    """Where each entry belongs."""
    kind = columns["session_id"].type
    named = [Called(*names(scope, entry)) for entry in entries]
    # Another tool may have written over a row of ours: nobody else gives it such an id.
    ours = {key for each in named for key in links(kind, each.ours)}
    own: dict[str, asyncpg.Record] = {}

    async def find(ids: Sequence[str]) -> Found:
        rows = await connection.fetch(FIND.format(type=kind), ids)
        own.update({row["id"]: row for row in rows if owned(scope, row, ours)})
        return own, {row["id"] for row in rows}

    return [Place(key, own.get(key)) for key in await located(kind, named, find)]


def owned(scope: Scope, row: asyncpg.Record, ours: Collection[str]) -> bool:
    """Whether it is the writer's, in the scope's project, and Ibid wrote it: adoption gives no hash."""
    told = (row["tenant"], row["owner"], row["project"])
    written = row["sha256"] is not None or row["id"] in ours
    return bool(told == (scope.tenant, scope.owner, scope.project)) and written


def same(entry: Entry, place: Place, space: str) -> Conversation | None:
    """The row, if it was written from the same, and has a vector of the space."""
    row = place.row
    if row is None or row["sha256"] != entry.sha256 or row["space"] != space:
        return None
    return conversation(row)


async def put(
    connection: Connection, columns: Shape, scope: Scope, space: str, rows: Sequence[New]
) -> dict[str, Written]:
    """Each, by its id: updated, or inserted where there was none to update."""
    if not rows:
        return {}
    await connection.execute(STALE, [row.id for row in rows])
    kind = columns["session_id"].type
    place = (scope.tenant, scope.owner, scope.project, space)
    values = assigned(columns, len(rows[0].vector) // 4)
    update = UPDATE.format(values=", ".join(f"{name} = {said}" for name, said in values.items()), type=kind)
    found = await connection.fetch(update, *place, *given(rows))
    written = {row["id"]: (conversation(row), Outcome.REPLACED) for row in found}
    new = [row for row in rows if row.id not in written]
    if new:
        whole = {"session_id": f"given.session_id::{kind}", **OWNED, **values}
        whole |= filling(columns, whole)
        insert = INSERT.format(names=", ".join(whole), values=", ".join(whole.values()))
        found = await connection.fetch(insert, *place, *given(new))
        written |= {row["id"]: (conversation(row), Outcome.CREATED) for row in found}
    return written


OWNED = {"tenant": "$1::text", "owner": "$2::text", "project": "$3::text"}


def assigned(columns: Shape, dim: int) -> dict[str, str]:
    """What a write gives to each column."""
    return {
        **{name: columns[name].value(f"given.{name}") for name in TEXTS},
        **{name: columns[name].listed(f"given.{name}") for name in LISTS},
        "indexed_at": columns["indexed_at"].value("coalesce(given.indexed_at, clock_timestamp())"),
        "sha256": "given.sha256",
        "space": "$4::text",
        **vectors(columns, dim, "given.vector"),
    }


def given(rows: Sequence[New]) -> tuple[list[object], ...]:
    """The parameters of GIVEN, of one row at least."""
    return tuple(map(list, zip(*map(line, rows), strict=True)))


def line(row: New) -> tuple[object, ...]:
    """One row as GIVEN has it."""
    draft = row.entry.draft
    return (
        row.id,
        said(draft.title),
        listed(draft.tags),
        listed(draft.key_entities),
        said(draft.summary_short),
        said(draft.summary_detailed),
        said(draft.memory_snippet),
        draft.indexed_at,
        row.entry.sha256,
        row.vector,
    )


def said(text: str | None) -> str | None:
    """As Postgres can hold it."""
    return None if text is None else storable(text)


def listed(words: Sequence[str] | None) -> str | None:
    """As JSON."""
    return None if words is None else json.dumps([storable(word) for word in words], ensure_ascii=False)


def conversation(row: asyncpg.Record) -> Conversation:
    """A row as what it is."""
    return Conversation(
        id=row["id"],
        project=row["project"] or "",
        indexed_at=row["at"],
        tags=words(row["tags"]),
        key_entities=words(row["key_entities"]),
        **{name: row[name] for name in TEXTS},
    )


def words(told: str | None) -> tuple[str, ...]:
    """A column of JSON as the texts in it, also where they are JSON inside of a text; broken: none."""
    value: object = told
    for _ in range(2):
        try:
            value = json.loads(value) if isinstance(value, str) else value
        except (ValueError, RecursionError):
            return ()
    return tuple(str(each) for each in value if each is not None) if isinstance(value, list) else ()
