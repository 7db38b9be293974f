"""Documents: upload, with a wait until it is searchable, list, read and delete.

Times are seconds. Raises the problem of a bad file (`NotPdf`, `PdfEncrypted`, …), `Conflict`,
`RemovedMeanwhile`, `Forbidden`, `Missing`, and `Unavailable` if Postgres does not answer.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from enum import StrEnum
from functools import partial
from pathlib import Path

from app.db.documents import Document, DocumentStore, State, Upload
from app.errors import (
    EmptyFile,
    Forbidden,
    Missing,
    NotPdf,
    Overloaded,
    RemovedMeanwhile,
    Unavailable,
    problem,
)
from app.ingest.viewer import PdfViewer, Places
from app.types import Chunk, Scope

FOLLOW_SECONDS, LOOK_SECONDS = 900.0, 1.0
"""How long a document's progress is followed at most, and how often it is looked at."""
MOST_FOLLOWERS = 200
HEAD = 1024
"""Bytes that must contain a PDF's header (PDF 1.7, Adobe's implementation note 13)."""


class UploadOutcome(StrEnum):
    CREATED = "created"
    """201: searchable."""
    ACCEPTED = "accepted"
    """202: bytes and job are durable, reading continues."""
    EXISTING = "existing"
    """200: the same bytes exist already."""


class DocumentService:
    def __init__(self, documents: DocumentStore, viewer: PdfViewer) -> None:
        self._documents = documents
        self._viewer = viewer
        self._followers = 0

    async def upload(self, scope: Scope, upload: Upload, *, wait: float) -> tuple[Document, UploadOutcome]:
        """Store a file and wait up to `wait` for it to be searchable. If cancelled, the work continues."""
        permit(scope, upload.session_id)
        if upload.size == 0:
            raise EmptyFile
        if b"%PDF-" not in await asyncio.to_thread(head, upload.path):
            raise NotPdf
        document, created = await self._documents.admit(scope, upload)
        settled = await self._documents.finished(document.id, seconds=wait)
        if settled is None:
            raise RemovedMeanwhile("it was deleted, or replaced by a later upload, before it could be found")
        if settled.fault is not None:
            if created:
                await self._documents.forget_failed(document.id)
            raise problem(settled.fault.slug, settled.fault.detail)
        asker = replace(scope, session_id=upload.session_id)
        shown = await self._documents.get(asker, document.id) or settled
        return shown, outcome(shown, created=created)

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Document], str | None]:
        return await self._documents.list(scope, cursor=cursor, limit=limit)

    async def count(self, scope: Scope) -> int:
        return await self._documents.count(scope)

    async def get(self, scope: Scope, document_id: str) -> Document:
        document = await self._documents.get(scope, document_id)
        if document is None:
            raise Missing("there is no such document")
        return document

    async def remove(self, scope: Scope, document_id: str) -> None:
        document = await self.get(scope, document_id)
        permit(scope, document.session_id)
        removed = await self._documents.remove(scope, document_id)
        self._viewer.forget(document_id)
        if not removed:
            raise Missing("there is no such document")

    async def chunk(self, scope: Scope, document_id: str, ordinal: int) -> tuple[Document, Chunk]:
        document = await self.get(scope, document_id)
        chunk = await self._documents.chunk(scope, document_id, ordinal)
        if chunk is None:
            raise Missing("there is no such chunk")
        return document, chunk

    async def with_file(self, scope: Scope, document_id: str) -> Document:
        """A document whose file is kept."""
        document = await self.get(scope, document_id)
        if document.state is State.FAILED:
            raise Missing("the file of a failed upload is not kept")
        return document

    def content(self, document: Document, start: int = 0, end: int | None = None) -> AsyncIterator[bytes]:
        """The bytes of its file, from `start` to before `end`."""
        return self._documents.content(document.id, start, end)

    async def page(self, scope: Scope, document: Document, n: int, scale: float | None) -> bytes:
        """Page n as WebP."""
        content = partial(self.content, document)
        return await self._viewer.page(document.id, content, n, scale, tenant=scope.tenant)

    async def places(self, scope: Scope, document: Document, chunk: Chunk, quote: str) -> Places:
        """Where a passage of it, and a quotation from that, are on its pages."""
        return await self._viewer.places(
            document.id,
            partial(self.content, document),
            pages=(chunk.page, chunk.page_end),
            text=chunk.text,
            quote=quote,
            tenant=scope.tenant,
        )

    def hurry(self) -> None:
        """End what takes long, because the service stops."""
        self._documents.hurry()
        self._viewer.hurry()

    async def follow(self, scope: Scope, document_id: str) -> AsyncIterator[Document]:
        """The document now, and each time its progress changes, until it is ready or failed, or for
        FOLLOW_SECONDS."""
        document = await self.get(scope, document_id)
        if self._followers >= MOST_FOLLOWERS:
            raise Overloaded("too many documents are followed", retry_after=5)
        return self._followed(scope, document)

    async def _followed(self, scope: Scope, document: Document) -> AsyncIterator[Document]:
        loop = asyncio.get_running_loop()
        until = loop.time() + FOLLOW_SECONDS
        self._followers += 1
        try:
            yield document
            while document.state is State.PROCESSING and loop.time() < until:
                found = await self._documents.finished(document.id, seconds=LOOK_SECONDS)
                if found is None:
                    raise Missing("the document was removed while it was read")
                if self._documents.hurried:
                    raise Unavailable("the service is stopping", retry_after=1)
                if found.state is not State.PROCESSING:
                    document = await self.get(scope, document.id)  # with the label that this session sees
                    yield document
                elif found.progress != document.progress:
                    document = found
                    yield document
        finally:
            self._followers -= 1


def permit(scope: Scope, session_id: str | None) -> None:
    if session_id is None and scope.owner:
        raise Forbidden("global documents need a tenant key")


def outcome(document: Document, *, created: bool) -> UploadOutcome:
    if not created:
        return UploadOutcome.EXISTING
    return UploadOutcome.ACCEPTED if document.state is State.PROCESSING else UploadOutcome.CREATED


def head(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(HEAD)
