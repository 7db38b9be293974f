"""What older tools wrote, taken over: tables and collections, whole, interrupted, by two at once; on a real
Postgres and Qdrant's engine behind its REST."""

import asyncio
import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from app.db.corpus import CorpusStore, ReferenceDraft
from app.db.embedded import Cluster
from app.db.memories import RAW, MemoryStore, Tally
from app.db.outbox import Outbox
from app.db.pool import Pool, open_pool
from app.db.postgres import identity
from app.db.users import Memories
from app.db.votes import VoteStore
from app.errors import RetrievalError
from app.retrieval.copies import STATE, QdrantCopy, read_imported_collections
from app.retrieval.corpus import CorpusSource
from app.retrieval.index_cache import IndexCache
from app.retrieval.memories import MemorySource
from app.retrieval.originals import OriginalStore
from app.retrieval.retrievers.points import Where
from app.retrieval.retrievers.qdrant import CollectionCache, Qdrant, open_points
from app.services import adopt as adopt_
from app.services.adopt import (
    Adopt,
    AdoptionStore,
    AdoptReport,
    ForeignCollections,
    Older,
    Taken,
    read_collections,
)
from app.settings import Settings
from app.types import Embedding, Entry, Legs, Passage, Query, Scope, Space, Verdict
from app.wiring import import_others
from tests.fakes.elder import DIM, Elder, elder
from tests.fakes.filing import SPACE
from tests.fakes.filing import bag as bag32
from tests.fakes.model import bag
from tests.fakes.qdrant import Json, QdrantServer, qdrant_server
from tests.fakes.recollections import given

WIDE = Space("fake-model@1536", "fake-model", DIM, 0.0)
CONVERSATIONS, CODE = "public.conversation_index", "public.code_index"
ANN, BOB, HERE = Scope(user_id="ann"), Scope(user_id="bob"), Scope()
OURS: Json = {"vectors": {"size": 32, "distance": "Cosine"}}
NARROW: Json = {"vectors": {"size": 16, "distance": "Cosine"}}
MINE = "6f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d"
DANUBE, OTTERS, RHINE = "the danube flows to the sea", "otters eat fish", "the rhine flows to the sea"


@dataclass
class Model:
    """An embedder of bags of words; may fail after so many texts."""

    space: str = SPACE.name
    room: int = 10_000
    asked: list[str] = field(default_factory=list)

    async def query(self, text: str) -> Embedding:
        return (await self.passages([text]))[0]

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        if len(self.asked) + len(texts) > self.room:
            raise RetrievalError("embedding")
        self.asked += texts
        await asyncio.sleep(0)
        if self.space == SPACE.name:
            return [bag32(text) for text in texts]
        return [struct.pack(f"<{DIM}f", *bag(text, DIM)) for text in texts]


@dataclass
class House:
    """A record, a Qdrant server that older tools use, and a model."""

    pool: Pool
    server: QdrantServer
    points: Qdrant
    model: Model = field(default_factory=Model)

    def collections(self, *only: str) -> ForeignCollections:
        """The collections of one run."""
        return ForeignCollections(self.points, self.pool, self.model, SPACE, only)

    def work(self, *only: str) -> Adopt:
        return Adopt(AdoptionStore(self.pool), self.collections(*only), self.model, SPACE, self.fill)

    async def outbox(self) -> Outbox:
        """As the service opens it."""
        copy = QdrantCopy(self.pool, self.points, CollectionCache(self.points), SPACE)
        return Outbox(self.pool, copy, await identity(self.pool))

    async def fill(self) -> str:
        outbox = await self.outbox()
        await outbox.drain()
        return await outbox.pending()

    async def adopt(self, *only: str) -> list[Taken]:
        self.model.asked.clear()
        work = self.work(*only)
        async for _ in work.run():
            pass
        return work.report.collections

    def plant(self, name: str, *points: tuple[int | str, Json], shape: Json = OURS) -> None:
        """Points as an older tool writes them: id and payload."""
        if name not in self.server.collections:
            self.server.create(name, shape)
        dim = shape["vectors"]["size"]
        text = [str(facts.get("content") or facts.get("text") or "") for _, facts in points]
        vectors = [list(memoryview(bag32(each, dim)).cast("f")) for each in text]
        rows = zip(points, vectors, strict=True)
        self.server.plant(name, [{"id": n, "vector": v, "payload": p} for (n, p), v in rows])

    def held(self, name: str) -> list[Json]:
        """A collection as it is kept, vectors too, without our position."""
        body = {"limit": 100, "with_payload": True, "with_vector": True}
        return [each for each in self.server.collections[name].scroll(body)["points"] if each["id"] != STATE]

    async def source(self, kind: type[MemorySource] | type[CorpusSource], exact: int = 1 << 20) -> Any:
        """As a service that starts now has it."""
        indexes, imports = (
            IndexCache(SPACE.dim, exact_bytes=exact),
            await read_imported_collections(self.pool),
        )
        on = (self.pool, self.points, CollectionCache(self.points), indexes, SPACE)
        return kind(*on, shared=True, imports=imports)

    async def memories(self, scope: Scope = ANN, *, exact: int = 1 << 20) -> Legs:
        """What a question finds in the memories."""
        return await searched(await self.source(MemorySource, exact), scope)

    async def corpus(self, scope: Scope = HERE, *, exact: int = 1 << 20) -> Legs:
        """What a question finds in the corpus."""
        return await searched(await self.source(CorpusSource, exact), scope)


async def searched(source: MemorySource | CorpusSource, scope: Scope) -> Legs:
    """The same question each time."""
    reached = await source.reach(scope)
    return await reached.search(Query("danube sea", scope), given(bag32("danube sea")))


def texts(legs: Legs) -> list[str]:
    return sorted(passage.text for passage in legs.passages.values())


def said(text: str, **facts: Any) -> Json:
    return {"content": text, "user_id": "ann"} | facts


@pytest.fixture
def server(drive: Path) -> Iterator[QdrantServer]:
    with qdrant_server(drive) as running:
        yield running


@pytest.fixture
async def house(pool: Pool, server: QdrantServer) -> AsyncIterator[House]:
    async with open_points(Settings(qdrant={"url": server.url}), dim=SPACE.dim) as points:
        yield House(pool, server, points)


# Tables


@pytest.fixture
async def ours(cluster: Cluster) -> AsyncIterator[Elder]:
    """Their database, with vectors of our model."""
    async with elder(cluster, same=True, migrated=True) as made:
        yield made


@pytest.fixture
async def others(cluster: Cluster) -> AsyncIterator[Elder]:
    """Their database, with vectors as wide as ours, of another model."""
    async with elder(cluster, migrated=True) as made:
        yield made


class NoForeignCollections(ForeignCollections):
    async def found(self, space: Space | None = None) -> list[adopt_.ForeignCollection]:
        return []


def rows_of(pool: Pool, model: Model, points: Qdrant) -> Adopt:
    """A run over the tables."""

    async def fill() -> str:
        return ""

    collections = NoForeignCollections(points, pool, model, WIDE)
    return Adopt(AdoptionStore(pool), collections, model, WIDE, fill)


async def run(old: Elder, model: Model, house: House) -> AdoptReport:
    async with open_pool(old.dsn, max_size=3) as pool:
        work = rows_of(pool, model, house.points)
        total, done = await work.total(), sum([taken async for taken in work.run()])
        assert done == total == sum(each.kept + each.embedded for each in work.report.tables)
        return work.report


async def test_vectors_of_our_model_stay_as_they_are(ours: Elder, house: House) -> None:
    """A sample is embedded, and what has no vector or one of zeros; nothing else."""
    before, model = await ours.told(), Model(WIDE.name)
    report = await run(ours, model, house)
    assert report.tables == [Taken(CONVERSATIONS, 31, 4, 2), Taken(CODE, 20)]
    assert report.older == Older(2, 1)
    assert len(model.asked) == 31 + 4 + 20
    assert await ours.told() == before
    assert await ours.run("SELECT count(*) FROM conversation_index WHERE embedding_ibid IS NOT NULL") == 4


async def test_vectors_of_another_model_are_as_good_as_none(others: Elder, house: House) -> None:
    """Of the same width as ours: only a look at them tells."""
    before = await others.told()
    report = await run(others, Model(WIDE.name), house)
    assert report.tables == [Taken(CONVERSATIONS, 0, 35, 2), Taken(CODE, 0, 20)]
    assert await others.told() == before
    assert await others.run("SELECT count(*) FROM code_index WHERE vector_dims(embedding_ibid) = 1536") == 20


async def test_a_plan_is_what_a_run_does(others: Elder, house: House) -> None:
    async with open_pool(others.dsn, max_size=3) as pool:
        work = rows_of(pool, Model(WIDE.name), house.points)
        plan = await work.plan()
        assert await work.total() == 55
    assert plan == await run(others, Model(WIDE.name), house)


async def test_an_interrupted_run_goes_on(
    others: Elder, house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was embedded before the fault is not embedded again."""
    monkeypatch.setattr(adopt_, "BATCH", 5)
    with pytest.raises(RetrievalError):
        await run(others, Model(WIDE.name, room=31 + 12), house)
    assert await others.run("SELECT count(*) FROM conversation_index WHERE space IS NOT NULL") == 10
    report = await run(others, Model(WIDE.name), house)
    assert [each.embedded for each in report.tables] == [25, 20]
    assert [each.embedded for each in (await run(others, Model(WIDE.name), house)).tables] == [0, 0]


# Collections


async def test_memories_become_rows_with_all_they_say(house: House) -> None:
    """Embedded anew, under their own ids; theirs stay to the letter, and what says nothing or is nobody's."""
    facts = {"kind": "trip", "tags": ["sea"], "source": "import", "vantage_id": "v", "thread_id": "t"}
    more = {"created_at": 1_700_000_000, "mood": "good\0"}
    house.plant(
        RAW,
        (7, said(DANUBE, **facts, **more)),
        (8, {"user_id": "ann"}),
        (9, {"text": OTTERS}),
        (MINE, said(OTTERS, tenant="acme")),
        shape=NARROW,
    )
    before = house.held(RAW)
    plan = await house.work().plan()
    taken = [Taken(RAW, embedded=2, silent=1, home=f"{RAW}_ibid", unowned=1)]
    assert (plan.collections, await house.work().total()) == (taken, 2)

    assert await house.adopt() == taken

    [memory], _ = await MemoryStore(house.pool).list(ANN, cursor=None, limit=9)
    assert (memory.id, memory.text, memory.kind, memory.tags) == ("7", DANUBE, "trip", ("sea",))
    assert (memory.origin, memory.vantage_id, memory.thread_id, memory.place) == ("import", "v", "t", 0)
    assert (memory.created_at.year, memory.fields) == (2023, {"mood": "good\ufffd"})
    assert await MemoryStore(house.pool).get(Scope("acme", user_id="ann"), MINE)
    assert house.held(RAW) == before
    assert {each["payload"]["text"] for each in house.held(f"{RAW}_ibid")} == {DANUBE, OTTERS}
    assert texts(await house.memories()) == [DANUBE]


async def test_reference_texts_become_rows_under_the_names_they_had(house: House) -> None:
    """One that is taken, by a text of ours or another point, gives way to the point's."""
    texts_of_ours = [ReferenceDraft("mine", "7"), ReferenceDraft("mine too", "atlas")]
    await CorpusStore(house.pool).admit(
        HERE, "tides", texts_of_ours, [bag32("mine")] * 2, [1, 1], space=SPACE.name
    )
    metadata = {"kind": "page", "source": "x", "title": "Danube", "url": "https://a.b"}
    house.plant(
        "tides",
        (7, {"text": DANUBE, "metadata": metadata, "created_at": "2023-05-08", "tags": ["a"]}),
        (8, {"text": RHINE, "id": "atlas"}),
        (9, {"text": OTTERS, "id": "fish"}),
        shape=NARROW,
    )

    assert await house.adopt() == [Taken("tides", embedded=3, home="tides_ibid")]

    kept, _ = await CorpusStore(house.pool).texts(HERE, "tides", cursor=None, limit=9)
    assert {each.text: each.id for each in kept if each.text != DANUBE} == {
        "mine": "7",
        "mine too": "atlas",
        RHINE: "8",
        OTTERS: "fish",
    }
    assert house.model.asked == [f"Danube\n{DANUBE}", RHINE, OTTERS]
    [passage] = [each for each in (await house.corpus()).passages.values() if each.text == DANUBE]
    shown = [passage.fields[name] for name in ("kind", "origin", "tags", "url", "collection")]
    assert shown == ["page", "x", "a", "https://a.b", "tides"]
    assert (passage.title, str(passage.created_at)[:10]) == ("Danube", "2023-05-08")


@pytest.mark.parametrize("exact", [1 << 20, 0], ids=["exact", "engine"])
@pytest.mark.parametrize("shape", [OURS, NARROW], ids=["our space", "another"])
async def test_each_is_found_once(house: House, shape: Json, exact: int) -> None:
    """Beside what their tool writes later, if a search can compare it; the next run fetches it anyway."""
    house.plant(RAW, (1, said(DANUBE)), (2, said(OTTERS)), shape=shape)
    house.plant("tides", (1, {"text": DANUBE}), shape=shape)
    await house.adopt()
    legs, collection = await house.memories(exact=exact), await house.corpus(exact=exact)
    assert (texts(legs).count(DANUBE), legs.stored, legs.notes) == (1, 2, ())
    assert (texts(collection), collection.stored, collection.notes) == ([DANUBE], 1, ())

    house.plant(RAW, (3, said(RHINE)), shape=shape)
    house.plant("tides", (3, {"text": RHINE}), shape=shape)
    later = (await house.memories(exact=exact), await house.corpus(exact=exact))
    assert [RHINE in texts(each) for each in later] == [shape is OURS] * 2
    assert [each.stored for each in later] == ([3, 2] if shape is OURS else [2, 1])

    assert [each.kept + each.embedded for each in await house.adopt()] == [1, 1]
    again = (await house.memories(exact=exact), await house.corpus(exact=exact))
    assert [texts(each).count(RHINE) for each in again] == [1, 1]
    assert [each.stored for each in again] == [3, 2]


async def test_a_second_run_takes_what_has_changed(house: House) -> None:
    """New points, and those that say something else or are another's now; the rest is not embedded again."""
    house.plant(RAW, (1, said(DANUBE)), (2, said(OTTERS)), (3, said("unchanged")), shape=NARROW)
    house.plant("tides", (1, {"text": DANUBE}), (2, {"text": "unchanged"}), shape=NARROW)
    await house.adopt()
    assert [each.embedded for each in await house.adopt()] == [0, 0]
    assert house.model.asked == []

    house.plant(RAW, (1, said(RHINE)), (2, said(OTTERS, user_id="bob")), shape=NARROW)
    house.plant("tides", (1, {"text": RHINE}), shape=NARROW)
    assert [each.embedded for each in await house.adopt()] == [2, 1]
    assert house.model.asked == [RHINE, OTTERS, RHINE]
    assert {DANUBE, OTTERS}.isdisjoint(texts(await house.memories()))
    [moved], _ = await MemoryStore(house.pool).list(BOB, cursor=None, limit=9)
    assert moved.text == OTTERS
    assert [each["payload"]["text"] for each in house.held(f"{RAW}_ibid")] == [RHINE, OTTERS, "unchanged"]
    assert {each["payload"]["text"] for each in house.held("tides_ibid")} == {RHINE, "unchanged"}


async def test_a_run_that_breaks_off_is_finished_by_the_next(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What was imported stays, and is found; nothing is embedded twice."""
    monkeypatch.setattr(adopt_, "BATCH", 2)
    house.plant(RAW, *((n, said(f"{DANUBE} {n}")) for n in range(1, 6)), shape=NARROW)
    house.model.room = 3
    with pytest.raises(RetrievalError):
        await house.adopt()
    assert len((await house.memories()).passages) == 2
    house.model.room = 100
    assert [each.embedded for each in await house.adopt()] == [3]
    assert len(house.model.asked) == 3
    assert (await house.memories()).stored == 5


async def test_two_imports_at_once_take_each_point_once(house: House) -> None:
    house.plant(RAW, *((n, said(f"{DANUBE} {n}")) for n in range(1, 6)), shape=NARROW)
    house.plant("tides", (1, {"text": DANUBE}), (2, {"text": RHINE}), shape=NARROW)
    await asyncio.gather(house.adopt(), house.adopt())
    assert ((await house.memories()).stored, (await house.corpus()).stored) == (5, 2)
    assert [each.embedded for each in await house.adopt()] == [0, 0]


async def test_what_is_removed_here_does_not_come_back(house: House) -> None:
    """Neither by a search of their collection, nor as a card, nor to be voted on, nor by another run; their
    tool keeps it."""
    house.plant(RAW, (1, said(DANUBE, kind="style")))
    house.plant("tides", (1, {"text": DANUBE}))
    await house.adopt()
    assert await MemoryStore(house.pool).remove(ANN, "1")
    assert await CorpusStore(house.pool).remove(HERE, "tides", "1")
    await house.fill()

    memories = await house.source(MemorySource)
    assert (texts(await house.memories()), texts(await house.corpus())) == ([], [])
    assert (await memories.cards(ANN, ["style"]), await memories.owns(ANN, "1")) == ([], False)
    assert [each.kept + each.embedded for each in await house.adopt()] == [0, 0]
    assert (texts(await house.memories()), texts(await house.corpus())) == ([], [])
    assert [len(house.held(name)) for name in (RAW, f"{RAW}_ibid", "tides")] == [1, 0, 1]
    entries = [entry("memories", "1"), entry("corpus", "tides/1")]
    assert await OriginalStore(house.pool, house.points).passages(ANN, entries) == {}


def entry(source: str, key: str) -> Entry:
    """A passage of an answer's trace."""
    return Entry(source, key, f"[{source}#1]", 0.5, 0.5, Verdict.PACKED)


async def test_answers_of_before_name_the_same_texts(house: House) -> None:
    """Votes on memories count, and a replay finds what was shown."""
    house.plant(RAW, (1, said(DANUBE)), shape=OURS)
    house.plant("tides", (1, {"text": RHINE}), shape=OURS)
    source = await house.source(MemorySource)
    await VoteStore(house.pool, source.owns).cast(ANN, "1", 1, answer_id=None)
    await house.adopt()

    votes = VoteStore(house.pool, (await house.source(MemorySource)).owns)
    assert await votes.tallies(ANN, [*(await house.memories()).passages]) == {"1": Tally(1, 0)}
    entries = [entry("memories", "1"), entry("corpus", "tides/1")]
    found = await OriginalStore(house.pool, house.points).passages(ANN, entries)
    assert [passage.text for passage in found.values()] == [DANUBE, RHINE]


async def test_an_erased_person_does_not_come_back(house: House) -> None:
    """While an erasure is under way nothing of theirs is imported; by its end it is gone from both."""
    house.plant(RAW, (1, said(DANUBE)), (2, said(OTTERS, user_id="bob")), shape=NARROW)
    await house.adopt()
    await house.pool.execute("UPDATE ibid.memory_user SET erased_at = now() WHERE user_id = 'ann'")
    assert await Memories(house.pool).erase(ANN) == 1
    assert [each.embedded for each in await house.adopt()] == [0]
    assert (await MemoryStore(house.pool).list(ANN, cursor=None, limit=9))[0] == []
    assert await (await house.source(MemorySource)).erase(ANN) == 1
    assert [each["payload"]["user_id"] for name in (RAW, f"{RAW}_ibid") for each in house.held(name)] == [
        "bob",
        "bob",
    ]
    assert await house.pool.fetchval("SELECT count(*) FROM ibid.imported WHERE user_id = 'ann'") == 0


async def test_ours_move_to_the_copy_and_theirs_stay(house: House) -> None:
    """A collection that both used: what Ibid wrote is in its copy alone from then on."""
    await CorpusStore(house.pool).admit(
        HERE, "tides", [ReferenceDraft(RHINE, "r")], [bag32(RHINE)], [1], space=SPACE.name
    )
    await house.fill()
    vectors = {"meaning": list(memoryview(bag32(DANUBE)).cast("f"))}
    facts = {"text": DANUBE, "space": "a room"}
    house.server.plant("tides", [{"id": 1, "vector": vectors, "payload": facts}])

    assert await house.adopt() == [Taken("tides", kept=1, home="tides_ibid")]

    assert [each["id"] for each in house.held("tides")] == [1]
    assert len(house.held("tides_ibid")) == 2
    assert texts(await house.corpus(exact=0)) == [DANUBE, RHINE]
    assert await (await house.outbox()).refill_reason() == ""


async def test_before_a_move_others_points_become_rows(house: House) -> None:
    """In the space that is left, so that they move with the rest; theirs stay, and what says nothing."""
    await CorpusStore(house.pool).admit(
        HERE, "tides", [ReferenceDraft(RHINE, "r")], [bag32(RHINE)], [1], space=SPACE.name
    )
    await house.fill()
    made = {"meaning": list(memoryview(bag32(DANUBE)).cast("f"))}
    house.server.plant("tides", [{"id": 1, "vector": made, "payload": {"text": DANUBE}}])
    house.server.plant(RAW, [{"id": 2, "vector": made, "payload": {"user_id": "ann"}}])
    house.plant("foreign", (1, {"text": OTTERS}))

    recorded = await read_collections(house.pool)
    collections = ForeignCollections(house.points, house.pool, house.model, WIDE, recorded)
    await import_others(collections, SPACE)

    kept, _ = await CorpusStore(house.pool).texts(HERE, "tides", cursor=None, limit=9)
    assert {each.text for each in kept} == {DANUBE, RHINE}
    assert (
        await house.pool.fetchval("SELECT count(*) FROM ibid.corpus_text WHERE space = $1", SPACE.name) == 2
    )
    assert set((await read_imported_collections(house.pool)).copies) == {RAW, "tides"}
    assert house.model.asked == []
    assert (await house.corpus()).notes == ()
    assert await house.points.count("tides", Where(ids=("1",))) == 1


async def test_what_both_have_is_told_as_theirs_until_it_is_imported(house: House) -> None:
    """A passage is theirs by its point before, and a row of ours after."""
    house.plant("tides", (1, {"text": DANUBE}))
    [before] = (await house.corpus()).passages.values()
    await house.adopt()
    [after] = (await house.corpus()).passages.values()
    assert (before.id, before.fields["id"], after.fields["id"]) == ("tides/1", "1", "1")
    assert plain(before) == plain(after)


def plain(passage: Passage) -> tuple[object, ...]:
    """What a reader sees of it."""
    return passage.source, passage.text, passage.title, passage.similarity, passage.fields["collection"]
