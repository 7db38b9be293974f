"""A Qdrant server: what is sent, what others' collections give, and what each fault becomes."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.clients.points import Ask, Point, Sparse, Where
from app.clients.qdrant import Qdrant, connected
from app.domain.errors import RetrievalError
from tests.fakes.points import DIM, embedding, ids, point
from tests.fakes.qdrant import Fault, QdrantServer, qdrant_server

NAME = "memory_raw"
EVERY = Where()
ASK = Ask(EVERY, 5, dense=embedding(1))
COSINE = {"size": DIM, "distance": "Cosine"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    """A test's own."""
    with qdrant_server(tmp_path / "qdrant", key="secret") as running:
        yield running


@pytest.fixture
async def qdrant(server: QdrantServer) -> AsyncIterator[Qdrant]:
    """A client of it."""
    opened = connected(server.url, "secret")
    yield opened
    await opened.aclose()


async def test_a_search_is_one_round_trip(qdrant: Qdrant, server: QdrantServer) -> None:
    """Both legs and what they rank among; the collection's shape is asked for once."""
    await qdrant.create(NAME, DIM)
    await qdrant.put(NAME, [point(n) for n in range(9)])
    words = Ask(EVERY, 5, words=Sparse((1, 2), (1.0, 1.0)))
    asks = [ASK, words, Ask(EVERY, 5, dense=embedding(1), among=words)]
    await qdrant.search(NAME, asks)
    server.requests.clear()
    await qdrant.search(NAME, asks)
    assert server.requests == [("POST", f"/collections/{NAME}/points/query/batch")]


async def test_word_statistics_are_asked_for_in_the_scope(qdrant: Qdrant, server: QdrantServer) -> None:
    """The corpus of the IDF is the filter itself, and the search is exact."""
    await qdrant.create(NAME, DIM)
    where = Where(has=(("user_id", ("ann",)),))
    await qdrant.search(NAME, [Ask(where, 5, words=Sparse((1,), (1.0,)))])
    [search, *_] = server.bodies[-1]["searches"]
    assert search["params"]["exact"] is True
    assert search["params"]["idf"]["corpus"] == search["filter"]


async def test_a_name_is_one_part_of_a_path(qdrant: Qdrant, server: QdrantServer) -> None:
    """Whatever is in it."""
    await qdrant.create("a/../b ☃?x", DIM)
    assert list(server.collections) == ["a/../b ☃?x"]
    with pytest.raises(RetrievalError) as caught:
        await qdrant.create("..", DIM)
    assert caught.value.rejected


async def test_two_may_create_it_at_once(qdrant: Qdrant, server: QdrantServer) -> None:
    """As two replicas do at their start."""
    await asyncio.gather(*(qdrant.create(NAME, DIM, keys=("kind",)) for _ in range(4)))
    assert list(server.collections) == [NAME]


@pytest.mark.parametrize(
    ("vectors", "written"),
    [(COSINE, lambda row: row), ({"body": COSINE}, lambda row: {"body": row})],
    ids=["unnamed", "named"],
)
async def test_collections_of_others_are_searched_as_they_are(
    qdrant: Qdrant, server: QdrantServer, vectors: Any, written: Any
) -> None:
    """By their own vector's name, ids that are numbers too."""
    server.create("notes", {"vectors": vectors})
    rows = [
        {"id": n, "vector": written([1.0, n] + [0.0] * 6), "payload": {"content": str(n)}} for n in range(4)
    ]
    server.plant("notes", rows)
    [[first, *_]] = await qdrant.search("notes", [Ask(EVERY, 2, dense=embedding(1))])
    assert first.payload["content"] == first.id
    assert (await qdrant.scroll("notes", EVERY, limit=1, vectors=True))[0].dense


@pytest.mark.parametrize("vectors", [COSINE, {"body": COSINE}], ids=["unnamed", "named"])
async def test_collections_of_others_are_written_as_they_are(
    qdrant: Qdrant, server: QdrantServer, vectors: Any
) -> None:
    """The dense vector under its own name; words that have no place are left out."""
    server.create("notes", {"vectors": vectors})
    await qdrant.put("notes", [point(n) for n in range(4)])
    [found] = await qdrant.search("notes", [Ask(EVERY, 1, dense=point(3).dense)])
    assert ids(found) == [point(3).id]
    [written] = await qdrant.scroll("notes", Where(ids=(point(3).id,)), limit=9, vectors=True)
    assert (written.dense, written.words) == (point(3).dense, None)


async def test_words_of_ours_are_not_put_beside_anothers(qdrant: Qdrant, server: QdrantServer) -> None:
    """Where the dense vector is not ours, words of our name are not either, and are not searched."""
    server.create("notes", {"vectors": {"body": COSINE}, "sparse_vectors": {"words": {"modifier": "idf"}}})
    await qdrant.put("notes", [point(1)])
    assert await qdrant.search("notes", [Ask(EVERY, 9, words=point(1).words)]) == [[]]


async def test_a_write_learns_another_shape_too(qdrant: Qdrant, server: QdrantServer) -> None:
    """As a search does, while we remember the old one."""
    await qdrant.create(NAME, DIM)
    await qdrant.put(NAME, [point(1)])
    server.collections.pop(NAME)
    server.create(NAME, {"vectors": COSINE})
    await qdrant.put(NAME, [point(2)])
    assert await qdrant.count(NAME, EVERY) == 1


async def test_one_made_anew_with_another_shape_is_learnt(qdrant: Qdrant, server: QdrantServer) -> None:
    """By somebody else, while we remember the old one."""
    await qdrant.create(NAME, DIM)
    await qdrant.search(NAME, [ASK])
    server.collections.pop(NAME)
    server.create(NAME, {"vectors": COSINE})
    server.plant(NAME, [{"id": 1, "vector": [1.0] * DIM, "payload": {}}])
    assert ids((await qdrant.search(NAME, [ASK]))[0]) == ["1"]


@pytest.mark.parametrize(
    ("fault", "reason", "rejected"),
    [
        (Fault(status=500), "unavailable", False),
        (Fault(status=503), "unavailable", False),
        (Fault(status=429), "overloaded", False),
        (Fault(status=403), "unavailable", True),
        (Fault(status=404), "unavailable", True),
        (Fault(garbage=True), "unavailable", False),
        (Fault(cut=True), "unavailable", False),
        (Fault(vanishing=True), "unavailable", True),
    ],
    ids=["failing", "unready", "busy", "forbidden", "gone", "garbage", "cut", "deleted meanwhile"],
)
async def test_faults_become_ours(
    qdrant: Qdrant, server: QdrantServer, fault: Fault, reason: str, rejected: bool
) -> None:
    """And the next search, when it is over, is answered."""
    await qdrant.create(NAME, DIM)
    await qdrant.put(NAME, [point(1)])
    await qdrant.search(NAME, [ASK])
    server.fault = fault
    with pytest.raises(RetrievalError) as caught:
        await qdrant.search(NAME, [ASK])
    assert (caught.value.reason, caught.value.rejected) == (reason, rejected)
    server.fault = Fault()
    await qdrant.create(NAME, DIM)
    await qdrant.search(NAME, [ASK])


async def test_a_server_that_is_away_comes_back(qdrant: Qdrant, server: QdrantServer) -> None:
    """On the same client."""
    await qdrant.create(NAME, DIM)
    server.stop()
    for call in (qdrant.search(NAME, [ASK]), qdrant.collections(), qdrant.check()):
        with pytest.raises(RetrievalError) as caught:
            await call
        assert (caught.value.reason, caught.value.rejected) == ("unavailable", False)
    server.start()
    assert await qdrant.search(NAME, [ASK]) == [[]]


async def test_the_key_is_sent(server: QdrantServer) -> None:
    """Another is refused: nothing is down."""
    stranger = connected(server.url, "guess")
    with pytest.raises(RetrievalError) as caught:
        await stranger.collections()
    assert caught.value.rejected
    await stranger.aclose()


async def test_a_collection_that_goes_while_they_are_listed_is_left_out(
    qdrant: Qdrant, server: QdrantServer
) -> None:
    """One without a dense vector is told, as one of no size: nothing is lost without a word."""
    await qdrant.create(NAME, DIM)
    server.create("words alone", {"sparse_vectors": {"words": {"modifier": "idf"}}})
    listed = server.answer

    def losing(method: str, path: str, query: Any, body: Any) -> tuple[int, Any]:
        told = listed(method, path, query, body)
        if path == "/collections":
            told[1]["collections"].append({"name": "gone"})
        return told

    server.answer = losing  # type: ignore[method-assign]
    assert [(each.name, each.dim) for each in await qdrant.collections()] == [(NAME, DIM), ("words alone", 0)]


async def test_points_of_any_payload_are_read(qdrant: Qdrant, server: QdrantServer) -> None:
    """One without any."""
    server.create("bare", {"vectors": COSINE})
    server.plant("bare", [{"id": 1, "vector": [1.0] * DIM}])
    assert (await qdrant.search("bare", [ASK]))[0][0].payload == {}
    assert await qdrant.scroll("bare", EVERY, limit=5) == [Point("1")]
