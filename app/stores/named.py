"""Ids of rows in a table whose id another tool may have typed: as UUIDs, as text, as numbers.

A number is the first 63 bits of the UUID that the row would have. An id of ours that somebody else's row has
gives way to the next in a chain: names can be guessed, and nobody is told of the other's row.
Raises `Rejected` for any other type, and for numbers that are too short to tell rows apart.
"""

import asyncio
import uuid
from collections.abc import Awaitable, Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from app.domain.errors import Rejected

UUID, NUMBERS = "uuid", frozenset({"bigint", "numeric"})
TEXTS = frozenset({"text", "character varying", "citext"})
BITS = 63
LINKS = 4
"""Of a chain that are looked at first."""

Found: TypeAlias = tuple[Collection[str], Collection[str]]
"""Of ids those of rows that the writer may replace, and all that are there."""


@dataclass(frozen=True, slots=True)
class Called:
    """What a row is called."""

    given: str | None
    """By its writer."""
    ours: str
    """The UUID that is made of it."""
    keeps: bool = True
    """Whether a UUID that was given stays as it is, where it is free."""


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


def links(type_: str, name: str, count: int = LINKS) -> list[str]:
    """The ids that a row of ours may have, first the one that it has if nobody else does."""
    names = [name]
    while len(names) < count:
        names.append(str(uuid.uuid5(uuid.UUID(names[-1]), "next")))
    return [made(type_, each) for each in names]


def chosen(type_: str, called: Called, ours: Sequence[str], found: Found) -> str | None:
    """Which id a row has: that of the one that is there, else the one that was given, if it is a UUID that is
    not taken and may stay, else the first of ours that is not taken. None: all of these are."""
    own, taken = found
    plain = literal(type_, called.given) if called.given is not None else None
    there = next((key for key in (plain, *ours) if key in own), None)
    if there is not None:
        return there
    if plain is not None and plain not in taken and stays(called):
        return plain
    return next((key for key in ours if key not in taken), None)


def stays(called: Called) -> bool:
    """Whether what was given is a UUID that stays as it is."""
    return called.keeps and whole(called.given or "") is not None


def given(type_: str, names: Sequence[Called]) -> set[str]:
    """What writers gave, as far as it can be an id."""
    told = (literal(type_, name.given) for name in names if name.given)
    return {key for key in told if key is not None}


async def located(
    type_: str,
    names: Sequence[Called],
    find: Callable[[Sequence[str]], Awaitable[Found]],
    count: int = LINKS,
) -> list[str]:
    """The id of each; `count` links of each chain are looked at first. Who took n of a chain costs as much as
    n rows do."""
    while True:
        # In a thread: a megabyte of code has thousands of chunks, and each link takes 6 µs.
        chains = await asyncio.to_thread(lambda n: [links(type_, name.ours, n) for name in names], count)
        found = await find(sorted(given(type_, names).union(*chains)))
        keys = [chosen(type_, name, chain, found) for name, chain in zip(names, chains, strict=True)]
        if None not in keys:
            return [key for key in keys if key is not None]
        count *= LINKS
