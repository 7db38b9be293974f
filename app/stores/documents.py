"""The record of documents: rows, bytes, chunks (`ports.Documents` and `ports.DocumentRecord`).

Everything an asker may do; what the background work does is in `record.py`, the door in `admission.py`.
Whatever is out of the scope's reach is not there. Raises `Unavailable` when Postgres does not answer.
"""

import base64
import binascii
import uuid

from app.clients.pool import Pool
from app.domain.document import Chunk, Document, Part, Upload
from app.domain.errors import InvalidField
from app.domain.passage import Scope
from app.domain.trace import Pending
from app.stores.admission import Admission
from app.stores.part import bump, enqueue, hold
from app.stores.reach import COLUMNS, IN_REACH, asker, document, is_id, labelled
from app.stores.record import GONE, RecordStore
from app.stores.transaction import transaction
from app.stores.watch import Watch

# By its id, a user key also finds what the tenant uploaded for its user.
ONE = f"""
    SELECT {COLUMNS} FROM ibid.document WHERE id = $4
    AND ({IN_REACH} OR tenant = $1 AND removed_at IS NULL AND $2 <> '' AND owner <> $2 AND users @> ARRAY[$2])
"""  # noqa: S608 - constants of ours
PAGE = f"""
    SELECT {COLUMNS} FROM ibid.document WHERE {IN_REACH} AND ($4::text IS NULL OR id < $4)
    ORDER BY id DESC LIMIT $5
"""  # noqa: S608 - constants of ours
CHUNK = f"""
    SELECT ordinal, text, page, page_end, heading, chunk.tokens FROM ibid.chunk AS chunk
    JOIN (SELECT id FROM ibid.document WHERE {IN_REACH} AND id = $4 AND state = 'ready') AS document
        ON document.id = chunk.document_id
    WHERE ordinal = $5
"""  # noqa: S608 - constants of ours
# By way of the jobs, of which there are few: a tenant may have any number of documents.
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
"""A dropped failure's row outlives it this long, unseen, for others who wait for the same bytes."""
INTEGER_MAX = 2**31 - 1
PENDING_MOST = 10
"""Documents under way that an answer names at most."""


class DocumentStore(RecordStore):
    """The record of documents."""

    def __init__(self, pool: Pool) -> None:
        super().__init__(pool)
        self._admission = Admission(pool)
        self._watch = Watch(pool)

    async def admit(self, scope: Scope, upload: Upload) -> tuple[Document, bool]:
        """Keep the bytes and a job, all or none: (document, created). See `ports.Documents`."""
        return await self._admission.admit(scope, upload)

    async def finished(self, document_id: str, *, seconds: float) -> Document | None:
        """Wait until it is ready or failed, or the time is up; None: it is gone."""
        return await self._watch.finished(document_id, seconds=seconds)

    def hurry(self) -> None:
        """Let nobody wait any longer: the service is about to stop."""
        self._watch.hurry()

    async def get(self, scope: Scope, document_id: str) -> Document | None:
        """A document in the scope's reach, under the label that the scope sees."""
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
        """Documents in reach, newest first, and the cursor of the next page. `InvalidField`: the cursor."""
        before = opened(cursor) if cursor else None
        with self._pool.asking():
            async with self._pool.acquire() as connection:
                rows = await connection.fetch(PAGE, *asker(scope), before, limit + 1)
                seen = await labelled(connection, scope, [document(row) for row in rows[:limit]])
        return seen, closed(seen[-1].id) if len(rows) > limit else None

    async def pending(self, scope: Scope) -> tuple[Pending, ...]:
        """Documents in reach that are still being read, newest first."""
        with self._pool.asking():
            rows = await self._pool.fetch(READING, *asker(scope), PENDING_MOST)
        return tuple(Pending(**row) for row in rows)

    async def chunk(self, scope: Scope, document_id: str, ordinal: int) -> Chunk | None:
        """One chunk of a ready document; ordinals count from 1."""
        if not is_id(document_id) or not 1 <= ordinal <= INTEGER_MAX:
            return None
        with self._pool.asking():
            row = await self._pool.fetchrow(CHUNK, *asker(scope), document_id, ordinal)
        return Chunk(**row) if row else None

    async def remove(self, scope: Scope, document_id: str) -> bool:
        """Gone from the next answer on; its vectors follow by a job. False: not there."""
        if not is_id(document_id):
            return False
        async with transaction(self._pool) as connection:
            row = await connection.fetchrow(WHERE_IT_LIVES, *asker(scope), document_id)
            if row is None:
                return False
            part = Part(scope.tenant, row["owner"], row["session_id"])
            await hold(connection, part)
            if not await connection.fetchval(STILL_THERE, document_id):
                return False  # another request was faster
            await connection.execute(GONE, document_id)
            await bump(connection, part)
            await enqueue(connection, "purge", document_id, part)
            return True

    async def forget_failed(self, document_id: str) -> None:
        """Drop a failed upload whose uploader was told at once."""
        async with transaction(self._pool) as connection:
            row = await connection.fetchrow(FORGET, document_id)
            if row is not None:
                part = Part(row["tenant"], row["owner"], row["session_id"])
                await enqueue(connection, "purge", document_id, part, delay_seconds=FORGET_SECONDS)


def closed(document_id: str) -> str:
    """A cursor: where the next page begins, in a form that promises nothing."""
    return base64.urlsafe_b64encode(uuid.UUID(document_id).bytes).decode().rstrip("=")


def opened(cursor: str) -> str:
    """The id in a cursor. Raises `InvalidField` for one that we did not make."""
    try:
        value = uuid.UUID(bytes=base64.b64decode(f"{cursor}==".encode(), altchars=b"-_", validate=True))
    except (ValueError, binascii.Error):
        raise InvalidField("this cursor is not one of ours", field="query.cursor") from None
    return str(value)
