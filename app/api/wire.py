"""JSON on the wire: strict UTF-8 with the right content type in, compact UTF-8 out.

Python's `json` would take UTF-16 and bare surrogates; CONTRACT's opening says UTF-8. Raises `WrongType`
(415) and, as the one exception that FastAPI lets through, HTTPException 400.
"""

import json
from collections.abc import Callable, Coroutine
from datetime import datetime
from typing import Any

import orjson
from fastapi.routing import APIRoute
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.domain.errors import WrongType

ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))


NULLS = (b":null", b"[null", b",null")
"""How a null stands in compact JSON; in the middle of a text hardly ever."""


def encoded(data: object) -> bytes:
    """`data` as JSON. Half a surrogate pair, as models stream them, becomes its JSON escape."""
    try:
        body = orjson.dumps(data)
    except TypeError:  # surrogates, or what is no JSON at all: the other tells the two apart
        body = b""
    # orjson writes null for NaN and infinity, and must not hide them: where there is any null, one looks.
    if body and (b"null" not in body or not hidden(body)):
        return body
    return ENCODER.encode(data).encode("utf-8", "backslashreplace")


def hidden(body: bytes) -> bool:
    """Whether a null stands in it that may have been no number."""
    return body.startswith(b"null") or any(null in body for null in NULLS)


def moment(at: datetime) -> str:
    """A time as RFC 3339, UTC."""
    return at.isoformat().replace("+00:00", "Z")


class Json(JSONResponse):
    """A JSON response that no text can break."""

    def render(self, content: object) -> bytes:
        """As `encoded`."""
        return encoded(content)


class JsonRequest(Request):
    """A request whose body is UTF-8 or refused."""

    async def json(self) -> object:
        """The parsed body; a JSONDecodeError is FastAPI's to tell."""
        try:
            text = (await self.body()).decode("utf-8")
        except UnicodeDecodeError as error:
            raise HTTPException(400, f"The body is not UTF-8: see byte {error.start}.") from None
        try:
            return json.loads(text)
        except RecursionError:
            raise HTTPException(400, "The body is nested too deeply.") from None


class JsonRoute(APIRoute):
    """A route that takes JSON bodies."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """FastAPI's own handler, given a stricter request."""
        inner, takes_body = super().get_route_handler(), self.body_field is not None

        async def handler(request: Request) -> Response:
            if takes_body and not is_json(request.headers.get("content-type", "")):
                raise WrongType("Send Content-Type: application/json.")
            return await inner(JsonRequest(request.scope, request.receive))

        return handler


def is_json(content_type: str) -> bool:
    """application/json, whatever its parameters."""
    return content_type.partition(";")[0].strip().lower() == "application/json"
