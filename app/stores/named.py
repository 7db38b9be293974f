"""Ids of rows in a table whose id another tool may have typed: as UUIDs, as text, as numbers.

A number is the first 63 bits of the UUID that the row would have. Raises `Rejected` for any other type, and
for numbers that are too short to tell rows apart.
"""

import uuid
from collections.abc import Collection, Mapping

from app.domain.errors import Rejected

UUID, NUMBERS = "uuid", frozenset({"bigint", "numeric"})
TEXTS = frozenset({"text", "character varying", "citext"})
BITS = 63


def literal(type_: str, name: str) -> str | None:
    """A name as an id of the type stands in the table; None: it can be none."""
    kind = base(type_)
    if kind in TEXTS:
        return name
    if kind == UUID:
        return whole(name)
    number = name.isascii() and name.isdigit() and int(name[:20]) < 1 << BITS
    return str(int(name)) if number else None


def made(type_: str, name: str) -> str:
    """A UUID of ours as an id of the type."""
    return str(uuid.UUID(name).int >> (128 - BITS)) if base(type_) in NUMBERS else name


def base(type_: str) -> str:
    """A type without its length, if ids may have it."""
    kind = type_.partition("(")[0]
    if kind not in {UUID, *TEXTS, *NUMBERS}:
        raise Rejected(f"ids of the type {type_} are not written here: make it uuid, text or bigint")
    return kind


def whole(name: str) -> str | None:
    """A UUID as it is usually written; None: it is none."""
    try:
        return str(uuid.UUID(name))
    except ValueError:
        return None


def chosen(
    type_: str, given: str | None, ours: str, own: Collection[str], taken: Mapping[str, object]
) -> str:
    """Which id a row has: that of the one that is there (`own`: ids of the writer's rows), else the one that
    was given, if it is a UUID that is not taken, else ours."""
    plain = literal(type_, given) if given is not None else None
    there = [key for key in (plain, made(type_, ours)) if key in own]
    if there:
        return str(there[0])
    free = plain is not None and given is not None and whole(given) is not None and plain not in taken
    return str(plain) if free else made(type_, ours)
