"""Code chunks of a project in `public.code_index`: value types and store.

Lines count from 1, both ends included. A chunk of a whole file carries the file's SHA-256 and is replaced
with it; a chunk written alone has a hash with the prefix ALONE; a row without a hash belongs to another tool
and is only read. That tool may have created the table, with other column types and no key, so writers of one
owner take turns. Raises `Unavailable`, `NoRoom`, `Rejected`, `RemovedMeanwhile`, `InvalidField`,
`KeptElsewhere`.
"""

import asyncio
import hashlib
import json
import uuid
from collections.abc import AsyncIterator, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypeAlias

import asyncpg

from app.db.pool import Pool
from app.db.project_tables import (
    CHUNK,
    IN_PROJECT,
    MOMENT,
    REACHED,
    VECTOR,
    WHOSE,
    Analysed,
    chunk_analysed,
    keep,
    owners,
)
from app.db.projects import (
    UUID,
    Called,
    Found,
    Shape,
    WrittenTable,
    literal,
    located,
    shape,
    taking,
    write_rows,
)
from app.db.rows import (
    Connection,
    check_not_erased,
    clock,
    storable,
    take_turns,
    transaction,
)
from app.errors import InvalidField, KeptElsewhere
from app.types import DEFAULT_TENANT, Embedding, Scope

IDS = uuid.UUID("6a1d3c52-0a4e-5f0b-9a6e-3f1f6b7c9d20")
"""UUIDv5 namespace of code rows."""
ALONE = "row "
"""Prefix of the hash of a chunk that was written alone."""


@dataclass(frozen=True, slots=True)
class CodeCut:
    text: str
    start_line: int
    end_line: int
    function_name: str | None = None
    class_name: str | None = None
    signature: str | None = None
    heading: str | None = None
    """Heading of the section, for texts."""

    def metadata(self) -> dict[str, object]:
        names = ("function_name", "class_name", "signature", "heading", "start_line", "end_line")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class CodeRow:
    file_path: str | None
    language: str | None
    chunk_text: str
    chunk_metadata: Mapping[str, object] = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class CodeKept:
    id: str
    file_path: str | None
    language: str | None
    chunk_text: str | None
    chunk_metadata: Mapping[str, object] | None
    project: str | None
    indexed_at: datetime | None


@dataclass(frozen=True, slots=True)
class CodeFile:
    path: str
    """Relative to the project's root, with `/`."""
    text: str
    language: str | None = None
    """None: from the path."""

    @property
    def sha256(self) -> str:
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class CodeListed:
    path: str
    sha256: str
    chunks: int
    language: str | None
    indexed_at: datetime | None


@dataclass(frozen=True, slots=True)
class CutFile:
    language: str
    cuts: Sequence[CodeCut]
    note: str = ""
    """A remark on the cutting, for the file's owner."""


class CodeOutcome(StrEnum):
    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class CodeFiled:
    path: str
    outcome: CodeOutcome
    chunks: int
    embedded: int = 0
    """Number of chunks that needed a new vector."""
    note: str = ""
    """A remark on the cutting, for the file's owner."""


@dataclass(frozen=True, slots=True)
class CodeEntry:
    id: str
    row: CodeRow
    embedding: Embedding

    @property
    def given(self) -> str | None:
        return self.row.id

    @property
    def sha256(self) -> str:
        """Hash of a row that was sent alone, vector included; it equals no file's hash."""
        row = self.row
        content = json.dumps([row.file_path, row.language, row.chunk_text, dict(row.chunk_metadata)])
        return ALONE + hashlib.sha256(content.encode() + self.embedding).hexdigest()


@dataclass(frozen=True, slots=True)
class CodeVector:
    file_path: str | None
    sha256: str
    chunk_text: str
    embedding: Embedding


def keeps(scope: Scope) -> bool:
    """True if a client's UUID may be a row's id. In other tenants guessable ids could be occupied."""
    return scope.tenant == DEFAULT_TENANT and not scope.owner


def row_id(scope: Scope, row: CodeRow) -> str:
    named = ("id", row.id) if row.id is not None else ("text", row.file_path or "", row.chunk_text)
    return derived_id(scope, *named)


def chunk_ids(scope: Scope, path: str, cuts: Sequence[CodeCut]) -> list[str]:
    """Ids from path and text, so an unchanged chunk keeps its id; equal chunks are numbered."""
    turns: dict[str, int] = {}
    found = []
    for cut in cuts:
        turns[cut.text] = turn = turns.get(cut.text, -1) + 1
        found.append(derived_id(scope, "file", path, str(turn), cut.text))
    return found


def derived_id(scope: Scope, *named: str) -> str:
    where = "\x1f".join((scope.tenant, scope.owner, scope.project or "", *named))
    return str(uuid.uuid5(IDS, where.encode("utf-8", "replace").decode()))


TABLE = CHUNK.name
TEXTS = ("file_path", "language", "chunk_text", "chunk_metadata")
BY_ITSELF = f"starts_with(sha256, '{ALONE}')"
OF_A_FILE = f"NOT {BY_ITSELF}"
"""Null, so not true, for another tool's row."""
FIND = f"""
    SELECT id::text AS id, (tenant, owner, project) = ($2, $3, $4) AND {BY_ITSELF} AS own,
        (tenant, owner, project) = ($2, $3, $4) AND {OF_A_FILE} AS filed
    FROM {TABLE} WHERE id = ANY($1::text[]::{{type}}[])
"""  # noqa: S608 - constants of ours, and a type as the catalog spells it
TAKEN = f"SELECT id::text AS id FROM {TABLE} WHERE id = ANY($1::text[]::{{type}}[])"  # noqa: S608 - as above
ROWS = WrittenTable(
    *(TABLE, "id", TEXTS, (), "code"),
    returning="kept.id::text AS id",
    replaced=f"starts_with(kept.sha256, '{ALONE}')",
)
DROP = f"""
    WITH gone AS (DELETE FROM {TABLE} WHERE {{which}} RETURNING id::text AS id, file_path),
    words AS (
        DELETE FROM ibid.project_words AS words USING gone WHERE words.kind = 'code' AND words.id = gone.id),
    next AS (DELETE FROM ibid.text_next AS next USING gone WHERE next.kind = 'code' AND next.id = gone.id)
    SELECT count(*) AS rows, array_agg(DISTINCT file_path) AS paths FROM gone
"""  # noqa: S608 - constants of ours
SECONDS = 60.0
"""Deadline of a statement that writes or deletes thousands of rows."""


Pair: TypeAlias = tuple[CodeEntry, Analysed]
"""A chunk to be written, with its terms and tokens."""


async def prepared(entries: Sequence[CodeEntry]) -> list[Pair]:
    return await asyncio.to_thread(lambda: [(entry, analysed(entry)) for entry in entries])


def analysed(entry: CodeEntry) -> Analysed:
    row = entry.row
    facts = dict(row.chunk_metadata)
    return chunk_analysed({"file_path": row.file_path, "chunk_metadata": facts, "chunk_text": row.chunk_text})


async def find_ids(
    connection: Connection, columns: Shape, scope: Scope, entries: Sequence[CodeEntry]
) -> list[tuple[str, bool]]:
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
        raise InvalidField(
            "an id is that of a chunk of a whole file: put the file, or remove it first", field="body.id"
        )
    return [(each, each in own) for each in ids]


async def free_ids(connection: Connection, columns: Shape, entries: Sequence[CodeEntry]) -> list[str]:
    """Ids for chunks of files whose rows were deleted: any row that still has one is another writer's."""
    kind = columns["id"].type

    async def find(ids: Sequence[str]) -> Found:
        rows = await connection.fetch(TAKEN.format(type=kind), ids, timeout=SECONDS)
        return (), {row["id"] for row in rows}

    return await located(kind, [Called(None, entry.id) for entry in entries], find, count=1)


async def write_chunks(
    connection: Connection,
    columns: Shape,
    scope: Scope,
    rows: Mapping[str, Pair],
    space: str,
    *,
    sha256: str | None = None,
    there: Collection[str] = (),
) -> Collection[str]:
    """Write rows by id, of one file (`sha256`) or each alone; those in `there` are updated. Returns the ids
    of the inserted rows: an updated row may have been deleted meanwhile."""
    lines = [row_values(key, entry, sha256) for key, (entry, _) in rows.items()]
    _, inserted = await write_rows(connection, columns, ROWS, lines, scope=scope, space=space, there=there)
    if rows and columns["id"].type == UUID:  # else a search makes them at first use
        await keep(connection, CHUNK, {key: words for key, (_, words) in rows.items()})
    return {row["id"] for row in inserted}


def row_values(key: str, entry: CodeEntry, sha256: str | None) -> tuple[object, ...]:
    row = entry.row
    path = None if row.file_path is None else storable(row.file_path)
    metadata = json.dumps(dict(row.chunk_metadata)).replace("\\u0000", "\\ufffd")
    text = storable(row.chunk_text)
    return key, path, row.language, text, metadata, None, sha256 or entry.sha256, entry.embedding


def place(scope: Scope) -> tuple[str, str, str]:
    return scope.tenant, scope.owner, scope.project or ""


async def drop_rows(connection: Connection, which: str, *values: object) -> tuple[int, set[str]]:
    row = await connection.fetchrow(DROP.format(which=which), *values, timeout=SECONDS)
    assert row is not None  # noqa: S101 - an aggregate is one row
    return row["rows"], set(row["paths"] or ())


OURS = f"tenant = $1 AND owner = $2 AND {IN_PROJECT.format('$3')}"
WRITTEN = f"{OURS} AND sha256 IS NOT NULL"
WHOLE = f"{WRITTEN} AND {OF_A_FILE}"
KNOWN = "bool_and(space = $5) AND count(DISTINCT sha256) = 1"
"""True if all chunks of a file are of one version and of the requested space."""
HASHES = f"""
    SELECT file_path, min(sha256) AS sha256, count(*) AS chunks FROM {TABLE}
    WHERE {WHOLE} AND file_path = ANY($4::text[]) GROUP BY file_path HAVING {KNOWN}
"""  # noqa: S608 - constants of ours
VECTORS = f"""
    SELECT file_path::text, sha256, chunk_text::text, {VECTOR} AS embedding FROM {TABLE}
    WHERE {WHOLE} AND space = $4 AND (file_path = ANY($5::text[]) OR sha256 = ANY($6::text[]))
    ORDER BY file_path = ANY($5::text[]) DESC, id
"""  # noqa: S608 - constants of ours
FILES = f"""
    SELECT file_path::text AS path, CASE WHEN {KNOWN} THEN min(sha256) ELSE '' END AS sha256,
        count(*) AS chunks, min(language) AS language, max(indexed_at) AS indexed_at
    FROM (SELECT file_path, sha256, language, space, {MOMENT} FROM {TABLE}
        WHERE {WHOLE} AND file_path::text COLLATE "C" > $4) AS kept
    GROUP BY file_path ORDER BY file_path::text COLLATE "C" LIMIT $6
"""  # noqa: S608 - constants of ours
GET = f"""
    SELECT id::text AS id, file_path, language, chunk_text, chunk_metadata::text AS chunk_metadata, project,
        {MOMENT}
    FROM {TABLE} WHERE {REACHED} AND project = $3 AND id::text = $4
"""  # noqa: S608 - constants of ours
THEIRS = f"SELECT EXISTS (SELECT FROM {TABLE} WHERE {WHOSE} AND project = $3 AND id::text = $4)"  # noqa: S608
AT_ONCE = 500
"""Rows per statement: encoding the values blocks the event loop."""


class CodeStore:
    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def clock(self) -> datetime:
        return await clock(self._pool)

    async def put(
        self, scope: Scope, entries: Sequence[CodeEntry], space: str, since: datetime
    ) -> list[tuple[str, bool]]:
        """Write rows; the same id again replaces. Returns (id, True if new) of each. Raises `InvalidField`
        for the id of a whole file's chunk, `RemovedMeanwhile` if the owner was erased after `since`."""
        words = await prepared(entries)
        async with self._writing(scope, since) as (connection, columns):
            found = await find_ids(connection, columns, scope, entries)
            rows = {key: pair for (key, _), pair in zip(found, words, strict=True)}
            there = {key for key, own in found if own}
            fresh = await write_chunks(connection, columns, scope, rows, space, there=there)
        return [(key, key in fresh) for key, _ in found]

    async def hashes(self, scope: Scope, paths: Sequence[str], space: str) -> Mapping[str, tuple[str, int]]:
        """(hash, number of chunks) of those files that are stored whole with vectors of `space`."""
        with taking(TABLE), self._pool.asking():
            rows = await self._pool.fetch(HASHES, *place(scope), list(paths), space)
        return {row["file_path"]: (row["sha256"], row["chunks"]) for row in rows}

    async def vectors(
        self, scope: Scope, paths: Sequence[str], hashes: Sequence[str], space: str
    ) -> list[CodeVector]:
        with taking(TABLE), self._pool.asking():
            rows = await self._pool.fetch(VECTORS, *place(scope), space, list(paths), list(hashes))
        return [CodeVector(*row) for row in rows if row["embedding"] is not None]

    async def replace(
        self,
        scope: Scope,
        files: Sequence[tuple[CodeFile, Sequence[CodeEntry]]],
        space: str,
        since: datetime,
    ) -> list[CodeOutcome]:
        """Replace files, all or none. A file that another writer stored identically is unchanged."""
        words = [await prepared(entries) for _, entries in files]
        paths = [file.path for file, _ in files]
        async with self._writing(scope, since) as (connection, columns):
            kept = await connection.fetch(HASHES, *place(scope), paths, space)
            same = {(row["file_path"], row["sha256"]) for row in kept}
            new = [
                (file, pairs)
                for (file, _), pairs in zip(files, words, strict=True)
                if (file.path, file.sha256) not in same
            ]
            known = await replace_files(connection, columns, scope, new, space)
        return [outcome(file, same, known, empty=not entries) for file, entries in files]

    async def files(
        self, scope: Scope, space: str, *, after: str, limit: int
    ) -> tuple[list[CodeListed], str | None]:
        """Files after the path `after`, and the last path of the page if more follow. The hash of a file with
        vectors of another space is empty, so that the client sends it again."""
        with taking(TABLE), self._pool.asking():
            rows = await self._pool.fetch(FILES, *place(scope), after, space, limit + 1)
        found = [CodeListed(**dict(row)) for row in rows]
        return found[:limit], found[limit - 1].path if len(found) > limit else None

    async def remove_files(self, scope: Scope, paths: Sequence[str]) -> int:
        return len((await self._gone(scope, f"{WHOLE} AND file_path = ANY($4)", list(paths)))[1])

    async def clear(self, scope: Scope) -> int:
        return (await self._gone(scope, WRITTEN))[0]

    async def remove(self, scope: Scope, row_id: str) -> bool:
        if (await self._gone(scope, f"{WRITTEN} AND id::text = $4", row_id))[0]:
            return True
        with taking(TABLE), self._pool.asking():
            if await self._pool.fetchval(THEIRS, *place(scope), row_id):
                raise KeptElsewhere("another tool wrote this row; remove it with that tool")
        return False

    async def _gone(self, scope: Scope, which: str, *values: object) -> tuple[int, set[str]]:
        async with self._writing(scope) as (connection, _):
            return await drop_rows(connection, which, *place(scope), *values)

    async def get(self, scope: Scope, row_id: str) -> CodeKept | None:
        with taking(TABLE), self._pool.asking():
            row = await self._pool.fetchrow(GET, scope.tenant, owners(scope), scope.project or "", row_id)
        return None if row is None else CodeKept(**(dict(row) | {"chunk_metadata": facts(row)}))

    @asynccontextmanager
    async def _writing(
        self, scope: Scope, since: datetime | None = None
    ) -> AsyncIterator[tuple[Connection, Shape]]:
        """A transaction that holds the lock of writers of this tenant and owner. Raises `RemovedMeanwhile` if
        the owner was erased after `since`."""
        with taking(TABLE):
            async with transaction(self._pool) as connection:
                if since:
                    await check_not_erased(connection, scope.tenant, scope.owner, since)
                await take_turns(connection, "ibid.code", scope.tenant, scope.owner)
                yield connection, await shape(connection, TABLE)


async def replace_files(
    connection: Connection,
    columns: Shape,
    scope: Scope,
    files: Sequence[tuple[CodeFile, Sequence[Pair]]],
    space: str,
) -> set[str]:
    paths = [file.path for file, _ in files]
    _, known = await drop_rows(connection, f"{WHOLE} AND file_path = ANY($4)", *place(scope), paths)
    ids = iter(await free_ids(connection, columns, [entry for _, pairs in files for entry, _ in pairs]))
    for file, pairs in files:
        for start in range(0, len(pairs), AT_ONCE):
            rows = {next(ids): pair for pair in pairs[start : start + AT_ONCE]}
            await write_chunks(connection, columns, scope, rows, space, sha256=file.sha256)
    return known


def outcome(file: CodeFile, same: set[tuple[str, str]], known: set[str], *, empty: bool) -> CodeOutcome:
    """An empty file leaves no rows, so it counts as unchanged."""
    if file.path in known:
        return CodeOutcome.CHANGED
    return CodeOutcome.UNCHANGED if empty or (file.path, file.sha256) in same else CodeOutcome.ADDED


def facts(row: asyncpg.Record) -> dict[str, object] | None:
    """A chunk's metadata if it is an object: another tool's column may hold anything."""
    try:
        found = json.loads(row["chunk_metadata"] or "null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
