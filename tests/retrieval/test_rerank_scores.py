"""What a reranker is shown, and what its scores come to."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.fusion import scored
from app.retrieval.rerank import QUERY_BYTES, TEXT_BYTES, asked, logistic, reordered, shown, unit
from app.types import Candidate, Hit
from tests.fakes.answering import passage


def candidates(*scores: float) -> list[Candidate]:
    """`0`, `1`, … with these relevances."""
    return [Candidate(scored(passage(str(at)), score), Hit(str(at), 1)) for at, score in enumerate(scores)]


def told(found: tuple[Candidate, ...]) -> list[tuple[str, float]]:
    """Ids and relevances."""
    return [(item.passage.id, round(item.passage.score, 3)) for item in found]


def test_the_best_score_comes_first() -> None:
    """Probabilities are relevances as they are; similarity and words stay."""
    before = candidates(0.9, 0.8, 0.7)
    after = reordered(before, [0.1, 0.9, 0.4])
    assert told(after) == [("1", 0.9), ("2", 0.4), ("0", 0.1)]
    assert {item.passage.similarity for item in after} == {0.8}
    assert [item.words for item in after] == [before[1].words, before[2].words, before[0].words]


def test_logits_become_probabilities() -> None:
    """One outside of [0, 1] says that all are logits."""
    assert told(reordered(candidates(0.9, 0.8), [0.0, 2.0])) == [("1", 0.881), ("0", 0.5)]


def test_equal_scores_keep_the_first_stages_order() -> None:
    """A reranker that tells nothing changes nothing but figures."""
    assert [key for key, _ in told(reordered(candidates(0.9, 0.8, 0.7), [0.5] * 3))] == ["0", "1", "2"]


def test_those_it_was_not_shown_stay_behind() -> None:
    """In their order, no more relevant than the last that it was."""
    after = told(reordered(candidates(0.9, 0.8, 0.6, 0.3), [0.2, 0.5]))
    assert after == [("1", 0.5), ("0", 0.2), ("2", 0.2), ("3", 0.1)]


def test_those_behind_are_not_lifted() -> None:
    """Where they are less relevant anyway, they stay as they are."""
    assert told(reordered(candidates(0.9, 0.1), [0.7])) == [("0", 0.7), ("1", 0.1)]


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=8).map(lambda found: sorted(found, reverse=True)),
    st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=8),
)
def test_law_relevance_falls_and_stays_in_its_bounds(before: list[float], scores: list[float]) -> None:
    """Every candidate is there once, whatever the scores are."""
    some = candidates(*before)
    after = reordered(some, scores[: len(some)])
    relevances = [item.passage.score for item in after]
    assert sorted(item.passage.id for item in after) == sorted(item.passage.id for item in some)
    assert relevances == sorted(relevances, reverse=True)
    assert all(0 <= relevance <= 1 for relevance in relevances)


@given(st.lists(st.floats(-1e300, 1e300), min_size=2, max_size=6))
def test_law_no_order_is_turned(scores: list[float]) -> None:
    """What was higher is not lower afterwards."""
    after = unit(scores)
    ranked = sorted(range(len(scores)), key=lambda at: scores[at])
    assert [after[at] for at in ranked] == sorted(after)


@pytest.mark.parametrize(("score", "found"), [(-1e300, 0.0), (0.0, 0.5), (1e300, 1.0), (math.log(3), 0.75)])
def test_a_logit_as_a_probability(score: float, found: float) -> None:
    """However large."""
    assert logistic(score) == pytest.approx(found)


@given(st.text(max_size=2_000))
def test_law_what_is_shown_fits(text: str) -> None:
    """Never longer than what it is cut to, never blank, always text that can be sent."""
    for found, most in ((shown(text), TEXT_BYTES), (asked(text), QUERY_BYTES)):
        assert len(found.encode()) <= most
    assert shown(text).strip()


def test_a_long_question_keeps_both_ends() -> None:
    """A follow-up's own words stand last, what it refers to first."""
    found = asked(f"first {'ö' * 900} last")
    assert (found.startswith("first "), found.endswith(" last"), "…" in found) == (True, True, True)


def test_a_text_that_fits_is_shown_as_it_is() -> None:
    """In every script; halves of characters aside."""
    assert (shown("質問です"), shown("a\ud800"), asked("why?")) == ("質問です", "a?", "why?")
