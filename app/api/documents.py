"""/api/documents: PDFs uploaded, listed, shown, removed. `n` of a chunk counts from 1.

Global documents are visible to all of a tenant and written with a tenant key. An invalid id is `Missing`, as
is another's document.
"""

import asyncio
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import APIRouter, Header, Path, Query, Request
from fastapi.exceptions import RequestValidationError
from pydantic import ValidationError
from starlette.responses import Response

from app import errors
from app.answering.live import Numbered
from app.api.bodies import encoded
from app.api.conditional import not_modified, range_of, tag_of
from app.api.dependencies import Asker, AsOf, Cursor, Limit, Opened, Since, scope_of, span_of
from app.api.middleware import MIB
from app.api.openapi import (
    ASKING,
    KEEPING,
    READING,
    SENDING,
    UPLOADED,
    document_events,
    operation_id,
    responses,
    upload_body,
)
from app.api.schemas import GoneOut, SessionId
from app.api.schemas.documents import ChunkOut, DocumentOut, DocumentPage, PageBoxes, UploadFields
from app.api.sse import EVENT_HEADERS, EventStream, Resumed, close, download, unless_gone
from app.api.uploads import Received, received
from app.db.documents import Document, State, Upload
from app.ingest.viewer import Rect
from app.logging import request_id
from app.problems import problem_of
from app.services.documents import UploadOutcome
from app.text.labels import label
from app.types import Chunk

router = APIRouter(generate_unique_id_function=operation_id, prefix="/api/documents", tags=["documents"])
PDF = "application/pdf"
PDF_BODY: dict[str, Any] = {"content": {PDF: {"schema": {"type": "string", "format": "binary"}}}}
STATUS = {UploadOutcome.CREATED: 201, UploadOutcome.ACCEPTED: 202, UploadOutcome.EXISTING: 200}
SHOWING = responses(*ASKING, errors.Missing, errors.InvalidField)
VIEWING = (*ASKING, errors.Missing, errors.PdfDamaged, errors.PdfTooComplex, errors.Overloaded)
"""Problems of a route that asks the process which shows pages."""


DocumentId = Annotated[str, Path(description="As the upload returned it.")]
Session = Annotated[
    SessionId | None,
    Query(
        description="Shown as that session sees it, with the label that its answers cite. Left out: its own."
    ),
]
IgnoredSession = Annotated[
    SessionId | None,
    Query(alias="session_id", description="Accepted as for the chunk endpoint; ignored."),
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
    limit = most_bytes(request)
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


def most_bytes(request: Request) -> int:
    """Of one file."""
    most: int = request.app.state.settings.document.max_mb * MIB
    return most


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
    elif cursor:
        found, after = await opened.documents.list(scope, cursor=cursor, limit=limit)
    else:
        (found, after), total = await asyncio.gather(
            opened.documents.list(scope, cursor=None, limit=limit), opened.documents.count(scope)
        )
    instance = request_id(request.scope)
    items = [DocumentOut.of(each, scope, instance) for each in found]
    return DocumentPage(items=items, next=after, total=total, gone=gone, max_size=most_bytes(request))


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
    "/{document_id}/events",
    summary="Follow the reading of a document",
    response_class=Response,
    responses={**document_events(), **responses(*ASKING, errors.Missing, errors.Overloaded)},
)
async def follow_document(
    *,
    request: Request,
    who: Asker,
    opened: Opened,
    document_id: DocumentId,
    session_id: Session = None,
    last_event_id: Annotated[
        str | None, Header(description="Id of the last event that arrived; only the last one has an id.")
    ] = None,
) -> Response:
    """`progress` each time it changes, at most once a second, then `ready` or `failed` with the document, or
    `error` if it is deleted meanwhile. Of a document that is not being read the last event alone. Ends after
    15 minutes at the latest: then ask again. Read it with `fetch`, since an EventSource sends no key."""
    scope, instance = scope_of(who, session_id=session_id), request_id(request.scope)
    found = await opened.documents.get(scope, document_id)
    if found.state is not State.PROCESSING and last_event_id == event_id(document_id, found.state):
        return Response(status_code=204)
    told = await opened.documents.follow(scope, document_id)
    events = numbered(told, lambda document: DocumentOut.of(document, scope, instance))
    wire = DocumentEvents(document_id, instance)
    return EventStream(Resumed(document_id, events), wire, what="document")


async def numbered(
    documents: AsyncIterator[Document], shown: Callable[[Document], DocumentOut]
) -> AsyncIterator[Numbered]:
    """The events of a document that is being read."""
    try:
        async for document in documents:
            out = shown(document)
            name = "progress" if out.progress else str(out.state)
            yield 0, name, {"body": out.progress or out}
    finally:
        await close(documents)


ENDINGS = (State.READY, State.FAILED)
"""Names of events that nothing follows; `error` has no id, since the next request is answered with 404."""


class DocumentEvents:
    """The events as bytes. The last one has an id; the others have none, since the newest says everything."""

    headers = EVENT_HEADERS

    def __init__(self, document_id: str, instance: str) -> None:
        self._document_id = document_id
        self._instance = instance

    def event(self, name: str, data: Mapping[str, object]) -> bytes:
        number = f"id: {event_id(self._document_id, name)}\n" if name in ENDINGS else ""
        return b"%bevent: %b\ndata: %b\n\n" % (number.encode(), name.encode(), encoded(data["body"]))

    def error(self, error: errors.IbidError) -> bytes:
        return self.event("error", {"body": problem_of(error, self._instance)})

    def end(self) -> bytes:
        return b""


def event_id(document_id: str, state: str) -> str:
    return f"{document_id}:{state}"


Number = Annotated[int, Path(ge=1, le=2**31 - 1, description="The number after the `#` of its label.")]


@router.get(
    "/{document_id}/chunks/{n}",
    summary="Get a passage",
    response_description="The passage",
    responses=responses(*VIEWING, errors.InvalidField),
)
async def get_chunk(
    *,
    request: Request,
    response: Response,
    who: Asker,
    opened: Opened,
    document_id: DocumentId,
    n: Number,
    session_id: Session = None,
    boxes: Annotated[bool, Query(description="`1`: also where it is on its pages.")] = False,
    quote: Annotated[
        str,
        Query(
            max_length=4_000,
            description="With `boxes=1`: words of the passage, as an answer quotes them; `quote_boxes` says"
            " where they are.",
        ),
    ] = "",
) -> ChunkOut:
    """The passage that a citation names."""
    scope, places = scope_of(who, session_id=session_id), None
    found, piece = await opened.documents.chunk(scope, document_id, n)
    if boxes:
        finding = opened.documents.places(scope, found, piece, quote)
        places = await unless_gone(request.receive, finding)
        response.headers["Cache-Control"] = "no-store"
    return ChunkOut(
        label=label(found.label, str(n)),
        text=piece.text,
        page=piece.page,
        page_end=piece.page_end,
        heading=piece.heading,
        tokens=piece.tokens,
        kind=piece.kind,
        page_label=piece.page_label or None,
        boxes=page_boxes(piece, places.boxes) if places else None,
        quote_boxes=page_boxes(piece, places.quote_boxes) if places and quote else None,
    )


def page_boxes(chunk: Chunk, boxes: Sequence[tuple[int, Sequence[Rect]]]) -> list[PageBoxes]:
    """With the printed number of the passage's first and last page."""
    first, _, last = chunk.page_label.partition("–")
    labels = {chunk.page_end: last, chunk.page: first}
    if not last and chunk.page_end > chunk.page:
        labels = {chunk.page: first}
    return [
        PageBoxes(page=page, label=labels.get(page) or None, rects=[list(rect) for rect in rects])
        for page, rects in boxes
    ]


IMAGE_HEADERS = {
    # Asked for each time: a browser's cache knows neither keys nor deletions.
    "Cache-Control": "private, no-cache",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
WEBP = "image/webp"


@router.head("/{document_id}/pages/{n}.webp", include_in_schema=False)
@router.get(
    "/{document_id}/pages/{n}.webp",
    summary="Show a page as an image",
    response_class=Response,
    responses={
        200: {
            "description": "The page as WebP",
            "content": {WEBP: {"schema": {"type": "string", "format": "binary"}}},
        },
        304: {"description": "The client has it already (`If-None-Match`)."},
        **responses(*VIEWING, errors.InvalidField),
    },
)
async def get_page(
    *,
    request: Request,
    who: Asker,
    opened: Opened,
    document_id: DocumentId,
    n: Annotated[int, Path(ge=1, le=2**31 - 1, description="The page, physical, from 1.")],
    scale: Annotated[
        float | None,
        Query(
            ge=0.5,
            le=3,
            allow_inf_nan=False,
            description="Pixels per point. Left out: 1,040 pixels across. A page that is very large is drawn"
            " smaller: 8 million pixels at most.",
        ),
    ] = None,
    _session_id: IgnoredSession = None,
) -> Response:
    """Drawn by a process that may see nothing but this file."""
    scope = scope_of(who)
    found = await opened.documents.with_file(scope, document_id)
    if found.state is State.READY and n > found.pages:
        raise errors.Missing("there is no such page")
    tag = tag_of(found.sha256[:32], n, scale or "fit")
    if known := not_modified(request, tag, IMAGE_HEADERS):
        return known
    image = await unless_gone(request.receive, opened.documents.page(scope, found, n, scale))
    return Response(image, headers={**IMAGE_HEADERS, "ETag": tag}, media_type=WEBP)


@router.head("/{document_id}/file", include_in_schema=False)
@router.get(
    "/{document_id}/file",
    summary="Download the PDF",
    response_class=Response,
    responses={
        200: {"description": "The file as it was uploaded", **PDF_BODY},
        206: {"description": "The bytes that `Range` asks for", **PDF_BODY},
        304: {"description": "The client has it already (`If-None-Match`)."},
        **responses(*ASKING, errors.Missing, errors.InvalidField, errors.RangeNotSatisfiable),
    },
)
async def get_file(
    request: Request, who: Asker, opened: Opened, document_id: DocumentId, _session_id: IgnoredSession = None
) -> Response:
    """As it was uploaded, streamed. `Range` with one range, `If-Range` and `If-None-Match` are honoured."""
    found = await opened.documents.with_file(scope_of(who), document_id)
    tag = tag_of(found.sha256)
    headers = {
        "Content-Disposition": disposition(found.filename),
        "Cache-Control": "private, no-cache",
        "Cross-Origin-Resource-Policy": "same-origin",
        # A browser must not guess another type from the bytes.
        "X-Content-Type-Options": "nosniff",
        "Accept-Ranges": "bytes",
    }
    if known := not_modified(request, tag, headers):
        return known
    asked = range_of(request, found.size, tag)
    start, end = asked or (0, found.size)
    headers |= {"ETag": tag, "Content-Length": str(end - start)}
    status = 206 if asked else 200
    if asked:
        headers["Content-Range"] = f"bytes {start}-{end - 1}/{found.size}"
    if request.method == "HEAD":
        return Response(status_code=status, headers=headers, media_type=PDF)
    pieces = opened.documents.content(found, start, end)
    return await download(pieces, status=status, headers=headers, media_type=PDF)


def disposition(filename: str) -> str:
    """Content-Disposition (RFC 6266), safe against header injection."""
    plain = re.sub(r"[^A-Za-z0-9 ._()-]", "_", filename)
    return f"inline; filename=\"{plain}\"; filename*=UTF-8''{quote(filename, safe='')}"
