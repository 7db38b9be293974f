"""Collections that an older tool wrote on a server: unnamed vectors, no words, ids that are numbers."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from app.clients.guarded import GuardedPoints, open_points
from app.clients.pool import Pool
from app.config import Settings
from app.domain.memory import RAW
from app.domain.passage import Legs, Query, Scope
from app.index.catalogue import Catalogue
from app.sources.corpus import CorpusSource
from app.sources.memories import MemorySource
from tests.fakes.filing import SPACE, bag
from tests.fakes.qdrant import Fault, QdrantServer, qdrant_server
from tests.fakes.recollections import ANN, given, keep, shelve
from tests.fakes.shards import Json

COSINE: Json = {"vectors": {"size": 32, "distance": "Cosine"}}
DOT: Json = {"vectors": {"size": 32, "distance": "Dot"}}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    """A fresh one."""
    with qdrant_server(tmp_path) as running:
        yield running


@pytest.fixture
async def points(server: QdrantServer) -> AsyncIterator[GuardedPoints]:
    """As the service opens it by QDRANT_URL."""
    async with open_points(Settings(qdrant={"url": server.url})) as opened:
        yield opened


def plant(server: QdrantServer, name: str, *texts: str, shape: Json = COSINE) -> None:
    """Points of a user `ann` and no tenant."""
    server.create(name, shape)
    payloads = [{"content": text, "user_id": "ann"} for text in texts]
    vectors = [list(memoryview(bag(text)).cast("f")) for text in texts]
    rows = zip(payloads, vectors, strict=True)
    server.plant(name, [{"id": n, "vector": v, "payload": p} for n, (p, v) in enumerate(rows, 1)])


async def search(source: MemorySource | CorpusSource, scope: Scope = ANN) -> Legs:
    """The same question each time."""
    return await (await source.reach(scope)).search(Query("danube sea", scope), given(bag("danube sea")))


async def test_memories_of_an_older_tool_are_searched_by_meaning(
    pool: Pool, server: QdrantServer, points: GuardedPoints
) -> None:
    """There are no words of our making to search, and none of theirs are."""
    plant(server, RAW, "the danube flows to the sea", "otters eat fish")
    source = MemorySource(pool, points, Catalogue(points), SPACE)
    legs = await search(source)
    assert next(legs.passages[hit.key].text for hit in legs.meaning) == "the danube flows to the sea"
    assert (legs.words, legs.stored, [*legs.passages]) == ((), 2, ["1", "2"])


async def test_memories_are_kept_beside_those_of_an_older_tool(
    pool: Pool, server: QdrantServer, points: GuardedPoints
) -> None:
    """In the vectors that there are, and found by meaning as the others are; written again they replace."""
    plant(server, RAW, "the danube flows to the sea", "otters eat fish")
    source = MemorySource(pool, points, Catalogue(points), SPACE)
    for _ in range(2):
        [kept] = await keep(source, ANN, "the danube meets the black sea")
    legs = await search(source)
    assert {hit.key for hit in legs.meaning} == {"1", "2", kept}
    assert (legs.words, legs.stored) == ((), 3)


async def test_collections_of_an_older_tool_are_a_corpus(
    pool: Pool, server: QdrantServer, points: GuardedPoints
) -> None:
    """Beside ours; one of another distance is passed over, one that vanishes meanwhile is a note."""
    plant(server, "older", "the danube flows to the sea")
    plant(server, "dots", "the danube", shape=DOT)
    server.create("bare", {"sparse_vectors": {"bm25": {}}})
    words = {"bm25": {"indices": [1], "values": [1.0]}}
    server.plant("bare", [{"id": 1, "vector": words, "payload": {"content": "the danube"}}])
    source = CorpusSource(pool, points, Catalogue(points), SPACE)
    await shelve(source, Scope(), "ours", ["the sea is wide"])
    legs = await search(source, Scope())
    assert {passage.id.partition("/")[0] for passage in legs.passages.values()} == {"older", "ours"}
    assert legs.notes == tuple(
        f"{name} was passed over: its vectors are of another space" for name in ("bare", "dots")
    )
    server.fault = Fault(only="older", vanishing=True)
    legs = await search(source, Scope())
    assert "older is not there any more" in legs.notes


async def test_ours_on_a_server_are_searched_as_on_the_embedded_engine(
    pool: Pool, points: GuardedPoints, memories: MemorySource
) -> None:
    """The same legs, scores to six digits: one port, two engines."""
    source = MemorySource(pool, points, Catalogue(points), SPACE)
    texts = [f"the danube {n} flows by" for n in range(6)] + ["the sea is wide"]
    for each in (source, memories):
        await keep(each, ANN, *texts, thread_id="t")
    one, other = await search(source), await search(memories)
    assert [hit.key for hit in one.words] == [hit.key for hit in other.words]
    assert [hit.score for hit in one.words] == pytest.approx([hit.score for hit in other.words], rel=1e-6)
    assert [hit.key for hit in one.meaning] == [hit.key for hit in other.meaning]
    assert one.passages.keys() == other.passages.keys()
