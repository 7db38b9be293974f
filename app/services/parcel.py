"""A finished retrieval as bytes for a cache that replicas share, and back: JSON, never pickle.

Nobody vouches for what such a cache gives, so every value is checked on the way in; what cannot be read is
None, a miss: another key's, and what no search finds (a label that could write into the prompt, a link to
elsewhere). Figures survive to the last bit (JSON numbers are written shortest-exact). FORMAT is part of every
key: replicas of two versions do not read each other's. Raises nothing.
Not compressed: 40 passages of 200 tokens are 50 kB, 0.1 ms of wire; zlib would cost more than it saves.
"""

import math
from datetime import datetime
from types import NoneType
from typing import Any

import orjson
import structlog

from app.domain.found import ENGINE, EXACT, Found
from app.domain.label import is_label
from app.domain.passage import Candidate, Hit, Passage
from app.domain.text import Text

FORMAT = 4
"""Changes with anything below."""
ADDRESSES = {"documents": ("/api/documents/",), "corpus": ("https://", "http://")}
"""How the address of a passage begins, by source; those of other sources have none."""
NOTES = 100
"""Notes of one result at most."""
UNREADABLE = (ValueError, TypeError, KeyError, AttributeError, OverflowError, RecursionError)
"""What JSON of any shape may raise here."""

log = structlog.get_logger(__name__)

Row = list[Any]


def pack(found: Found, key: str, made_at: float) -> bytes | None:
    """A result without faults, made at `made_at` (Unix seconds); None if it holds what JSON cannot say."""
    facts = {
        "key": key,
        "at": made_at,
        "candidates": [row(candidate) for candidate in found.candidates],
        "duplicates": [row(candidate) for candidate in found.duplicates],
        "stored": found.stored,
        "answered": found.answered,
        "sources": found.sources,
        "notes": found.notes,
    }
    try:
        return orjson.dumps(facts)
    except TypeError as error:  # lone surrogates, integers beyond 64 bits
        log.warning("retrieval not shared", fault=type(error).__name__)
        return None


def unpack(raw: bytes, key: str) -> tuple[Found, float] | None:
    """The result and when it was made; None for anything that `pack` did not write for this key."""
    try:
        facts = orjson.loads(raw)
        held(facts["key"] == key)
        found = Found(
            candidates=tuple(map(candidate, facts["candidates"])),
            duplicates=tuple(map(candidate, facts["duplicates"])),
            stored=count(facts["stored"]),
            answered=count(facts["answered"]),
            sources={name: searched(how) for name, how in facts["sources"].items()},
            notes=tuple(is_a(note, str) for note in facts["notes"][:NOTES]),
        )
        held(found.answered > 0 or not (found.candidates or found.duplicates))
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
        tokens=count(tokens),
        label=is_a(label, str),
        similarity=is_a(similarity, float, int, NoneType),
        score=figure(score),
        title=is_a(title, str),
        fields={name: is_a(value, str, int, NoneType) for name, value in fields.items()},
        created_at=datetime.fromisoformat(made) if made is not None else None,
    )
    held(is_label(passage.label))
    held(passage.similarity is None or -1 <= passage.similarity <= 1)
    held(addressed(passage))
    return Candidate(passage, hit(*words) if words is not None else None)


def addressed(passage: Passage) -> bool:
    """Whether its address, if it has one, is such as its source gives."""
    url = passage.fields.get("url")
    return not url or str(url).startswith(ADDRESSES.get(passage.source, ()))


def hit(key: object, score: object, coverage: object, rare: object) -> Hit:
    """How the word leg saw it."""
    return Hit(is_a(key, str), figure(score), figure(coverage), is_a(rare, bool))


def count(value: object) -> Any:  # noqa: ANN401 - JSON enters here
    """A number of things; raises what UNREADABLE names."""
    held(is_a(value, int) >= 0)
    return value


def searched(how: object) -> Any:  # noqa: ANN401 - JSON enters here
    """How a source was searched; raises what UNREADABLE names."""
    held(how in (EXACT, ENGINE))
    return how


def figure(value: object) -> Any:  # noqa: ANN401 - JSON enters here
    """A number that can be reckoned with; raises what UNREADABLE names."""
    held(math.isfinite(is_a(value, float, int)))
    return value


def held(promise: bool) -> None:
    """Raises `ValueError` for what no search of ours finds."""
    if not promise:
        raise ValueError("not ours")


def is_a(value: object, *kinds: type) -> Any:  # noqa: ANN401 - JSON enters here
    """The value if it is exactly of one of these kinds (True is no number here); raises `TypeError`."""
    if type(value) not in kinds:
        raise TypeError(type(value).__name__)
    return value
