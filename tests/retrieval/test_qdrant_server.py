"""A Qdrant server: what is sent, what others' collections give, and what each fault becomes."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.errors import RetrievalError
from app.retrieval.retrievers.points import DENSE, Collection, Point, Where
from app.retrieval.retrievers.qdrant_server import QdrantRemote, connected
from tests.fakes.points import DIM, embedding, ids, point
from tests.fakes.qdrant import Fault, QdrantServer, qdrant_server

NAME = "memory_raw"
EVERY = Where()
COSINE = {"size": DIM, "distance": "Cosine"}
SPARSE = {"words": {"modifier": "idf"}}
MANY = {**COSINE, "multivector_config": {"comparator": "max_sim"}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    with qdrant_server(tmp_path / "qdrant", key="secret") as running:
        yield running


@pytest.fixture
async def qdrant(server: QdrantServer) -> AsyncIterator[QdrantRemote]:
    opened = connected(server.url, "secret")
    yield opened
    await opened.close()


async def nearest(qdrant: QdrantRemote, name: str = NAME) -> list[Point]:
    return await qdrant.search(name, EVERY, embedding(1), 5)


async def test_a_search_is_one_round_trip(qdrant: QdrantRemote, server: QdrantServer) -> None:
    """The collection's shape is asked for once."""
    await qdrant.create(NAME, DIM)
    await qdrant.put(NAME, [point(n) for n in range(9)])
    await nearest(qdrant)
    server.requests.clear()
    await nearest(qdrant)
    assert server.requests == [("POST", f"/collections/{NAME}/points/query")]


@pytest.mark.parametrize(
    ("vectors", "written"),
    [(COSINE, lambda row: row), ({"body": COSINE}, lambda row: {"body": row})],
    ids=["unnamed", "named"],
)
async def test_collections_of_others_are_searched_as_they_are(
    qdrant: QdrantRemote, server: QdrantServer, vectors: Any, written: Any
) -> None:
    """By their own vector's name, ids that are numbers too."""
    server.create("notes", {"vectors": vectors})
    rows = [
        {"id": n, "vector": written([1.0, n] + [0.0] * 6), "payload": {"content": str(n)}} for n in range(4)
    ]
    server.plant("notes", rows)
    first, *_ = await nearest(qdrant, "notes")
    assert first.payload["content"] == first.id
    assert (await qdrant.scroll("notes", EVERY, limit=1, vectors=True))[0].dense


@pytest.mark.parametrize("vectors", [COSINE, {"body": COSINE}], ids=["unnamed", "named"])
async def test_collections_of_others_are_written_as_they_are(
    qdrant: QdrantRemote, server: QdrantServer, vectors: Any
) -> None:
    server.create("notes", {"vectors": vectors})
    await qdrant.put("notes", [point(n) for n in range(4)])
    assert ids(await qdrant.search("notes", EVERY, embedding(3), 1)) == [point(3).id]
    [written] = await qdrant.scroll("notes", Where(ids=(point(3).id,)), limit=9, vectors=True)
    assert written == point(3)


async def test_a_collection_of_an_older_version_is_used_as_it_is(
    qdrant: QdrantRemote, server: QdrantServer
) -> None:
    """One made with a sparse vector beside the dense one: it is ours, searched and written."""
    server.create(NAME, {"vectors": {DENSE: COSINE}, "sparse_vectors": SPARSE})
    words = {"indices": [3, 5], "values": [1.0, 2.0]}
    old = {"id": 7, "vector": {DENSE: [1.0] + [0.0] * 7, "words": words}, "payload": {"text": "old"}}
    server.plant(NAME, [old])
    await qdrant.create(NAME, DIM, keys=("kind",))
    await qdrant.put(NAME, [point(1)])
    assert await qdrant.collections() == [Collection(NAME, DIM, DENSE, 2)]
    assert {each.id for each in await nearest(qdrant)} == {"7", point(1).id}
    found = {each.id: each for each in await qdrant.scroll(NAME, EVERY, limit=9, vectors=True)}
    assert found[point(1).id] == point(1)
    assert found["7"].dense


@pytest.mark.parametrize(
    ("vectors", "found"),
    [
        pytest.param({DENSE: COSINE}, Collection("n", DIM, DENSE), id="ours"),
        pytest.param(COSINE, Collection("n", DIM), id="unnamed"),
        pytest.param({"body": COSINE}, Collection("n", DIM, "body"), id="named"),
        pytest.param({"title": COSINE, "body": COSINE}, Collection("n", DIM, "body"), id="several"),
        pytest.param({DENSE: COSINE, "a": COSINE}, Collection("n", DIM, DENSE), id="several and ours"),
        pytest.param({"size": 4, "distance": "Euclid"}, Collection("n", 4, cosine=False), id="euclid"),
        pytest.param({"size": 4, "distance": "Dot"}, Collection("n", 4, cosine=False), id="dot"),
        pytest.param(
            {"colbert": MANY, "body": COSINE}, Collection("n", DIM, "body"), id="many vectors a point and one"
        ),
        pytest.param(
            {"a": {**COSINE, "size": 4}, "b": COSINE}, Collection("n", DIM, "b"), id="several sizes"
        ),
        pytest.param(
            {"": {**COSINE, "distance": "Dot"}, "b": COSINE},
            Collection("n", DIM, "b"),
            id="several distances",
        ),
        pytest.param(
            {DENSE: {**COSINE, "size": 4}, "b": COSINE}, Collection("n", DIM, "b"), id="ours of another size"
        ),
        pytest.param(MANY, Collection("n", 0), id="many vectors a point"),
        pytest.param({}, Collection("n", 0), id="sparse alone"),
        pytest.param(None, Collection("n", 0), id="nothing dense"),
    ],
)
async def test_collections_are_known_by_their_shape(
    server: QdrantServer, vectors: Any, found: Collection
) -> None:
    """By the one dense vector that can be searched, ours if one can be; what is no cosine says so, and what
    has none is of no size."""
    server.create("n", {"vectors": vectors, "sparse_vectors": SPARSE})
    client = connected(server.url, "secret", DIM)
    assert await client.collections() == [found]
    await client.close()


async def test_one_made_anew_with_another_shape_is_learnt(qdrant: QdrantRemote, server: QdrantServer) -> None:
    """By somebody else, while we remember the old one."""
    await qdrant.create(NAME, DIM)
    await nearest(qdrant)
    server.collections.pop(NAME)
    server.create(NAME, {"vectors": COSINE})
    server.plant(NAME, [{"id": 1, "vector": [1.0] * DIM, "payload": {}}])
    assert ids(await nearest(qdrant)) == ["1"]


@pytest.mark.parametrize(
    ("fault", "reason", "rejected"),
    [
        (Fault(status=500), "unavailable", False),
        (Fault(status=503), "unavailable", False),
        (Fault(status=429), "overloaded", False),
        (Fault(status=403), "unavailable", True),
        (Fault(garbage=True), "unavailable", False),
        (Fault(cut=True), "unavailable", False),
    ],
    ids=["failing", "unready", "busy", "forbidden", "garbage", "cut"],
)
async def test_faults_become_ours(
    qdrant: QdrantRemote, server: QdrantServer, fault: Fault, reason: str, rejected: bool
) -> None:
    """And the next search, when it is over, is answered."""
    await qdrant.create(NAME, DIM)
    await qdrant.put(NAME, [point(1)])
    await nearest(qdrant)
    server.fault = fault
    with pytest.raises(RetrievalError) as caught:
        await nearest(qdrant)
    assert (caught.value.reason, caught.value.rejected) == (reason, rejected)
    server.fault = Fault()
    await qdrant.create(NAME, DIM)
    await nearest(qdrant)


async def test_a_server_that_is_away_comes_back(qdrant: QdrantRemote, server: QdrantServer) -> None:
    await qdrant.create(NAME, DIM)
    server.stop()
    for call in (nearest(qdrant), qdrant.collections(), qdrant.check()):
        with pytest.raises(RetrievalError) as caught:
            await call
        assert (caught.value.reason, caught.value.rejected) == ("unavailable", False)
    server.start()
    assert await nearest(qdrant) == []


async def test_the_key_is_sent(server: QdrantServer) -> None:
    stranger = connected(server.url, "guess")
    with pytest.raises(RetrievalError) as caught:
        await stranger.collections()
    assert caught.value.rejected
    await stranger.close()


async def test_a_collection_that_goes_while_they_are_listed_is_left_out(
    qdrant: QdrantRemote, server: QdrantServer
) -> None:
    """One without a dense vector is told, as one of no size: nothing is lost without a word."""
    await qdrant.create(NAME, DIM)
    server.create("words alone", {"sparse_vectors": SPARSE})
    listed = server.answer

    def losing(method: str, path: str, query: Any, body: Any) -> tuple[int, Any]:
        told = listed(method, path, query, body)
        if path == "/collections":
            told[1]["collections"].append({"name": "gone"})
        return told

    server.answer = losing  # type: ignore[method-assign]
    assert [(each.name, each.dim) for each in await qdrant.collections()] == [(NAME, DIM), ("words alone", 0)]
