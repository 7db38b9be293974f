"""Cursors of lists that are ordered by time: where the next page begins, in a form that promises nothing.

Microseconds since 1970 and a key that tells equal times apart, as base64url. Raises `InvalidField`.
"""

import base64
import binascii
from datetime import UTC, datetime, timedelta

from app.domain.errors import InvalidField

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
MICROSECOND = timedelta(microseconds=1)


def closed(at: datetime, key: str) -> str:
    """The cursor of the row that ends a page."""
    text = f"{(at - EPOCH) // MICROSECOND}|{key}"
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def opened(cursor: str) -> tuple[datetime, str]:
    """The row in a cursor. Raises `InvalidField` for one that we did not make."""
    try:
        padded = cursor + "=" * (-len(cursor) % 4)
        text = base64.b64decode(padded.encode(), altchars=b"-_", validate=True).decode()
        micros, mark, key = text.partition("|")
        at = EPOCH + int(micros) * MICROSECOND
    except (ValueError, OverflowError, binascii.Error):
        mark = ""
    if not mark or closed(at, key) != cursor or "\0" in key:
        raise InvalidField("this cursor is not one of ours", field="query.cursor")
    return at, key
