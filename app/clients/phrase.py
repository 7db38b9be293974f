"""Our words (`points.py`) as the embedded engine says them, and its answers as ours.

Word statistics are counted over the asker's own filter, exactly (FACTS): another user's points must not move
a ranking. Dense vectors are float32 bytes here and lists of floats there, bit for bit the same.
"""

from collections.abc import Sequence
from functools import lru_cache
from uuid import UUID

import numpy as np
import qdrant_edge as engine

from app.clients.points import Ask, Payload, Point, Sparse, Where, ascending
from app.domain.passage import Embedding

MEANING, WORDS = "meaning", "words"
"""The two vectors of a point."""
DIGITS = 20
"""Of a number that is an id; 32 of them are a UUID."""
EXACT = engine.SearchParams(exact=True)
IDENTITIES = 8_192
"""Ids that are remembered as the engine has them: to read one takes 4 us."""
CONDITIONS = 32
"""Filters that are remembered: a search counts and asks up to a dozen times by the same one."""


@lru_cache(maxsize=IDENTITIES)
def identity(told: str) -> int | UUID:
    """A point's id as the engine has it. `ValueError`: no point can have this one."""
    plain = told.isascii() and told.isdigit() and len(told) <= DIGITS
    return int(told) if plain and int(told) < 1 << 64 else UUID(told)


def identities(told: Sequence[str]) -> set[int | UUID]:
    """Those that can be ids at all."""
    found = set()
    for each in told:
        try:
            found.add(identity(each))
        except ValueError:
            continue
    return found


@lru_cache(maxsize=CONDITIONS)
def condition(where: Where) -> engine.Filter:
    """A filter."""
    must: list[engine.ConditionType] = [one_of(key, values) for key, values in where.has]
    must += [absent_or(key, values) for key, values in where.open]
    if where.ids is not None:
        must.append(engine.HasIdCondition(set(identities(where.ids))))
    if where.between:
        must.append(engine.Filter(should=[of_time(*each) for each in where.between]))
    return engine.Filter(must=must, must_not=[one_of(key, values) for key, values in where.lacks])


def one_of(key: str, values: Sequence[str]) -> engine.FieldCondition:
    """The field holds one of them."""
    return engine.FieldCondition(key, match=engine.MatchAny(list(values)))


def absent_or(key: str, values: Sequence[str]) -> engine.Filter:
    """The field holds one of them, or there is none."""
    return engine.Filter(should=[engine.IsEmptyCondition(key), one_of(key, values)])


def of_time(key: str, first: str, end: str) -> engine.FieldCondition:
    """The field holds a time from the first to before the end."""
    return engine.FieldCondition(key, range=engine.RangeDateTime(gte=first, lt=end))


def question(ask: Ask, *, whole: bool) -> engine.QueryRequest:
    """One ranked question; unless `whole`, for ids and scores alone (`reader.py`)."""
    query, params = ranked(ask)
    return engine.QueryRequest(
        ask.limit,
        query=query,
        params=params,
        filter=condition(ask.where),
        prefetches=[prefetch(ask.among)] if ask.among else None,
        with_payload=whole and ask.payload,
        with_vector=[WORDS] if whole and ask.vectors else False,
    )


def prefetch(ask: Ask) -> engine.Prefetch:
    """What another question ranks."""
    query, params = ranked(ask)
    return engine.Prefetch(ask.limit, query=query, params=params, filter=condition(ask.where))


def ranked(ask: Ask) -> tuple[engine.Query, engine.SearchParams]:
    """By which vector, and how exactly."""
    if ask.dense is not None:
        return engine.Query.Nearest(floats(ask.dense), using=MEANING), EXACT
    scope = engine.IdfParams(corpus=condition(ask.where))
    return (
        engine.Query.Nearest(sparse(ask.words or Sparse()), using=WORDS),
        engine.SearchParams(exact=True, idf=scope),
    )


def record(point: Point) -> engine.Point:
    """A point to be written."""
    vectors: dict[str, engine.NamedVector] = {}
    if point.dense is not None:
        vectors[MEANING] = floats(point.dense)
    if point.words is not None:
        vectors[WORDS] = sparse(point.words)
    return engine.Point(identity(point.id), vectors, dict(point.payload))


def told(found: engine.Record | engine.ScoredPoint) -> Point:
    """A point that was read."""
    given = found.vector  # the engine makes it anew whenever it is read
    vectors = given if isinstance(given, dict) else {}
    words = vectors.get(WORDS)
    dense = vectors.get(MEANING)
    payload: Payload = found.payload or {}
    return Point(
        str(found.id),
        payload,
        packed(dense),
        ascending(words.indices, words.values) if isinstance(words, engine.SparseVector) else None,
        found.score if isinstance(found, engine.ScoredPoint) else 0.0,
    )


def floats(dense: Embedding) -> list[float]:
    """The numbers of an embedding."""
    numbers: list[float] = np.frombuffer(dense, dtype="<f4").tolist()
    return numbers


def sparse(words: Sparse) -> engine.SparseVector:
    """Terms and weights."""
    return engine.SparseVector(list(words.indices), list(words.values))


def packed(dense: object) -> Embedding | None:
    """An embedding of its numbers; None: there are none."""
    return np.asarray(dense, dtype="<f4").tobytes() if isinstance(dense, list) else None
