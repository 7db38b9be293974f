"""Documents: uploads, chunks and their states, for the API and the background jobs.

Pages are physical, from 1; a chunk's ordinal counts from 1. A part is a session or the tenant's global
documents. An upload's bytes are stored first, without a lock; then the part's lock decides which of two
uploads came first. Locks are always taken in one order: the part's advisory lock, rows of `document`, the row
of `part`. SQL conditions decide which documents a scope may see. Steps of a job are one transaction each and
may be repeated. Raises `Conflict`, `Overloaded`, `Missing`, `RemovedMeanwhile`, `Unavailable`.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from enum import StrEnum
from pathlib import Path
from typing import Protocol, TypeAlias

import asyncpg

from app.answer import new_id
from app.db.pool import Pool, postgres_faults
from app.db.rows import (
    Connection,
    check_not_erased,
    closed,
    copy_rows,
    is_id,
    opened,
    storable,
    take_turns,
    transaction,
)
from app.errors import Conflict, Missing, Overloaded, Unavailable
from app.text.labels import clean, distinct, key, label_name, unique
from app.text.terms import encode_terms
from app.types import Chunk, Embedding, ParsedDocument, PendingDocument, Scope


class State(StrEnum):
    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class DocumentFault:
    slug: str
    detail: str


@dataclass(frozen=True, slots=True)
class Upload:
    path: Path
    filename: str
    size: int
    """Bytes."""
    sha256: str
    session_id: str | None
    """None: global, visible in every session of the tenant."""
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a document is that is not ready."""

    stage: str = "queued"
    """queued, reading, indexing."""
    done: int = 0
    """Pages that this stage has done, of `of`."""
    of: int = 0
    """0: not known."""


@dataclass(frozen=True, slots=True)
class Document:
    id: str
    label: str
    """Its name in citations: `report.pdf` in `[report.pdf#3]`, as the scope sees it."""
    filename: str
    session_id: str | None
    state: State
    pages: int
    chunks: int
    tokens: int
    sha256: str
    created_at: datetime
    users: tuple[str, ...] = ()
    """Users for whom it was uploaded, in that order; "" is the tenant, for an upload that named no user."""
    fault: DocumentFault | None = None
    warnings: tuple[str, ...] = ()
    """Sentences for people: what of the file cannot be searched."""
    title: str = ""
    """Its own; "": none was found."""
    size: int = 0
    """Bytes of the file."""
    progress: Progress | None = None
    """While it is being read."""

    @property
    def scope(self) -> str:
        return "global" if self.session_id is None else "session"


@dataclass(frozen=True, slots=True)
class DocumentPart:
    """A session of one owner, or (session_id "") the documents that all of a tenant share."""

    tenant: str
    owner: str = ""
    session_id: str = ""

    @property
    def is_global(self) -> bool:
        return not self.session_id


TITLE_CHARS, HEADING_CHARS = 120, 200
"""Most characters of title and heading that are embedded: the text needs the rest of the model's 512
tokens."""


TABLE_MARKS = re.compile(r" \|(?: \|)* |^---(?: \| ---)*\n", re.MULTILINE)


def embedded_text(title: str, heading: str, text: str) -> str:
    """The text that is embedded for a chunk: title, heading, text, a line each. A long heading keeps its end,
    which says most about the text below it. The marks of tables (`ingest/columns.py`) mean nothing here."""
    front = (title.strip()[:TITLE_CHARS], heading.strip()[-HEADING_CHARS:])
    return "\n".join(part for part in (*front, TABLE_MARKS.sub(" ", text)) if part)


def indexed_text(filename: str, title: str, heading: str, text: str) -> str:
    return f"{filename}\n{title}\n{heading}\n{text}"


CHUNK = "chunk"


Told: TypeAlias = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A stored text without a vector in a space that is being built."""

    id: str
    """Id of the document, memory, corpus point or row."""
    ordinal: int
    title: str
    heading: str
    text: str
    kind: str = CHUNK
    """chunk, memory, corpus, conversation, code."""


class Parser(Protocol):
    async def parse(self, path: Path, filename: str, told: Told | None = None) -> ParsedDocument:
        """`told` is called with pages read, of how many. Raises `PdfEncrypted`, `PdfDamaged`, `PdfTextless`,
        `PdfUnreadable`, `PdfTooComplex`, `NotPdf`."""


TENANT = "INSERT INTO ibid.tenant (id) VALUES ($1) ON CONFLICT DO NOTHING"
PART = "INSERT INTO ibid.part (tenant, owner, session_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING"
BUMP = """
    INSERT INTO ibid.part AS part (tenant, owner, session_id, version) VALUES ($1, $2, $3, 1)
    ON CONFLICT (tenant, owner, session_id) DO UPDATE SET version = part.version + 1
"""
JOB = """
    INSERT INTO ibid.job (kind, document_id, tenant, owner, session_id, run_after)
    VALUES ($1, $2, $3, $4, $5, now() + make_interval(secs => $6))
"""
CLEAR = """
    WITH gone AS (
        UPDATE ibid.document SET removed_at = now()
        WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at IS NULL
        RETURNING id, tenant, owner, session_id),
    purges AS (
        INSERT INTO ibid.job (kind, document_id, tenant, owner, session_id)
        SELECT 'purge', id, tenant, owner, session_id FROM gone)
    SELECT count(*) FROM gone
"""
# Removed rows keep their users: an erasure waits until they are purged.
RELEASE = """
    WITH mine AS (
        UPDATE ibid.document SET removed_at = now()
        WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at IS NULL
        AND (owner = $4 OR users = ARRAY[$4])
        RETURNING id, tenant, owner, session_id),
    purges AS (
        INSERT INTO ibid.job (kind, document_id, tenant, owner, session_id)
        SELECT 'purge', id, tenant, owner, session_id FROM mine),
    shared AS (
        UPDATE ibid.document SET users = array_remove(users, $4)
        WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND removed_at IS NULL
        AND owner <> $4 AND users @> ARRAY[$4] AND users <> ARRAY[$4]
        RETURNING id)
    SELECT (SELECT count(*) FROM mine) + (SELECT count(*) FROM shared)
"""
CHANNEL = "ibid_jobs"
"""Notified when a job is committed, so that idle workers need not poll for it."""


def home(scope: Scope, session_id: str | None) -> DocumentPart:
    """The part of a document of `scope`; session None: the tenant's shared documents, which have no owner."""
    return (
        DocumentPart(scope.tenant)
        if session_id is None
        else DocumentPart(scope.tenant, scope.owner, session_id)
    )


def place(part: DocumentPart) -> tuple[str, str, str]:
    return part.tenant, part.owner, part.session_id


async def hold(connection: Connection, part: DocumentPart) -> None:
    await take_turns(connection, "ibid.part", *place(part))


async def ensure_part(connection: Connection, part: DocumentPart) -> None:
    await connection.execute(TENANT, part.tenant)
    await connection.execute(PART, *place(part))


async def bump(connection: Connection, part: DocumentPart) -> None:
    await connection.execute(BUMP, *place(part))


async def enqueue(
    connection: Connection, kind: str, document_id: str, part: DocumentPart, *, delay_seconds: float = 0
) -> None:
    await connection.execute(JOB, kind, document_id, *place(part), delay_seconds)
    await connection.execute("SELECT pg_notify($1, '')", CHANNEL)


async def cleared(
    connection: Connection, part: DocumentPart, *, user: str | None = None, seconds: float | None = None
) -> int:
    """Mark the documents of a part, or one user's, as removed and queue their purges; returns how many. A
    document that other users uploaded too remains theirs. Needs the part's lock."""
    asked = (CLEAR, *place(part)) if user is None else (RELEASE, *place(part), user)
    count: int = await connection.fetchval(*asked, timeout=seconds)
    if count:
        await bump(connection, part)
        await connection.execute("SELECT pg_notify($1, '')", CHANNEL)
    return count


IN_REACH = """
    tenant = $1 AND removed_at IS NULL
    AND (session_id = '' OR (owner = $2 AND ($3::text IS NULL OR session_id = $3)))
"""
"""Global documents of the tenant, and the owner's: of session $3, or of all."""

COLUMNS = """id, name, filename, title, session_id, state, pages, chunks, tokens, sha256, created_at,
    users, fault_slug, fault_detail, warnings, size, stage, pages_done"""

OWN = """
    SELECT name FROM ibid.document
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND state = 'ready' AND removed_at IS NULL
    ORDER BY id
"""
SHARED = """
    SELECT id, name FROM ibid.document
    WHERE tenant = $1 AND session_id = '' AND removed_at IS NULL AND (state = 'ready' OR id = ANY($2))
    ORDER BY id
"""


def asker(scope: Scope) -> tuple[str, str, str | None]:
    return scope.tenant, scope.owner, scope.session_id


def document(row: asyncpg.Record) -> Document:
    fault = DocumentFault(row["fault_slug"], row["fault_detail"] or "") if row["fault_slug"] else None
    state = State(row["state"])
    progress = Progress(row["stage"] or "queued", row["pages_done"], row["pages"])
    return Document(
        id=row["id"],
        label=label_name(row["name"]),
        filename=row["filename"],
        session_id=row["session_id"] or None,
        state=state,
        pages=row["pages"],
        chunks=row["chunks"],
        tokens=row["tokens"],
        sha256=row["sha256"],
        created_at=row["created_at"],
        users=tuple(row["users"]),
        fault=fault,
        warnings=tuple(row["warnings"]),
        title=row["title"],
        size=row["size"],
        progress=progress if state is State.PROCESSING else None,
    )


async def labelled(connection: Connection, scope: Scope, seen: Sequence[Document]) -> list[Document]:
    if scope.session_id is None or all(item.session_id for item in seen):
        return list(seen)
    rows = await connection.fetch(OWN, scope.tenant, scope.owner, scope.session_id)
    own = [label_name(row["name"]) for row in rows]
    if not in_the_way(own, seen):
        return list(seen)  # avoid reading thousands of global names
    labels = await global_labels(connection, scope, own, seen)
    return [replace(item, label=labels.get(item.id, item.label)) for item in seen]


async def global_labels(
    connection: Connection, scope: Scope, own: Sequence[str], seen: Sequence[Document]
) -> dict[str, str]:
    shared = await connection.fetch(SHARED, scope.tenant, [item.id for item in seen])
    _, shown = distinct(own, [label_name(row["name"]) for row in shared])
    return dict(zip((row["id"] for row in shared), shown, strict=True))


def in_the_way(own: Sequence[str], seen: Sequence[Document]) -> bool:
    looks = set(map(key, own))
    return any(item.session_id is None and key(item.label) in looks for item in seen)


PIECE = 1 << 20
"""Bytes per row of `document_piece`, and of an upload held in memory."""
AT_ONCE = 4
"""Uploads written concurrently: more are not faster, and chat needs connections too."""
TURN_SECONDS = 60.0
COPY_SECONDS = 900.0
"""Deadline of writing the bytes of one file: 4 GiB at 5 MB/s."""
ROUNDS = 3
"""Attempts of an upload that lost a race to one that then failed."""

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
# Marked as removed until it is admitted, so that no unique index sees a row whose bytes are still coming, and
# two uploads of one file do not wait for each other before one of them is first.
ARRIVE = """
    INSERT INTO ibid.document (id, tenant, owner, session_id, filename, name, sha256, size, users, removed_at)
    VALUES ($1, $2, $3, $4, $5, '', $6, $7, ARRAY[$8], now())
"""
# The time under the lock: `created_at` orders the uploads of one name.
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
# In the order of an erasure, before the part's lock: first the user's mark, then the documents.
JOIN = f"""
    UPDATE ibid.document SET users = users || $2::text WHERE id = $1 AND NOT users @> ARRAY[$2::text]
    RETURNING {COLUMNS}
"""  # noqa: S608 - a constant of ours


CHUNKS_COPY_SECONDS = 300.0
DELETE_SECONDS = 300.0
"""A file of 4 GiB is two million TOAST rows."""

PLACED = f"SELECT {COLUMNS}, tenant, owner FROM ibid.document WHERE id = $1 AND removed_at IS NULL"  # noqa: S608
NAMED = "SELECT filename FROM ibid.document WHERE id = $1 AND removed_at IS NULL"
FACTS = """
    UPDATE ibid.document SET pages = $2, chunks = $3, tokens = $4, title = $5, warnings = $6
    WHERE id = $1 AND removed_at IS NULL AND state <> 'failed' RETURNING id
"""
KEPT = "SELECT embedding FROM ibid.chunk WHERE document_id = $1 AND space = $2 ORDER BY ordinal"
# Only one that is being read: a repetition changes nothing.
READ = """
    SELECT filename, created_at FROM ibid.document
    WHERE id = $1 AND removed_at IS NULL AND state = 'processing' FOR UPDATE
"""
NAMESAKES = """
    SELECT id, created_at FROM ibid.document
    WHERE tenant = $1 AND owner = $2 AND session_id = $3 AND filename = $4
    AND state = 'ready' AND removed_at IS NULL
"""
PROGRESS = """
    UPDATE ibid.document SET stage = $2, pages_done = $3, pages = $4
    WHERE id = $1 AND removed_at IS NULL AND state = 'processing'
"""
READY = """
    UPDATE ibid.document SET state = 'ready', ready_at = now(), stage = '', pages_done = 0 WHERE id = $1
"""
GONE = "UPDATE ibid.document SET removed_at = now() WHERE id = $1"
FAILED = """
    UPDATE ibid.document SET state = 'failed', fault_slug = $2, fault_detail = $3, chunks = 0, tokens = 0,
        pages = 0, stage = '', pages_done = 0
    WHERE id = $1 AND removed_at IS NULL AND state = 'processing' RETURNING id
"""
SIZE = "SELECT size FROM ibid.document WHERE id = $1 AND removed_at IS NULL AND state <> 'failed'"
CONTENT_PIECE = "SELECT bytes FROM ibid.document_piece WHERE document_id = $1 AND n = $2"
SWEEP = """
    WITH gone AS (
        UPDATE ibid.document SET removed_at = now()
        WHERE state = 'failed' AND removed_at IS NULL AND created_at < now() - interval '24 hours'
        RETURNING id, tenant, owner, session_id)
    INSERT INTO ibid.job (kind, document_id, tenant, owner, session_id)
    SELECT 'purge', id, tenant, owner, session_id FROM gone
"""
INSERT_CHUNK = (
    *("document_id", "ordinal", "text", "page", "page_end", "heading", "tokens", "kind", "page_label"),
    *("space", "embedding", "terms"),
)
"""Columns, in the order of `chunk_rows`."""
FIRST_LOOK, LAST_LOOK = 0.02, 0.5
"""First and longest pause between two looks at documents that requests wait for."""
LOOK_SECONDS = 5.0
# A failure is reported to all waiting requests, even after the first of them has replaced it.
LOOK = f"""
    SELECT {COLUMNS} FROM ibid.document WHERE id = ANY($1) AND (removed_at IS NULL OR state = 'failed')
"""  # noqa: S608 - constants of ours

# By its id, a user key also finds what the tenant uploaded for its user.
ONE = f"""
    SELECT {COLUMNS} FROM ibid.document WHERE id = $4
    AND ({IN_REACH} OR tenant = $1 AND removed_at IS NULL AND $2 <> '' AND owner <> $2 AND users @> ARRAY[$2])
"""  # noqa: S608 - constants of ours
PAGE = f"""
    SELECT {COLUMNS} FROM ibid.document WHERE {IN_REACH} AND ($4::text IS NULL OR id < $4)
    ORDER BY id DESC LIMIT $5
"""  # noqa: S608 - constants of ours
COUNT = f"SELECT count(*) FROM ibid.document WHERE {IN_REACH}"  # noqa: S608 - constants of ours
SELECT_CHUNK = f"""
    SELECT ordinal, text, page, page_end, heading, chunk.tokens, kind, page_label FROM ibid.chunk AS chunk
    JOIN (SELECT id FROM ibid.document WHERE {IN_REACH} AND id = $4 AND state = 'ready') AS document
        ON document.id = chunk.document_id
    WHERE ordinal = $5
"""  # noqa: S608 - constants of ours
# Starts from the jobs, of which there are few: a tenant may have any number of documents.
READING = f"""
    SELECT id, filename FROM ibid.document WHERE {IN_REACH} AND state = 'processing'
    AND id IN (SELECT document_id FROM ibid.job WHERE kind = 'ingest' AND tenant = $1)
    ORDER BY id DESC LIMIT $4
"""  # noqa: S608 - constants of ours
WHERE_IT_LIVES = f"SELECT owner, session_id FROM ibid.document WHERE {IN_REACH} AND id = $4"  # noqa: S608
STILL_THERE = "SELECT true FROM ibid.document WHERE id = $1 AND removed_at IS NULL FOR UPDATE"
FORGET = """
    UPDATE ibid.document SET removed_at = now()
    WHERE id = $1 AND state = 'failed' AND removed_at IS NULL RETURNING tenant, owner, session_id
"""

FORGET_SECONDS = 60.0
"""Seconds for which a replaced failure's hidden row remains for requests that wait for the same bytes."""
INTEGER_MAX = 2**31 - 1
PENDING_MOST = 10
"""Most unfinished documents that an answer names."""


class _Raced(Exception):
    """Another upload of the same bytes was admitted first."""


async def pieces(document_id: str, path: Path) -> AsyncIterator[tuple[str, int, bytes]]:
    """Rows of `document_piece`. Reads the file in threads, with one piece in memory."""
    file = await asyncio.to_thread(path.open, "rb")
    try:
        n = 0
        while piece := await asyncio.to_thread(file.read, PIECE):
            yield document_id, n, piece
            n += 1
    finally:
        file.close()


async def uploads_like(
    connection: Connection, part: DocumentPart, filename: str, upload: Upload
) -> Sequence[asyncpg.Record]:
    return await connection.fetch(STANDING, *place(part), upload.sha256, filename)


def decide(stands: Sequence[asyncpg.Record], filename: str, upload: Upload) -> Document | None:
    """The document with the same bytes. `Conflict` if another one has the name and `replace` is false."""
    known = next((row for row in stands if row["sha256"] == upload.sha256), None)
    if known is None and stands and not upload.replace:
        raise Conflict(f"{filename!r} already exists with other content; send replace=true to replace it")
    return document(known) if known else None


async def make_visible(
    connection: Connection, part: DocumentPart, new: str, filename: str, namesakes: Sequence[asyncpg.Record]
) -> Document:
    await ensure_part(connection, part)
    serving = next((row["id"] for row in namesakes if row["state"] == State.READY), None)
    if namesakes:
        name = namesakes[-1][
            "name"
        ]  # the new document takes over the label, so that earlier citations lead to it
    else:
        taken = await connection.fetch(NAMES, *place(part))
        name = unique(label_name(filename), (row["name"] for row in taken))
    row = await connection.fetchrow(ADMIT, new, name, serving)
    await enqueue(connection, "ingest", new, part)
    assert row is not None  # noqa: S101 - inserted in this very transaction
    return document(row)


async def withdraw(connection: Connection, part: DocumentPart, known: Document) -> None:
    """Discard later uploads of this name that are still being read: a client that sends the old bytes again
    with replace=true wants those."""
    later = await connection.fetch(WITHDRAW, *place(part), known.filename, known.created_at)
    for row in later:
        await enqueue(connection, "purge", row["id"], part)


def chunk_rows(
    document_id: str, filename: str, parsed: ParsedDocument, embeddings: Sequence[Embedding], space: str
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    title = storable(parsed.title)
    for chunk, vector in zip(parsed.chunks, embeddings, strict=True):
        text, heading = storable(chunk.text), storable(chunk.heading)
        place = (chunk.page, chunk.page_end, heading, chunk.tokens, chunk.kind, storable(chunk.page_label))
        terms = encode_terms(indexed_text(filename, title, heading, text), text)
        rows.append((document_id, chunk.ordinal, text, *place, space, vector, terms))
    return rows


async def discard(connection: Connection, part: DocumentPart, document_id: str) -> None:
    await connection.execute(GONE, document_id)
    await enqueue(connection, "purge", document_id, part)


async def delete_content(connection: Connection, document_id: str) -> None:
    for table in ("document_piece", "chunk"):
        statement = f"DELETE FROM ibid.{table} WHERE document_id = $1"  # noqa: S608 - constants above
        await connection.execute(statement, document_id, timeout=DELETE_SECONDS)


class DocumentStore:
    """Documents in Postgres: by scope for the API, by id for the jobs that read and purge them."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._uploads = asyncio.Semaphore(max(1, min(AT_ONCE, pool.get_max_size() // 4)))
        self._waiting: dict[asyncio.Future[Document | None], str] = {}
        """Uploads that wait, with the ids of their documents."""
        self._newcomer = asyncio.Event()
        self._looking: asyncio.Task[None] | None = None
        self._hurried = False

    async def admit(self, scope: Scope, upload: Upload) -> tuple[Document, bool]:
        """Store the bytes and a job, all or none. Returns (document, created); for bytes that the part has
        already, (that document, False), also when two uploads race. `Conflict`: the name is taken."""
        part, filename = home(scope, upload.session_id), clean(upload.filename)
        user = scope.user_id or ""
        self._pool.check_room(2 * upload.size)  # once in the table and once in the log
        async with self._upload_turn():
            for _ in range(ROUNDS):
                if known := await self._same_bytes(part, filename, upload, user):
                    return known, False
                try:
                    return await self._receive(part, filename, upload, user), True
                except _Raced:
                    continue
        raise Unavailable("other uploads of this file come and go; try again", retry_after=1)

    @asynccontextmanager
    async def _upload_turn(self) -> AsyncIterator[None]:
        """One of AT_ONCE places. The deadline covers only the wait, not the body."""
        try:
            async with asyncio.timeout(TURN_SECONDS):
                await self._uploads.acquire()
        except TimeoutError:
            raise Overloaded("too many uploads at once", retry_after=5) from None
        try:
            yield
        finally:
            self._uploads.release()

    async def _same_bytes(
        self, part: DocumentPart, filename: str, upload: Upload, user: str
    ) -> Document | None:
        """The document with the same bytes, now `user`'s too. `Conflict` before any byte is written."""
        async with transaction(self._pool) as connection:
            await check_not_erased(connection, part.tenant, user)
            await hold(connection, part)
            known = decide(await uploads_like(connection, part, filename, upload), filename, upload)
            if known is None:
                return None
            if upload.replace:
                await withdraw(connection, part, known)
            joined = await connection.fetchrow(JOIN, known.id, user)
            return document(joined) if joined else known

    async def _receive(self, part: DocumentPart, filename: str, upload: Upload, user: str) -> Document:
        new = new_id()
        async with transaction(self._pool) as connection:
            arrival = (new, *place(part), filename, upload.sha256, upload.size, user)
            await connection.execute(ARRIVE, *arrival)
            sent = pieces(new, upload.path)
            await copy_rows(
                connection, "document_piece", ("document_id", "n", "bytes"), sent, seconds=COPY_SECONDS
            )
            await check_not_erased(connection, part.tenant, user)
            await hold(connection, part)
            stands = await uploads_like(connection, part, filename, upload)
            if decide(stands, filename, upload):
                raise _Raced
            return await make_visible(connection, part, new, filename, stands)

    async def finished(self, document_id: str, *, seconds: float) -> Document | None:
        """The document once it is ready or failed, or its state after `seconds`; None if it is gone.
        `Unavailable` only if Postgres is down at the end."""
        if seconds and not self._hurried:
            settled: asyncio.Future[Document | None] = asyncio.get_running_loop().create_future()
            self._waiting[settled] = document_id
            self._newcomer.set()
            if self._looking is None or self._looking.done():
                self._looking = asyncio.create_task(self._look_for_all())
            try:
                async with asyncio.timeout(seconds):
                    return await settled
            except TimeoutError:
                pass
            finally:
                del self._waiting[settled]
        return (await self._looked_up([document_id])).get(document_id)

    async def _look_for_all(self) -> None:
        """One query for all waiting requests, repeated until none waits."""
        pause = FIRST_LOOK
        while waiting := dict(self._waiting):
            self._newcomer.clear()
            with suppress(Unavailable):
                found = await self._looked_up([*set(waiting.values())])
                for settled, document_id in waiting.items():
                    seen = found.get(document_id)
                    if not settled.done() and (seen is None or seen.state is not State.PROCESSING):
                        settled.set_result(seen)
            pause = min(pause * 1.5, LAST_LOOK)
            with suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._newcomer.wait()
                pause = FIRST_LOOK

    async def _looked_up(self, ids: Sequence[str]) -> dict[str, Document]:
        with postgres_faults():
            rows = await self._pool.fetch(LOOK, ids, timeout=LOOK_SECONDS)
        return {row["id"]: document(row) for row in rows}

    @property
    def hurried(self) -> bool:
        """True once the service stops."""
        return self._hurried

    def hurry(self) -> None:
        """End all waits, present and future, because the service stops; the documents are durable."""
        self._hurried = True
        for settled in self._waiting:
            if not settled.done():
                settled.set_exception(TimeoutError())

    async def get(self, scope: Scope, document_id: str) -> Document | None:
        if not is_id(document_id):
            return None
        with self._pool.asking():
            async with self._pool.acquire() as connection:
                row = await connection.fetchrow(ONE, *asker(scope), document_id)
                seen = await labelled(connection, scope, [document(row)] if row else [])
        return seen[0] if seen else None

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Document], str | None]:
        before = opened(cursor)[1] if cursor else None
        with self._pool.asking():
            async with self._pool.acquire() as connection:
                rows = await connection.fetch(PAGE, *asker(scope), before, limit + 1)
                seen = await labelled(connection, scope, [document(row) for row in rows[:limit]])
        return seen, closed(seen[-1].created_at, seen[-1].id) if len(rows) > limit else None

    async def count(self, scope: Scope) -> int:
        with self._pool.asking():
            found: int = await self._pool.fetchval(COUNT, *asker(scope))
        return found

    async def pending(self, scope: Scope) -> tuple[PendingDocument, ...]:
        with self._pool.asking():
            rows = await self._pool.fetch(READING, *asker(scope), PENDING_MOST)
        return tuple(PendingDocument(**row) for row in rows)

    async def chunk(self, scope: Scope, document_id: str, ordinal: int) -> Chunk | None:
        if not is_id(document_id) or not 1 <= ordinal <= INTEGER_MAX:
            return None
        with self._pool.asking():
            row = await self._pool.fetchrow(SELECT_CHUNK, *asker(scope), document_id, ordinal)
        return Chunk(**row) if row else None

    async def remove(self, scope: Scope, document_id: str) -> bool:
        if not is_id(document_id):
            return False
        async with transaction(self._pool) as connection:
            row = await connection.fetchrow(WHERE_IT_LIVES, *asker(scope), document_id)
            if row is None:
                return False
            part = DocumentPart(scope.tenant, row["owner"], row["session_id"])
            await hold(connection, part)
            if not await connection.fetchval(STILL_THERE, document_id):
                return False  # another request did it first
            await connection.execute(GONE, document_id)
            await bump(connection, part)
            await enqueue(connection, "purge", document_id, part)
            return True

    async def forget_failed(self, document_id: str) -> None:
        async with transaction(self._pool) as connection:
            row = await connection.fetchrow(FORGET, document_id)
            if row is not None:
                part = DocumentPart(row["tenant"], row["owner"], row["session_id"])
                await enqueue(connection, "purge", document_id, part, delay_seconds=FORGET_SECONDS)

    async def placed(self, document_id: str) -> tuple[Document, DocumentPart] | None:
        with postgres_faults():
            row = await self._pool.fetchrow(PLACED, document_id)
        return (document(row), DocumentPart(row["tenant"], row["owner"], row["session_id"])) if row else None

    async def content(self, document_id: str, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """The file's bytes from `start` to before `end`, in pieces of at most 1 MiB, without holding a
        connection between two. `Missing`: it is gone."""
        with postgres_faults():
            size = await self._pool.fetchval(SIZE, document_id)
        if size is None:
            raise Missing("the document is not here any more")
        end = size if end is None else min(end, size)
        while start < end:
            n, skipped = divmod(start, PIECE)
            with postgres_faults():
                piece = await self._pool.fetchval(CONTENT_PIECE, document_id, n)
            if not piece:
                raise Missing("the document was removed while it was read")
            wanted = piece[skipped : skipped + end - start]
            yield wanted
            start += len(wanted)

    async def report(self, document_id: str, progress: Progress | None) -> bool:
        """Write how far its reading is, None: no news. False: it was removed meanwhile."""
        with postgres_faults():
            if progress:
                told = (document_id, progress.stage, progress.done, progress.of)
                await self._pool.execute(PROGRESS, *told, timeout=LOOK_SECONDS)
            return await self._pool.fetchval(NAMED, document_id, timeout=LOOK_SECONDS) is not None

    async def keep_chunks(
        self, document_id: str, parsed: ParsedDocument, embeddings: Sequence[Embedding], space: str
    ) -> None:
        """Write the chunks with terms and vectors; again replaces. `Missing`: the document is gone.
        `ValueError`: ordinals do not count from 1."""
        if [chunk.ordinal for chunk in parsed.chunks] != list(range(1, len(embeddings) + 1)):
            raise ValueError("ordinals must count from 1")
        with postgres_faults():
            filename = await self._pool.fetchval(NAMED, document_id)
        if filename is None:
            raise Missing("the document was removed while it was read")
        rows = await asyncio.to_thread(chunk_rows, document_id, filename, parsed, embeddings, space)
        tokens = sum(chunk.tokens for chunk in parsed.chunks)
        facts = (parsed.pages, len(rows), tokens, storable(parsed.title), [*map(storable, parsed.warnings)])
        async with transaction(self._pool) as connection:
            if not await connection.fetchval(FACTS, document_id, *facts):
                raise Missing("the document was removed while it was read")
            await connection.execute("DELETE FROM ibid.chunk WHERE document_id = $1", document_id)
            await copy_rows(connection, "chunk", INSERT_CHUNK, rows, seconds=CHUNKS_COPY_SECONDS)

    async def kept(self, document_id: str, space: str) -> Sequence[Embedding]:
        with postgres_faults():
            rows = await self._pool.fetch(KEPT, document_id, space)
        return [row["embedding"] for row in rows]

    async def make_ready(self, document_id: str) -> None:
        """Make it searchable and remove the document it replaces, in one transaction. Of two uploads of a
        name the later one wins, whichever was read first. Does nothing if it is ready or removed already."""
        placed = await self.placed(document_id)
        if placed is None:
            return
        part = placed[1]
        async with transaction(self._pool) as connection:
            await hold(connection, part)
            read = await connection.fetchrow(READ, document_id)
            if read is None:
                return
            namesakes = await connection.fetch(
                NAMESAKES, part.tenant, part.owner, part.session_id, read["filename"]
            )
            if any(row["created_at"] > read["created_at"] for row in namesakes):
                await discard(connection, part, document_id)
                return
            for row in namesakes:
                await discard(connection, part, row["id"])
            await connection.execute(READY, document_id)
            await bump(connection, part)

    async def fail(self, document_id: str, fault: DocumentFault) -> None:
        """Mark it as failed and delete bytes and chunks; the row remains 24 h."""
        async with transaction(self._pool) as connection:
            if await connection.fetchval(FAILED, document_id, fault.slug, storable(fault.detail)):
                await delete_content(connection, document_id)

    async def purge(self, document_id: str) -> None:
        """Delete the content of a removed document; does nothing to others."""
        removed = "SELECT true FROM ibid.document WHERE id = $1 AND removed_at IS NOT NULL FOR UPDATE"
        async with transaction(self._pool) as connection:
            if await connection.fetchval(removed, document_id):
                await delete_content(connection, document_id)
                await connection.execute("DELETE FROM ibid.document WHERE id = $1", document_id)

    async def sweep(self) -> None:
        """Remove documents that failed more than 24 h ago."""
        async with transaction(self._pool) as connection:
            await connection.execute(SWEEP)
