"""Rows of public.code_index: found, written, dropped; the table may be another tool's (`shape.py`).

Statements are made from names in this file and from the catalog; values are parameters always. What was
derived of a row goes with it. Raises `Rejected`.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from app.domain.code import CodeEntry
from app.domain.passage import Scope
from app.index.table import CHUNK
from app.index.words import code_packed, keep
from app.stores.named import UUID, chosen, literal, made
from app.stores.shape import Shape, filling, vectors
from app.stores.text import storable
from app.stores.transaction import Connection

TABLE = CHUNK.name
TEXTS = ("file_path", "language", "chunk_text", "chunk_metadata")
GIVEN = """
    unnest($6::text[], $7::text[], $8::text[], $9::text[], $10::text[], $11::vector[])
    AS given (id, file_path, language, chunk_text, chunk_metadata, vector)
"""
INSERT = f"INSERT INTO {TABLE} ({{names}}) SELECT {{values}} FROM {GIVEN}"  # noqa: S608 - constants of ours
OWNED = {"tenant": "$1::text", "owner": "$2::text", "project": "$3::text"}
FIND = f"""
    SELECT id::text AS id, (tenant, owner, project) = ($2, $3, $4) AS own FROM {TABLE}
    WHERE id = ANY($1::text[]::{{type}}[])
"""  # noqa: S608 - constants of ours, and a type as the catalog spells it
DROP = f"""
    WITH gone AS (DELETE FROM {TABLE} WHERE {{which}} RETURNING id::text AS id, file_path),
    words AS (
        DELETE FROM ibid.project_words AS words USING gone WHERE words.kind = 'code' AND words.id = gone.id),
    next AS (DELETE FROM ibid.text_next AS next USING gone WHERE next.kind = 'code' AND next.id = gone.id)
    SELECT count(*) AS rows, array_agg(DISTINCT file_path) AS paths FROM gone
"""  # noqa: S608 - constants of ours
SECONDS = 60.0
"""For a statement that writes or drops thousands of rows."""


Pair: TypeAlias = tuple[CodeEntry, bytes]
"""A chunk on its way into the table, and its words."""


async def prepared(entries: Sequence[CodeEntry]) -> list[Pair]:
    """With their words, made in a thread: they take longer than the rows to write."""
    rows = [
        {
            "file_path": entry.row.file_path,
            "chunk_metadata": dict(entry.row.chunk_metadata),
            "chunk_text": entry.row.chunk_text,
        }
        for entry in entries
    ]
    return list(zip(entries, await asyncio.to_thread(code_packed, rows), strict=True))


async def places(
    connection: Connection, columns: Shape, scope: Scope, entries: Sequence[CodeEntry]
) -> list[tuple[str, bool]]:
    """(id, whether a row of the writer's is there) of each; the given id if it is nobody else's."""
    kind = columns["id"].type
    given = [literal(kind, entry.given) if entry.given else None for entry in entries]
    asked = {made(kind, entry.id) for entry in entries} | {each for each in given if each is not None}
    rows = await connection.fetch(FIND.format(type=kind), sorted(asked), *place(scope))
    taken = {row["id"]: row for row in rows}
    own = {key for key, row in taken.items() if row["own"]}
    ids = [chosen(kind, entry.given, entry.id, own, taken) for entry in entries]
    return [(each, each in own) for each in ids]


async def write(
    connection: Connection,
    columns: Shape,
    scope: Scope,
    rows: Mapping[str, Pair],
    *facts: str | None,
) -> None:
    """Rows by id, none of them there. `facts`: the space, and the hash of the file that they are all of."""
    if not rows:
        return
    entries = [entry for entry, _ in rows.values()]
    kind, dim = columns["id"].type, len(entries[0].embedding) // 4
    whole = {"id": f"given.id::{kind}", **OWNED, "space": "$4::text", "sha256": "$5::text"}
    whole |= {name: columns[name].value(f"given.{name}") for name in TEXTS}
    whole |= {"indexed_at": columns["indexed_at"].value("now()"), **vectors(columns, dim, "given.vector")}
    whole |= filling(columns, whole)
    given = (*place(scope), *facts, *arrays(list(rows), entries))
    insert = INSERT.format(names=", ".join(whole), values=", ".join(whole.values()))
    await connection.execute(insert, *given, timeout=SECONDS)
    if kind == UUID:  # else a search makes them when it first needs them
        await keep(connection, CHUNK, {key: words for key, (_, words) in rows.items()})


def arrays(ids: list[str], entries: Sequence[CodeEntry]) -> tuple[list[object], ...]:
    """The parameters of GIVEN."""
    rows = [entry.row for entry in entries]
    return (
        list(ids),
        [None if row.file_path is None else storable(row.file_path) for row in rows],
        [row.language for row in rows],
        [storable(row.chunk_text) for row in rows],
        [json.dumps(dict(row.chunk_metadata)).replace("\\u0000", "\\ufffd") for row in rows],
        [entry.embedding for entry in entries],
    )


def place(scope: Scope) -> tuple[str, str, str]:
    """Where a writer's rows are."""
    return scope.tenant, scope.owner, scope.project or ""


async def drop(connection: Connection, which: str, *values: object) -> tuple[int, set[str]]:
    """Rows, and what was made of them: how many, of which files."""
    row = await connection.fetchrow(DROP.format(which=which), *values, timeout=SECONDS)
    assert row is not None  # noqa: S101 - an aggregate is one row
    return row["rows"], set(row["paths"] or ())
