"""/api/documents: PDFs uploaded, listed, shown, removed. `n` of a chunk counts from 1.

Global documents are visible to all of a tenant and written with a tenant key. An invalid id is `Missing`, as
is another's document.
"""

import re
from typing import Annotated
from urllib.parse import quote

from fastapi import APIRouter, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from app import errors
from app.api.dependencies import Asker, AsOf, Cursor, Limit, Opened, Since, scope_of, span_of
from app.api.middleware import MIB
from app.api.openapi import ASKING, KEEPING, READING, SENDING, UPLOADED, operation_id, responses, upload_body
from app.api.schemas import GoneOut, SessionId
from app.api.schemas.documents import ChunkOut, DocumentOut, DocumentPage, UploadFields
from app.api.sse import download
from app.api.uploads import Received, received
from app.db.documents import Upload
from app.logging import request_id
from app.services.documents import UploadOutcome
from app.text.labels import label

router = APIRouter(generate_unique_id_function=operation_id, prefix="/api/documents", tags=["documents"])
STATUS = {UploadOutcome.CREATED: 201, UploadOutcome.ACCEPTED: 202, UploadOutcome.EXISTING: 200}
SHOWING = responses(*ASKING, errors.Missing, errors.InvalidField)


DocumentId = Annotated[str, Path(description="As the upload returned it.")]
Session = Annotated[
    SessionId | None,
    Query(
        description="Shown as that session sees it, with the label that its answers cite. Left out: its own."
    ),
]


def fields_of(form: Received) -> UploadFields:
    """The form's fields. Errors look like those of a JSON body."""
    try:
        return UploadFields.model_validate(form.fields)
    except ValidationError as error:
        faults = [{**fault, "loc": ("body", *fault["loc"])} for fault in error.errors()]
        raise RequestValidationError(faults) from None


@router.post(
    "",
    summary="Upload a PDF",
    status_code=201,
    response_description="Searchable",
    responses={
        200: {"model": DocumentOut, "description": "The same bytes were there already", **UPLOADED},
        201: {"description": "Searchable", **UPLOADED},
        202: {"model": DocumentOut, "description": "Kept, and still being read", **UPLOADED},
        **responses(*ASKING, *SENDING, *READING, *KEEPING, errors.Forbidden, errors.Conflict),
    },
    openapi_extra=upload_body(),
)
async def upload_document(request: Request, who: Asker, opened: Opened, response: Response) -> DocumentOut:
    """Answers once the document is searchable, or after `wait` seconds with a 202."""
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
    response.status_code = STATUS[outcome]
    response.headers["Location"] = f"/api/documents/{document.id}"
    return DocumentOut.of(document, scope, request_id(request.scope))


@router.get(
    "",
    summary="List documents",
    response_description="A page, newest first",
    responses=responses(*ASKING, errors.InvalidField),
)
async def list_documents(
    *,
    request: Request,
    who: Asker,
    opened: Opened,
    session_id: Annotated[
        SessionId | None, Query(description="That session's and the global ones. Left out: all of yours.")
    ] = None,
    since: Since = None,
    as_of: AsOf = None,
    cursor: Cursor = None,
    limit: Limit = 50,
) -> DocumentPage:
    """Searchable documents, and those that are being read."""
    scope, gone, total = scope_of(who, session_id=session_id), None, None
    if since or as_of:
        page = await opened.history.documents(scope, span_of(since, as_of), cursor=cursor, limit=limit)
        found, gone, after = page.items, [GoneOut.model_validate(each) for each in page.gone], page.next
    else:
        found, after = await opened.documents.list(scope, cursor=cursor, limit=limit)
        total = await opened.documents.count(scope)
    instance = request_id(request.scope)
    items = [DocumentOut.of(each, scope, instance) for each in found]
    return DocumentPage(items=items, next=after, total=total, gone=gone)


@router.get(
    "/{document_id}",
    summary="Get a document",
    response_description="The document",
    responses=SHOWING,
)
async def get_document(
    request: Request, who: Asker, opened: Opened, document_id: DocumentId, session_id: Session = None
) -> DocumentOut:
    """Its state and figures."""
    scope = scope_of(who, session_id=session_id)
    found = await opened.documents.get(scope, document_id)
    return DocumentOut.of(found, scope, request_id(request.scope))


@router.delete(
    "/{document_id}",
    summary="Delete a document",
    status_code=204,
    response_class=Response,
    responses=responses(*ASKING, *KEEPING, errors.Forbidden, errors.Missing, errors.InvalidField),
)
async def delete_document(who: Asker, opened: Opened, document_id: DocumentId) -> None:
    """Gone from the next answer on."""
    await opened.documents.remove(scope_of(who), document_id)


@router.get(
    "/{document_id}/chunks/{n}",
    summary="Get a passage",
    response_description="The passage",
    responses=SHOWING,
)
async def get_chunk(
    who: Asker,
    opened: Opened,
    document_id: DocumentId,
    n: Annotated[int, Path(ge=1, le=2**31 - 1, description="The number after the `#` of its label.")],
    session_id: Session = None,
) -> ChunkOut:
    """The passage that a citation names."""
    found, piece = await opened.documents.chunk(scope_of(who, session_id=session_id), document_id, n)
    return ChunkOut(
        label=label(found.label, str(n)),
        text=piece.text,
        page=piece.page,
        page_end=piece.page_end,
        heading=piece.heading,
        tokens=piece.tokens,
        kind=piece.kind,
        page_label=piece.page_label or None,
    )


@router.get(
    "/{document_id}/file",
    summary="Download the PDF",
    response_class=Response,
    responses={
        200: {
            "description": "The file as it was uploaded",
            "content": {"application/pdf": {"schema": {"type": "string", "format": "binary"}}},
        },
        **SHOWING,
    },
)
async def get_file(
    who: Asker,
    opened: Opened,
    document_id: DocumentId,
    _session_id: Annotated[
        SessionId | None,
        Query(alias="session_id", description="Accepted as for the chunk endpoint; ignored."),
    ] = None,
) -> Response:
    """As it was uploaded, streamed."""
    found, pieces = await opened.documents.content(scope_of(who), document_id)
    headers = {
        "Content-Disposition": disposition(found.filename),
        "Cache-Control": "private, no-cache",
        "Cross-Origin-Resource-Policy": "same-origin",
        # A browser must not guess another type from the bytes.
        "X-Content-Type-Options": "nosniff",
    }
    return await download(pieces, headers=headers, media_type="application/pdf")


def disposition(filename: str) -> str:
    """Content-Disposition (RFC 6266), safe against header injection."""
    plain = re.sub(r"[^A-Za-z0-9 ._()-]", "_", filename)
    return f"inline; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
