"""Scope indexes and their cache."""

import asyncio
import math
from collections import Counter
from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval import bm25
from app.retrieval.bm25 import LEAST_MEAN, Lexical, Postings, build, invert, merge
from app.retrieval.index import (
    INLINE,
    IndexSearch,
    Matrix,
    ScopeIndex,
    Segment,
    rows_segment,
)
from app.retrieval.index_cache import IndexCache, Listing, ScopeRows
from app.retrieval.memories import THREAD_POSITION, spread, thread_position
from app.text.terms import encode_terms, is_current, terms

WORDS = ["sea", "sand", "wave", "otter", "fish"]


TEXT = st.lists(st.sampled_from(WORDS), max_size=6).map(" ".join)


TEXTS = st.lists(TEXT, min_size=1, max_size=8)


QUERY = st.lists(st.sampled_from([*WORDS, "absent"]), min_size=1, max_size=4).map(" ".join)


def vectors(texts: Sequence[str]) -> Matrix:
    rows = [[text.split().count(word) for word in WORDS] for text in texts]
    matrix = np.array(rows, dtype=np.float32).reshape(-1, len(WORDS))
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(matrix / np.maximum(lengths, 1), dtype=np.float32)


def document(name: str, texts: Sequence[str]) -> Segment:
    return Segment((name,), (0, len(texts)), build(texts), vectors(texts))


def added(index: ScopeIndex, name: str, texts: Sequence[str]) -> ScopeIndex:
    """After one more document, or another of its name."""
    entries = {**index.entries, name: tuple(texts)}
    fresh = [document(each, entries[each]) for each in index.changed(entries)]
    return index.updated(index.version + 1, entries, fresh)


def removed(index: ScopeIndex, name: str) -> ScopeIndex:
    return index.updated(index.version + 1, {k: v for k, v in index.entries.items() if k != name}, [])


def mask_of(data: st.DataObject, texts: Sequence[str]) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.array(data.draw(st.lists(st.booleans(), min_size=len(texts), max_size=len(texts))), dtype=bool)


def bags(postings: Postings) -> list[Counter[int]]:
    """The terms of each passage, read back."""
    found: list[Counter[int]] = [Counter() for _ in postings.lengths]
    for at, term in enumerate(postings.terms):
        for n in range(postings.starts[at], postings.starts[at + 1]):
            found[postings.rows[n]][int(term)] += int(postings.counts[n])
    return found


# Postings


@given(st.lists(st.lists(TEXT, max_size=8), min_size=1, max_size=4), st.data())
def test_merging_equals_building_what_stays(parts: list[list[str]], data: st.DataObject) -> None:
    masks = [mask_of(data, part) for part in parts]
    kept = [
        text
        for part, mask in zip(parts, masks, strict=True)
        for text, stays in zip(part, mask, strict=True)
        if stays
    ]
    merged = merge([build(part) for part in parts], masks)
    assert bags(merged) == bags(build(kept))
    assert merged.terms.tolist() == build(kept).terms.tolist()
    whole = merge([build(part) for part in parts], [None] * len(parts))
    assert bags(whole) == bags(build([text for part in parts for text in part]))


@pytest.mark.parametrize(
    "packed",
    [
        None,
        b"",
        encode_terms("a b")[:-1],
        b"XX" + encode_terms("a b")[2:],
        b"IT\0\0" + encode_terms("a b")[4:],
    ],
    ids=["missing", "empty", "cut", "other", "older analysis"],
)
def test_damaged_terms_are_recognised(packed: bytes | None) -> None:
    assert not is_current(packed)
    assert is_current(encode_terms("a b"))
    assert is_current(encode_terms(""))


# BM25


def naive(texts: Sequence[str], query: str) -> list[float]:
    """BM25 as its authors write it, with Lucene's IDF and a least mean length."""
    every = [Counter(text.split()) for text in texts]
    mean = max(LEAST_MEAN, sum(bag.total() for bag in every) / len(every))
    found = []
    for bag in every:
        total = 0.0
        for word in set(query.split()):
            holding = sum(word in other for other in every)
            idf = math.log(1 + (len(every) - holding + 0.5) / (holding + 0.5))
            norm = 1.2 * (1 - 0.75 + 0.75 * bag.total() / mean)
            total += idf * bag[word] * 2.2 / (bag[word] + norm) if bag[word] else 0
        found.append(total)
    return found


@given(TEXTS, QUERY)
def test_scores_are_those_of_the_formula(texts: list[str], query: str) -> None:
    found = Lexical([(build(texts), None)], terms(query)).scores(0)
    assert found.bm25.tolist() == pytest.approx(naive(texts, query))


@given(TEXTS, QUERY, st.data(), st.integers(1, 9))
def test_the_dead_count_for_nothing(texts: list[str], query: str, data: st.DataObject, batch: int) -> None:
    """The rest score as if they had never been, however the postings are processed."""
    mask = mask_of(data, texts)
    alone = Lexical([(build([t for t, a in zip(texts, mask, strict=True) if a]), None)], terms(query))
    expected = alone.scores(0)
    for few in (100, 0):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(bm25, "FEW_TERMS", few)
            patch.setattr(bm25, "BATCH", batch)
            found = Lexical([(build(texts), mask)], terms(query)).scores(0)
        assert not found.bm25[~mask].any()
        for ours, theirs in ((found.bm25, expected.bm25), (found.mass, expected.mass)):
            assert ours[mask].tolist() == theirs.tolist()


def held(texts: Sequence[str], query: str) -> list[float]:
    """The coverage of each passage."""
    lexical = Lexical([(build(texts), None)], terms(query))
    rows = np.arange(len(texts), dtype=np.uint32)
    return lexical.coverage(lexical.scores(0), rows)


@given(TEXTS, QUERY)
def test_coverage_is_a_share_of_the_query(texts: list[str], query: str) -> None:
    for text, coverage in zip(texts, held(texts, query), strict=True):
        shared = set(query.split()) & set(text.split())
        assert 0 <= coverage <= 1 + 1e-9
        assert (coverage > 1 - 1e-9) == (shared == set(query.split()))
        assert (coverage == 0) == (not shared)


def test_nothing_asked_and_nothing_there() -> None:
    assert held(["sea"], "?!") == [0.0]
    assert Lexical([(build([]), None)], terms("sea")).scores(0).bm25.tolist() == []


# Segments and indexes


def told(search: IndexSearch, query: str, limit: int = 3) -> tuple[object, ...]:
    """All that a search says, by place."""
    lexical = search.lexical(query, limit)
    dense = search.dense(vectors([query])[0], limit)
    hits = search.hits({spot: search.passage_id(spot) for spot in (*lexical, *dense)})
    return (
        [search.key(spot) for spot in lexical],
        [(search.key(spot), value) for spot, value in dense.items()],
        sorted((search.key(spot), hit.score, hit.coverage) for spot, hit in hits.items()),
        search.size,
    )


CHANGES = st.lists(
    st.tuples(st.sampled_from("abcd"), st.none() | st.lists(TEXT, min_size=1, max_size=4)), max_size=9
)


@given(CHANGES, QUERY)
def test_an_index_that_followed_equals_one_made_anew(
    changes: list[tuple[str, list[str] | None]], query: str
) -> None:
    """Entries that came, changed and went leave no trace in order or scores."""
    followed = ScopeIndex("s", 0)
    for name, texts in changes:
        followed = removed(followed, name) if texts is None else added(followed, name, texts)
    anew = ScopeIndex("s", 0)
    for name, texts in followed.entries.items():
        anew = added(anew, name, texts)
    assert told(IndexSearch([followed]), query) == told(IndexSearch([anew]), query)


@given(TEXTS, QUERY, st.integers(1, 4))
def test_both_searches_give_the_exact_best(texts: list[str], query: str, limit: int) -> None:
    search = IndexSearch([added(ScopeIndex("s", 0), "d", texts)])
    vector = vectors([query])[0]
    cosines = [float(np.vecdot(row, vector)) for row in vectors(texts)]
    expected = sorted(range(len(texts)), key=lambda n: (-cosines[n], n))[:limit]
    assert [search.key(spot) for spot in search.dense(vector, limit)] == [("d", n + 1) for n in expected]
    scores = naive(texts, query)
    ranked = [n for n in sorted(range(len(texts)), key=lambda n: (-scores[n], n)) if scores[n] > 0]
    found = search.lexical(query, limit)
    assert [scores[row] for _, row in found] == pytest.approx([scores[n] for n in ranked[:limit]])


@given(TEXTS, QUERY, st.data())
def test_what_the_asker_may_not_see_is_not_there(texts: list[str], query: str, data: st.DataObject) -> None:
    """Statistics, order and size are those of an index of the allowed rows."""
    ids = [f"{n:02}" for n in range(len(texts))]
    mask = mask_of(data, texts)
    left = np.flatnonzero(mask)
    every = ScopeIndex("s", 1, segments=(rows_segment(ids, build(texts), vectors(texts)),))
    kept = [texts[n] for n in left]
    some = ScopeIndex("s", 1, segments=(rows_segment([ids[n] for n in left], build(kept), vectors(kept)),))
    seen = IndexSearch([every], allowed=lambda *_: mask)
    assert told(seen, query) == told(IndexSearch([some]), query)
    assert len(seen.addresses(every, [(name, 1) for name in ids])) == len(left)


def test_rows_without_a_vector_are_found_by_words_alone() -> None:
    segment = rows_segment(
        ["a", "b"], build(["sea", "sea sand"]), vectors(["sea", "sand"]), None, np.array([True, False])
    )
    search = IndexSearch([ScopeIndex("s", 1, segments=(segment,))])
    lexical = search.lexical("sea", 2)
    vector = vectors(["sea"])[0]
    assert {search.passage_id(spot) for spot in lexical} == {"a", "b"}
    assert [search.passage_id(spot) for spot in search.dense(vector, 2)] == ["b"]
    assert [search.passage_id(spot) for spot in search.cosines(lexical)] == ["b"]


@given(TEXTS, QUERY)
def test_cosines_are_told_of_any_passages(texts: list[str], query: str) -> None:
    one = added(ScopeIndex("s", 0), "d", texts)
    search = IndexSearch([one, added(ScopeIndex("t", 0), "e", texts[::-1])])
    every = search.dense(vectors([query])[0], 2 * len(texts))
    some = list(every)[::3]
    assert search.cosines(some) == {spot: every[spot] for spot in some}


@pytest.mark.parametrize(
    ("passages", "letters", "inline"),
    [
        (10_000, 100, True),
        (10_000, 200, False),
        (2_000, 200, True),
        (2_000, 32_000, False),
        (12_001, 1, False),
    ],
)
def test_long_questions_and_large_reaches_go_to_a_thread(passages: int, letters: int, inline: bool) -> None:
    ids, none = [str(n) for n in range(passages)], np.zeros(0)
    lengths = np.ones(passages, dtype=np.uint32)
    postings = Postings(
        none.astype(np.uint64),
        np.zeros(1, np.uint32),
        none.astype(np.uint32),
        none.astype(np.uint16),
        lengths,
        np.ones((passages, 3), dtype=np.uint32),
    )
    search = IndexSearch([ScopeIndex("s", 1, segments=(rows_segment(ids, postings, None),))])
    assert (search.cost("a" * letters) <= INLINE) is inline


# Neighbours


def one_by_one(scores: dict[str, float], spots: dict[str, tuple[str, int]]) -> dict[str, float]:
    """Scores with what neighbours lend: half of the next one on either side, a quarter of the second."""
    best: dict[tuple[str, int], float] = {}
    for key, spot in spots.items():
        best[spot] = max(best.get(spot, 0.0), scores[key])
    found = dict(scores)
    for key, (thread, place) in spots.items():
        for step, share in ((-1, 0.5), (1, 0.5), (-2, 0.25), (2, 0.25)):
            found[key] += share * best.get((thread, place + step), 0.0)
    return found


@given(
    st.lists(
        st.tuples(st.sampled_from(["", "t", "u"]), st.integers(0, 6), st.sampled_from([0.0, 0.0, 1.0, 2.5])),
        min_size=1,
        max_size=14,
    ),
    st.integers(0, 14),
)
def test_neighbours_lend_as_counted_one_by_one(rows: list[tuple[str, int, float]], cut: int) -> None:
    """However the rows are spread over segments."""
    keys = [str(n) for n in range(len(rows))]
    spots = {
        key: (thread, place) for key, (thread, place, _) in zip(keys, rows, strict=True) if thread and place
    }
    scores = {key: score for key, (_, _, score) in zip(keys, rows, strict=True)}
    total = one_by_one(scores, spots)
    parts = [part for part in (rows[:cut], rows[cut:]) if part]
    segments = [
        rows_segment(
            [str(n) for n in range(len(part))],
            invert([encode_terms("")] * len(part)),
            None,
            {
                THREAD_POSITION: np.array(
                    [thread_position(thread, place) for thread, place, _ in part], dtype=np.uint64
                )
            },
        )
        for part in parts
    ]
    lent = spread(segments, [np.array([score for _, _, score in part]) for part in parts])
    assert np.concatenate(lent).tolist() == pytest.approx([total[key] - scores[key] for key in keys])


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
