"""A finished retrieval as bytes for a cache that replicas share, and back: JSON, never pickle.

Nobody vouches for what such a cache gives, so every value is checked on the way in; what cannot be read is
None, a miss. Figures survive to the last bit (JSON numbers are written shortest-exact). FORMAT is part of
every key: replicas of two versions do not read each other's. Raises nothing.
Not compressed: 40 passages of 200 tokens are 50 kB, 0.1 ms of wire; zlib would cost more than it saves.
"""

from datetime import datetime
from types import NoneType
from typing import Any

import orjson
import structlog

from app.domain.found import Found
from app.domain.passage import Candidate, Hit, Passage
from app.domain.text import Text

FORMAT = 1
"""Changes with anything below."""
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What JSON of any shape may raise here."""

log = structlog.get_logger(__name__)

Row = list[Any]


def pack(found: Found, made_at: float) -> bytes | None:
    """A result without faults, made at `made_at` (Unix seconds); None if it holds what JSON cannot say."""
    facts = {
        "at": made_at,
        "candidates": [row(candidate) for candidate in found.candidates],
        "duplicates": [row(candidate) for candidate in found.duplicates],
        "stored": found.stored,
        "answered": found.answered,
    }
    try:
        return orjson.dumps(facts)
    except TypeError as error:  # lone surrogates, integers beyond 64 bits
        log.warning("retrieval not shared", fault=type(error).__name__)
        return None


def unpack(raw: bytes) -> tuple[Found, float] | None:
    """The result and when it was made; None for anything that `pack` did not write."""
    try:
        facts = orjson.loads(raw)
        found = Found(
            candidates=tuple(map(candidate, facts["candidates"])),
            duplicates=tuple(map(candidate, facts["duplicates"])),
            stored=is_a(facts["stored"], int),
            answered=is_a(facts["answered"], int),
        )
        return found, is_a(facts["at"], float)
    except UNREADABLE as error:
        log.warning("shared retrieval unreadable", fault=type(error).__name__)
        return None


def row(candidate: Candidate) -> Row:
    """A candidate as a list: its passage's fields in the order of their class, then how words saw it."""
    passage, words = candidate.passage, candidate.words
    return [
        *(passage.source, passage.id, passage.text, passage.tokens, passage.label),
        *(passage.similarity, passage.score, passage.title, passage.fields),
        passage.created_at.isoformat() if passage.created_at else None,
        [words.key, words.score, words.coverage, words.rare] if words else None,
    ]


def candidate(row: Row) -> Candidate:
    """The inverse of `row`, every value checked."""
    source, key, text, tokens, label, similarity, score, title, fields, made, words = row
    passage = Passage(
        source=is_a(source, str),
        id=is_a(key, str),
        text=Text(is_a(text, str)),
        tokens=is_a(tokens, int),
        label=is_a(label, str),
        similarity=is_a(similarity, float, int, NoneType),
        score=is_a(score, float, int),
        title=is_a(title, str),
        fields={name: is_a(value, str, int, NoneType) for name, value in fields.items()},
        created_at=datetime.fromisoformat(made) if made is not None else None,
    )
    return Candidate(passage, hit(*words) if words is not None else None)


def hit(key: object, score: object, coverage: object, rare: object) -> Hit:
    """How the word leg saw it."""
    return Hit(is_a(key, str), is_a(score, float, int), is_a(coverage, float, int), is_a(rare, bool))


def is_a(value: object, *kinds: type) -> Any:  # noqa: ANN401 - JSON enters here
    """The value if it is exactly of one of these kinds (True is no number here); raises `TypeError`."""
    if type(value) not in kinds:
        raise TypeError(type(value).__name__)
    return value
