"""Reads payloads of Qdrant points, ours and older tools', whose form is not guaranteed.

The text is under `text`, `content` or `chunk`; other facts are at the top or under `metadata`. Times are UTC.
Nothing here raises.
"""

from collections.abc import Iterable
from datetime import UTC, datetime
from itertools import chain

import orjson

from app.db.corpus import METADATA_BYTES
from app.retrieval.retrievers.points import TEXTS, Payload

BYTES_A_TOKEN = 4
"""Estimate for a text without a stored token count; packed texts are counted exactly."""
FACT = 200
"""Most characters of a fact (kind, origin, a tag); longer values are ignored."""
TITLE = 500
LINK = 2_000


def text(payload: Payload) -> str:
    for name in TEXTS:
        found = payload.get(name)
        if isinstance(found, str) and found.strip():
            return found
    return ""


def fact(payload: Payload, *names: str, most: int = FACT) -> str:
    if (own := payload.get(names[0])) and type(own) is str and (said := brief(own, most)):
        return said  # as in all our payloads
    below = payload.get("metadata")
    held = chain(map(payload.get, names), map(below.get, names) if isinstance(below, dict) else ())
    return next(filter(None, (brief(value, most) for value in held)), "")


def brief(value: object, most: int) -> str:
    if type(value) is str and value.isprintable() and len(value) <= most:
        return value.strip()
    return " ".join(str(value).split())[:most] if isinstance(value, (str, int)) else ""


def tags(payload: Payload) -> tuple[str, ...]:
    below = payload.get("metadata")
    found = payload.get("tags") or (below.get("tags") if isinstance(below, dict) else None)
    listed: Iterable[object] = found.split(",") if isinstance(found, str) else found or ()
    if not isinstance(listed, (list, tuple)):
        return ()
    return tuple(each.strip()[:FACT] for each in listed if isinstance(each, str) and each.strip())


def link(payload: Payload) -> str | None:
    found = fact(payload, "url", most=LINK)
    return found if found.startswith(("https://", "http://")) else None


def metadata(payload: Payload) -> str | None:
    """The writer's metadata as a JSON object; None if empty or too large for a citation."""
    held = payload.get("metadata")
    if not held or not isinstance(held, dict):
        return None
    try:
        said = orjson.dumps(held)
    except TypeError:
        return None  # keys that are no strings
    return said.decode() if len(said) <= METADATA_BYTES else None


def number(payload: Payload, name: str) -> int | None:
    value = payload.get(name)
    return value if type(value) is int else None


def tokens(payload: Payload, text: str) -> int:
    counted = number(payload, "tokens")
    return counted if counted is not None and counted >= 0 else len(text.encode()) // BYTES_A_TOKEN + 1


def dated(payload: Payload) -> datetime | None:
    times = (moment(payload), moment(payload, "updated_at"))
    return max((at for at in times if at is not None), default=None)


def day(payload: Payload) -> str | None:
    written = moment(payload)
    return written.date().isoformat() if written else None


def moment(payload: Payload, name: str = "created_at") -> datetime | None:
    """RFC 3339, or seconds since 1970 as older tools wrote."""
    value = payload.get(name)
    try:
        if isinstance(value, str):
            found = datetime.fromisoformat(value)
            return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
        if isinstance(value, (int, float)):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None
