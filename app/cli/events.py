"""Server-sent events read off a response (WHATWG HTML §9.2.6), as /api/chat sends them.

Lines end at CR LF or LF only: U+2028 and its like, at which `str.splitlines` also splits, may stand in JSON.
"""

import json
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator
from typing import Any


async def events(chunks: AsyncIterable[bytes]) -> AsyncGenerator[tuple[str, dict[str, Any]], None]:
    """(event, data) in order. Comments (pings), ids and events without data are passed over."""
    name, data = "message", list[bytes]()
    async for line in lines(chunks):
        field, _, value = line.partition(b":")
        value = value.removeprefix(b" ")
        if field == b"event":
            name = value.decode()
        elif field == b"data":
            data.append(value)
        elif not line and data:
            yield name, json.loads(b"\n".join(data))
        if not line:
            name, data = "message", []


async def lines(chunks: AsyncIterable[bytes]) -> AsyncIterator[bytes]:
    """Whole lines; a last one without its end is dropped, as the standard says."""
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line.removesuffix(b"\r")
