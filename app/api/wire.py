"""JSON on the wire: strict UTF-8 with the right content type in, compact UTF-8 out.

A body is read after the key was checked, and is bounded so that neither parsing nor checking it holds the
event loop. Python's `json` would take UTF-16 and bare surrogates; CONTRACT's opening says UTF-8. Raises
`WrongType` (415), `TooLarge`, `InvalidField`, what `deps.authenticate` raises and, as the one exception that
FastAPI lets through, HTTPException 400.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import orjson
from fastapi.routing import APIRoute
from pydantic import TypeAdapter, ValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.api.deps import authenticate
from app.domain.errors import InvalidField, TooLarge, WrongType

VALUES = 40_000
"""Values of one JSON body: 500 rows of 80. Checking them takes 70 ms at the worst, if all are wrong."""
FAULTS = 1_000
"""Faults of one body that are looked at one by one; pydantic would describe each of 150,000."""
BLOCK = 64 << 10
"""Bytes that are looked through before other requests have their turn."""

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


class Json(JSONResponse):
    """A JSON response that no text can break."""

    def render(self, content: object) -> bytes:
        """As `encoded`."""
        return encoded(content)


class JsonRequest(Request):
    """A request whose body is UTF-8 or refused."""

    _parsed: object = None

    async def json(self) -> object:
        """The parsed body; a JSONDecodeError is FastAPI's to tell."""
        if self._parsed is None:
            self._parsed = await self._parse()
        return self._parsed

    async def _parse(self) -> object:
        try:
            text = (await self.body()).decode("utf-8")
        except UnicodeDecodeError as error:
            raise HTTPException(400, f"The body is not UTF-8: see byte {error.start}.") from None
        try:
            return json.loads(text)
        except RecursionError:
            raise HTTPException(400, "The body is nested too deeply.") from None

    async def check_size(self, adapter: TypeAdapter[Any]) -> None:
        """Refuse a body of more than VALUES values or FAULTS faults: to describe them all would hold up the
        event loop. FastAPI reports fewer faults."""
        count = await values(await self.body())
        if count > VALUES:
            raise TooLarge(f"At most {VALUES:,} values are taken in one body.")
        if count <= FAULTS:
            return
        try:
            body = await self.json()
        except (ValueError, HTTPException):
            return
        await asyncio.sleep(0)
        try:
            adapter.validate_python(body)
        except ValidationError as error:
            if (found := error.error_count()) > FAULTS:
                raise InvalidField(f"There are {found:,} faults in the body.", field="body") from None
        await asyncio.sleep(0)


async def values(body: bytes) -> int:
    """How many values JSON has, by the commas and brackets outside of strings; where there are few of these
    signs, those inside of strings count too."""
    signs = (b",", b"[", b"{")
    rough = sum(map(body.count, signs))
    if rough <= FAULTS:
        return rough
    plain = body.replace(rb"\\", b"").replace(rb"\"", b"")  # each quote left begins or ends a string
    found, inside = 0, False
    for start in range(0, len(plain), BLOCK):
        pieces = plain[start : start + BLOCK].split(b'"')
        outside = b" ".join(pieces[inside::2])
        found += sum(map(outside.count, signs))
        inside ^= len(pieces) % 2 == 0
        await asyncio.sleep(0)
    return found


class JsonRoute(APIRoute):
    """A route that takes JSON bodies, of those who may call."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Check the key, then the size of the body, and only then let FastAPI parse it."""
        inner, field = super().get_route_handler(), self.body_field
        if field is None:
            return inner
        kind: Any = Annotated[field.field_info.annotation, field.field_info]
        adapter: TypeAdapter[Any] = TypeAdapter(kind)

        async def handler(request: Request) -> Response:
            await authenticate(request)
            if not is_json(request.headers.get("content-type", "")):
                raise WrongType("Send Content-Type: application/json.")
            sent = JsonRequest(request.scope, request.receive)
            await sent.check_size(adapter)
            return await inner(sent)

        return handler


def is_json(content_type: str) -> bool:
    """application/json, whatever its parameters."""
    return content_type.partition(";")[0].strip().lower() == "application/json"
