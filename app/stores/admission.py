"""The door of the record: a file's bytes, its row and its job, in one transaction or not at all.

Bytes go in first and outside of any lock, in pieces of 1 MiB; then the part's lock is taken and it is decided
who came first. Raises `Conflict` (the name is taken), `Overloaded` (no turn within TURN_SECONDS),
`RemovedMeanwhile` (the user was erased), `Unavailable`.
"""

import asyncio
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg

from app.clients.pool import Pool
from app.domain.answer import new_id
from app.domain.document import Document, Part, State, Upload
from app.domain.errors import Conflict, Overloaded, RemovedMeanwhile, Unavailable
from app.domain.filename import clean
from app.domain.label import label_name, unique
from app.domain.passage import Scope
from app.stores.part import enqueue, found, hold, home, place
from app.stores.reach import COLUMNS, document
from app.stores.transaction import Connection, transaction

PIECE = 1 << 20
"""Bytes of a row of `document_piece`; also what one upload holds in memory."""
AT_ONCE = 4
"""Uploads written at once: more would not be faster, and chat needs connections too."""
TURN_SECONDS = 60.0
COPY_SECONDS = 900.0
"""For the bytes of one file: 4 GiB at 5 MB/s."""
ROUNDS = 3
"""An upload that lost a race whose winner then vanished tries again, this often."""

STANDING = f"""
    SELECT {COLUMNS} FROM ibid.document
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at IS NULL
    AND state IN ('processing', 'ready') AND (sha256 = $4 OR filename = $5)
    ORDER BY created_at
"""  # noqa: S608 - a constant of ours
NAMES = """
    SELECT name FROM ibid.document
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at IS NULL
    AND state IN ('processing', 'ready')
"""
# Removed until it is admitted: so no unique index sees a row whose bytes are still coming, and two
# uploads of one file do not wait for each other before it is known who was first.
ARRIVE = """
    INSERT INTO ibid.document (id, tenant, owner, session_id, filename, name, sha256, size, users, removed_at)
    VALUES ($1, $2, $3, $4, $5, '', $6, $7, ARRAY[$8], now())
"""
# The clock under the lock: `created_at` orders the uploads of one name.
ADMIT = f"""
    UPDATE ibid.document SET removed_at = NULL, created_at = clock_timestamp(), name = $2, replaces = $3
    WHERE id = $1 RETURNING {COLUMNS}
"""  # noqa: S608 - a constant of ours
WITHDRAW = """
    UPDATE ibid.document SET removed_at = now()
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at IS NULL
    AND state = 'processing' AND filename = $4 AND created_at > $5
    RETURNING id
"""
# Before the part's lock, as an erasure takes them: first the user's mark, then the documents.
STANDS = "SELECT ibid.user_stands($1, $2, now())"
JOIN = f"""
    UPDATE ibid.document SET users = users || $2::text WHERE id = $1 AND NOT users @> ARRAY[$2::text]
    RETURNING {COLUMNS}
"""  # noqa: S608 - a constant of ours


class _Raced(Exception):
    """The same bytes were admitted while ours arrived."""


class Admission:
    """Lets uploads in, a few at a time."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._turns = asyncio.Semaphore(max(1, min(AT_ONCE, pool.get_max_size() // 4)))

    async def admit(self, scope: Scope, upload: Upload) -> tuple[Document, bool]:
        """(document, created); see `ports.Documents.admit`."""
        part, filename = home(scope, upload.session_id), clean(upload.filename)
        user = scope.user_id or ""
        self._pool.check_room(2 * upload.size)  # in the table and in the log
        async with self._turn():
            for _ in range(ROUNDS):
                if known := await self._known(part, filename, upload, user):
                    return known, False
                try:
                    return await self._receive(part, filename, upload, user), True
                except _Raced:
                    continue
        raise Unavailable("other uploads of this file come and go; try again", retry_after=1)

    @asynccontextmanager
    async def _turn(self) -> AsyncIterator[None]:
        """One of AT_ONCE places. The deadline ends before the body starts: none is held across it."""
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await self._turns.acquire()
        except TimeoutError:
            raise Overloaded("too many uploads at once", retry_after=5) from None
        try:
            yield
        finally:
            self._turns.release()

    async def _known(self, part: Part, filename: str, upload: Upload, user: str) -> Document | None:
        """The same bytes, already there: from now on the user's too. `Conflict` before a byte is written."""
        async with transaction(self._pool) as connection:
            await stand(connection, part, user)
            await hold(connection, part)
            known = decide(await standing(connection, part, filename, upload), filename, upload)
            if known is None:
                return None
            if upload.replace:
                await withdraw(connection, part, known)
            joined = await connection.fetchrow(JOIN, known.id, user)
            return document(joined) if joined else known

    async def _receive(self, part: Part, filename: str, upload: Upload, user: str) -> Document:
        """Everything in one transaction, the bytes first. Raises `_Raced`."""
        new = new_id()
        async with transaction(self._pool) as connection:
            arrival = (new, *place(part), filename, upload.sha256, upload.size, user)
            await connection.execute(ARRIVE, *arrival)
            await connection.copy_records_to_table(
                "document_piece",
                schema_name="ibid",
                columns=("document_id", "n", "bytes"),
                records=pieces(new, upload.path),
                timeout=COPY_SECONDS,
            )
            await stand(connection, part, user)
            await hold(connection, part)
            stands = await standing(connection, part, filename, upload)
            if decide(stands, filename, upload):
                raise _Raced
            return await enter(connection, part, new, filename, stands)


async def pieces(document_id: str, path: Path) -> AsyncIterator[tuple[str, int, bytes]]:
    """Rows of `document_piece`; the file is read in threads, one piece in memory at a time."""
    file = await asyncio.to_thread(path.open, "rb")
    try:
        n = 0
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield document_id, n, piece
            n += 1
    finally:
        file.close()


async def stand(connection: Connection, part: Part, user: str) -> None:
    """`RemovedMeanwhile` if the user was erased since the transaction began; an erasure waits for its end."""
    if not await connection.fetchval(STANDS, part.tenant, user):
        raise RemovedMeanwhile("all that was kept of this user was erased meanwhile")


async def standing(
    connection: Connection, part: Part, filename: str, upload: Upload
) -> Sequence[asyncpg.Record]:
    """What has these bytes or this name, oldest first. Under the part's lock."""
    return await connection.fetch(STANDING, *place(part), upload.sha256, filename)


def decide(stands: Sequence[asyncpg.Record], filename: str, upload: Upload) -> Document | None:
    """The one with the same bytes. `Conflict` if another has the name and is not to be replaced."""
    known = next((row for row in stands if row["sha256"] == upload.sha256), None)
    if known is None and stands and not upload.replace:
        raise Conflict(f"{filename!r} is here with other bytes; replace=true puts these in its place")
    return document(known) if known else None


async def enter(
    connection: Connection, part: Part, new: str, filename: str, namesakes: Sequence[asyncpg.Record]
) -> Document:
    """Make an arrived document visible, with its label name and its job."""
    await found(connection, part)
    serving = next((row["id"] for row in namesakes if row["state"] == State.READY), None)
    if namesakes:
        name = namesakes[-1][
            "name"
        ]  # it takes over the label, so that earlier citations still lead somewhere
    else:
        taken = await connection.fetch(NAMES, *place(part))
        name = unique(label_name(filename), (row["name"] for row in taken))
    row = await connection.fetchrow(ADMIT, new, name, serving)
    await enqueue(connection, "ingest", new, part)
    assert row is not None  # noqa: S101 - inserted in this very transaction
    return document(row)


async def withdraw(connection: Connection, part: Part, known: Document) -> None:
    """Whoever sends the old bytes again with replace=true wants them to stay: later uploads of the name
    that are still being read must not push them out."""
    later = await connection.fetch(WITHDRAW, *place(part), known.filename, known.created_at)
    for row in later:
        await enqueue(connection, "purge", row["id"], part)
