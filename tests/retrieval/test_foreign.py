"""What other tools wrote into a Qdrant server: unnamed vectors, numbers as ids, payloads of any kind."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from app.db.memories import RAW
from app.db.outbox import Outbox
from app.db.pool import Pool
from app.db.postgres import identity
from app.db.users import ErasureStore, Memories
from app.retrieval import memories as module
from app.retrieval.copies import QdrantCopy
from app.retrieval.corpus import CorpusSource
from app.retrieval.index_cache import IndexCache
from app.retrieval.memories import MemorySource
from app.retrieval.points import owned
from app.retrieval.retrievers.qdrant import CollectionCache, Qdrant, open_points
from app.services.users import MirroredHolding, OthersUnseen
from app.settings import Settings
from app.types import Legs, Query, Scope
from tests.fakes.filing import SPACE, bag
from tests.fakes.qdrant import Fault, Json, QdrantServer, qdrant_server
from tests.fakes.recollections import ANN, THEN, enter, given, keep, memory, shelve
from tests.retrieval.conftest import exact_alone

HERE, OTHER = Scope(), Scope(tenant="other")
COSINE: Json = {"vectors": {"size": 32, "distance": "Cosine"}}
SMALL: Json = {"vectors": {"size": 16, "distance": "Cosine"}}
DOT: Json = {"vectors": {"size": 32, "distance": "Dot"}}
DANUBE, OTTERS = "the danube flows to the sea", "otters eat fish"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[QdrantServer]:
    with qdrant_server(tmp_path) as running:
        yield running


@pytest.fixture
async def points(server: QdrantServer) -> AsyncIterator[Qdrant]:
    """As the service opens it by QDRANT_URL."""
    async with open_points(Settings(qdrant={"url": server.url}), dim=SPACE.dim) as opened:
        yield opened


@pytest.fixture
def memories(pool: Pool, points: Qdrant, indexes: IndexCache) -> MemorySource:
    return MemorySource(pool, points, CollectionCache(points), indexes, SPACE, shared=True)


@pytest.fixture
def catalogue(points: Qdrant) -> CollectionCache:
    return CollectionCache(points)


@pytest.fixture
def corpus(pool: Pool, points: Qdrant, catalogue: CollectionCache, indexes: IndexCache) -> CorpusSource:
    return CorpusSource(pool, points, catalogue, indexes, SPACE, shared=True)


def plant(server: QdrantServer, name: str, *texts: str, shape: Json = COSINE, **facts: Any) -> None:
    """Points of a user `ann` and no tenant, unless `facts` say otherwise; ids from 1."""
    if name not in server.collections:
        server.create(name, shape)
    payloads = [{"content": text, "user_id": "ann"} | facts for text in texts]
    dim = shape["vectors"]["size"]
    vectors = [list(memoryview(bag(text, dim)).cast("f")) for text in texts]
    rows = zip(payloads, vectors, strict=True)
    server.plant(name, [{"id": n, "vector": v, "payload": p} for n, (p, v) in enumerate(rows, 1)])


async def search(source: MemorySource | CorpusSource, scope: Scope = ANN) -> Legs:
    return await (await source.reach(scope)).search(Query("danube sea", scope), given(bag("danube sea")))


def texts(legs: Legs) -> set[str]:
    return {passage.text for passage in legs.passages.values()}


# Memories


async def test_their_memories_are_searched_by_meaning(server: QdrantServer, memories: MemorySource) -> None:
    plant(server, RAW, DANUBE, OTTERS)
    legs = await search(memories)
    assert next(legs.passages[hit.key].text for hit in legs.meaning) == DANUBE
    assert (legs.words, legs.stored, [*legs.passages]) == ((), 2, ["1", "2"])


async def test_ours_are_kept_beside_theirs(server: QdrantServer, memories: MemorySource) -> None:
    """Found once each, ours by words too; written again they replace."""
    plant(server, RAW, DANUBE, OTTERS)
    for _ in range(2):
        [kept] = await keep(memories, ANN, "the danube meets the black sea")
    legs = await search(memories)
    assert {hit.key for hit in legs.meaning} == {"1", "2", kept}
    assert ([hit.key for hit in legs.words], legs.stored) == ([kept], 3)


@exact_alone
@pytest.mark.parametrize("key", ["text", "content", "chunk"])
async def test_their_payloads_are_read(server: QdrantServer, memories: MemorySource, key: str) -> None:
    """Text under any of three names; no tenant is the tenant `default`; times in seconds."""
    facts: dict[str, Any] = {
        "content": None,
        key: DANUBE,
        "created_at": 86_400.0,
        "tags": "a, b",
        "source": "web",
    }
    plant(server, RAW, DANUBE, **facts)
    passage = (await search(memories)).passages["1"]
    assert (passage.text, passage.fields["origin"], passage.fields["tags"]) == (DANUBE, "web", "a,b")
    assert passage.created_at is not None
    assert passage.created_at.isoformat() == "1970-01-02T00:00:00+00:00"
    assert passage.said_on == passage.created_at.date()
    assert (await search(memories, Scope(tenant="other", user_id="ann"))).passages == {}


@exact_alone
async def test_a_change_moves_what_is_recent_not_the_day(
    server: QdrantServer, memories: MemorySource
) -> None:
    """Recency looks at `updated_at`; what "yesterday" was depends on when it was said."""
    plant(server, RAW, DANUBE, created_at="2023-05-08", updated_at="2026-11-02")
    passage = (await search(memories)).passages["1"]
    assert passage.created_at is not None
    assert (passage.created_at.year, str(passage.said_on)) == (2026, "2023-05-08")


@exact_alone
async def test_a_point_without_text_is_passed_over(server: QdrantServer, memories: MemorySource) -> None:
    """With a note; the others count."""
    plant(server, RAW, "  ")
    await keep(memories, ANN, OTTERS)
    legs = await search(memories)
    assert texts(legs) == {OTTERS}
    assert legs.notes == ("points of memory_raw without text were passed over: 1",)


async def test_memories_of_another_space_are_passed_over(
    server: QdrantServer, memories: MemorySource
) -> None:
    plant(server, RAW, DANUBE, shape=SMALL)
    legs = await search(memories)
    assert legs.passages == {}
    assert legs.notes == ("memory_raw was passed over: its vectors are of another space",)


async def test_of_an_erased_user_nothing_of_theirs_is_told(
    pool: Pool, server: QdrantServer, memories: MemorySource
) -> None:
    """Points may outlive an erasure in an engine that was down."""
    plant(server, RAW, DANUBE)
    await keep(memories, ANN, OTTERS)
    assert await memories.owns(ANN, "1")
    await pool.execute("UPDATE ibid.memory_user SET erased_at = now()")
    assert texts(await search(memories)) == {OTTERS}
    assert not await memories.owns(ANN, "1")


async def test_points_of_an_erased_user_are_deleted_when_the_server_answers_again(
    pool: Pool, server: QdrantServer, points: Qdrant, memories: MemorySource
) -> None:
    """Without asking again, and without the memories that were written in between."""
    plant(server, RAW, DANUBE)
    await keep(memories, ANN, OTTERS)
    copy = QdrantCopy(pool, points, CollectionCache(points), SPACE, external=True)
    outbox = Outbox(pool, copy, await identity(pool))
    await ErasureStore(pool).begin(ANN, ["memories"])
    server.fault = Fault(status=500)
    with pytest.raises(OthersUnseen):
        await MirroredHolding(Memories(pool), memories).erase(ANN)
    server.fault = Fault()
    await enter(pool, ANN, memory(ANN, "beavers build dams"))
    await outbox.drain()

    found = await points.scroll(RAW, owned(ANN), limit=9)
    assert [point.payload.get("text") for point in found] == ["beavers build dams"]
    assert await outbox.pending() == ""


@exact_alone
async def test_the_newest_cards_are_told_however_many_there_are(
    pool: Pool, server: QdrantServer, memories: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another kind's and another tool's crowd none of ours out."""
    monkeypatch.setattr(module, "CARDS", 3)
    monkeypatch.setattr(module, "PAGE", 2)
    plant(server, RAW, DANUBE, kind="style", created_at=THEN.isoformat())
    ours = [memory(ANN, f"{n}", kind="preference", created_at=THEN.replace(day=n + 1)) for n in range(9)]
    await enter(pool, ANN, *ours)
    cards = await memories.cards(ANN, ["preference", "persona", "style"])
    assert [card.text for card in cards[:3]] == ["8", "7", "6"]
    assert [card.text for card in cards[3:]] == [DANUBE]


async def test_an_engine_that_hangs_costs_theirs_alone(
    server: QdrantServer, memories: MemorySource, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ours are found, the answer says what is missing, and nothing like it is kept."""
    await keep(memories, ANN, OTTERS)
    monkeypatch.setattr(module, "COUNT_SECONDS", 0.05)
    server.fault = Fault(only=RAW, status=500)
    one, other = await memories.reach(ANN), await memories.reach(ANN)
    assert one.standing != other.standing
    legs = await one.search(Query("otters", ANN), given(bag("otters")))
    assert (texts(legs), legs.partial) == ({OTTERS}, "unavailable")


# Corpora


async def test_their_collections_are_a_corpus(server: QdrantServer, corpus: CorpusSource) -> None:
    """Beside ours; one of another distance is passed over, one that vanishes meanwhile is a note."""
    plant(server, "older", DANUBE)
    plant(server, "dots", "the danube", shape=DOT)
    await shelve(corpus, HERE, "ours", ["the sea is wide"])
    legs = await search(corpus, HERE)
    assert {passage.id.partition("/")[0] for passage in legs.passages.values()} == {"older", "ours"}
    assert legs.notes == ("dots was passed over: its vectors are of another space",)
    reached = await corpus.reach(HERE)
    server.fault = Fault(only="older", vanishing=True)
    legs = await reached.search(Query("danube", HERE), given(bag("danube")))
    assert texts(legs) == {"the sea is wide"}


@exact_alone
async def test_points_without_a_tenant_are_the_defaults(server: QdrantServer, corpus: CorpusSource) -> None:
    """Facts under `metadata`; no address that is a script."""
    metadata = {"kind": "page", "source": "atlas", "title": "Danube", "tags": "a, b", "url": "javascript:x()"}
    plant(server, "older", DANUBE, metadata=metadata)
    [passage] = (await search(corpus, HERE)).passages.values()
    assert (passage.id, passage.text, passage.title) == ("older/1", DANUBE, "Danube")
    assert [passage.fields[name] for name in ("kind", "origin", "tags", "url")] == [
        "page",
        "atlas",
        "a,b",
        None,
    ]
    assert (await search(corpus, OTHER)).stored == 0


@exact_alone
async def test_of_another_tenant_not_even_the_name_is_told(
    server: QdrantServer, corpus: CorpusSource
) -> None:
    plant(server, "secret", DANUBE, shape=SMALL)
    assert (await search(corpus, HERE)).notes == ("secret was passed over: its vectors are of another space",)
    assert (await search(corpus, OTHER)).notes == ()


async def test_a_collection_that_does_not_answer_costs_its_own(
    server: QdrantServer, corpus: CorpusSource
) -> None:
    await shelve(corpus, HERE, "ours", ["the sea is wide"])
    plant(server, "older", DANUBE)
    reached = await corpus.reach(HERE)
    server.fault = Fault(only="older", status=500)
    legs = await reached.search(Query("danube", HERE), given(bag("danube")))
    assert (texts(legs), legs.partial) == ({"the sea is wide"}, "unavailable")
    assert legs.notes == ("older did not answer: unavailable",)


@exact_alone
async def test_a_write_of_theirs_is_seen_once_the_list_is_renewed(
    server: QdrantServer, corpus: CorpusSource, catalogue: CollectionCache
) -> None:
    await shelve(corpus, HERE, "ours", ["the sea is wide"])
    before = (await corpus.reach(HERE)).standing
    assert (await corpus.reach(HERE)).standing == before
    plant(server, "older", DANUBE)
    catalogue.forget()
    assert (await corpus.reach(HERE)).standing != before
