"""Our words (`points.py`) as a Qdrant server's client says them, and its answers as ours: `phrase.py` for the
vendor's models. Import it late, as `qdrant.py`. Vectors are lists of floats there, float32 bytes here.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime

from qdrant_client import models

from app.clients.phrase import MEANING, WORDS, floats, identities, identity, packed
from app.clients.points import Ask, Collection, Payload, Point, Sparse, Where, ascending

__all__ = ["MEANING", "WORDS", "condition", "identity", "indexes", "question", "record", "shape", "told"]

EXACT_MOST = 200_000
"""Points of a collection that are compared one by one; larger ones are asked by their index…"""
FEW = 50_000
"""… unless fewer than these are in the asker's reach: what is small is exact, whoever else writes."""
BEAM = 256
"""How far the index is looked through."""


def condition(where: Where) -> models.Filter:
    """A filter."""
    must: list[models.Condition] = [one_of(key, values) for key, values in where.has]
    must += [absent_or(key, values) for key, values in where.open]
    if where.ids is not None:
        must.append(models.HasIdCondition(has_id=[spelt(each) for each in identities(where.ids)]))
    if where.between:
        must.append(models.Filter(should=[of_time(*each) for each in where.between]))
    return models.Filter(must=must, must_not=[one_of(key, values) for key, values in where.lacks])


def one_of(key: str, values: Sequence[str]) -> models.FieldCondition:
    """The field holds one of them."""
    return models.FieldCondition(key=key, match=models.MatchAny(any=list(values)))


def absent_or(key: str, values: Sequence[str]) -> models.Filter:
    """The field holds one of them, or there is none."""
    empty = models.IsEmptyCondition(is_empty=models.PayloadField(key=key))
    return models.Filter(should=[empty, one_of(key, values)])


def of_time(key: str, first: str, end: str) -> models.FieldCondition:
    """The field holds a time from the first to before the end."""
    span = models.DatetimeRange(gte=datetime.fromisoformat(first), lt=datetime.fromisoformat(end))
    return models.FieldCondition(key=key, range=span)


def question(ask: Ask, shape: Collection) -> models.QueryRequest:
    """One ranked question."""
    query, using, params = ranked(ask, shape)
    return models.QueryRequest(
        query=query,
        using=using,
        params=params,
        limit=ask.limit,
        filter=condition(ask.where),
        prefetch=prefetch(ask.among, shape) if ask.among else None,
        with_payload=ask.payload,
        with_vector=[shape.words] if ask.vectors and shape.words else False,
    )


def prefetch(ask: Ask, shape: Collection) -> models.Prefetch:
    """What another question ranks."""
    query, using, params = ranked(ask, shape)
    return models.Prefetch(
        query=query, using=using, params=params, limit=ask.limit, filter=condition(ask.where)
    )


def ranked(ask: Ask, shape: Collection) -> tuple[models.NearestQuery, str | None, models.SearchParams]:
    """By which vector, and how exactly."""
    if ask.dense is not None:
        exact = shape.points <= EXACT_MOST or (ask.passages is not None and ask.passages < FEW)
        params = models.SearchParams(exact=exact, hnsw_ef=None if exact else BEAM)
        return models.NearestQuery(nearest=floats(ask.dense)), shape.dense or None, params
    scope = models.IdfCorpusParams(corpus=condition(ask.where))
    words = ask.words or Sparse()
    return (
        models.NearestQuery(nearest=sparse(words)),
        shape.words or WORDS,
        models.SearchParams(exact=True, idf=scope),
    )


def sparse(words: Sparse) -> models.SparseVector:
    """Terms and weights."""
    return models.SparseVector(indices=list(words.indices), values=list(words.values))


def record(point: Point, shape: Collection) -> models.PointStruct:
    """A point of ours to be written, by the vectors that the collection has; words only where they are of
    our making, as they are searched."""
    vectors: dict[str, models.Vector] = {}
    if point.dense is not None:
        vectors[shape.dense] = floats(point.dense)
    if point.words is not None and (shape.dense, shape.words) == (MEANING, WORDS):
        vectors[WORDS] = sparse(point.words)
    told = floats(point.dense) if point.dense is not None and not shape.dense else vectors
    return models.PointStruct(id=spelt(identity(point.id)), vector=told, payload=dict(point.payload))


def spelt(told: object) -> int | str:
    """A point's id as JSON has it."""
    return told if isinstance(told, int) else str(told)


def told(found: models.ScoredPoint | models.Record, shape: Collection) -> Point:
    """A point that was read; an unnamed vector comes without a name."""
    vectors = found.vector if isinstance(found.vector, Mapping) else {"": found.vector}
    words = vectors.get(shape.words) if shape.words else None
    payload: Payload = found.payload or {}
    return Point(
        str(found.id),
        payload,
        packed(vectors.get(shape.dense)),
        ascending(words.indices, words.values) if isinstance(words, models.SparseVector) else None,
        found.score if isinstance(found, models.ScoredPoint) else 0.0,
    )


def shape(name: str, info: models.CollectionInfo, dim: int = 0) -> Collection:
    """What a collection is, by the dense vector that we ask by: of several one that is of our size, `dim`, if
    there is. Of size 0: it has none."""
    dense, points = single(info.config.params), info.points_count or 0
    if not dense:
        return Collection(name, 0, points=points)

    def likely(each: str) -> tuple[bool, bool, bool, str]:
        ours = dense[each].size == dim and dense[each].distance == models.Distance.COSINE
        return (not ours, each != MEANING, each != "", each)

    chosen = min(dense, key=likely)
    cosine = dense[chosen].distance == models.Distance.COSINE
    return Collection(name, dense[chosen].size, chosen, worded(info.config.params), points, cosine)


def single(params: models.CollectionParams) -> Mapping[str, models.VectorParams]:
    """The dense vectors of which a point has one each, by name."""
    vectors = params.vectors if isinstance(params.vectors, Mapping) else {"": params.vectors}
    return {each: found for each, found in vectors.items() if found and not found.multivector_config}


def worded(params: models.CollectionParams) -> str | None:
    """The word vectors, if the engine weighs them by IDF as ours; None: there are none."""
    words = (params.sparse_vectors or {}).get(WORDS)
    return WORDS if words is not None and words.modifier == models.Modifier.IDF else None


def indexes(
    keys: Sequence[str], tenants: Sequence[str], times: Sequence[str]
) -> Mapping[str, models.PayloadSchemaType | models.KeywordIndexParams]:
    """How fields are indexed."""
    own = models.KeywordIndexParams(type=models.KeywordIndexType.KEYWORD, is_tenant=True)
    return {
        **dict.fromkeys(keys, models.PayloadSchemaType.KEYWORD),
        **dict.fromkeys(times, models.PayloadSchemaType.DATETIME),
        **dict.fromkeys(tenants, own),
    }
