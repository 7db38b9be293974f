"""Documents: upload, with a wait until it is searchable, list, read and delete.

Times are seconds. Raises the problem of a bad file (`NotPdf`, `PdfEncrypted`, …), `Conflict`,
`RemovedMeanwhile`, `Forbidden`, `Missing`, and `Unavailable` if Postgres does not answer.
"""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from enum import StrEnum
from pathlib import Path

from app.db.documents import Document, DocumentStore, State, Upload
from app.errors import EmptyFile, Forbidden, Missing, NotPdf, RemovedMeanwhile, problem
from app.types import Chunk, Scope

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
    def __init__(self, documents: DocumentStore) -> None:
        self._documents = documents

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
        if not await self._documents.remove(scope, document_id):
            raise Missing("there is no such document")

    async def chunk(self, scope: Scope, document_id: str, ordinal: int) -> tuple[Document, Chunk]:
        document = await self.get(scope, document_id)
        chunk = await self._documents.chunk(scope, document_id, ordinal)
        if chunk is None:
            raise Missing("there is no such chunk")
        return document, chunk

    async def content(self, scope: Scope, document_id: str) -> tuple[Document, AsyncIterator[bytes]]:
        document = await self.get(scope, document_id)
        if document.state is State.FAILED:
            raise Missing("the file of a failed upload is not kept")
        return document, self._documents.content(document_id)


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
