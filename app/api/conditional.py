"""Conditional and range requests of GET and HEAD (RFC 9110, 13 and 14): `If-None-Match`, `Range`, `If-Range`.

Entity tags are strong: the same tag means the same bytes. Several ranges in one request are answered with the
whole file, which the RFC allows.
"""

import re
from collections.abc import Mapping

from starlette.requests import Request
from starlette.responses import Response

from app.errors import RangeNotSatisfiable

RANGE = re.compile(r"\s*bytes\s*=\s*(\d{0,18})\s*-\s*(\d{0,18})\s*", re.IGNORECASE)
TAG = re.compile(r'(?:W/)?("[^"]*")')


def tag_of(*parts: object) -> str:
    """The entity tag of what is known by these words."""
    return '"' + "-".join(map(str, parts)) + '"'


def not_modified(request: Request, tag: str, headers: Mapping[str, str]) -> Response | None:
    """The 304, if the client has the entity of this tag."""
    known = request.headers.get("if-none-match", "")
    if known.strip() == "*" or tag in TAG.findall(known):
        return Response(status_code=304, headers={**headers, "ETag": tag})
    return None


def range_of(request: Request, size: int, tag: str) -> tuple[int, int] | None:
    """(first byte, byte after the last) that the client asks for; None: the whole. Raises
    `RangeNotSatisfiable`."""
    found = RANGE.fullmatch(request.headers.get("range", ""))
    if found is None or not (found[1] or found[2]) or request.headers.get("if-range", tag) != tag:
        return None
    first, last = found[1], found[2]
    if not first:
        start, end = max(0, size - int(last)), size
    else:
        start, end = int(first), min(int(last or size) + 1, size)
        if last and int(last) < start:
            return None  # no range at all
    if start >= size:
        raise RangeNotSatisfiable(f"the file has {size:,} bytes", size=size)
    return start, end
