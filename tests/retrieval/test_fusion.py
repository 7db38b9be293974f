"""Relevance: in [0, 1], comparable between sources, and never worse for a leg that cannot tell."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.fusion import fuse, scored
from app.types import Candidate, Hit, Legs, Passage


def passage(key: str, similarity: float | None, source: str = "documents") -> Passage:
    return Passage(source, key, f"text of {key}", 3, f"{key}.pdf#1", similarity=similarity)


def legs(
    similarities: Mapping[str, float | None],
    words: dict[str, float] | None = None,
    *,
    source: str = "documents",
    coverage: float = 1.0,
    beside: dict[str, float] | None = None,
) -> Legs:
    """One source's legs: similarities by passage, BM25 scores of the word leg and beside it. What a hit
    covers falls with its score, from `coverage`."""
    ranked = sorted((words or {}).items(), key=lambda item: -item[1])
    best = ranked[0][1] if ranked else 1.0
    near = sorted((value, key) for key, value in similarities.items() if value is not None)[::-1]
    return Legs(
        source,
        words=tuple(Hit(key, score, coverage * score / best) for key, score in ranked),
        meaning=tuple(Hit(key, value) for value, key in near),
        passages={key: passage(key, value, source) for key, value in similarities.items()},
        beside={key: Hit(key, score, 0.1) for key, score in (beside or {}).items()},
    )


def order(found: list[Candidate]) -> list[str]:
    return [item.passage.id for item in found]


SIMILARITY = st.none() | st.floats(-1, 1)
LEGS = st.builds(
    lambda similar, words: legs(similar, {key: score for key, score in words.items() if key in similar}),
    st.dictionaries(st.sampled_from("abcdef"), SIMILARITY),
    st.dictionaries(st.sampled_from("abcdef"), st.floats(0.01, 50)),
)


@given(st.lists(LEGS, max_size=3), st.floats(0.05, 1))
def test_relevance_is_in_its_range_and_order(found: list[Legs], grasp: float) -> None:
    """Every passage once a source, best first, all in [0, 1]."""
    candidates = fuse(found, grasp)
    scores = [item.passage.score for item in candidates]
    assert len(candidates) == sum(len(one.passages) for one in found)
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)


@given(LEGS, st.floats(0.1, 10))
def test_the_scale_of_bm25_does_not_matter(found: Legs, factor: float) -> None:
    """Raw scores of another corpus differ by a factor: relevance does not."""
    scaled = legs(
        {key: item.similarity for key, item in found.passages.items()},
        {hit.key: hit.score * factor for hit in found.words},
    )
    before, after = ({c.passage.id: c.passage.score for c in fuse([one])} for one in (found, scaled))
    assert after == pytest.approx(before)


def test_more_of_either_is_more_relevant() -> None:
    """At equal words the more similar one leads, at equal similarity the one with more words."""
    assert order(fuse([legs({"a": 0.3, "b": 0.4}, {"a": 2, "b": 2})])) == ["b", "a"]
    assert order(fuse([legs({"a": 0.3, "b": 0.3}, {"a": 1, "b": 2})])) == ["b", "a"]


def test_where_meaning_cannot_tell_words_decide() -> None:
    """Similarities that lie close together are not stretched: a language the embedder never learned."""
    flat = {"right": 0.50, "a": 0.55, "b": 0.56, "c": 0.54}
    assert order(fuse([legs(flat, {"right": 9.0, "a": 2.0, "b": 1.0})]))[0] == "right"


def test_what_the_embedder_only_spells_words_decide() -> None:
    """The same legs: noise that falls off as clearly as evidence leads only where the question was read."""
    noise = {"wrong": 0.55, "right": 0.30, **{f"x{n}": 0.28 for n in range(8)}}
    found = legs(noise, {"right": 9.0, "x1": 6.0, "wrong": 5.0})
    assert order(fuse([found]))[0] == "wrong"
    assert order(fuse([found], 0.16))[0] == "right"


def test_without_a_word_the_nearest_leads_even_then() -> None:
    """Nothing else tells passages in another language than the question's apart."""
    assert order(fuse([legs({"a": 0.2, "b": 0.4, "c": 0.3})], 0.05)) == ["b", "c", "a"]


def test_words_that_stand_nearly_alone_are_ranked_by_bm25() -> None:
    """What a passage holds is the better measure beside a meaning that can read, and only there."""
    found = Legs(
        "documents",
        words=(Hit("often", 6.0, 0.7), Hit("all", 5.0, 0.8)),
        passages={key: passage(key, 0.4) for key in ("often", "all")},
    )
    assert [order(fuse([found], grasp))[0] for grasp in (1.0, 0.16)] == ["all", "often"]


@pytest.mark.parametrize("grasp", [1.0, 0.16, 0.05])
def test_where_no_word_is_found_nothing_is_taken_from_meaning(grasp: float) -> None:
    """There is nothing that words could tell better; evidence beside it must not outweigh it."""
    [near, far] = fuse([legs({"near": 0.9, "far": 0.3}, {})], grasp)
    assert (near.passage.score, far.passage.score) == pytest.approx((0.75, 0.25))


def test_where_meaning_can_tell_it_outweighs_weak_words() -> None:
    """A paraphrase stands out by similarity, and shares few words."""
    clear = {"right": 0.7, "a": 0.2, "b": 0.15}
    assert order(fuse([legs(clear, {"a": 5.0, "b": 4.5, "right": 3.0})]))[0] == "right"


def test_without_an_embedding_words_alone_order() -> None:
    """Similarity None: relevance is the share of the best BM25 score."""
    found = fuse([legs({"a": None, "b": None}, {"a": 4.0, "b": 1.0})])
    assert [(item.passage.id, item.passage.score) for item in found] == [("a", 1.0), ("b", 0.25)]


def test_a_source_that_covers_less_of_the_query_weighs_less() -> None:
    """Each source's best word hit is not equally good: coverage compares them."""
    whole = legs({"a": 0.3}, {"a": 5.0}, coverage=0.9)
    partly = legs({"m": 0.3}, {"m": 50.0}, source="memories", coverage=0.3)
    assert order(fuse([partly, whole])) == ["a", "m"]


def test_a_source_covers_what_its_best_covering_hit_covers() -> None:
    """Neighbours may have lifted another to the top, which holds little of the query itself."""
    lifted = Legs(
        "memories",
        words=(Hit("m", 8.0, 0.0, lent=8.0), Hit("n", 4.0, 0.9)),
        passages={key: passage(key, 0.3, "memories") for key in "mn"},
    )
    whole = legs({"a": 0.3}, {"a": 5.0}, coverage=0.9)
    scores = {item.passage.id: item.passage.score for item in fuse([lifted, whole])}
    assert scores["m"] == pytest.approx(scores["a"])


def test_what_neighbours_lend_counts_as_held() -> None:
    """A turn between two that hold the words leads one far from them, though it holds none itself."""
    found = Legs(
        "memories",
        words=(Hit("said", 6.0, 0.8), Hit("beside", 3.0, 0.0, lent=3.0)),
        passages={key: passage(key, 0.3, "memories") for key in ("said", "beside", "far")},
    )
    assert order(fuse([found])) == ["said", "beside", "far"]


def test_words_held_count_more_than_words_repeated() -> None:
    """Beside meaning: BM25 gives a short text that says one word often more than one that holds them all."""
    found = Legs(
        "code",
        words=(Hit("often", 6.0, 0.4), Hit("all", 5.0, 0.9)),
        passages={key: passage(key, 0.4, "code") for key in ("often", "all")},
    )
    assert order(fuse([found])) == ["all", "often"]


def test_the_leg_that_falls_off_is_trusted() -> None:
    """The same two passages: words that all hold alike lose to meaning, words of one alone win over it."""
    similarities = {"near": 0.6, "worded": 0.5, **{f"x{n}": 0.45 for n in range(8)}}
    alike = {"worded": 5.0, **{f"x{n}": 4.9 for n in range(8)}, "near": 3.0}
    alone = {"worded": 5.0, **{f"x{n}": 1.0 for n in range(8)}, "near": 3.0}
    assert order(fuse([legs(similarities, alike)]))[0] == "near"
    assert order(fuse([legs(similarities, alone)]))[0] == "worded"


def test_one_weight_for_all_sources() -> None:
    """Equal passages of two sources are equally relevant, whatever else each of them found."""
    clear = legs({"a": 0.5, "b": 0.1}, {"a": 5.0, "b": 0.1})
    dim = legs({"m": 0.5, "n": 0.5}, {"m": 7.0, "n": 6.9}, source="memories")
    scores = {item.passage.id: item.passage.score for item in fuse([clear, dim])}
    assert scores["m"] == pytest.approx(scores["a"])


def test_words_of_a_passage_that_meaning_chose_count_too() -> None:
    """What the word leg saw beside its own choice is part of relevance, and kept with the candidate."""
    found = fuse([legs({"a": 0.5, "b": 0.5}, {"w": 4.0}, beside={"b": 2.0})])
    assert order(found) == ["b", "a"]
    assert found[0].words == Hit("b", 2.0, 0.1)
    assert found[1].words is None


def test_equals_stay_in_the_order_of_their_source() -> None:
    assert order(fuse([legs({"c": 0.3, "a": 0.3, "b": 0.3})])) == ["c", "a", "b"]


@pytest.mark.parametrize(
    "found",
    [pytest.param([], id="no sources"), pytest.param([Legs("documents")], id="nothing found")],
)
def test_nothing_found_is_nothing(found: list[Legs]) -> None:
    assert fuse(found) == []


def test_a_scored_passage_is_otherwise_the_same() -> None:
    """No field is left behind, new ones included."""
    full = Passage("s", "i", "t", 1, "l", 0.5, 0.1, "title", {"page": 1}, datetime(2026, 1, 1, tzinfo=UTC))
    assert scored(full, 0.9) == replace(full, score=0.9)
