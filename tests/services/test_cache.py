"""What is kept, for how long, in which order it goes, and what is never kept."""

import asyncio
import threading
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval import cache as cache_
from app.retrieval.cache import OBJECT_BYTES, READ_BYTES, Cache, Kept, pack, weight
from app.types import VALUE_BYTES, Candidate, Degraded, Found, Passage
from tests.fakes.answering import passage

WHOLE = Found((Candidate(passage("a")),), stored=1, answered=1)
PARTIAL = replace(WHOLE, degraded=(Degraded("embedding", "timeout"),))


@dataclass
class Now:
    """A clock that stands until it is moved."""

    seconds: float = 1_000.0

    def __call__(self) -> float:
        """Unix seconds."""
        return self.seconds


@dataclass
class FakeShared:
    """What replicas share, in memory; what was put, and how often it was asked."""

    kept: dict[str, bytes] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    asked: int = 0

    async def get(self, key: str) -> bytes | None:
        """What is kept."""
        self.asked += 1
        return self.kept.get(key)

    def put(self, key: str, value: bytes, *, seconds: float) -> None:
        """Kept at once."""
        self.kept[key] = value
        self.seconds.append(seconds)


@dataclass
class Searching:
    """A search, counted."""

    found: Found = WHOLE
    count: int = 0

    async def __call__(self) -> Found:
        """After a moment, what it was given."""
        self.count += 1
        await asyncio.sleep(0)
        return self.found


async def ask(cache: Cache, search: Searching, key: str = "k") -> Found:
    """An answer in time."""
    found = await cache.get(key, search, seconds=5)
    assert found is not None
    return found


async def test_a_result_is_searched_once_and_then_kept() -> None:
    """The second is `cached`, and else the same."""
    cache, search = Cache(300), Searching()
    assert [await ask(cache, search), await ask(cache, search)] == [WHOLE, replace(WHOLE, cached=True)]
    assert search.count == 1


async def test_who_waited_for_the_search_had_no_cached_result() -> None:
    """Searched once for both, and told so to neither: `cached` is for finished results."""
    cache, search = Cache(300), Searching()
    both = await asyncio.gather(ask(cache, search), ask(cache, search))
    assert list(both) == [WHOLE, WHOLE]
    assert search.count == 1


async def test_another_key_is_another_result() -> None:
    """Nothing of one shows in the other."""
    cache, search = Cache(300), Searching()
    await ask(cache, search)
    assert not (await ask(cache, search, "other")).cached


async def test_it_is_kept_for_its_time() -> None:
    """And not a moment longer."""
    now = Now()
    cache, search = Cache(300, clock=now), Searching()
    await ask(cache, search)
    now.seconds += 299.9
    assert (await ask(cache, search)).cached
    now.seconds += 0.1
    assert not (await ask(cache, search)).cached


@pytest.mark.parametrize("shared", [False, True], ids=["alone", "shared"])
async def test_partial_results_are_not_kept(*, shared: bool) -> None:
    """They go to those who waited, and the next is searched for anew."""
    replicas = FakeShared()
    cache, search = Cache(300, replicas if shared else None), Searching(PARTIAL)
    assert [await ask(cache, search), await ask(cache, search)] == [PARTIAL, PARTIAL]
    assert (search.count, replicas.kept) == (2, {})


async def test_a_search_that_breaks_is_not_kept() -> None:
    """The error is seen, and the next search may succeed."""
    cache = Cache(300)

    async def broken() -> Found:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await cache.get("k", broken, seconds=5)
    assert await ask(cache, Searching()) == WHOLE


async def test_nothing_in_time_is_none() -> None:
    """The waiter's own deadline."""
    cache = Cache(300)

    async def endless() -> Found:
        await asyncio.sleep(30)
        return WHOLE

    assert await cache.get("k", endless, seconds=0.02) is None


async def test_closing_ends_searches_under_way() -> None:
    """No task outlives its cache."""
    before = asyncio.all_tasks()
    async with Cache(300) as cache:
        waiting = asyncio.create_task(cache.get("k", lambda: asyncio.sleep(30, WHOLE), seconds=60))
        await asyncio.sleep(0.01)
    assert await waiting is None
    assert asyncio.all_tasks() == before


async def test_another_replica_finds_what_one_has_searched() -> None:
    """Byte for byte, `cached`; and asks the shared cache only once."""
    shared = FakeShared()
    one, other, search = Cache(300, shared), Cache(300, shared), Searching()
    await ask(one, search)
    asked = shared.asked
    assert await ask(other, search) == await ask(other, search) == replace(WHOLE, cached=True)
    assert (search.count, shared.asked - asked, shared.seconds) == (1, 1, [300])


@pytest.mark.parametrize(
    ("skew", "cached"),
    [(0.0, 300.0), (-250.0, 50.0), (900.0, 300.0)],
    ids=["now", "older", "from the future"],
)
async def test_what_another_made_is_kept_for_the_rest_of_its_time(skew: float, cached: float) -> None:
    """Never for more than RAG_CACHE_TTL_SECONDS, whatever the other's clock says."""
    now, shared, search = Now(), FakeShared(), Searching()
    shared.kept["k"] = pack(WHOLE, "k", now() + skew) or b""
    cache = Cache(300, shared, clock=now)
    assert (await ask(cache, search)).cached
    shared.kept.clear()
    now.seconds += cached - 0.1
    assert (await ask(cache, search)).cached
    now.seconds += 0.2
    assert not (await ask(cache, search)).cached


async def test_what_cannot_be_read_is_searched_for() -> None:
    """And replaced."""
    shared = FakeShared({"k": b"rubbish"})
    assert await ask(Cache(300, shared), Searching()) == WHOLE
    assert (await ask(Cache(300, shared), Searching())).cached


async def test_what_was_put_under_another_key_is_searched_for() -> None:
    """A value says whose it is: whoever moves it about moves no answer."""
    shared = FakeShared({"k": pack(WHOLE, "other", 1_000.0) or b""})
    assert not (await ask(Cache(300, shared, clock=Now()), Searching())).cached


async def test_what_is_too_large_is_not_even_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the shared cache hands over."""
    read: list[int] = []
    monkeypatch.setattr(cache_, "unpack", lambda raw, _key: read.append(len(raw)))
    shared = FakeShared({"k": b" " * (VALUE_BYTES + 1)})
    assert await ask(Cache(300, shared), Searching()) == WHOLE
    assert read == []


@pytest.mark.parametrize(("size", "on_loop"), [(READ_BYTES, True), (READ_BYTES + 1, False)])
async def test_large_values_are_read_beside_the_loop(
    monkeypatch: pytest.MonkeyPatch, size: int, *, on_loop: bool
) -> None:
    """Up to a millisecond's worth is read at once; more holds up nobody else."""
    where: list[int] = []
    monkeypatch.setattr(cache_, "unpack", lambda _raw, _key: where.append(threading.get_ident()))
    await ask(Cache(300, FakeShared({"k": b" " * size})), Searching())
    assert [thread == threading.get_ident() for thread in where] == [on_loop]


async def test_very_large_results_are_not_shared() -> None:
    """They stay in this process."""
    shared = FakeShared()
    large = Found((Candidate(passage("a", "x" * VALUE_BYTES)),))
    cache, search = Cache(300, shared), Searching(large)
    await ask(cache, search)
    assert (await ask(cache, search)).cached
    assert shared.kept == {}


def sized(letters: int) -> Found:
    """A result with so much text."""
    return Found((Candidate(Passage("d", "a", "x" * letters, 1, "l")),))


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9_000)), max_size=40))
def test_memory_is_bounded_and_the_newest_stay(puts: list[tuple[str, int]]) -> None:
    """Never over the limit, the sum is the sum, and what was put last is there unless it is too large."""
    most = 5 * OBJECT_BYTES + 18_000
    kept = Kept(most, Now())
    for key, letters in puts:
        found = sized(letters)
        kept.put(key, found, 300)
        assert kept.nbytes == sum(size for _, _, size in kept._found.values()) <= most
        assert (kept.get(key) == found) == (weight(found) <= most)


def test_the_least_recently_used_makes_room() -> None:
    """A look at it counts as use."""
    one = sized(1_000)
    kept = Kept(2 * weight(one), Now())
    for key in "ab":
        kept.put(key, one, 300)
    kept.get("a")
    kept.put("c", one, 300)
    assert [kept.get(key) is not None for key in "abc"] == [True, False, True]


def test_texts_weigh_what_they_take() -> None:
    """Letters beyond Latin take two bytes and more."""
    latin, other = (weight(Found((Candidate(Passage("d", "a", text * 9_000, 1, "l")),))) for text in "xж")
    assert other - latin == pytest.approx(18_000, abs=200)


async def test_what_this_process_holds_can_be_forgotten() -> None:
    """All of it, with its size; what is shared stays until its time."""
    shared, kept = FakeShared(), Kept()
    kept.put("k", WHOLE, 60)
    kept.clear()
    assert (len(kept), kept.nbytes, kept.get("k")) == (0, 0, None)

    async def search() -> Found:
        return WHOLE

    async with Cache(60, shared) as cache:
        await cache.get("k", search, seconds=1)
        cache.clear()
        found = await cache.get("k", search, seconds=1)
    assert shared.asked == 2
    assert found
    assert found.cached
