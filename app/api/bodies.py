"""JSON bodies: strict UTF-8 with the right content type; replies in compact UTF-8.

A body is read after the key was checked, and limited so that neither parsing nor validating it blocks the
event loop. It is validated here because FastAPI would describe every error of it, and parsed here because
Python's `json` accepts UTF-16. Raises `WrongType` (415), `TooLarge`, `BadInput`, `InvalidField`,
RequestValidationError, and what `dependencies.authenticate` raises.
"""

import asyncio
import json
from collections.abc import Callable, Coroutine
from typing import Annotated, Any

import orjson
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import BaseModel, TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError
from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from app.api.dependencies import authenticate
from app.errors import BadInput, InvalidField, TooLarge, WrongType

VALUES = 40_000
"""JSON values of one body: 500 rows of 80. Validating them takes at most 25 ms, if all are wrong."""
FAULTS = 1_000
"""Errors of one body that are described; each takes microseconds."""
BLOCK = 64 << 10
"""Bytes that are scanned before other requests get their turn."""


def encoded(data: object) -> bytes:
    """`data` as JSON; NaN and infinity become null. Half a surrogate pair, as models stream them, becomes its
    JSON escape."""
    try:
        return (
            data.__pydantic_serializer__.to_json(data) if isinstance(data, BaseModel) else orjson.dumps(data)
        )
    except (PydanticSerializationError, TypeError):  # surrogates
        plain = data.model_dump(mode="json") if isinstance(data, BaseModel) else data
        finite = json.loads(json.dumps(plain), parse_constant=lambda _: None)
        text = json.dumps(finite, ensure_ascii=False, separators=(",", ":"))
        return text.encode("utf-8", "backslashreplace")


class Json(JSONResponse):
    """Accepts surrogates in texts."""

    def render(self, content: object) -> bytes:
        return encoded(content)


class JsonRequest(Request):
    validated: object = None

    async def json(self) -> object:
        """FastAPI validates it again, which is free: pydantic passes models on."""
        return self.validated


async def validated(content: bytes, adapter: TypeAdapter[Any]) -> object:
    """The body as the adapter's type. Other requests get their turn between the steps."""
    if await values(content) > VALUES:
        raise TooLarge(f"A body may have at most {VALUES:,} JSON values.")
    sent = parsed(content)
    await asyncio.sleep(0)
    try:
        body: object = adapter.validate_python(sent)
    except ValidationError as error:
        if (count := error.error_count()) > FAULTS:
            raise InvalidField(f"The body has {count:,} errors.", field="body") from None
        faults = error.errors(include_url=False, include_input=False)
        raise RequestValidationError(
            [{**fault, "loc": ("body", *fault["loc"])} for fault in faults]
        ) from None
    await asyncio.sleep(0)
    return body


def parsed(content: bytes) -> object:
    """The value of a body. Raises `BadInput` with the place of the fault."""
    try:
        return json.loads(content.decode("utf-8"))
    except UnicodeDecodeError as error:
        raise BadInput(f"The body is not UTF-8: see byte {error.start}.") from None
    except json.JSONDecodeError as error:
        raise BadInput(f"The body is not JSON: see character {error.pos}.") from None
    except RecursionError:
        raise BadInput("The body is nested too deeply.") from None
    except ValueError:  # Python converts no number of more than 4,300 digits
        raise BadInput("The body has a number of too many digits.") from None


async def values(body: bytes) -> int:
    """Estimates the number of JSON values from commas and brackets. Those inside strings are left out only if
    there are many, since finding them takes time."""
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
    """A route with a JSON body, which is read only if the key is valid."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
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
            if content := await sent.body():
                sent.validated = await validated(content, adapter)
            return await inner(sent)

        return handler


def is_json(content_type: str) -> bool:
    return content_type.partition(";")[0].strip().lower() == "application/json"
