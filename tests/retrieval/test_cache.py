"""The cache of search results: single flight, codec, query vectors."""

import asyncio
import json
import math
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Any

import orjson
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.retrieval.cache import (
    OBJECT_BYTES,
    Cache,
    Flights,
    Recent,
    ResultCache,
    pack,
    unpack,
    weight,
)
from app.retrieval.redis import Redis
from app.retrieval.relevance import UNRELATED
from app.text.labels import label, label_name
from app.types import CERTAIN, Candidate, Degraded, Found, Passage, Scope
from tests.fakes.answering import passage

WHOLE = Found((Candidate(passage("a")),), stored=1, answered=1)


PARTIAL = replace(WHOLE, degraded=(Degraded("embedding", "timeout"),))


@dataclass
class Now:
    """A clock that stands until it is moved."""

    seconds: float = 1_000.0

    def __call__(self) -> float:
        return self.seconds


@dataclass
class FakeShared(Redis):
    """What replicas share, in memory; what was put, and how often it was asked."""

    kept: dict[str, bytes] = field(default_factory=dict)
    seconds: list[float] = field(default_factory=list)
    asked: int = 0

    async def get(self, key: str) -> bytes | None:
        self.asked += 1
        return self.kept.get(key)

    def put(self, key: str, value: bytes, *, seconds: float) -> None:
        self.kept[key] = value
        self.seconds.append(seconds)


@dataclass
class Searching:
    found: Found = WHOLE
    count: int = 0

    async def __call__(self) -> Found:
        """After a moment, what it was given."""
        self.count += 1
        await asyncio.sleep(0)
        return self.found


async def ask(cache: Cache, search: Searching, key: str = "k") -> Found:
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


async def test_it_is_kept_for_its_time() -> None:
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
    shared = FakeShared({"k": b"rubbish"})
    assert await ask(Cache(300, shared), Searching()) == WHOLE
    assert (await ask(Cache(300, shared), Searching())).cached


async def test_what_was_put_under_another_key_is_searched_for() -> None:
    """A value says whose it is: whoever moves it about moves no answer."""
    shared = FakeShared({"k": pack(WHOLE, "other", 1_000.0) or b""})
    assert not (await ask(Cache(300, shared, clock=Now()), Searching())).cached


def sized(letters: int) -> Found:
    return Found((Candidate(Passage("d", "a", "x" * letters, 1, "l")),))


@given(st.lists(st.tuples(st.sampled_from("abcdef"), st.integers(0, 9_000)), max_size=40))
def test_memory_is_bounded_and_the_newest_stay(puts: list[tuple[str, int]]) -> None:
    """Never over the limit, the sum is the sum, and what was put last is there unless it is too large."""
    most = 5 * OBJECT_BYTES + 18_000
    kept = ResultCache(most, Now())
    for key, letters in puts:
        found = sized(letters)
        kept.put(key, found, 300)
        assert (kept.get(key) == found) == (weight(found) <= most)
        there = [one for one in map(kept.get, "abcdef") if one]
        assert kept.nbytes == sum(map(weight, there)) <= most


async def test_what_this_process_holds_can_be_forgotten() -> None:
    """All of it, with its size; what is shared stays until its time."""
    shared, kept = FakeShared(), ResultCache()
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


@dataclass
class Work:
    """Counts how often it is begun and how it ends; waits to be let go."""

    go: asyncio.Event = field(default_factory=asyncio.Event)
    begun: int = 0
    cancelled: int = 0
    error: Exception | None = None

    async def __call__(self) -> int:
        self.begun += 1
        number = self.begun
        try:
            await self.go.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        if self.error:
            raise self.error
        return number


async def joined(
    flights: Flights[int], work: Work, count: int, *, seconds: float = 5
) -> list[asyncio.Task[int | None]]:
    waiters = [asyncio.create_task(flights.join("k", work, seconds=seconds)) for _ in range(count)]
    await asyncio.sleep(0.01)
    return waiters


async def test_what_many_ask_for_is_done_once() -> None:
    """All get the one result, and the next who asks begins anew."""
    flights, work = Flights[int](), Work()
    waiters = await joined(flights, work, 5)

    work.go.set()

    assert await asyncio.gather(*waiters) == [1] * 5
    assert await flights.join("k", work, seconds=5) == 2


@pytest.mark.parametrize("leaving", [0, 1, 2], ids=["the leader", "a follower", "the last"])
async def test_who_leaves_takes_nobody_along(leaving: int) -> None:
    """The others get their result from the work that is under way."""
    flights, work = Flights[int](), Work()
    waiters = await joined(flights, work, 3)

    waiters[leaving].cancel()
    await asyncio.sleep(0.01)
    work.go.set()

    ends = await asyncio.gather(*waiters, return_exceptions=True)
    assert isinstance(ends.pop(leaving), asyncio.CancelledError)
    assert (ends, work.begun, work.cancelled) == ([1, 1], 1, 0)


async def test_work_that_nobody_waits_for_is_ended() -> None:
    """And who comes then does not get its end for a result."""
    flights, work = Flights[int](), Work()
    for waiter in await joined(flights, work, 2):
        waiter.cancel()
    await asyncio.sleep(0)  # cancelled, but not yet ended

    late = asyncio.create_task(flights.join("k", work, seconds=5))
    await asyncio.sleep(0.01)
    work.go.set()

    assert await late == 2
    assert work.cancelled == 1


async def test_an_error_reaches_everybody() -> None:
    """And is not kept for the next."""
    flights, work = Flights[int](), Work(error=ZeroDivisionError())
    waiters = await joined(flights, work, 3)

    work.go.set()
    ends = await asyncio.gather(*waiters, return_exceptions=True)

    assert [type(end) for end in ends] == [ZeroDivisionError] * 3
    assert len(flights) == 0


texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


figures = st.floats(allow_nan=False, allow_infinity=False)


passages = st.builds(
    Passage,
    source=texts,
    id=texts,
    text=texts,
    tokens=st.integers(0, 1 << 40),
    label=st.builds(
        label, st.text(min_size=1, max_size=30).map(label_name), st.integers(1, 1 << 31).map(str)
    ),
    similarity=st.none() | st.floats(-1, 1),
    score=figures,
    title=texts,
    fields=st.dictionaries(texts, st.none() | texts | st.integers(-(1 << 60), 1 << 60), max_size=3),
    created_at=st.none() | st.datetimes(timezones=st.just(UTC)).map(lambda at: at.replace(fold=0)),
    evidence=st.none() | st.floats(UNRELATED, CERTAIN),
)


candidates = st.lists(st.builds(Candidate, passages), max_size=2).map(tuple)


results = st.builds(
    Found,
    candidates=candidates,
    duplicates=candidates,
    stored=st.integers(0, 1 << 40),
    answered=st.integers(1, 9),
    notes=st.lists(texts, max_size=3).map(tuple),
)


KEY = "2.1:key"


WHOLE_RESULT = Found((Candidate(Passage("documents", "a:1", "Text.", 2, "a.pdf#1")),), stored=1, answered=1)


@given(results, figures)
@settings(max_examples=50)
def test_what_comes_back_is_what_was_packed(found: Found, made_at: float) -> None:
    """Every field, every float bit by bit, every kind: 0 stays no 0.0."""
    packed = pack(found, KEY, made_at)
    assert packed is not None
    back = unpack(packed, KEY)
    assert back == (found, made_at)
    assert repr(back) == repr((found, made_at)).replace("datetime.timezone.utc", "TzInfo(0)")


def packed() -> dict[str, Any]:
    return dict(orjson.loads(pack(WHOLE_RESULT, KEY, 1.0) or b""))


def changed(**facts: object) -> bytes:
    """One with something else in its result."""
    shared = packed()
    return json.dumps(shared | {"found": shared["found"] | facts}).encode()


def spoilt(**fields: object) -> bytes:
    """One whose candidate has other values in its passage."""
    [candidate] = packed()["found"]["candidates"]
    return changed(candidates=[candidate | {"passage": candidate["passage"] | fields}])


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b"\x80\x04K\x01.", id="a pickle"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"{}", id="no facts"),
        pytest.param(b"[" * 100_000, id="deep"),
        pytest.param(json.dumps(packed() | {"made_at": "now"}).encode(), id="time"),
        pytest.param(json.dumps(packed() | {"key": "2.1:other"}).encode(), id="another key's"),
        pytest.param(changed(stored=True), id="count"),
        pytest.param(changed(answered=0), id="found by nobody"),
        pytest.param(spoilt(tokens=-5), id="fewer tokens than none"),
        pytest.param(spoilt(label="a]\n[System] #1"), id="a label that leaves its brackets"),
        pytest.param(spoilt(label="a.pdf"), id="a label without an id"),
        pytest.param(spoilt(similarity=9.0), id="more than alike"),
        pytest.param(spoilt(similarity=-1.5), id="less than unlike"),
        pytest.param(spoilt(fields={"url": "javascript:alert(1)"}), id="a link to a script"),
        pytest.param(spoilt(fields={"url": "//elsewhere.example/api/documents/"}), id="a link to elsewhere"),
        pytest.param(spoilt(fields={"url": 1}), id="a link that is a number"),
        pytest.param(changed(candidates=[{}]), id="no passage"),
        pytest.param(changed(candidates=7), id="no candidates"),
        pytest.param(changed(notes=[7]), id="a note that is a number"),
        pytest.param(changed(notes=None), id="no notes"),
        pytest.param(spoilt(text=None), id="no text"),
        pytest.param(spoilt(tokens=2.5), id="half a token"),
        pytest.param(spoilt(label=["a"]), id="label"),
        pytest.param(spoilt(score="high"), id="score"),
        pytest.param(spoilt(fields={"page": [1]}), id="field"),
        pytest.param(spoilt(fields=[1]), id="fields"),
        pytest.param(spoilt(created_at="yesterday"), id="date"),
        pytest.param(spoilt(evidence=9.0), id="more than certain"),
        pytest.param(spoilt(evidence=-1.5), id="less than unrelated"),
        pytest.param(spoilt(evidence=math.nan), id="evidence that is no number"),
        pytest.param(spoilt(evidence="strong"), id="evidence in words"),
    ],
)
def test_what_cannot_be_read_is_a_miss(raw: bytes) -> None:
    """Whoever wrote it; it is never an error of the answer."""
    assert unpack(raw, KEY) is None


def test_the_least_recently_used_goes_first() -> None:
    """Over the limit, what was not asked for longest is forgotten."""
    recent, scope = Recent(limit=2), Scope()
    for text in ("a", "b"):
        assert recent.keep(scope, text, text.encode()) == text.encode()
    recent.get(scope, "a")
    recent.keep(scope, "c", b"c")
    assert [recent.get(scope, text) for text in ("a", "b", "c")] == [b"a", None, b"c"]
