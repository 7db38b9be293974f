"""Chroma's copy of the documents' vectors: written, removed, refilled from the record."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import numpy as np
import pytest

from app.clients.chroma import Chroma
from app.clients.embedded import REMADE_MOST
from app.clients.pool import Pool
from app.domain.document import Part
from app.domain.errors import RetrievalError
from app.domain.space import Space
from app.retrieval.retrievers.chroma import collection
from app.sources import document_vectors as room
from app.sources.document_vectors import DocumentVectors, open_document_vectors
from tests.fakes.chromas import broken
from tests.fakes.filing import SPACE, bag, file, publish

OLDER = Space("older@32", "bag", 32, 0.0)
SESSION, SHARED = Part("default", "", "s1"), Part("default")
RIVERS = ["the danube flows to the black sea", "the rhine flows to the north sea", "otters eat fish"]
VECTORS = [bag(text) for text in RIVERS]
CURRENT = "INSERT INTO ibid.space (name, model, dim, floor, current) VALUES ($1, 'bag', 32, 0, $2)"


@asynccontextmanager
async def refilled(pool: Pool, chroma: Chroma) -> AsyncIterator[DocumentVectors]:
    """A process that has started, once what it does in the background is done."""
    async with open_document_vectors(pool, chroma, SPACE) as vectors:
        assert vectors._filling
        await asyncio.wait_for(vectors._filling, 30)
        yield vectors


async def test_putting_again_replaces(vectors: DocumentVectors) -> None:
    """A job that is leased again leaves no vector of the first try behind."""
    await vectors.put(SESSION, "again", VECTORS)
    await vectors.put(SESSION, "again", VECTORS[:1])
    assert await vectors.held(SESSION, "again") == 1


async def test_removing_twice_is_no_error(vectors: DocumentVectors) -> None:
    """What is not there can be removed."""
    await vectors.put(SESSION, "twice", VECTORS)
    for _ in range(2):
        await vectors.remove(SESSION, "twice")
    assert await vectors.held(SESSION, "twice") == 0


async def test_rebuild_gives_chroma_what_it_lacks(pool: Pool, vectors: DocumentVectors) -> None:
    """Only documents that are not whole are written again; a second time there is nothing to do."""
    lost = await file(pool, SESSION, RIVERS)
    await file(pool, SHARED, RIVERS, vectors=vectors)
    assert [await vectors.rebuild(), await vectors.rebuild()] == [1, 0]
    assert await vectors.held(SESSION, lost) == 3


async def test_a_document_removed_while_it_is_refilled_leaves_nothing(
    pool: Pool, vectors: DocumentVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its purge may be over already."""
    gone = await file(pool, SESSION, RIVERS)
    put = vectors.put

    async def removed(part: Part, document_id: str, embeddings: list[bytes]) -> None:
        await publish(pool, part, document_id, removed=True)
        await put(part, document_id, embeddings)

    monkeypatch.setattr(vectors, "put", removed)
    await vectors.rebuild()
    assert await vectors.held(SESSION, gone) == 0


async def test_rebuild_drops_what_another_space_left(
    pool: Pool, chroma: Chroma, vectors: DocumentVectors
) -> None:
    """After a move no vector of the old space stays; what is not ours is not touched."""
    await DocumentVectors(pool, chroma, OLDER).put(SESSION, "older", VECTORS)
    await chroma.upsert("others", ["x"], np.ones((1, 4), np.float32), [{"a": "b"}])
    await vectors.rebuild()
    names = await chroma.names()
    assert "others" in names
    assert collection(OLDER.name, is_global=False) not in names


async def test_a_start_fills_what_chroma_has_lost(pool: Pool, chroma: Chroma) -> None:
    """In the background; where nothing is missing nothing is looked at."""
    await pool.execute(CURRENT, SPACE.name, True)
    own = Chroma(chroma._vendor, chroma._threads)
    for is_global in (True, False):  # other tests' vectors, which have no rows here
        await own.forget(collection(SPACE.name, is_global=is_global))
    lost = await file(pool, SESSION, RIVERS)
    async with refilled(pool, own) as vectors:
        assert await vectors.held(SESSION, lost) == 3


@pytest.mark.parametrize("current", [pytest.param(True, id="moved"), pytest.param(False, id="not yet")])
@pytest.mark.parametrize("embedded", [pytest.param(True, id="embedded"), pytest.param(False, id="server")])
async def test_opening_drops_other_spaces_only_when_ours_is_current_and_chroma_our_own(
    pool: Pool, chroma: Chroma, *, current: bool, embedded: bool
) -> None:
    """A move under way still needs the old one, and so may a replica that shares the server."""
    await DocumentVectors(pool, chroma, OLDER).put(SESSION, "older", VECTORS)
    await pool.execute(CURRENT, SPACE.name, current)
    own = Chroma(chroma._vendor, chroma._threads, embedded=embedded)
    async with refilled(pool, own):
        left = collection(OLDER.name, is_global=False) in await chroma.names()
    assert left != (current and embedded)


async def test_a_chroma_that_is_down_does_not_stop_the_start(pool: Pool, chroma: Chroma) -> None:
    """It is tried again; what waits to try again ends with the service."""
    await pool.execute(CURRENT, SPACE.name, True)
    await file(pool, SESSION, RIVERS)
    down = Chroma(broken(), chroma._threads, embedded=True)
    async with open_document_vectors(pool, down, SPACE) as vectors:
        with pytest.raises(RetrievalError):
            await vectors.check()
        assert vectors._filling
        assert not vectors._filling.done()
    assert vectors._filling.done()


async def test_a_refill_that_fails_is_tried_again(
    pool: Pool, chroma: Chroma, vectors: DocumentVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Until it is whole."""
    monkeypatch.setattr(room, "AGAIN_SECONDS", 0.0)
    await pool.execute(CURRENT, SPACE.name, True)
    lost, put, faults = await file(pool, SESSION, RIVERS), vectors.put, [RetrievalError("timeout")] * 2

    async def failing(part: Part, document_id: str, embeddings: list[bytes]) -> None:
        if faults:
            raise faults.pop()
        await put(part, document_id, embeddings)

    monkeypatch.setattr(vectors, "put", failing)
    vectors.refill()
    assert vectors._filling
    await asyncio.wait_for(vectors._filling, 30)
    assert (await vectors.held(SESSION, lost), faults) == (3, [])


async def test_of_a_space_that_is_not_current_nothing_is_filled(pool: Pool, vectors: DocumentVectors) -> None:
    """Its vectors are still to be made."""
    await pool.execute(CURRENT, SPACE.name, False)
    lost = await file(pool, SESSION, RIVERS)
    vectors.refill()
    assert vectors._filling
    await vectors._filling
    assert await vectors.held(SESSION, lost) == 0


@pytest.mark.parametrize(
    ("holdings", "stored", "left"),
    [
        pytest.param({"documents", "answers"}, 1_000, None, id="documents went"),
        pytest.param({"answers"}, 1_000, set(), id="others went"),
        pytest.param({"documents"}, 2 * REMADE_MOST, {"documents"}, id="too many to be without it"),
        pytest.param({"chroma"}, 2 * REMADE_MOST, {"chroma"}, id="still too many"),
        pytest.param({"chroma"}, 1_000, None, id="no longer"),
    ],
)
async def test_files_are_made_anew_when_documents_went(
    pool: Pool, chroma: Chroma, holdings: set[str], stored: int, left: set[str] | None
) -> None:
    """`None`. Searches are exact meanwhile; of a large folder it is said what is left."""
    engine = Counted(chroma, stored)
    assert set(await DocumentVectors(pool, engine, SPACE).compact(holdings)) == (left or set())
    assert engine.made_anew == (left is None)


class Counted(Chroma):
    """A Chroma that says how many vectors it has."""

    def __init__(self, chroma: Chroma, stored: int) -> None:
        super().__init__(chroma._vendor, chroma._threads, embedded=True)
        self.stored = stored
        self.made_anew = 0

    async def count(self, collection: str) -> int:
        return self.stored // 2

    async def renew(self) -> None:
        self.made_anew += 1


@pytest.mark.parametrize("embedded", [True, False])
def test_a_servers_files_are_its_own(pool: Pool, chroma: Chroma, embedded: bool) -> None:
    """Ours are those of the embedded one."""
    own = Chroma(chroma._vendor, chroma._threads, embedded=embedded)
    assert DocumentVectors(pool, own, SPACE).external is not embedded
