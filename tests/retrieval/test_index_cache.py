"""The LRU cache of scope indexes: loads are shared, outlive the question, and count while they last."""

import asyncio
from collections.abc import Sequence

import numpy as np
import pytest

from app.retrieval.bm25 import build
from app.retrieval.index import Segment, rows_segment
from app.retrieval.index_cache import IndexCache, Listing, ScopeRows, paged


class Rows(ScopeRows):
    """A record in memory; loads are counted, and wait for their turn."""

    name = "rows"

    def __init__(self) -> None:
        self.version = 1
        self.entries = {"x": 1}
        self.loads: list[str] = []
        self.read: list[str] = []
        self.begun = asyncio.Event()
        self.turn = asyncio.Event()
        self.turn.set()
        self.fault: Exception | None = None

    async def listing(self, scope: str) -> Listing:
        self.loads.append(scope)
        self.begun.set()
        found = Listing(self.version, dict(self.entries), len(self.entries))
        await self.turn.wait()
        if self.fault:
            raise self.fault
        return found

    async def segment(self, scope: str, entries: Sequence[str], *, vectors: bool) -> Segment | None:
        self.read += entries
        matrix = np.ones((len(entries), 4), dtype=np.float32) if vectors else None
        return rows_segment(entries, build(["sea"] * len(entries)), matrix)


@pytest.fixture
def rows() -> Rows:
    return Rows()


async def test_requests_at_the_same_time_share_one_load(rows: Rows) -> None:
    cache = IndexCache(4)
    found = await asyncio.gather(*(cache.get(rows, "a", 1) for _ in range(5)), cache.get(rows, "b", 1))
    assert {index.version for index in found} == {1}
    await cache.get(rows, "a", 1)
    assert sorted(rows.loads) == ["a", "b"]


async def test_a_write_after_the_load_began_is_seen(rows: Rows) -> None:
    cache = IndexCache(4)
    rows.turn.clear()
    first = asyncio.create_task(cache.get(rows, "a", 1))
    await rows.begun.wait()
    rows.version, rows.entries = 2, {"x": 1, "y": 1}
    second = asyncio.create_task(cache.get(rows, "a", 2))
    await asyncio.sleep(0)
    rows.turn.set()
    assert [(await first).version, (await second).version] == [1, 2]
    assert (await second).size == 2


async def test_only_what_has_changed_is_read(rows: Rows) -> None:
    cache = IndexCache(4)
    rows.entries = dict.fromkeys("abcdef", 1)
    await cache.get(rows, "s", 1)
    rows.read, rows.version, rows.entries = [], 2, {"a": 1, "b": 2, "g": 1}
    index = await cache.get(rows, "s", 2)
    assert (rows.read, index.size) == (["b", "g"], 3)


async def test_who_leaves_does_not_stop_the_load(rows: Rows) -> None:
    cache = IndexCache(4)
    rows.turn.clear()
    asking = asyncio.create_task(cache.get(rows, "a", 1))
    await rows.begun.wait()
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    rows.turn.set()
    assert (await cache.get(rows, "a", 1)).version == 1
    assert rows.loads == ["a"]


async def test_the_least_recently_used_is_dropped(rows: Rows) -> None:
    """Beyond the memory, but never the last two."""
    one = (await IndexCache(4).get(rows, "a", 1)).nbytes
    cache = IndexCache(4, memory_bytes=int(2.5 * one))
    for scope in ("a", "b", "a", "c"):
        await cache.get(rows, scope, 1)
    assert cache.keys == [("rows", "a"), ("rows", "c")]
    assert cache.nbytes == 2 * one


async def test_a_load_under_way_counts(rows: Rows) -> None:
    """Room is made before it is read."""
    small = IndexCache(4, memory_bytes=5_000)
    for scope in ("a", "b", "c", "d"):
        await small.get(rows, scope, 1)
    rows.entries = {str(n): 1 for n in range(100)}
    rows.turn.clear()
    task = asyncio.create_task(small.get(rows, "large", 1))
    rows.turn.set()
    assert (await task).size == 100
    assert small.keys == [("rows", "d"), ("rows", "large")]


async def test_one_new_row_evicts_no_other_scope(rows: Rows) -> None:
    """What is read is reserved, not the whole scope again."""
    rows.entries = {str(n): 1 for n in range(100)}
    full = IndexCache(4)
    for scope in ("a", "b", "c"):
        await full.get(rows, scope, 1)
    cache = IndexCache(4, memory_bytes=full.nbytes + 5_000)
    for scope in ("a", "b", "c"):
        await cache.get(rows, scope, 1)
    rows.version, rows.entries = 2, {**rows.entries, "new": 1}
    assert (await cache.get(rows, "c", 2)).size == 101
    assert cache.keys == [("rows", "a"), ("rows", "b"), ("rows", "c")]


async def test_a_scope_that_was_never_written_costs_nothing(rows: Rows) -> None:
    cache = IndexCache(4)
    assert (await cache.get(rows, "a", 0)).size == 0
    assert rows.loads == []
    rows.entries = {}
    await cache.get(rows, "b", 1)
    assert cache.keys == []


async def test_what_is_not_loaded_in_time_is_left_out_or_older(rows: Rows) -> None:
    cache = IndexCache(4)
    await cache.get(rows, "old", 1)
    rows.turn.clear()
    rows.version = 2
    indexes, late = await cache.get_all(0.05, rows, [("old", 2), ("new", 2), ("none", 0)])
    assert ([index.version for index in indexes], late) == ([0, 1], True)
    rows.turn.set()
    indexes, late = await cache.get_all(5, rows, [("old", 2), ("new", 2)])
    assert ([index.version for index in indexes], late) == ([2, 2], False)
    assert sorted(rows.loads) == ["new", "old", "old"]


async def test_a_fault_of_the_record_reaches_the_question(rows: Rows) -> None:
    cache = IndexCache(4)
    rows.fault = ValueError("broken")
    with pytest.raises(ValueError, match="broken"):
        await cache.get_all(60, rows, [("a", 1)])
    assert cache.nbytes == 0


async def test_an_index_beyond_the_exact_bound_has_no_vectors(rows: Rows) -> None:
    rows.entries = {str(n): 1 for n in range(10)}
    assert (await IndexCache(4, exact_bytes=160).get(rows, "a", 1)).exact
    index = await IndexCache(4, exact_bytes=159).get(rows, "a", 1)
    assert (index.exact, index.segments[0].vectors) == (False, None)


async def test_evicted_indexes_are_gone(rows: Rows) -> None:
    cache = IndexCache(4)
    for scope in ("a", "b"):
        await cache.get(rows, scope, 1)
    cache.evict(lambda key: key[1] == "a")
    assert cache.keys == [("rows", "b")]


async def test_closing_ends_loads(rows: Rows) -> None:
    cache = IndexCache(4)
    rows.turn.clear()
    asking = asyncio.create_task(cache.get(rows, "a", 1))
    await asyncio.sleep(0.01)
    await cache.aclose()
    with pytest.raises(asyncio.CancelledError):
        await asking


def test_pages_hold_about_as_many_passages() -> None:
    assert [*paged("abcd", [1_999, 1, 5_000, 3])] == [["a", "b"], ["c"], ["d"]]
