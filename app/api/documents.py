"""/api/documents: PDFs in, listed, shown, removed. `n` of a chunk counts from 1.

Global documents are seen by all of a tenant and written with a tenant key. Raises what the service raises;
an id that is none is `Missing`, as is another's.
"""

import re
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Depends, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from app import errors
from app.api import examples
from app.api.bodies import SessionId, UploadBody
from app.api.deps import Asker, Opened, scope_of
from app.api.files import FileStream
from app.api.limits import MIB
from app.api.refusals import ASKING, KEEPING, READING, SENDING
from app.api.replies import ChunkReply, DocumentList, DocumentReply, shown
from app.api.upload import Received, received
from app.api.wire import Json
from app.db.documents import Document, Upload
from app.logging import request_id
from app.problems import of_fault, responses
from app.services.documents import Outcome
from app.text.labels import label
from app.types import Scope, moment

STATUS = {Outcome.CREATED: 201, Outcome.ACCEPTED: 202, Outcome.EXISTING: 200}
ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FromSession = Annotated[
    SessionId | None,
    Query(alias="session_id", description="Accepted for symmetry with the chunk endpoint; ignored."),
]
router = APIRouter(prefix="/api/documents", tags=["documents"])


async def known(document_id: Annotated[str, Path(description="As the upload answered it.")]) -> str:
    """An id that could be one; the store is not asked for any other text."""
    if not ID.fullmatch(document_id):
        raise errors.Missing
    return document_id


DocumentId = Annotated[str, Depends(known)]
Session = Annotated[
    SessionId | None,
    Query(description="Shown as that session sees it: the label that its answers cite. Left out: its own."),
]


def shape(document: Document, asker: Scope, instance: str) -> dict[str, Any]:
    """A document as JSON."""
    told: dict[str, Any] = {
        "id": document.id,
        "label": document.label,
        "filename": document.filename,
        "scope": document.scope,
        "session_id": document.session_id,
        "user_id": user_of(document, asker),
        "state": str(document.state),
        "pages": document.pages,
        "chunks": document.chunks,
        "tokens": document.tokens,
        "sha256": document.sha256,
        "created_at": moment(document.created_at),
    }
    return told | ({"problem": of_fault(document.fault, instance)} if document.fault else {})


def user_of(document: Document, asker: Scope) -> str | None:
    """The asker where the document is theirs; for a tenant key, else, the first user who sent it."""
    if asker.user_id in document.users or asker.owner:
        return asker.user_id if asker.user_id in document.users else None
    return next((user for user in document.users if user), None)


def fields_of(form: Received) -> UploadBody:
    """The fields beside the file, told like those of a JSON body if they do not fit."""
    try:
        return UploadBody.model_validate(form.fields)
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        raise RequestValidationError(faults) from None


@router.post(
    "",
    operation_id="uploadDocument",
    summary="Upload a PDF",
    status_code=201,
    response_class=Json,
    responses={
        200: {
            **shown(DocumentReply, "The same bytes were there already", examples.DOCUMENT),
            **examples.KEPT,
        },
        201: {**shown(DocumentReply, "Searchable", examples.DOCUMENT), **examples.KEPT},
        202: {**shown(DocumentReply, "Kept, and still being read", examples.PROCESSING), **examples.KEPT},
        **responses(*ASKING, *SENDING, *READING, *KEEPING, errors.Forbidden, errors.Conflict),
    },
    openapi_extra={"requestBody": dict(examples.UPLOAD)},
)
async def upload(request: Request, who: Asker, opened: Opened) -> Response:
    """Answers when the document is searchable, or after `wait` seconds with a 202."""
    limit = request.app.state.settings.document.max_mb * MIB
    async with received(request, limit) as form:
        fields = fields_of(form)
        sent = Upload(
            path=form.path,
            filename=form.filename,
            size=form.size,
            sha256=form.sha256,
            session_id=fields.session_id,
            replace=fields.replace == "true",
        )
        scope = scope_of(who, session_id=fields.session_id, user_id=fields.user_id)
        document, outcome = await opened.documents.upload(scope, sent, wait=fields.wait)
    where = {"Location": f"/api/documents/{document.id}"}
    return Json(shape(document, scope, request_id(request.scope)), STATUS[outcome], where)


@router.get(
    "",
    operation_id="listDocuments",
    summary="List documents",
    response_class=Json,
    responses={
        200: shown(DocumentList, "A page, newest first", examples.DOCUMENTS),
        **responses(*ASKING, errors.InvalidField),
    },
)
async def documents(
    *,
    request: Request,
    who: Asker,
    opened: Opened,
    session_id: Annotated[
        SessionId | None, Query(description="That session's and the global ones. Left out: all of yours.")
    ] = None,
    cursor: Annotated[
        str | None, Query(max_length=500, pattern=r"^[\x21-\x7e]+$", description="`next` of the page before.")
    ] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> Response:
    """What can be asked about, and what is on its way."""
    scope = scope_of(who, session_id=session_id)
    found, after = await opened.documents.list(scope, cursor=cursor, limit=limit)
    instance = request_id(request.scope)
    return Json({"items": [shape(document, scope, instance) for document in found], "next": after})


@router.get(
    "/{document_id}",
    operation_id="getDocument",
    summary="Show a document",
    response_class=Json,
    responses={
        200: shown(DocumentReply, "The document", examples.DOCUMENT),
        **responses(*ASKING, errors.Missing, errors.InvalidField),
    },
)
async def document(
    request: Request, who: Asker, opened: Opened, document_id: DocumentId, session_id: Session = None
) -> Response:
    """How it stands."""
    scope = scope_of(who, session_id=session_id)
    found = await opened.documents.get(scope, document_id)
    return Json(shape(found, scope, request_id(request.scope)))


@router.delete(
    "/{document_id}",
    operation_id="deleteDocument",
    summary="Remove a document",
    status_code=204,
    responses={**responses(*ASKING, *KEEPING, errors.Forbidden, errors.Missing, errors.InvalidField)},
)
async def remove(who: Asker, opened: Opened, document_id: DocumentId) -> Response:
    """Gone from the next answer on."""
    await opened.documents.remove(scope_of(who), document_id)
    return Response(status_code=204)


@router.get(
    "/{document_id}/chunks/{n}",
    operation_id="getChunk",
    summary="Show a passage",
    response_class=Json,
    responses={
        200: shown(ChunkReply, "The passage", examples.CHUNK),
        **responses(*ASKING, errors.Missing, errors.InvalidField),
    },
)
async def chunk(
    who: Asker,
    opened: Opened,
    document_id: DocumentId,
    n: Annotated[int, Path(ge=1, le=2**31 - 1, description="The number after the `#` of its label.")],
    session_id: Session = None,
) -> Response:
    """What a citation stands for."""
    found, piece = await opened.documents.chunk(scope_of(who, session_id=session_id), document_id, n)
    told = {key: getattr(piece, key) for key in ("text", "page", "page_end", "heading", "tokens")}
    return Json({"label": label(found.label, str(n)), **told})


@router.get(
    "/{document_id}/file",
    operation_id="getFile",
    summary="Download the PDF",
    status_code=200,
    response_class=FileStream,
    responses={
        200: {"description": "The file as it was uploaded", "content": dict(examples.FILE)},
        **responses(*ASKING, errors.Missing, errors.InvalidField),
    },
)
async def file(
    who: Asker, opened: Opened, document_id: DocumentId, _session_id: FromSession = None
) -> Response:
    """The bytes, streamed."""
    found, pieces = await opened.documents.content(scope_of(who), document_id)
    return await FileStream.begun(pieces, disposition(found.filename), size=None)


def disposition(filename: str) -> str:
    """Content-Disposition (RFC 6266): shown in place, saved under its name, nothing smuggled in."""
    plain = re.sub(r"[^A-Za-z0-9 ._()-]", "_", filename)
    return f"inline; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
