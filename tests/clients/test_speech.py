"""What a server's collection is to us, whoever made it; the rest the contract shows (`test_points.py`)."""

from typing import Any

import pytest
from qdrant_client import models

from app.clients import speech
from app.clients.points import Ask, Collection, Sparse, Where

DIM = 8
COSINE = {"size": DIM, "distance": "Cosine"}
IDF = {"words": {"modifier": "idf"}}
MANY = {**COSINE, "multivector_config": {"comparator": "max_sim"}}


def info(vectors: Any, sparse: Any = None) -> models.CollectionInfo:
    """As the client reads it."""
    params = {"vectors": vectors, "sparse_vectors": sparse}
    optimizers = {"deleted_threshold": 0.2, "vacuum_min_vector_number": 9, "flush_interval_sec": 5}
    return models.CollectionInfo.model_validate(
        {
            "status": "green",
            "optimizer_status": "ok",
            "points_count": 3,
            "segments_count": 1,
            "config": {
                "params": params,
                "hnsw_config": {"m": 16, "ef_construct": 100, "full_scan_threshold": 10_000},
                "optimizer_config": {**optimizers, "default_segment_number": 0},
            },
            "payload_schema": {},
        }
    )


@pytest.mark.parametrize(
    ("vectors", "sparse", "found"),
    [
        ({"meaning": COSINE}, IDF, Collection("n", DIM, "meaning", "words", 3)),
        (COSINE, None, Collection("n", DIM, "", None, 3)),
        ({"body": COSINE}, None, Collection("n", DIM, "body", None, 3)),
        ({"title": COSINE, "body": COSINE}, None, Collection("n", DIM, "body", None, 3)),
        ({"meaning": COSINE, "a": COSINE}, None, Collection("n", DIM, "meaning", None, 3)),
        ({"meaning": COSINE}, {"bm25": {"modifier": "idf"}}, Collection("n", DIM, "meaning", None, 3)),
        ({"meaning": COSINE}, {"words": {}}, Collection("n", DIM, "meaning", None, 3)),
        ({"size": 4, "distance": "Euclid"}, None, Collection("n", 4, "", None, 3, cosine=False)),
        ({"size": 4, "distance": "Dot"}, None, Collection("n", 4, "", None, 3, cosine=False)),
        ({"colbert": MANY, "body": COSINE}, None, Collection("n", DIM, "body", None, 3)),
        ({"a": {**COSINE, "size": 4}, "b": COSINE}, None, Collection("n", DIM, "b", None, 3)),
        ({"": {**COSINE, "distance": "Dot"}, "b": COSINE}, None, Collection("n", DIM, "b", None, 3)),
        ({"meaning": {**COSINE, "size": 4}, "b": COSINE}, None, Collection("n", DIM, "b", None, 3)),
        (MANY, None, Collection("n", 0, points=3)),
        ({}, IDF, Collection("n", 0, points=3)),
        (None, IDF, Collection("n", 0, points=3)),
    ],
    ids=[
        "ours",
        "unnamed",
        "named",
        "several",
        "several and ours",
        "other words",
        "words without idf",
        "euclid",
        "dot",
        "many vectors a point and one",
        "several sizes",
        "several distances",
        "ours of another size",
        "many vectors a point",
        "words alone",
        "nothing dense",
    ],
)
def test_collections_of_others_are_told_by_their_shape(vectors: Any, sparse: Any, found: Collection) -> None:
    """By the one dense vector that can be asked, ours if one can be; what is no cosine says so, and what has
    none is of no size."""
    assert speech.shape("n", info(vectors, sparse), DIM) == found


@pytest.mark.parametrize(
    ("points", "passages", "exact"),
    [
        (speech.EXACT_MOST, None, True),
        (speech.EXACT_MOST + 1, None, False),
        (speech.EXACT_MOST + 1, speech.FEW, False),
        (speech.EXACT_MOST + 1, speech.FEW - 1, True),
    ],
    ids=["small", "large", "much of a large one", "little of a large one"],
)
def test_what_is_small_is_compared_one_by_one(points: int, passages: int | None, exact: bool) -> None:
    """The collection, or what of it is in reach; also where another leg ranks among it."""
    shape = Collection("n", 1, points=points)
    near = Ask(Where(), 3, dense=b"\0\0\0\0", passages=passages)
    words = Ask(Where(), 3, words=Sparse((1,), (1.0,)), among=near, passages=passages)
    prefetch = speech.question(words, shape).prefetch
    assert isinstance(prefetch, models.Prefetch)
    for told in (speech.question(near, shape).params, prefetch.params):
        assert told is not None
        assert told.exact is exact


def test_an_unnamed_vector_is_read() -> None:
    """It comes without a name."""
    shape = Collection("n", 2, "")
    row = models.Record(id=7, payload=None, vector=[0.5, 1.0])
    point = speech.told(row, shape)
    assert (point.id, point.payload, point.words) == ("7", {}, None)
    assert point.dense == b"\x00\x00\x00?\x00\x00\x80?"
