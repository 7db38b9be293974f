"""The outbox: engines follow the record, whatever fails between the two, and are refilled when they lag.
Chroma's copy of the documents' vectors, and which engines' files are rewritten after an erasure."""

import asyncio
import shutil
import struct
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient, models

from app.db import outbox as outbox_
from app.db.corpus import CorpusStore, ReferenceDraft
from app.db.documents import DocumentPart
from app.db.memories import DAEMONS, GRAVITY, RAW, Draft, MemoryStore
from app.db.outbox import DAMAGED, DIFFERS, EngineClaim, EngineProbe, Outbox, Position, RefillCursor
from app.db.pool import Pool
from app.db.postgres import identity
from app.db.users import Memories
from app.db.vectors import VectorStore
from app.errors import RetrievalError, Unavailable
from app.retrieval.copies import (
    STATE,
    ChromaCopy,
    QdrantCopy,
)
from app.retrieval.retrievers.chroma import Chroma, collection
from app.retrieval.retrievers.chroma_child import REMADE_MOST, EmbeddedChroma
from app.retrieval.retrievers.points import DENSE, Point, Where, floats
from app.retrieval.retrievers.qdrant import CollectionCache, ImportedCollections, Qdrant, QdrantProcess
from app.retrieval.retrievers.qdrant_engine import folder_of
from app.retrieval.retrievers.qdrant_server import QdrantRemote
from app.types import Scope, Space
from tests.fakes.chromas import InProcess
from tests.fakes.filing import SPACE as BAGS
from tests.fakes.filing import file, publish
from tests.fakes.logged import captured
from tests.fakes.qdrant import EngineThread, QdrantThread
from tests.fakes.services import ADA, say
from tests.fakes.uploads import SPACE, until, vector

BOB = Scope("acme", user_id="bob")
NEXT = Space("next@2", "next", 2, 0.0)
CARD = Draft("likes rest", kind=GRAVITY, origin=DAEMONS[0])


async def shelve(pool: Pool, *texts: ReferenceDraft, collection: str = "sleep", tenant: str = "acme") -> None:
    vectors = [vector(text.text) for text in texts]
    counts = [1] * len(texts)
    await CorpusStore(pool).admit(Scope(tenant), collection, texts, vectors, counts, space=SPACE.name)


async def entered(pool: Pool) -> list[tuple[str, str, str]]:
    rows = await pool.fetch("SELECT engine, collection, item FROM ibid.outbox ORDER BY seq")
    return [tuple(row) for row in rows]


@dataclass
class House:
    """A record and Qdrant's engine on a folder, which may be closed and opened again."""

    pool: Pool
    folder: Path
    edge: QdrantProcess = field(init=False)
    outbox: Outbox = field(init=False)

    @asynccontextmanager
    async def running(self, space: Space = SPACE) -> AsyncIterator["House"]:
        async with QdrantThread(self.folder) as self.edge:
            copy = QdrantCopy(self.pool, self.edge, CollectionCache(self.edge), space)
            self.outbox = Outbox(self.pool, copy, await identity(self.pool))
            yield self

    async def texts(self, name: str = RAW) -> list[str]:
        try:
            points = await self.edge.scroll(name, Where(), limit=1_000)
        except RetrievalError:
            return []
        return sorted(str(point.payload["text"]) for point in points if point.id != STATE)


@pytest.fixture
def house(pool: Pool, drive: Path) -> House:
    return House(pool, drive / "qdrant")


async def test_every_change_of_the_record_is_entered(pool: Pool) -> None:
    """Written, replaced, deleted; not what is told again, nor what an engine does not hold."""
    (memory,) = await say(pool, "I moved.")
    await say(pool, "i moved.")
    await pool.execute("UPDATE ibid.memory SET terms = NULL")
    (card,) = await say(pool, CARD)
    await say(pool, Draft("likes play", kind=GRAVITY, origin=DAEMONS[0]))
    await MemoryStore(pool).remove(ADA, memory)
    await shelve(pool, ReferenceDraft("a", "a1"))
    await CorpusStore(pool).clear(Scope("acme"), "sleep")
    (point, again) = [item for engine, collection, item in await entered(pool) if collection == "sleep"]

    found = [(engine, item) for engine, collection, item in await entered(pool) if collection == RAW]
    assert found == [("qdrant", each) for each in (memory, card, card, memory)]
    assert point == again


async def test_the_engine_takes_what_is_written_and_removed(house: House) -> None:
    async with house.running():
        first, _ = await say(house.pool, "I moved.", "I slept.")
        await shelve(house.pool, ReferenceDraft("tides", "a1"))
        await house.outbox.drain()
        assert (await house.texts(), await house.texts("sleep")) == (["I moved.", "I slept."], ["tides"])

        await MemoryStore(house.pool).remove(ADA, first)
        await CorpusStore(house.pool).remove(Scope("acme"), "sleep", "a1")
        await house.outbox.drain()

        assert (await house.texts(), await entered(house.pool)) == (["I slept."], [])
        assert [each.name for each in await house.edge.collections()] == [RAW]


async def test_a_collection_of_two_tenants_stays_until_both_are_gone(house: House) -> None:
    async with house.running():
        for tenant in ("acme", "other"):
            await shelve(house.pool, ReferenceDraft(f"of {tenant}", "a1"), tenant=tenant)
        await house.outbox.drain()
        await CorpusStore(house.pool).clear(Scope("acme"), "sleep")
        await house.outbox.drain()

        assert await house.texts("sleep") == ["of other"]


@dataclass
class Failing:
    """A copy that fails for a while, and counts."""

    name: str = "qdrant"
    error: RetrievalError | None = None
    rows: int = 0
    delay: float = 0
    applied: list[str] = field(default_factory=list)
    taken: list[int] = field(default_factory=list)
    """Rows that a refill took."""
    whole: bool = True
    """Whether it holds as many rows as the record."""
    alike: bool = True
    """True if its vectors are the record's."""
    stumbles: int | None = None
    """The row at which a refill fails, once."""
    noted: Position | None = None

    async def position(self) -> Position | None:
        return self.noted

    async def save_position(self, position: Position) -> None:
        self.noted = position

    async def apply(self, collection: str, items: Sequence[str]) -> None:
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        self.applied += items

    async def refill_page(self, cursor: RefillCursor) -> tuple[int, RefillCursor | None]:
        row = int(cursor[0]) + 1 if cursor else 0
        await asyncio.sleep(self.delay)
        if row == self.stumbles:
            self.stumbles = None
            raise RetrievalError("timeout")
        if row >= self.rows:
            return 0, None
        self.taken.append(row)
        return 1, (str(row),)

    async def total(self) -> int:
        return self.rows

    async def is_complete(self) -> bool:
        return self.whole

    async def sample_matches(self) -> bool:
        return self.alike


async def test_an_engine_that_fails_is_left_alone_and_comes_back(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Writers are not held up meanwhile; nothing is lost, and the log says both once."""
    monkeypatch.setattr(outbox_, "RETRY_ENGINE_SECONDS", 0.05)
    copy = Failing(error=RetrievalError("unavailable"))
    outbox = Outbox(pool, copy, "me")
    running = asyncio.create_task(outbox.run())
    try:
        with captured() as logged:
            items = await say(pool, "I moved.", "I slept.")
            assert not await outbox.wait_drained(0.2)
            copy.error = None
            assert await outbox.wait_drained(5)
            await until(lambda: bool(logged.of("engine follows again")))
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)

    assert sorted(copy.applied) == sorted(items)
    assert len(logged.of("engine does not follow")) == 1


async def test_two_replicas_drain_once(pool: Pool) -> None:
    copy = Failing(delay=0.05)
    await say(pool, *(f"note {n}" for n in range(20)))

    await asyncio.gather(*(Outbox(pool, copy, "me").drain() for _ in range(2)))

    assert len(copy.applied) == len(set(copy.applied)) == 20


async def test_an_older_folder_under_a_newer_record_is_refilled(house: House) -> None:
    copied = house.folder.with_name("older")
    async with house.running():
        await say(house.pool, "ada's secret")
        await say(house.pool, "bob's", scope=BOB)
        await house.outbox.drain()
    shutil.copytree(house.folder, copied)
    async with house.running():
        await Memories(house.pool).erase(ADA)
        await say(house.pool, "bob's second", scope=BOB)
        await house.outbox.drain()
    shutil.rmtree(house.folder)
    copied.rename(house.folder)

    async with house.running():
        assert await house.outbox.refill_reason() == "its files are older than the record"
        await house.outbox.drain()

        assert await house.texts() == ["bob's", "bob's second"]
        assert await house.outbox.refill_reason() == ""


async def test_an_older_folder_put_in_place_at_run_time_is_refilled(house: House) -> None:
    """The write that comes next does not hide it, however many rows both hold."""
    copied = house.folder.with_name("older")
    async with house.running():
        [old] = await say(house.pool, "I moved.")
        await house.outbox.drain()
    shutil.copytree(house.folder, copied)
    async with house.running():
        await house.outbox.drain()
        await MemoryStore(house.pool).remove(ADA, old)
        await say(house.pool, "I slept.")
        await house.outbox.drain()
        await house.edge.close()
        shutil.rmtree(house.folder)
        copied.rename(house.folder)
        house.edge.process = EngineThread(house.folder)  # type: ignore[assignment]
        await say(house.pool, "I ate.")
        await house.outbox.drain()

        assert await house.texts() == ["I ate.", "I slept."]
        assert (await house.outbox.refill_reason(), await house.outbox.differs()) == ("", "")


async def test_an_engine_that_answers_again_is_compared(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Long before it is time to: a server may have been put back to an earlier state."""
    monkeypatch.setattr(outbox_, "RETRY_ENGINE_SECONDS", 0)
    copy = Failing(rows=2)
    outbox = Outbox(pool, copy, "me")
    await say(pool, "I moved.")
    await outbox.drain()
    copy.noted = Position("me", 0)
    await outbox.drain()
    assert copy.taken == []

    outbox.report_connection()
    await outbox.drain()

    assert copy.taken == [0, 1]


async def test_a_lost_folder_is_refilled(house: House) -> None:
    async with house.running():
        await say(house.pool, "I moved.")
        await shelve(house.pool, ReferenceDraft("tides", "a1"))
        await house.outbox.drain()
    shutil.rmtree(house.folder)

    async with house.running():
        assert await house.outbox.refill_reason() == "it has no position"
        await house.outbox.drain()
        assert (await house.texts(), await house.texts("sleep")) == (["I moved."], ["tides"])


async def test_an_engine_that_lacks_rows_is_refilled(house: House) -> None:
    async with house.running():
        await say(house.pool, "I moved.")
        await shelve(house.pool, ReferenceDraft("tides", "a1"))
        await house.outbox.drain()
        await house.edge.drop("sleep")

        assert (await house.outbox.refill_reason(), await house.outbox.differs()) == ("", DIFFERS)
        await house.outbox.compare()

        assert await house.texts("sleep") == ["tides"]


@pytest.mark.parametrize("name", [RAW, "sleep"])
async def test_a_collection_that_vanishes_is_refilled_with_the_next_write(house: House, name: str) -> None:
    """It is not begun with that write alone."""
    async with house.running():
        house.edge.on_files_lost(lambda _: house.outbox.report_loss())
        await say(house.pool, "I moved.", "I slept.")
        await shelve(house.pool, ReferenceDraft("tides", "a1"), ReferenceDraft("surf", "a2"))
        await house.outbox.drain()
        shutil.rmtree(folder_of(house.folder, name))
        await say(house.pool, "I ate.")
        await shelve(house.pool, ReferenceDraft("dunes", "a3"))
        await house.outbox.drain()
        await house.outbox.drain()

        assert await house.texts() == ["I ate.", "I moved.", "I slept."]
        assert await house.texts("sleep") == ["dunes", "surf", "tides"]


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect")
async def test_a_collection_that_a_server_lost_is_refilled_with_the_next_write(pool: Pool) -> None:
    client = AsyncQdrantClient(":memory:")
    server = QdrantRemote(client, SPACE.dim)
    outbox = Outbox(pool, QdrantCopy(pool, server, CollectionCache(server), SPACE), await identity(pool))
    server.on_files_lost(lambda _: outbox.report_loss())
    await shelve(pool, ReferenceDraft("tides", "a1"), ReferenceDraft("surf", "a2"))
    with captured() as logged:
        await outbox.drain()
    assert not logged.of("engine is refilled from the record")  # a new collection is no loss
    await client.delete_collection("sleep")
    await shelve(pool, ReferenceDraft("dunes", "a3"))
    await outbox.drain()
    await outbox.drain()

    points = await server.scroll("sleep", Where(), limit=9)
    assert sorted(point.payload["text"] for point in points) == ["dunes", "surf", "tides"]
    await server.close()


async def test_vectors_that_are_not_the_record_s_are_refilled(house: House) -> None:
    """As many points as before, but noise for vectors: a sample tells."""
    async with house.running():
        await say(house.pool, *(f"note {n}" for n in range(40)))
        await house.outbox.drain()
        assert await house.outbox.differs() == ""
        points = await house.edge.scroll(RAW, Where(), limit=99)
        noise = [Point(each.id, each.payload, vector(f"noise {each.id}")) for each in points]
        await house.edge.put(RAW, [each for each in noise if each.id != STATE])

        assert await house.outbox.differs() == DAMAGED
        await house.outbox.compare()

        assert await house.outbox.differs() == ""
        stored = await house.edge.scroll(RAW, Where(), limit=99, vectors=True)
        assert all(
            each.id == STATE or np.allclose(floats(each.dense or b""), floats(vector(each.payload["text"])))
            for each in stored
        )


FOREIGN: dict[str, Any] = {
    "another size": models.VectorParams(size=4, distance=models.Distance.COSINE),
    "another distance": models.VectorParams(size=SPACE.dim, distance=models.Distance.DOT),
    "our name, another size": {DENSE: models.VectorParams(size=4, distance=models.Distance.COSINE)},
    "no single vector": models.VectorParams(
        size=SPACE.dim,
        distance=models.Distance.COSINE,
        multivector_config=models.MultiVectorConfig(comparator=models.MultiVectorComparator.MAX_SIM),
    ),
}


@pytest.mark.filterwarnings("ignore:Payload indexes have no effect")
@pytest.mark.parametrize("entered_by", ["entries", "a refill"])
@pytest.mark.parametrize("shape", FOREIGN.values(), ids=FOREIGN.keys())
async def test_a_foreign_collection_that_cannot_hold_our_vectors_stays_as_it_is(
    pool: Pool, shape: Any, entered_by: str
) -> None:
    """Another tool's has the name of one of ours on a shared server: our copy is kept apart, none waits."""
    client = AsyncQdrantClient(":memory:")
    server, imports = QdrantRemote(client, SPACE.dim), ImportedCollections()
    for name in (RAW, "sleep"):
        await client.create_collection(name, vectors_config=shape)
        await client.upsert(name, [models.PointStruct(id=7, vector={}, payload={"text": "theirs"})])
    copy = QdrantCopy(pool, server, CollectionCache(server), SPACE, external=True, imports=imports)
    outbox = Outbox(pool, copy, await identity(pool))
    await say(pool, "I moved.")
    await shelve(pool, ReferenceDraft("tides", "a1"))
    await shelve(pool, ReferenceDraft("surf", "a1"), collection="waves")
    if entered_by == "a refill":
        await pool.execute("DELETE FROM ibid.outbox")
        await outbox.ask_refill()

    await outbox.drain()
    await outbox.compare()

    async def texts(name: str) -> list[object]:
        points = await server.scroll(name, Where(), limit=9)
        return [point.payload["text"] for point in points if point.id != STATE]

    assert [await texts(name) for name in (RAW, "sleep")] == [["theirs"], ["theirs"]]
    assert [await texts(imports.copy_of(name)) for name in (RAW, "sleep", "waves")] == [
        ["I moved."],
        ["tides"],
        ["surf"],
    ]
    assert imports.copies == {RAW: f"{RAW}_ibid", "sleep": "sleep_ibid"}
    assert (await outbox.pending(), await outbox.refill_reason(), await outbox.differs()) == ("", "", "")
    await server.close()


async def test_an_engine_that_holds_more_than_the_record_is_refilled(house: House) -> None:
    """As after a deletion that was lost: a point of ours that the record does not have goes."""
    async with house.running():
        await say(house.pool, "I moved.")
        await house.outbox.drain()
        [kept] = [each for each in await house.edge.scroll(RAW, Where(), limit=9) if each.id != STATE]
        await house.edge.put(RAW, [Point("6f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d", kept.payload, vector("b"))])

        assert await house.outbox.differs() == DIFFERS
        await house.outbox.compare()

        assert await house.texts() == ["I moved."]


async def test_a_refill_leaves_what_other_tools_wrote(house: House) -> None:
    """Whatever their payloads are called, in collections of ours and theirs, of any size of vectors."""
    page = {"text": "a page", "space": "ENG", "tokens": 3, "tenant": "default"}
    async with house.running():
        await say(house.pool, "I moved.")
        await house.outbox.drain()
        await house.edge.create("wiki", 4)
        await house.edge.put("wiki", [Point("7", page, struct.pack("<4f", 1, 0, 0, 0))])
        await house.edge.put(RAW, [Point("8", page, vector("x"))])
        await house.outbox.ask_refill()
        await house.outbox.drain()

        assert await house.texts("wiki") == ["a page"]
        assert await house.texts() == ["I moved.", "a page"]


async def test_a_refill_that_is_asked_for_again_begins_at_the_first_row(pool: Pool) -> None:
    """Whoever asks knows of a loss that the one under way cannot have made good."""
    copy = Failing(rows=4, stumbles=3)
    outbox = Outbox(pool, copy, "me")
    await outbox.ask_refill()
    with pytest.raises(RetrievalError):
        await outbox.drain()
    await Outbox(pool, copy, "me").ask_refill()
    await outbox.drain()

    assert copy.taken == [0, 1, 2, 0, 1, 2, 3]


async def test_a_collection_named_as_the_home_of_another_gets_a_home_of_its_own(pool: Pool) -> None:
    """A tenant may write to `sleep_ibid` after another tool's `sleep` made us keep ours there."""
    client = AsyncQdrantClient(":memory:")
    server, imports = QdrantRemote(client, SPACE.dim), ImportedCollections()
    await client.create_collection("sleep", vectors_config=FOREIGN["another size"])
    copy = QdrantCopy(pool, server, CollectionCache(server), SPACE, external=True, imports=imports)
    outbox = Outbox(pool, copy, await identity(pool))
    await shelve(pool, ReferenceDraft("tides", "a1"))
    await outbox.drain()
    await shelve(pool, ReferenceDraft("surf", "a1"), collection="sleep_ibid")
    await outbox.drain()
    await outbox.compare()

    assert imports.copies == {"sleep": "sleep_ibid", "sleep_ibid": "sleep_ibid_ibid"}
    for name, text in (("sleep_ibid", "tides"), ("sleep_ibid_ibid", "surf")):
        assert [each.payload["text"] for each in await server.scroll(name, Where(), limit=9)] == [text]
    assert (await outbox.pending(), await outbox.differs()) == ("", "")
    await server.close()


async def test_a_drainer_that_lost_its_lock_deletes_nothing(pool: Pool) -> None:
    """Its session ended while it wrote to the engine: another has the lock, and takes the entries itself."""
    slow, quick = Failing(delay=0.3), Failing()
    items = await say(pool, "I moved.")
    first = asyncio.create_task(Outbox(pool, slow, "me").drain())
    await asyncio.sleep(0.1)
    ended = "SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database base ON base.oid = database"
    await pool.execute(f"{ended} WHERE locktype = 'advisory' AND datname = current_database()")
    with pytest.raises(Unavailable):
        await first
    assert (slow.noted, [item for *_, item in await entered(pool)]) == (None, items)

    await Outbox(pool, quick, "me").drain()

    assert (quick.applied, await entered(pool)) == (items, [])


async def test_a_move_to_another_space_killed_before_the_engines_goes_on(house: House) -> None:
    """The swap entered a refill: the next start drops the old vectors and writes the new ones."""
    async with house.running():
        await say(house.pool, "I moved.")
        await house.outbox.drain()
    vectors, made = VectorStore(house.pool), struct.pack("<2f", 0.6, 0.8)
    missing = await vectors.missing(NEXT.name, 9)
    await vectors.keep(NEXT.name, missing, [made] * len(missing))
    assert await vectors.swap(NEXT)

    async with house.running(NEXT):
        await house.outbox.drain()

        [shape] = await house.edge.collections()
        assert (shape.dim, await house.texts(), await house.outbox.refill_reason()) == (2, ["I moved."], "")


async def test_points_of_the_versions_before_are_taken_over(house: House) -> None:
    """They have a space and no mark: those that the record has get one, the others go."""
    async with house.running():
        (kept,) = await say(house.pool, "I moved.")
        await house.edge.create(RAW, 8)
        older = {"tenant": "acme", "text": "I moved.", "tokens": 3, "space": SPACE.name}
        gone = "6f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d"
        await house.edge.put(RAW, [Point(kept, older, vector("a")), Point(gone, older, vector("b"))])
        await house.outbox.ask_refill()
        await house.outbox.drain()

        points = await house.edge.scroll(RAW, Where(), limit=9)
        assert {each.id: each.payload.get("ibid") for each in points} == {kept: "1", STATE: "1"}


async def test_a_refill_tells_how_far_it_is(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """In /readyz and in the log; what is written meanwhile does not wait for its end."""
    monkeypatch.setattr(outbox_, "LOG_SECONDS", 0)
    copy = Failing(rows=50, delay=0.02)
    outbox = Outbox(pool, copy, "me")

    class Engine:
        name = "qdrant"

        async def check(self) -> dict[str, str | int | float]:
            return {"version": "1"}

    probe = EngineProbe(Engine(), outbox)
    await outbox.ask_refill()
    await outbox.ask_refill()
    draining = asyncio.create_task(outbox.drain())
    with captured() as logged:
        await asyncio.sleep(0.2)
        told = await probe.check()
        items = await say(pool, "I moved.")
        assert await outbox.facts() != {}
        await until(lambda: bool(copy.applied))
        assert not draining.done()
        await draining

    assert str(told["refill"]).endswith(" of 50 rows")
    assert copy.applied == items
    assert len(logged.of("engine is being refilled")) == 50
    assert logged.of("engine refilled")[0]["rows"] == 50
    assert (await probe.check(), await entered(pool)) == ({"version": "1"}, [])


async def test_an_engine_that_takes_nothing_is_not_ready(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Though it answers: writes wait."""

    class Engine:
        name = "qdrant"

        async def check(self) -> dict[str, str | int | float]:
            return {"version": "1"}

    monkeypatch.setattr(outbox_, "RETRY_ENGINE_SECONDS", 0.05)
    monkeypatch.setattr(outbox_, "RETRY_COLLECTION_SECONDS", 0.05)
    copy = Failing(error=RetrievalError("unavailable"))
    outbox = Outbox(pool, copy, "me")
    probe = EngineProbe(Engine(), outbox)
    await say(pool, "I moved.")
    running = asyncio.create_task(outbox.run())
    try:
        await until(lambda: outbox.fault is not None)
        with pytest.raises(RetrievalError, match="unavailable"):
            await probe.check()
        copy.error = None
        await until(lambda: outbox.fault is None)
        assert await probe.check() == {"version": "1"}
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)


@pytest.mark.parametrize("waiting", [False, True], ids=["nothing waits", "an entry waits"])
@pytest.mark.parametrize(
    ("position", "taken"),
    [(Position("me", 0), [3, 4, 5]), (None, [*range(6)]), (Position("another", 0), [*range(6)])],
    ids=["the same folder", "a new folder", "another database's folder"],
)
async def test_a_refill_goes_on_after_a_restart(
    pool: Pool,
    position: Position | None,
    taken: list[int],
    waiting: bool,
) -> None:
    """From its cursor, if the engine still has what was written before it: its position tells, and is
    compared before an entry is applied, which saves another."""
    copy = Failing(rows=6, stumbles=3)
    outbox = Outbox(pool, copy, "me")
    await outbox.ask_refill()
    with pytest.raises(RetrievalError):
        await outbox.drain()
    assert copy.noted == Position("me", 0)
    if waiting:
        await say(pool, "I moved.")
    after = Failing(rows=6, noted=position)
    await Outbox(pool, after, "me").drain()

    assert (after.taken, await entered(pool)) == (taken, [])


LOSE = """
    SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database AS base ON base.oid = database
    WHERE locktype = 'advisory' AND datname = current_database()
"""


@pytest.mark.parametrize(
    ("first", "second", "missing"),
    [
        pytest.param(True, True, ["qdrant"], id="two embedded engines"),
        pytest.param(True, False, ["qdrant"], id="embedded, then a server"),
        pytest.param(False, True, ["qdrant"], id="a server, then embedded"),
        pytest.param(False, False, [], id="one server for both"),
    ],
)
async def test_an_embedded_engine_is_claimed_by_one_service(
    pool: Pool, first: bool, second: bool, missing: list[str]
) -> None:
    one, other = EngineClaim(pool, {"qdrant": first}), EngineClaim(pool, {"qdrant": second})
    assert await one.missing() == []
    assert await other.missing() == missing

    await one.release()

    assert await retried(other) == []
    await other.release()


async def test_a_claim_is_taken_anew_after_its_connection_was_lost(pool: Pool) -> None:
    one, other = EngineClaim(pool, {"qdrant": True}), EngineClaim(pool, {"qdrant": True})
    assert await one.missing() == []
    await pool.fetch(LOSE)
    assert await retried(other) == []
    await say(pool, "I moved.")
    with pytest.raises(Unavailable, match="another service"):
        await Outbox(pool, Failing(), "me", one).drain()

    await other.release()
    assert await retried(one) == []
    copy = Failing()
    await Outbox(pool, copy, "me", one).drain()

    assert len(copy.applied) == 1
    await one.release()


async def retried(claim: EngineClaim) -> list[str]:
    """What it still lacks after a moment: a backend takes some time to end."""
    missing = await claim.missing()
    for _ in range(50):
        if not missing:
            break
        await asyncio.sleep(0.1)
        missing = await claim.missing()
    return missing


OLDER = Space("older@32", "bag", 32, 0.0)
SESSION, SHARED = DocumentPart("default", "", "s1"), DocumentPart("default")
RIVERS = ["the danube flows to the black sea", "the rhine flows to the north sea", "otters eat fish"]


@pytest.fixture
def chroma(drive: Path) -> Iterator[Chroma]:
    opened = EmbeddedChroma(drive / "chroma")
    yield InProcess(opened)
    opened.close()


@pytest.fixture
def copy(pool: Pool, chroma: Chroma) -> ChromaCopy:
    return ChromaCopy(pool, chroma, BAGS)


@pytest.fixture
async def outbox(pool: Pool, copy: ChromaCopy) -> Outbox:
    return Outbox(pool, copy, await identity(pool))


async def held(chroma: Chroma, document: str, part: DocumentPart = SESSION) -> int:
    name = collection(BAGS.name, is_global=part.is_global)
    return len(await chroma.ids(name, {"document": document}))


async def test_what_is_ready_is_written_and_what_is_removed_goes(
    pool: Pool, chroma: Chroma, outbox: Outbox
) -> None:
    """Of a session and of all; a document that is still read is not there."""
    own, shared = await file(pool, SESSION, RIVERS), await file(pool, SHARED, RIVERS[:2])
    await outbox.drain()
    assert (await held(chroma, own), await held(chroma, shared, SHARED)) == (3, 2)

    await publish(pool, SESSION, own, removed=True)
    await outbox.drain()

    assert (await held(chroma, own), await held(chroma, shared, SHARED)) == (0, 2)
    assert await pool.fetchval("SELECT count(*) FROM ibid.outbox") == 0


async def test_a_chroma_that_has_lost_its_vectors_is_refilled(
    pool: Pool, chroma: Chroma, copy: ChromaCopy, outbox: Outbox
) -> None:
    """What the record does not have goes, with what another space left; what is not ours stays."""
    document, gone = await file(pool, SESSION, RIVERS), await file(pool, SESSION, RIVERS[:1], "b.pdf")
    await outbox.drain()
    await chroma.upsert("others", ["x"], np.ones((1, 4), np.float32), [{"a": "b"}])
    await ChromaCopy(pool, chroma, OLDER).save_position(Position("x", 1))
    older = collection(OLDER.name, is_global=False)
    await chroma.upsert(older, ["d:1"], np.ones((1, 32), np.float32), [{"document": "d"}])
    await chroma.delete(collection(BAGS.name, is_global=False), {"document": document})
    await pool.execute("DELETE FROM ibid.document WHERE id = $1", gone)
    await pool.execute("DELETE FROM ibid.outbox")

    await outbox.ask_refill()
    await outbox.drain()

    assert (await held(chroma, document), await held(chroma, gone)) == (3, 0)
    assert {*await chroma.names()} & {"others", older} == {"others"}
    assert await outbox.refill_reason() == ""


async def test_vectors_that_are_not_the_record_s_are_written_again(
    pool: Pool, chroma: Chroma, outbox: Outbox
) -> None:
    """As many as before, but noise: a sample tells, and the refill goes by more than their number."""
    document = await file(pool, SESSION, RIVERS)
    await outbox.drain()
    assert await outbox.differs() == ""
    name = collection(BAGS.name, is_global=False)
    before = sorted(await chroma.vectors(name, 0, 9))
    noise = np.random.default_rng(1).normal(size=(3, BAGS.dim)).astype(np.float32)
    await chroma.upsert(name, [id_ for id_, _ in before], noise, [{"document": document}] * 3)

    assert await outbox.differs() == DAMAGED
    await outbox.compare()

    assert await outbox.differs() == ""
    assert sorted(await chroma.vectors(name, 0, 9)) == before


@pytest.mark.parametrize(
    ("holdings", "stored", "exact", "left"),
    [
        pytest.param({"documents", "answers"}, 1_000, 3, None, id="documents went"),
        pytest.param({"answers"}, 1_000, 3, set(), id="others went"),
        pytest.param({"documents"}, 2 * REMADE_MOST, 3, {"documents"}, id="too many to fill again"),
        pytest.param({"chroma"}, 2 * REMADE_MOST, 3, {"chroma"}, id="still too many"),
        pytest.param({"documents"}, 5, 2, {"documents"}, id="a scope cannot be searched without it"),
        pytest.param({"chroma"}, 1_000, 3, None, id="no longer"),
    ],
)
async def test_files_are_made_anew_when_documents_went(
    pool: Pool, holdings: set[str], stored: int, exact: int, left: set[str] | None
) -> None:
    """`None`. Searches are exact meanwhile (EXACT_MAX_MB bounds each scope, here to `exact` passages); where
    they could not be, the holding is left and named."""
    for part in (SESSION, SHARED):
        await file(pool, part, RIVERS)
    engine = Counted(stored)
    copy = ChromaCopy(pool, engine, BAGS, exact_bytes=exact * 4 * BAGS.dim)
    assert set(await copy.compact(holdings)) == (left or set())
    assert engine.made_anew == (left is None)


class Counted(InProcess):
    """A Chroma that says how many vectors it has."""

    def __init__(self, stored: int) -> None:
        super().__init__(cast(EmbeddedChroma, None))
        self.stored = stored
        self.made_anew = 0

    async def beat(self) -> None:
        """It is there."""

    async def names(self) -> list[str]:
        return [collection(BAGS.name, is_global=shared) for shared in (True, False)]

    async def count(self, collection: str) -> int:
        return self.stored // 2

    async def renew(self) -> None:
        self.made_anew += 1


@dataclass
class Compacting:
    """A Qdrant that remembers what it was to rewrite, or fails."""

    error: RetrievalError | None = None
    compacted: list[str] = field(default_factory=list)

    async def compact(self, name: str) -> None:
        if self.error:
            raise self.error
        self.compacted.append(name)


def points_of(pool: Pool, engine: Compacting) -> QdrantCopy:
    points = cast(Qdrant, engine)
    return QdrantCopy(pool, points, CollectionCache(points), BAGS)


@pytest.mark.parametrize(
    ("holdings", "compacted"),
    [pytest.param({"memories", "votes"}, [RAW], id="memories"), pytest.param({"answers"}, [], id="others")],
)
async def test_memories_alone_are_points_of_a_person(
    pool: Pool, holdings: set[str], compacted: list[str]
) -> None:
    """Their collection is rewritten when one of them went; one that is not there has no files."""
    engine = Compacting()
    assert await points_of(pool, engine).compact(holdings) == ()
    assert engine.compacted == compacted
