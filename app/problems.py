"""Errors as `application/problem+json` (RFC 9457), and the wording of validation errors.

A problem is {type: `urn:ibid:problem:<slug>`, title, status, detail, instance: the request's id}; a 422 adds
`errors`, [{field, message}]. Values that the caller sent are never repeated, only names of fields, shortened
and made printable. `docs/problems.md` lists every slug. On the paths of OpenAI's protocol errors have its
envelope, {error: {message, type, param, code}}.
"""

import http
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

import structlog
from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Match
from starlette.types import Scope

from app import errors as tree
from app.db.documents import DocumentFault
from app.errors import IbidError
from app.logging import request_id

MEDIA = "application/problem+json"
URN = "urn:ibid:problem:"
FIELD_SHOWN, DETAIL_SHOWN, ERRORS_SHOWN = 120, 1_000, 20
"""Most characters of a field's path and of a detail, and most errors of one body."""
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE")
RESTART_SECONDS = 2
"""Retry-After of a service that is stopping: by then it, or another instance, may answer."""
CLIENT_GONE = 499
"""Status in the access log for a client that disconnected, as nginx writes it."""

log = structlog.get_logger(__name__)

KINDS: Mapping[int, type[IbidError]] = {
    400: tree.BadInput,
    404: tree.Missing,
    405: tree.WrongMethod,
    408: tree.Stalled,
    413: tree.TooLarge,
    415: tree.WrongType,
}
"""The problem for each status that the framework itself raises."""

PHRASES: Mapping[str, str] = {
    "bool_parsing": "must be true or false",
    "bool_type": "must be true or false",
    "dict_type": "must be a JSON object",
    "extra_forbidden": "is not a known field",
    "finite_number": "must be a finite number",
    "float_parsing": "must be a number",
    "float_type": "must be a number",
    "greater_than_equal": "must be at least {ge}",
    "int_from_float": "must be a whole number",
    "int_parsing": "must be a whole number",
    "int_parsing_size": "has too many digits",
    "int_type": "must be a whole number",
    "less_than_equal": "must be at most {le}",
    "list_type": "must be a list",
    "literal_error": "must be {expected}",
    "missing": "is required",
    "model_attributes_type": "must be a JSON object",
    "model_type": "must be a JSON object",
    "string_too_long": "must have at most {max_length:,} characters",
    "string_too_short": "must not be blank",
    "string_type": "must be text",
    "string_unicode": "must be valid Unicode text",
    "too_long": "must have at most {max_length:,} entries",
    "too_short": "must have at least {min_length:,} entry",
    "value_error": "{error}",
}
"""Message for each type of pydantic error. Texts with a least length have 1."""
OWN = "ibid"
"""Type of an error whose message comes from the schema."""
PATTERNS: dict[str, str] = {}


def pattern(expression: str, phrase: str) -> str:
    """A regular expression for a field, with the message shown instead of it."""
    PATTERNS[expression] = phrase
    return expression


class FieldError(BaseModel):
    """A field that is not valid."""

    field: str = Field(description="Where it is, such as `body.top_k` or `query.limit`.")
    message: str = Field(description="What it must be, as a sentence.")


class Problem(BaseModel):
    """What went wrong (RFC 9457)."""

    model_config = ConfigDict(frozen=True)

    type: str = Field(description="`urn:ibid:problem:<slug>`")
    title: str = Field(description="The same for every problem of this type.")
    status: int = Field(description="The HTTP status.")
    detail: str = Field(description="What is wrong with this request.")
    instance: str = Field(description="The request's id, as in X-Request-ID.")
    errors: list[FieldError] | None = Field(
        None, exclude_if=lambda errors: not errors, description="With a 422: each invalid field."
    )


class OpenAIError(BaseModel):
    """What went wrong, as OpenAI's clients read it."""

    message: str = Field(description="What is wrong with this request.")
    type: str = Field(description="`invalid_request_error`, `rate_limit_error` or `server_error`.")
    param: str | None = Field(description="The invalid field; null: none.")
    code: str = Field(description="OpenAI's word if it has one (`model_not_found`), else the problem's slug.")


class OpenAIErrorEnvelope(BaseModel):
    """An error of OpenAI's protocol."""

    error: OpenAIError = Field(description="What went wrong.")


OPENAI_PATHS = re.compile(r"/v1/(?!search(?:/|$)).*", re.DOTALL)
"""All of /v1 but our own search: clients of that protocol also ask for what there is not."""
OPENAI_CODES: Mapping[type[IbidError], str] = {
    tree.Unauthorized: "invalid_api_key",
    tree.InvalidField: "invalid_value",
    tree.BadInput: "invalid_json",
}


def printable(text: str, limit: int) -> str:
    safe = text[:limit].encode("utf-8", "backslashreplace").decode()
    return safe if len(text) <= limit else f"{safe}…"


def problem_of(error: IbidError, instance: str, faults: Sequence[FieldError] = ()) -> Problem:
    """The problem document of an error; `instance` is the request's id."""
    detail = printable(error.detail, DETAIL_SHOWN)
    field = getattr(error, "field", "")
    return Problem(
        type=URN + error.slug,
        title=error.title,
        status=error.status,
        detail=detail,
        instance=instance,
        errors=list(faults) or ([FieldError(field=field, message=detail)] if field else None),
    )


def speaks_openai(path: str) -> bool:
    return OPENAI_PATHS.fullmatch(path) is not None


def openai_error(error: IbidError, faults: Sequence[FieldError] = ()) -> OpenAIErrorEnvelope:
    """The same error in OpenAI's words."""
    kind = (
        "server_error" if error.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
    )
    code = getattr(error, "code", None) or OPENAI_CODES.get(type(error), error.slug)
    if error.status == http.HTTPStatus.TOO_MANY_REQUESTS:
        kind, code = "rate_limit_error", "rate_limit_exceeded"
    field = faults[0].field if faults else getattr(error, "field", "")
    return OpenAIErrorEnvelope(
        error=OpenAIError(
            message=printable(error.detail, DETAIL_SHOWN),
            type=kind,
            param=field.removeprefix("body.") or None,
            code=code,
        )
    )


def of_fault(fault: DocumentFault, instance: str) -> Problem:
    return problem_of(tree.problem(fault.slug, fault.detail), instance)


def response(error: IbidError, scope: Scope, faults: Sequence[FieldError] = ()) -> Response:
    headers: dict[str, str] = {"Cache-Control": "no-store"}
    if error.retry_after is not None:
        headers["Retry-After"] = str(error.retry_after)
    if error.status == http.HTTPStatus.UNAUTHORIZED:
        headers["WWW-Authenticate"] = 'Bearer realm="ibid"'
    if isinstance(error, tree.RangeNotSatisfiable):
        headers["Content-Range"] = f"bytes */{error.size}"
    if speaks_openai(scope.get("path", "")):
        status = http.HTTPStatus.BAD_REQUEST if isinstance(error, tree.InvalidField) else error.status
        envelope = openai_error(error, faults).model_dump_json()
        return Response(envelope, status, headers=headers, media_type="application/json")
    body = problem_of(error, request_id(scope), faults).model_dump_json()
    return Response(body, error.status, headers=headers, media_type=MEDIA)


def install(app: FastAPI) -> None:
    app.exception_handler(IbidError)(_ours)
    app.exception_handler(RequestValidationError)(_invalid)
    app.exception_handler(HTTPException)(_framework)
    app.exception_handler(ClientDisconnect)(_gone)


async def _ours(request: Request, error: IbidError) -> Response:
    if error.status >= http.HTTPStatus.INTERNAL_SERVER_ERROR:
        log.warning("problem", slug=error.slug, status=error.status)
    return response(error, request.scope)


async def _invalid(request: Request, error: RequestValidationError) -> Response:
    found = error.errors()
    faults = [field_error(fault) for fault in found[:ERRORS_SHOWN]]
    more = f" (and {len(found) - 1} more)" if len(found) > 1 else ""
    return response(tree.InvalidField(faults[0].message + more), request.scope, faults)


def field_error(fault: Mapping[str, Any]) -> FieldError:
    """One of pydantic's errors in plain words, without the value that was sent."""
    parts = [printable(str(part), FIELD_SHOWN) for part in fault["loc"]]
    name = printable(".".join(parts[1:]), FIELD_SHOWN) or f"the {parts[0]}"
    if len(parts) == 2 and parts[1].isdigit():  # a whole entry of a list, counted from 0 as in `field`
        name = f"entry {name}"
    message = printable(f"{name} {phrase(fault)}", DETAIL_SHOWN)
    return FieldError(field=printable(".".join(parts), FIELD_SHOWN), message=message)


def phrase(fault: Mapping[str, Any]) -> str:
    kind, context = fault["type"], dict(fault.get("ctx", {}))
    if kind == "string_pattern_mismatch":
        return PATTERNS.get(context["pattern"], "has characters that are not allowed here")
    if kind == OWN:
        return str(fault["msg"])
    for limit in ("ge", "le"):
        if isinstance(context.get(limit), float):
            context[limit] = f"{context[limit]:g}"
    return PHRASES.get(kind, "is not valid").format(**context)


async def _framework(request: Request, error: HTTPException) -> Response:
    kind = KINDS.get(error.status_code, tree.BadInput)
    said = error.detail if error.detail != http.HTTPStatus(kind.status).phrase else ""
    answer = response(kind(said), request.scope)
    if kind is tree.WrongMethod:
        answer.headers["Allow"] = ", ".join(_allowed(request))
    return answer


def _allowed(request: Request) -> list[str]:
    """The methods of all routes of this path: the router itself knows only the first route's."""
    routes = request.app.router.routes
    tried = {method: {**request.scope, "method": method} for method in METHODS}
    return [
        method
        for method, scope in tried.items()
        if any(route.matches(scope)[0] is Match.FULL for route in routes)
    ]


async def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=CLIENT_GONE)


def unexpected() -> IbidError:
    return IbidError("The cause is in the service's log, under this request's id.")


@contextmanager
def foreseen() -> Iterator[None]:
    """An exception that nobody foresaw is logged and becomes `unexpected()`: for callers that would show its
    text to a client."""
    try:
        yield
    except IbidError:
        raise
    except Exception:
        log.exception("request failed")
        raise unexpected() from None


def stopping() -> IbidError:
    return tree.Unavailable("The service is stopping; ask again soon.", retry_after=RESTART_SECONDS)
