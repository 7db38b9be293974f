"""What a server's collection is to us, whoever made it; the rest the contract shows (`test_points.py`)."""

from typing import Any

import pytest
from qdrant_client import models

from app.clients import speech
from app.clients.points import Collection

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
        (MANY, None, None),
        ({}, IDF, None),
        (None, IDF, None),
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
        "many vectors a point",
        "words alone",
        "nothing dense",
    ],
)
def test_collections_of_others_are_told_by_their_shape(
    vectors: Any, sparse: Any, found: Collection | None
) -> None:
    """By the one dense vector that can be asked; what is no cosine says so."""
    assert speech.shape("n", info(vectors, sparse)) == found


def test_an_unnamed_vector_is_read() -> None:
    """It comes without a name."""
    shape = Collection("n", 2, "")
    row = models.Record(id=7, payload=None, vector=[0.5, 1.0])
    point = speech.told(row, shape)
    assert (point.id, point.payload, point.words) == ("7", {}, None)
    assert point.dense == b"\x00\x00\x00?\x00\x00\x80?"
