"""The stacks: one load however many ask, a bound on memory, and loads that outlive who began them."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from datetime import UTC, datetime

import numpy as np
import pytest

from app.domain.document import Part
from app.domain.errors import RetrievalError, Unavailable
from app.index.block import single
from app.index.loader import Loaded
from app.index.place import Listed, Matrix
from app.index.posting import build
from app.index.shelf import Shelf
from app.index.stacks import Stacks, exact_most

NOW = datetime(2026, 11, 21, tzinfo=UTC)
PART = Part("t", "", "s")


class Library:
    """Stands in for record, loader and vectors: what is listed, how long loading takes, what fails."""

    def __init__(self) -> None:
        self.version = 1
        self.documents = ["a"]
        self.loads: list[list[str]] = []
        self.put_back: list[str] = []
        self.removed: list[str] = []
        self.counts = {"a": 10, "b": 10}
        self.lost: dict[str, Matrix] = {}
        self.error: RetrievalError | None = None
        self.chroma_down = False
        self.open = asyncio.Event()
        self.open.set()

    async def versions(self, parts: Sequence[Part]) -> list[int]:
        """The same for each."""
        return [self.version for _ in parts]

    async def listed(self, part: Part) -> dict[str, Listed]:
        """Ten passages a document."""
        return {name: Listed(name, name, name, "", 10, NOW) for name in self.documents}

    async def load(self, part: Part, documents: Sequence[Listed], *, exact: bool) -> Loaded:
        """Waits for the gate."""
        self.loads.append([item.id for item in documents])
        await self.open.wait()
        if self.error:
            raise self.error
        rows = np.ones((10, 4), np.float32) if exact else None
        return Loaded([single(item.id, build(["sea"] * 10), rows) for item in documents], self.lost)

    async def put(self, part: Part, document_id: str, matrix: Matrix) -> None:
        """Chroma takes it, or does not."""
        if self.chroma_down:
            raise Unavailable
        self.put_back.append(document_id)

    async def remove(self, part: Part, document_id: str) -> None:
        """Chroma forgets it."""
        self.removed.append(document_id)

    async def held(self, part: Part, document_id: str) -> int:
        """What Chroma has, unless it is down."""
        if self.chroma_down:
            raise RetrievalError("unavailable")
        return self.counts[document_id]

    async def recorded(self, item: Listed) -> Matrix:
        """As Postgres has them."""
        return np.ones((item.chunks, 4), np.float32)


@pytest.fixture
async def library() -> Library:
    """Made in the test's loop."""
    return Library()


def over(library: Library, **limits: int) -> Stacks:
    """Stacks over it."""
    return Stacks(library, library, library, **limits)  # type: ignore[arg-type] # a stand-in for all three


@pytest.fixture
async def stacks(library: Library) -> AsyncIterator[Stacks]:
    """Stacks with their usual limits."""
    opened = over(library)
    yield opened
    await opened.aclose()


async def test_the_same_version_is_not_loaded_again(library: Library, stacks: Stacks) -> None:
    """A query that changes nothing costs no load."""
    first = await stacks.at(PART, 1)
    assert await stacks.at(PART, 1) is first
    assert library.loads == [["a"]]


async def test_a_newer_version_loads_its_difference(library: Library, stacks: Stacks) -> None:
    """An upload loads one document, not the part."""
    await stacks.at(PART, 1)
    library.version, library.documents = 2, ["a", "b"]
    shelf = await stacks.at(PART, 2)
    assert (library.loads, shelf.size, shelf.version) == ([["a"], ["b"]], 20, 2)


async def test_a_version_that_went_back_is_followed(library: Library, stacks: Stacks) -> None:
    """A part that was deleted and began anew holds nothing of its former life."""
    library.version = 7
    await stacks.at(PART, 7)
    library.version, library.documents = 0, []
    assert (await stacks.at(PART, 0)).size == 0


async def test_what_a_part_has_no_more_is_told(library: Library, stacks: Stacks) -> None:
    """Whichever replica removed it: one document that a newer list lacks, all of a part that was deleted."""
    told: list[set[str]] = []
    stacks.gone = lambda documents: told.append(set(documents))
    library.documents = ["a", "b"]
    await stacks.at(PART, 1)
    assert told == []
    library.version, library.documents = 2, ["b"]
    await stacks.at(PART, 2)
    await stacks.at(PART, 0)
    assert told == [{"a"}, {"b"}]


async def test_many_at_once_load_once(library: Library, stacks: Stacks) -> None:
    """Single flight."""
    library.open.clear()
    waiting = [asyncio.create_task(stacks.at(PART, 1)) for _ in range(5)]
    await asyncio.sleep(0.01)
    library.open.set()
    shelves = await asyncio.gather(*waiting)
    assert all(shelf is shelves[0] for shelf in shelves)
    assert library.loads == [["a"]]


async def test_who_asks_for_more_than_a_load_under_way_gets_more(library: Library, stacks: Stacks) -> None:
    """A load that began before a write is not taken for one that saw it: read-your-writes."""
    library.open.clear()
    early = asyncio.create_task(stacks.at(PART, 1))
    await asyncio.sleep(0.01)
    library.version, library.documents = 2, ["a", "b"]
    late = [asyncio.create_task(stacks.at(PART, 2)) for _ in range(3)]
    await asyncio.sleep(0.01)
    library.open.set()
    assert (await early).version == 1
    assert {(await task).size for task in late} == {20}
    assert library.loads == [["a"], ["b"]]


async def test_who_leaves_does_not_stop_the_load(library: Library, stacks: Stacks) -> None:
    """A part that takes longer than a request's patience is there for the next request."""
    library.open.clear()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(stacks.at(PART, 1), 0.02)
    library.open.set()
    await stacks.at(PART, 1)
    assert library.loads == [["a"]]


async def test_a_failed_load_is_told_and_tried_again(library: Library, stacks: Stacks) -> None:
    """Errors are not kept."""
    library.error = RetrievalError("unavailable")
    for _ in range(2):
        with pytest.raises(RetrievalError):
            await stacks.at(PART, 1)
    library.error = None
    assert (await stacks.at(PART, 1)).size == 10


async def test_the_least_recently_used_goes_first(library: Library) -> None:
    """Memory is bounded, and the shelves of the query itself stay."""
    parts = [Part("t", "", str(n)) for n in range(4)]
    stacks = over(library, memory_bytes=1)
    for part in (parts[0], parts[1], parts[0], parts[2]):
        await stacks.at(part, 1)
    assert stacks.parts == [parts[0], parts[2]]
    await stacks.aclose()


async def test_within_the_limit_all_stay(library: Library, stacks: Stacks) -> None:
    """A gigabyte holds many small sessions."""
    for n in range(4):
        await stacks.at(Part("t", "", str(n)), 1)
    assert len(stacks.parts) == 4
    assert stacks.nbytes == sum([(await stacks.at(part, 1)).nbytes for part in stacks.parts])


async def test_a_part_that_outgrows_memory_is_loaded_without_its_vectors(library: Library) -> None:
    """And with them again when it has shrunk."""
    stacks = over(library, exact_most=15)
    exact = [(await stacks.at(PART, 1)).exact]
    for version, documents in ((2, ["a", "b"]), (3, ["b"])):
        library.version, library.documents = version, documents
        exact.append((await stacks.at(PART, version)).exact)
    assert exact == [True, False, True]
    assert library.loads == [["a"], ["a", "b"], ["b"]]
    await stacks.aclose()


def test_what_is_searched_exactly_is_bound_by_memory() -> None:
    """Never fewer than 50,000 passages; small vectors: as many as take no more than 160 MiB."""
    assert [exact_most(dim) for dim in (384, 1536, 3072)] == [109_226, 50_000, 50_000]


async def test_what_chroma_lost_is_given_back(library: Library, stacks: Stacks) -> None:
    """Beside the search, not before its answer."""
    library.lost = {"a": np.ones((10, 4), np.float32)}
    await stacks.at(PART, 1)
    await asyncio.gather(*stacks._tasks)
    assert library.put_back == ["a"]


async def test_what_cannot_be_given_back_is_left_for_later(library: Library, stacks: Stacks) -> None:
    """No error reaches anybody, and searches go on."""
    library.lost, library.chroma_down = {"a": np.ones((10, 4), np.float32)}, True
    await stacks.at(PART, 1)
    await asyncio.gather(*stacks._tasks)
    assert library.put_back == []
    assert (await stacks.at(PART, 1)).size == 10


async def test_what_is_deleted_while_it_is_given_back_does_not_stay(library: Library, stacks: Stacks) -> None:
    """Its purge may have run before the write: then nothing else would ever remove it."""
    await stacks.at(PART, 1)
    library.documents = []
    await stacks._mend(PART, {"a": np.ones((10, 4), np.float32)})
    assert (library.put_back, library.removed) == (["a"], ["a"])


async def test_a_large_part_is_mended_at_its_first_use(library: Library) -> None:
    """No load reads its vectors, so each document's are counted; whole ones are not written again."""
    stacks = over(library, exact_most=0)
    library.documents, library.counts = ["a", "b"], {"a": 10, "b": 7}
    await stacks.at(PART, 1)
    await asyncio.gather(*stacks._tasks)
    await stacks.at(PART, 1)
    assert (library.put_back, library.removed) == (["b"], [])
    await stacks.aclose()


async def test_a_large_part_that_cannot_be_mended_is_left_for_later(library: Library) -> None:
    """Chroma down: no error reaches the search."""
    stacks = over(library, exact_most=0)
    library.chroma_down = True
    assert (await stacks.at(PART, 1)).size == 10
    await asyncio.gather(*stacks._tasks)
    assert library.put_back == []
    await stacks.aclose()


async def test_a_session_that_never_held_anything_costs_nothing(library: Library, stacks: Stacks) -> None:
    """Names that a client makes up are neither loaded nor kept."""
    for n in range(1_000):
        assert (await stacks.at(Part("t", "", str(n)), 0)).size == 0
    assert (stacks.parts, stacks.nbytes, library.loads) == ([], 0, [])


async def test_an_emptied_part_is_not_kept(library: Library, stacks: Stacks) -> None:
    """And its memory is given back."""
    await stacks.at(PART, 1)
    library.version, library.documents = 2, []
    assert (await stacks.at(PART, 2)).size == 0
    assert (stacks.parts, stacks.nbytes) == ([], 0)


async def test_keeping_a_shelf_does_not_look_at_the_others(
    library: Library, stacks: Stacks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A load costs its own shelf, however many sessions there are."""
    for n in range(20):
        await stacks.at(Part("t", "", str(n)), 1)
    looked: list[Part] = []
    size = Shelf.nbytes.fget  # type: ignore[attr-defined] # a property's function

    def counted(shelf: Shelf[Part, Listed]) -> int:
        looked.append(shelf.part)
        return int(size(shelf))

    monkeypatch.setattr(Shelf, "nbytes", property(counted))
    await stacks.at(PART, 1)
    assert set(looked) == {PART}


async def test_closing_ends_loads(library: Library, stacks: Stacks) -> None:
    """No task is left behind."""
    library.open.clear()
    waiting = asyncio.create_task(stacks.at(PART, 1))
    await asyncio.sleep(0.01)
    await stacks.aclose()
    with pytest.raises(asyncio.CancelledError):
        await waiting
    assert not stacks._tasks
