"""Errors as `application/problem+json` (RFC 9457), in one place; and how OpenAPI shows them.

A document is {type: `urn:ibid:problem:<slug>`, title, status, detail, instance: the request's id}; a 422
adds `errors`, [{field, message}]. What the caller sent is never echoed but for names of fields, cut and
made printable. Every slug is listed in `docs/problems.md`. Raises nothing.
"""

import asyncio
import http
from collections.abc import Mapping
from typing import Any, TypeAlias

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from app import errors as tree
from app.db.documents import Fault
from app.errors import IbidError
from app.logging import request_id

MEDIA = "application/problem+json"
URN = "urn:ibid:problem:"
FIELD_SHOWN, DETAIL_SHOWN, ERRORS_SHOWN = 120, 1_000, 20
"""Characters of a field's path and of a detail, and faults of one body, that are told at most."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
RESTART_SECONDS = 2
"""After which a service that stops may be back, or another answer in its place."""
CLIENT_GONE = 499
"""Nobody reads it; the access line shows it, as nginx does."""

Document: TypeAlias = dict[str, object]
Errors: TypeAlias = list[dict[str, str]]

log = structlog.get_logger(__name__)

KINDS: Mapping[int, type[IbidError]] = {
    400: tree.BadInput,
    404: tree.Missing,
    405: tree.WrongMethod,
    408: tree.Stalled,
    413: tree.TooLarge,
    415: tree.WrongType,
}
"""What the framework's own refusals are called."""


def printable(text: str, limit: int) -> str:
    """`text` as it can be sent: lone surrogates escaped, no longer than `limit` characters."""
    safe = text[:limit].encode("utf-8", "backslashreplace").decode()
    return safe if len(text) <= limit else f"{safe}…"


def document(error: IbidError, instance: str, faults: Errors | None = None) -> Document:
    """The problem as a JSON object."""
    told: Document = {
        "type": URN + error.slug,
        "title": error.title,
        "status": error.status,
        "detail": printable(error.detail, DETAIL_SHOWN),
        "instance": instance,
    }
    field = getattr(error, "field", "")
    listed = faults or ([{"field": field, "message": error.detail}] if field else None)
    return told | ({"errors": listed} if listed else {})


def of_fault(fault: Fault, instance: str) -> Document:
    """Why a document failed, as its row kept it."""
    return document(tree.problem(fault.slug, fault.detail), instance)


def response(error: IbidError, scope: Scope, faults: Errors | None = None) -> Response:
    """The problem as a response, with what headers it calls for."""
    headers: dict[str, str] = {"Cache-Control": "no-store"}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.status == http.HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="ibid"'
    body = document(error, request_id(scope), faults)
    return JSONResponse(body, error.status, headers=headers, media_type=MEDIA)


def install(app: FastAPI) -> None:
    """Have every error of the routes told as a problem."""
    app.exception_handler(IbidError)(_ours)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(HTTPException)(_framework)
    app.exception_handler(ClientDisconnect)(_gone)


async def _ours(request: Request, error: IbidError) -> Response:
    """One of the tree."""
    if error.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("problem", slug=error.slug, status=error.status)
    return response(error, request.scope)


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    """A body or a parameter that does not fit."""
    found = error.errors()
    faults = [_told(fault) for fault in found[:ERRORS_SHOWN]]
    first = f"{faults[0]['field']}: {faults[0]['message']}"
    more = f" ({len(found) - 1} more)" if len(found) > 1 else ""
    return response(tree.InvalidField(first + more), request.scope, faults)


def _told(fault: Mapping[str, Any]) -> dict[str, str]:
    """{field, message} of one of pydantic's; its `input` stays here."""
    field = ".".join(printable(str(part), FIELD_SHOWN) for part in fault["loc"])
    return {"field": printable(field, FIELD_SHOWN), "message": printable(fault["msg"], DETAIL_SHOWN)}


async def _framework(request: Request, error: HTTPException) -> Response:
    """A refusal of the framework's: no such path, wrong method, a body that breaks off."""
    kind = KINDS.get(error.status_code, tree.BadInput)
    said = error.detail if error.detail != http.HTTPStatus(kind.status).phrase else ""
    answer = response(kind(said), request.scope)
    if kind is tree.WrongMethod:
        answer.headers["Allow"] = ", ".join(_allowed(request))
    return answer


def _allowed(request: Request) -> list[str]:
    """The methods this path takes, over all routes: the router itself tells only the first route's."""
    routes = request.app.router.routes
    tried = {method: {**request.scope, "method": method} for method in METHODS}
    return [
        method
        for method, scope in tried.items()
        if any(route.matches(scope)[0] is Match.FULL for route in routes)
    ]


async def _gone(_request: Request, _error: Exception) -> Response:
    """The client left before there was an answer."""
    return Response(status_code=CLIENT_GONE)


def stopping() -> IbidError:
    """What a request is told that the end of the service cuts short."""
    return tree.Unavailable("The service is stopping; ask again soon.", retry_after=RESTART_SECONDS)


class LastResort:
    """Raw ASGI: what nothing else caught is a 500 problem, a cancelled request (the service is stopping) a
    503 one; after the head, the connection is broken off."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        begun = False

        async def watched(message: Message) -> None:
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self.app(scope, receive, watched)
        except asyncio.CancelledError:
            if not begun and scope["type"] == "http":
                await response(stopping(), scope)(scope, receive, send)
            raise
        except Exception:
            # A truncated body must not look whole, so the server is left to cut the connection.
            if begun or scope["type"] != "http":
                raise
            log.exception("request failed")
            error = IbidError("The cause is in the service's log, under this request's id.")
            await response(error, scope)(scope, receive, send)


ANY: tuple[type[IbidError], ...] = (
    tree.BadInput,
    tree.WrongMethod,
    tree.Stalled,
    tree.UriTooLong,
    tree.HeadersTooLarge,
    tree.Damaged,
    IbidError,
)
"""Problems that any request can get: malformed HTTP, a wrong method, a stalled client, size limits of the
head, a damaged store, an internal error."""


def responses(*kinds: type[IbidError]) -> dict[int | str, dict[str, Any]]:
    """OpenAPI's `responses=` for these problems, an example each; those of every request are always among
    them."""
    found: dict[int | str, dict[str, Any]] = {}
    for kind in (*kinds, *ANY):
        shown = found.setdefault(kind.status, _entry(kind.status))
        shown["content"][MEDIA]["examples"][kind.slug] = {"summary": kind.title, "value": _example(kind)}
    return found


def _entry(status: int) -> dict[str, Any]:
    """A status without examples yet. The schema is put into the document by `app/api/schema.py`."""
    schema = {"$ref": "#/components/schemas/Problem"}
    return {
        "description": http.HTTPStatus(status).phrase,
        "content": {MEDIA: {"schema": schema, "examples": {}}},
    }


def _example(kind: type[IbidError]) -> Document:
    """A problem of this kind as a client sees it."""
    if issubclass(kind, tree.InvalidField):
        return document(kind("Input should be greater than or equal to 1", field="body.top_k"), EXAMPLE_ID)
    return document(kind(), EXAMPLE_ID)


EXAMPLE_ID = "01998f3a-9d0c-7c11-8f52-7f4c1d2ab3e4"

SCHEMA: Mapping[str, Any] = {
    "title": "Problem",
    "description": "What went wrong (RFC 9457).",
    "type": "object",
    "required": ["type", "title", "status", "detail", "instance"],
    "properties": {
        "type": {"type": "string", "description": "`urn:ibid:problem:<slug>`"},
        "title": {"type": "string", "description": "The same for every problem of this type."},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What is wrong this time."},
        "instance": {"type": "string", "description": "The request's id, as in X-Request-ID."},
        "errors": {
            "type": "array",
            "description": "With a 422: each field at fault.",
            "items": {
                "type": "object",
                "required": ["field", "message"],
                "properties": {"field": {"type": "string"}, "message": {"type": "string"}},
            },
        },
    },
}
