"""Documents and sessions, refused at once while Postgres is known to be down.

What is asked for here does not open the breaker: a large upload or a long list may be slow on a store that is
well. While it is open one of them may be the probe, so that it closes also where nobody asks a question.
Raises `Unavailable`, and what the stores raise.
"""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager

from app.domain.breaker import Breaker
from app.domain.document import Chunk, Document, Upload
from app.domain.passage import Scope
from app.domain.ports import Documents
from app.domain.session import Session, Sessions, Utterance
from app.services.guarded import lost, present


@contextmanager
def asked(breaker: Breaker) -> Iterator[None]:
    """Around one call."""
    present(breaker)
    if breaker.closed:
        yield
        return
    with breaker.attempt(lost):
        yield


class BarredDocuments:
    """Keeps `ports.Documents`. What follows an upload that was taken is not refused."""

    def __init__(self, documents: Documents, breaker: Breaker) -> None:
        self._documents = documents
        self._breaker = breaker

    async def admit(self, scope: Scope, upload: Upload) -> tuple[Document, bool]:
        """Keep the bytes and a job, all or none."""
        with asked(self._breaker):
            return await self._documents.admit(scope, upload)

    async def get(self, scope: Scope, document_id: str) -> Document | None:
        """A document in the scope's reach."""
        with asked(self._breaker):
            return await self._documents.get(scope, document_id)

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Document], str | None]:
        """Documents in reach, newest first, and the cursor of the next page."""
        with asked(self._breaker):
            return await self._documents.list(scope, cursor=cursor, limit=limit)

    async def chunk(self, scope: Scope, document_id: str, ordinal: int) -> Chunk | None:
        """One chunk; ordinals count from 1."""
        with asked(self._breaker):
            return await self._documents.chunk(scope, document_id, ordinal)

    def content(self, document_id: str) -> AsyncIterator[bytes]:
        """The file's bytes in pieces of 1 MiB; whoever asks has just got the document."""
        return self._documents.content(document_id)

    async def remove(self, scope: Scope, document_id: str) -> bool:
        """Gone from the next answer on. False: not there."""
        with asked(self._breaker):
            return await self._documents.remove(scope, document_id)

    async def forget_failed(self, document_id: str) -> None:
        """Drop a failed upload whose uploader was told at once."""
        await self._documents.forget_failed(document_id)

    async def finished(self, document_id: str, *, seconds: float) -> Document | None:
        """Wait until it is ready or failed, or the time is up; its state then."""
        return await self._documents.finished(document_id, seconds=seconds)


class BarredSessions:
    """Keeps `session.Sessions`."""

    def __init__(self, sessions: Sessions, breaker: Breaker) -> None:
        self._sessions = sessions
        self._breaker = breaker

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Session], str | None]:
        """Most recently active first, and the cursor of the next page."""
        with asked(self._breaker):
            return await self._sessions.recent(scope, cursor=cursor, limit=limit)

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        """Of the scope's session, or of its thread there; oldest first, and the cursor of the next page."""
        with asked(self._breaker):
            return await self._sessions.turns(scope, cursor=cursor, limit=limit)

    async def remove(self, scope: Scope) -> bool:
        """The scope's session, gone at once. False: there was nothing."""
        with asked(self._breaker):
            return await self._sessions.remove(scope)
