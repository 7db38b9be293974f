"""`public.code_index` (`domain/code.CodeRecord`): the chunks that Ibid writes, beside those of other tools.

A chunk whose sha256 is a file's is of one that is kept whole, and goes with it; ALONE stands before that of
one which was written by itself; one without is another tool's, adopted or not, and only read. The table may
be another tool's, with no key: nothing is left to a constraint, writers of one owner take turns.
Raises `Unavailable`, `NoRoom`, `Rejected`, `RemovedMeanwhile`, `InvalidField`, `KeptElsewhere`.
"""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from datetime import datetime

import asyncpg

from app.clients.pool import Pool
from app.domain.code import CodeEntry, CodeFile, CodeKept, CodeListed, CodeOutcome, CodeVector
from app.domain.errors import KeptElsewhere, RemovedMeanwhile
from app.domain.passage import Scope
from app.retrieval.project_tables import IN_PROJECT, MOMENT, REACHED, VECTOR, WHOSE, owners
from app.stores.chunk import OF_A_FILE, TABLE, Pair, drop, free, place, places, prepared, write
from app.stores.register import LOCK
from app.stores.shape import Shape, shape, taking
from app.stores.transaction import Connection, transaction

CLOCK = "SELECT clock_timestamp()"
STANDS = "SELECT ibid.user_stands($1, $2, $3)"
OURS = f"tenant = $1 AND owner = $2 AND {IN_PROJECT.format('$3')}"
WRITTEN = f"{OURS} AND sha256 IS NOT NULL"
WHOLE = f"{WRITTEN} AND {OF_A_FILE}"
KNOWN = "bool_and(space = $5) AND count(DISTINCT sha256) = 1"
"""Of a file's chunks: nobody has written over one, nor is one of another space."""
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
"""Rows of a statement: its values are written down on the event loop."""


class CodeStore:
    """Keeps `CodeRecord`."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def clock(self) -> datetime:
        """By which erasures are dated."""
        with self._pool.asking():
            now: datetime = await self._pool.fetchval(CLOCK)
        return now

    async def put(
        self, scope: Scope, entries: Sequence[CodeEntry], space: str, since: datetime
    ) -> list[tuple[str, bool]]:
        """Each again replaces; of one id twice the last stands."""
        words = await prepared(entries)
        async with self._writing(scope, since) as (connection, columns):
            found = await places(connection, columns, scope, entries)
            rows = {key: pair for (key, _), pair in zip(found, words, strict=True)}
            there = {key for key, own in found if own}
            fresh = await write(connection, columns, scope, rows, space, there=there)
        return [(key, key in fresh) for key, _ in found]

    async def hashes(self, scope: Scope, paths: Sequence[str], space: str) -> Mapping[str, tuple[str, int]]:
        """(hash, chunks) by path."""
        with taking(TABLE), self._pool.asking():
            rows = await self._pool.fetch(HASHES, *place(scope), list(paths), space)
        return {row["file_path"]: (row["sha256"], row["chunks"]) for row in rows}

    async def vectors(
        self, scope: Scope, paths: Sequence[str], hashes: Sequence[str], space: str
    ) -> list[CodeVector]:
        """Those of the paths first."""
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
        """All or none. One that another writer has brought to the same meanwhile stays as it is."""
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
            known = await put(connection, columns, scope, new, space)
        return [outcome(file, same, known, empty=not entries) for file, entries in files]

    async def files(
        self, scope: Scope, space: str, *, after: str, limit: int
    ) -> tuple[list[CodeListed], str | None]:
        """By path. What must be written again has no hash (""): whoever follows a tree knows of it."""
        with taking(TABLE), self._pool.asking():
            rows = await self._pool.fetch(FILES, *place(scope), after, space, limit + 1)
        found = [CodeListed(**dict(row)) for row in rows]
        return found[:limit], found[limit - 1].path if len(found) > limit else None

    async def remove_files(self, scope: Scope, paths: Sequence[str]) -> int:
        """How many files."""
        return len((await self._gone(scope, f"{WHOLE} AND file_path = ANY($4)", list(paths)))[1])

    async def clear(self, scope: Scope) -> int:
        """How many rows."""
        return (await self._gone(scope, WRITTEN))[0]

    async def remove(self, scope: Scope, row_id: str) -> bool:
        """Whether it was there."""
        if (await self._gone(scope, f"{WRITTEN} AND id::text = $4", row_id))[0]:
            return True
        with taking(TABLE), self._pool.asking():
            if await self._pool.fetchval(THEIRS, *place(scope), row_id):
                raise KeptElsewhere("another tool wrote this row: it is removed there")
        return False

    async def _gone(self, scope: Scope, which: str, *values: object) -> tuple[int, set[str]]:
        """What goes."""
        async with self._writing(scope) as (connection, _):
            return await drop(connection, which, *place(scope), *values)

    async def get(self, scope: Scope, row_id: str) -> CodeKept | None:
        """A row in reach."""
        with taking(TABLE), self._pool.asking():
            row = await self._pool.fetchrow(GET, scope.tenant, owners(scope), scope.project or "", row_id)
        return None if row is None else CodeKept(**(dict(row) | {"chunk_metadata": facts(row)}))

    @asynccontextmanager
    async def _writing(
        self, scope: Scope, since: datetime | None = None
    ) -> AsyncIterator[tuple[Connection, Shape]]:
        """A transaction in which nobody else writes rows of this tenant and owner. `since`: of an owner who
        was erased since nothing is written."""
        with taking(TABLE):
            async with transaction(self._pool) as connection:
                if since and not await connection.fetchval(STANDS, scope.tenant, scope.owner, since):
                    raise RemovedMeanwhile("its user was erased while it was written")
                await connection.execute(LOCK, "\x1f".join(("ibid.code", scope.tenant, scope.owner)))
                yield connection, await shape(connection, TABLE)


async def put(
    connection: Connection,
    columns: Shape,
    scope: Scope,
    files: Sequence[tuple[CodeFile, Sequence[Pair]]],
    space: str,
) -> set[str]:
    """Files in the place of what they were; the paths of those that were there."""
    paths = [file.path for file, _ in files]
    _, known = await drop(connection, f"{WHOLE} AND file_path = ANY($4)", *place(scope), paths)
    ids = iter(await free(connection, columns, [entry for _, pairs in files for entry, _ in pairs]))
    for file, pairs in files:
        for start in range(0, len(pairs), AT_ONCE):
            rows = {next(ids): pair for pair in pairs[start : start + AT_ONCE]}
            await write(connection, columns, scope, rows, space, sha256=file.sha256)
    return known


def outcome(file: CodeFile, same: set[tuple[str, str]], known: set[str], *, empty: bool) -> CodeOutcome:
    """What became of a file; one that says nothing leaves nothing behind by which it could be known."""
    if file.path in known:
        return CodeOutcome.CHANGED
    return CodeOutcome.UNCHANGED if empty or (file.path, file.sha256) in same else CodeOutcome.ADDED


def facts(row: asyncpg.Record) -> dict[str, object] | None:
    """A chunk's metadata, if they are an object: another tool's column may hold anything."""
    try:
        found = json.loads(row["chunk_metadata"] or "null")
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None
