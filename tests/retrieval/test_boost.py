"""What else speaks for a passage than its relevance."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.memories import Tally
from app.retrieval.ranking import Wants, corpus_tags, feedback, score_corpus_hit, score_personal_hit
from app.retrieval.tags import VOCABULARY
from app.types import Candidate, Passage

RELEVANCE = st.floats(0, 1)
TAGS = st.lists(st.sampled_from([*VOCABULARY, "garden"]), unique=True, max_size=6)
VOTES = st.integers(0, 10**6)
ANY = st.floats(allow_nan=False, allow_infinity=False)
WEIGHTS = st.dictionaries(st.sampled_from([*VOCABULARY, "garden"]), ANY, max_size=6)
WANTS = st.builds(Wants, TAGS.map(tuple), WEIGHTS, WEIGHTS)
TALLIES = st.builds(Tally, VOTES, VOTES)
SLACK = 1e-12


def hit(relevance: float) -> Candidate:
    return Candidate(Passage("memories", "m", "text", 1, "memory#m", score=relevance))


@given(RELEVANCE, TAGS, TALLIES, WANTS)
def test_no_factor_leaves_ten_percent(relevance: float, tags: list[str], tally: Tally, wants: Wants) -> None:
    """Whatever was voted, asked for or written on a card."""
    found = score_personal_hit(hit(relevance), tags, tally, wants)
    assert list(found.boosts) == ["feedback", "format", "vb_desire", "gravity"]
    assert all(0.9 - SLACK <= factor <= 1.1 + SLACK for factor in found.boosts.values())


@given(RELEVANCE, TAGS, TALLIES, WANTS)
def test_a_score_can_be_computed_again(relevance: float, tags: list[str], tally: Tally, wants: Wants) -> None:
    """It is the relevance times the factors that are told."""
    found = score_personal_hit(hit(relevance), tags, tally, wants)
    assert found.score == relevance * math.prod(found.boosts.values())


@given(RELEVANCE)
def test_who_wants_nothing_changes_nothing(relevance: float) -> None:
    """No votes, no cards, no tags: the relevance itself."""
    found = score_personal_hit(hit(relevance), ["vb:rest", "format:prose"], Tally(), Wants())
    assert found.score == relevance
    assert set(found.boosts.values()) == {1.0}


@given(VOTES)
def test_votes_that_cancel_are_none(count: int) -> None:
    """As many bad as good: exactly 1, so a vote taken back restores the ranking."""
    assert feedback(Tally(count, count)) == 1.0


@given(VOTES, VOTES)
def test_good_and_bad_weigh_the_same(positive: int, negative: int) -> None:
    """Turned round, the factor is mirrored at 1."""
    there, back = feedback(Tally(positive, negative)), feedback(Tally(negative, positive))
    assert there - 1 == pytest.approx(1 - back, abs=SLACK)


@given(VOTES, VOTES)
def test_a_better_vote_never_lowers(positive: int, negative: int) -> None:
    """One more good one raises the factor, as far as numbers can tell."""
    assert feedback(Tally(positive + 1, negative)) >= feedback(Tally(positive, negative))


@pytest.mark.parametrize(("net", "factor"), [(1, 1.05), (9, 1.09), (-1, 0.95), (1_000, 1.0999)])
def test_votes_saturate(net: int, factor: float) -> None:
    """The first says most; a thousand are hardly more than nine."""
    assert feedback(Tally(max(net, 0), max(-net, 0))) == pytest.approx(factor, abs=1e-5)


@pytest.mark.parametrize(
    ("tags", "asked", "factor"),
    [
        pytest.param(["format:skeleton"], ("format:skeleton",), 1.05, id="the form asked for"),
        pytest.param(["format:prose"], ("format:skeleton",), 0.95, id="another form"),
        pytest.param(["vb:rest"], ("format:skeleton",), 1.0, id="no form"),
        pytest.param(["format:prose"], ("vb:rest",), 1.0, id="none asked for"),
    ],
)
def test_the_form(tags: list[str], asked: tuple[str, ...], factor: float) -> None:
    """Half of what votes can do."""
    assert score_personal_hit(hit(1.0), tags, Tally(), Wants(asked)).boosts["format"] == pytest.approx(factor)


@pytest.mark.parametrize(
    ("tags", "factor"),
    [
        pytest.param(["vb:rest"], 1.1, id="what is wanted most"),
        pytest.param(["vb:rest", "vb:order"], 1.05, id="half of it"),
        pytest.param(["vb:play"], 0.95, id="what is not wanted"),
        pytest.param(["intent:explain"], 1.0, id="no value"),
    ],
)
def test_the_values_wanted(tags: list[str], factor: float) -> None:
    """By the mean bias of the memory's values."""
    wants = Wants(desire={"vb:rest": 1.0, "vb:play": -0.5})
    assert score_personal_hit(hit(1.0), tags, Tally(), wants).boosts["vb_desire"] == pytest.approx(factor)


@pytest.mark.parametrize(
    ("tags", "factor"),
    [
        pytest.param(["vb:rest"], 1.1, id="at home"),
        pytest.param(["vb:order"], 0.9, id="elsewhere"),
        pytest.param(["vb:rest", "vb:order"], 1.0, id="half and half"),
        pytest.param(["garden"], 1.0, id="a tag that says nothing about it"),
        pytest.param([], 1.0, id="no tags"),
    ],
)
def test_the_pull_of_gravity(tags: list[str], factor: float) -> None:
    """A bonus for what lies where the person usually turns, a penalty for what does not."""
    wants = Wants(gravity={"vb:rest": 0.5})
    assert score_personal_hit(hit(1.0), tags, Tally(), wants).boosts["gravity"] == pytest.approx(factor)


@given(RELEVANCE, RELEVANCE, TAGS, TALLIES, WANTS)
def test_the_better_of_two_alike_stays_better(
    one: float, other: float, tags: list[str], tally: Tally, wants: Wants
) -> None:
    """Boosts of the same tags and votes never turn an order round."""
    low, high = sorted((one, other))
    assert (
        score_personal_hit(hit(low), tags, tally, wants).score
        <= score_personal_hit(hit(high), tags, tally, wants).score
    )


@given(RELEVANCE, TAGS, TAGS)
def test_a_reference_text_gains_at_most_ten_percent(
    relevance: float, tags: list[str], wanted: list[str]
) -> None:
    """And never loses."""
    found = score_corpus_hit(hit(relevance), tags, wanted)
    assert 1 <= found.boosts["tags"] <= 1.1 + SLACK
    assert found.score == relevance * found.boosts["tags"]


def test_a_reference_text_gains_by_the_share_of_what_is_asked() -> None:
    """Form, tone and intent count; values are the person's."""
    asked = corpus_tags(["format:prose", "intent:explain", "vb:rest"])
    assert asked == ("format:prose", "intent:explain")
    assert score_corpus_hit(hit(1.0), ["intent:explain", "vb:rest"], asked).boosts["tags"] == pytest.approx(
        1.05
    )
