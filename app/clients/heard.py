"""What the outside memory service says (`clients/memory.py`), read and checked.

{id: {positive, negative}} and {bucket, last_message_at, seconds_since}; all else raises
`RetrievalError("unavailable")`. Seconds, times UTC.
"""

from collections.abc import Sequence
from datetime import UTC, datetime

from app.domain.errors import RetrievalError
from app.domain.memory import Moment, Tallies, Tally

BUCKETS = ("new", "minutes", "hours", "days", "weeks", "months")
MOST_VOTES, MOST_SECONDS = 10**9, 1e11


def tallies(data: object, ids: Sequence[str]) -> Tallies:
    """What was asked for, out of {id: {positive, negative}}. Raises `RetrievalError`."""
    if not isinstance(data, dict):
        raise RetrievalError("unavailable")
    found = {key: tally(data[key]) for key in ids if key in data}
    return Tallies({key: votes for key, votes in found.items() if votes != Tally()})


def tally(data: object) -> Tally:
    """{positive, negative}."""
    counts = [data.get(name) if isinstance(data, dict) else None for name in ("positive", "negative")]
    numbers = [count for count in counts if type(count) is int and 0 <= count <= MOST_VOTES]
    if len(numbers) != 2:
        raise RetrievalError("unavailable")
    return Tally(*numbers)


def moment(data: object) -> Moment:
    """{bucket, last_message_at, seconds_since}. Raises `RetrievalError`."""
    named = data.get("bucket") if isinstance(data, dict) else None
    if not isinstance(data, dict) or named not in BUCKETS:
        raise RetrievalError("unavailable")
    return Moment(str(named), instant(data.get("last_message_at")), lapse(data.get("seconds_since")))


def instant(value: object) -> datetime | None:
    """RFC 3339, with an offset; null: never."""
    if value is None:
        return None
    try:
        at = datetime.fromisoformat(str(value))
        if at.tzinfo is None:
            raise RetrievalError("unavailable")
        return at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise RetrievalError("unavailable") from error


def lapse(value: object) -> float | None:
    """Seconds; null: not known."""
    if value is None:
        return None
    if type(value) not in (int, float) or not 0 <= value <= MOST_SECONDS:  # type: ignore[operator]
        raise RetrievalError("unavailable")
    return float(value)  # type: ignore[arg-type]
