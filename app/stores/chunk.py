"""Rows of public.code_index: found, written, dropped; the table may be another tool's (`shape.py`).

A row with a hash is Ibid's; others are read alone. Statements are made from names in this file and from the
catalog; values are parameters always. What was derived of a row goes with it. Raises `Rejected`,
`InvalidField` for an id of a file's chunk.
"""

import asyncio
import json
from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

from app.domain.code import ALONE, CodeEntry, keeps
from app.domain.errors import InvalidField
from app.domain.passage import Scope
from app.retrieval.project_tables import CHUNK, Analysed, chunk_analysed, keep
from app.stores.named import UUID, Called, Found, literal, located
from app.stores.shape import Shape, filling, vectors
from app.stores.text import storable
from app.stores.transaction import Connection

TABLE = CHUNK.name
TEXTS = ("file_path", "language", "chunk_text", "chunk_metadata")
GIVEN = """
    unnest($5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::vector[])
    AS given (id, file_path, language, chunk_text, chunk_metadata, sha256, vector)
"""
INSERT = f"INSERT INTO {TABLE} ({{names}}) SELECT {{values}} FROM {GIVEN}"  # noqa: S608 - constants of ours
OWNED = {"tenant": "$1::text", "owner": "$2::text", "project": "$3::text"}
BY_ITSELF = f"starts_with(sha256, '{ALONE}')"
OF_A_FILE = f"NOT {BY_ITSELF}"
"""Null, so untrue, of another tool's row."""
FIND = f"""
    SELECT id::text AS id, (tenant, owner, project) = ($2, $3, $4) AND {BY_ITSELF} AS own,
        (tenant, owner, project) = ($2, $3, $4) AND {OF_A_FILE} AS filed
    FROM {TABLE} WHERE id = ANY($1::text[]::{{type}}[])
"""  # noqa: S608 - constants of ours, and a type as the catalog spells it
TAKEN = f"SELECT id::text AS id FROM {TABLE} WHERE id = ANY($1::text[]::{{type}}[])"  # noqa: S608 - as above
UPDATE = f"""
    UPDATE {TABLE} AS kept SET {{values}} FROM {GIVEN}
    WHERE kept.tenant = $1::text AND kept.owner = $2::text AND kept.project = $3::text
    AND kept.id = given.id::{{type}} AND starts_with(kept.sha256, '{ALONE}')
    RETURNING kept.id::text AS id
"""  # noqa: S608 - as above
STALE = "DELETE FROM ibid.text_next WHERE kind = 'code' AND id = ANY($1::text[])"
"""Vectors in the making are of what the rows said before."""
DROP = f"""
    WITH gone AS (DELETE FROM {TABLE} WHERE {{which}} RETURNING id::text AS id, file_path),
    words AS (
        DELETE FROM ibid.project_words AS words USING gone WHERE words.kind = 'code' AND words.id = gone.id),
    next AS (DELETE FROM ibid.text_next AS next USING gone WHERE next.kind = 'code' AND next.id = gone.id)
    SELECT count(*) AS rows, array_agg(DISTINCT file_path) AS paths FROM gone
"""  # noqa: S608 - constants of ours
SECONDS = 60.0
"""For a statement that writes or drops thousands of rows."""


Pair: TypeAlias = tuple[CodeEntry, Analysed]
"""A chunk on its way into the table, with its terms and tokens."""
Whose: TypeAlias = tuple[str, str, str, str]
"""A writer's tenant, owner and project, and the space."""


async def prepared(entries: Sequence[CodeEntry]) -> list[Pair]:
    """With their terms, made in a thread: they take longer than the rows to write."""
    return await asyncio.to_thread(lambda: [(entry, analysed(entry)) for entry in entries])


def analysed(entry: CodeEntry) -> Analysed:
    """A chunk's."""
    row = entry.row
    facts = dict(row.chunk_metadata)
    return chunk_analysed({"file_path": row.file_path, "chunk_metadata": facts, "chunk_text": row.chunk_text})


async def places(
    connection: Connection, columns: Shape, scope: Scope, entries: Sequence[CodeEntry]
) -> list[tuple[str, bool]]:
    """(id, whether a row of the writer's is there) of each."""
    kind = columns["id"].type
    own: set[str] = set()
    filed: set[str] = set()

    async def find(ids: Sequence[str]) -> Found:
        rows = await connection.fetch(FIND.format(type=kind), ids, *place(scope))
        own.update(row["id"] for row in rows if row["own"])
        filed.update(row["id"] for row in rows if row["filed"])
        return own, {row["id"] for row in rows}

    named = [Called(entry.given, entry.id, keeps(scope)) for entry in entries]
    ids = await located(kind, named, find)
    if not filed.isdisjoint({literal(kind, each.given) for each in named if each.given}):
        raise InvalidField("an id is that of a chunk of a whole file: put the file, or remove it first")
    return [(each, each in own) for each in ids]


async def free(connection: Connection, columns: Shape, entries: Sequence[CodeEntry]) -> list[str]:
    """Ids for chunks of files that were dropped: what is still there is none of these, whosever it is."""
    kind = columns["id"].type

    async def find(ids: Sequence[str]) -> Found:
        rows = await connection.fetch(TAKEN.format(type=kind), ids, timeout=SECONDS)
        return (), {row["id"] for row in rows}

    return await located(kind, [Called(None, entry.id) for entry in entries], find, count=1)


async def update(
    connection: Connection, columns: Shape, rows: Mapping[str, Pair], whose: Whose, sha256: str | None
) -> Collection[str]:
    """Rows that are there; the ids of those that still were."""
    if not rows:
        return ()
    told = ", ".join(f"{name} = {said}" for name, said in assigned(columns, rows).items())
    statement = UPDATE.format(values=told, type=columns["id"].type)
    await connection.execute(STALE, list(rows))
    found = await connection.fetch(statement, *whose, *arrays(rows, sha256), timeout=SECONDS)
    return {row["id"] for row in found}


async def insert(
    connection: Connection, columns: Shape, rows: Mapping[str, Pair], whose: Whose, sha256: str | None
) -> None:
    """Rows that are not there."""
    if rows:
        whole = {"id": f"given.id::{columns['id'].type}", **OWNED, **assigned(columns, rows)}
        whole |= filling(columns, whole)
        statement = INSERT.format(names=", ".join(whole), values=", ".join(whole.values()))
        await connection.execute(statement, *whose, *arrays(rows, sha256), timeout=SECONDS)


async def write(
    connection: Connection,
    columns: Shape,
    scope: Scope,
    rows: Mapping[str, Pair],
    space: str,
    *,
    sha256: str | None = None,
    there: Collection[str] = (),
) -> Collection[str]:
    """Rows by id, all of one file (`sha256`), or each by itself; updated those that are `there`, so that what
    another tool keeps in columns of its own stays. The ids of those inserted: one may have gone meanwhile."""
    whose = (*place(scope), space)
    old = {key: pair for key, pair in rows.items() if key in there}
    updated = await update(connection, columns, old, whose, sha256)
    new = {key: pair for key, pair in rows.items() if key not in updated}
    await insert(connection, columns, new, whose, sha256)
    if rows and columns["id"].type == UUID:  # else a search makes them when it first needs them
        await keep(connection, CHUNK, {key: words for key, (_, words) in rows.items()})
    return new.keys()


def assigned(columns: Shape, rows: Mapping[str, Pair]) -> dict[str, str]:
    """What a write gives to each column."""
    dim = len(next(iter(rows.values()))[0].embedding) // 4
    return {
        **{name: columns[name].value(f"given.{name}") for name in TEXTS},
        "indexed_at": columns["indexed_at"].value("now()"),
        "space": "$4::text",
        "sha256": "given.sha256",
        **vectors(columns, dim, "given.vector"),
    }


def arrays(rows: Mapping[str, Pair], sha256: str | None) -> tuple[list[object], ...]:
    """The parameters of GIVEN, of one row at least."""
    given = [line(key, entry, sha256) for key, (entry, _) in rows.items()]
    return tuple(map(list, zip(*given, strict=True)))


def line(key: str, entry: CodeEntry, sha256: str | None) -> tuple[object, ...]:
    """One row as GIVEN has it."""
    row = entry.row
    path = None if row.file_path is None else storable(row.file_path)
    metadata = json.dumps(dict(row.chunk_metadata)).replace("\\u0000", "\\ufffd")
    text = storable(row.chunk_text)
    return key, path, row.language, text, metadata, sha256 or entry.sha256, entry.embedding


def place(scope: Scope) -> tuple[str, str, str]:
    """Where a writer's rows are."""
    return scope.tenant, scope.owner, scope.project or ""


async def drop(connection: Connection, which: str, *values: object) -> tuple[int, set[str]]:
    """Rows, and what was made of them: how many, of which files."""
    row = await connection.fetchrow(DROP.format(which=which), *values, timeout=SECONDS)
    assert row is not None  # noqa: S101 - an aggregate is one row
    return row["rows"], set(row["paths"] or ())
