"""Chroma's copy of the documents' vectors: written, removed, refilled; its position. Qdrant's is tested with
the outbox. And which files of both are rewritten after an erasure."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from app.db.copies import ChromaCopy, Position, QdrantCopy
from app.db.documents import DocumentPart
from app.db.memories import RAW
from app.db.outbox import DAMAGED, Outbox
from app.db.pool import Pool
from app.db.postgres import identity
from app.errors import RetrievalError
from app.retrieval.retrievers.chroma import Chroma, ChromaProcess, ChromaServer, collection
from app.retrieval.retrievers.chroma_child import REMADE_MOST, EmbeddedChroma
from app.retrieval.retrievers.qdrant import CollectionCache, Qdrant
from app.types import Space
from tests.fakes.chromas import InProcess
from tests.fakes.filing import SPACE, file, publish

OLDER = Space("older@32", "bag", 32, 0.0)
SESSION, SHARED = DocumentPart("default", "", "s1"), DocumentPart("default")
RIVERS = ["the danube flows to the black sea", "the rhine flows to the north sea", "otters eat fish"]


@pytest.fixture
def chroma() -> Iterator[Chroma]:
    """On a fresh folder."""
    with tempfile.TemporaryDirectory() as folder:
        opened = EmbeddedChroma(Path(folder))
        yield InProcess(opened)
        opened.close()


@pytest.fixture
def copy(pool: Pool, chroma: Chroma) -> ChromaCopy:
    return ChromaCopy(pool, chroma, SPACE)


@pytest.fixture
async def outbox(pool: Pool, copy: ChromaCopy) -> Outbox:
    return Outbox(pool, copy, await identity(pool))


async def held(chroma: Chroma, document: str, part: DocumentPart = SESSION) -> int:
    name = collection(SPACE.name, is_global=part.is_global)
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


async def test_taking_again_leaves_nothing_of_the_first_time(
    pool: Pool, chroma: Chroma, copy: ChromaCopy
) -> None:
    document = await file(pool, SESSION, RIVERS)
    await copy.apply("", [document])
    await pool.execute("DELETE FROM ibid.chunk WHERE ordinal = 3")
    await copy.apply("", [document])
    assert await held(chroma, document) == 2


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
    await chroma.delete(collection(SPACE.name, is_global=False), {"document": document})
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
    name = collection(SPACE.name, is_global=False)
    before = sorted(await chroma.vectors(name, 0, 9))
    noise = np.random.default_rng(1).normal(size=(3, SPACE.dim)).astype(np.float32)
    await chroma.upsert(name, [id_ for id_, _ in before], noise, [{"document": document}] * 3)

    assert await outbox.differs() == DAMAGED
    await outbox.compare()

    assert await outbox.differs() == ""
    assert sorted(await chroma.vectors(name, 0, 9)) == before


async def test_the_position_is_stored_in_chroma(copy: ChromaCopy) -> None:
    assert await copy.position() is None
    for seq in (7, 8):
        await copy.save_position(Position("me", seq))
    assert await copy.position() == Position("me", 8)


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
    copy = ChromaCopy(pool, engine, SPACE, exact_bytes=exact * 4 * SPACE.dim)
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
        return [collection(SPACE.name, is_global=shared) for shared in (True, False)]

    async def count(self, collection: str) -> int:
        return self.stored // 2

    async def renew(self) -> None:
        self.made_anew += 1


def test_a_servers_files_are_its_own(pool: Pool) -> None:
    """Ours are those of the embedded one."""
    for own in (ChromaServer("http://127.0.0.1:9"), ChromaProcess(Path("/nowhere"))):
        assert ChromaCopy(pool, own, SPACE).external is not own.embedded


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
    return QdrantCopy(pool, points, CollectionCache(points), SPACE)


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


async def test_an_engine_that_is_away_is_told(pool: Pool) -> None:
    with pytest.raises(RetrievalError):
        await points_of(pool, Compacting(RetrievalError("timeout"))).compact(["memories"])
