"""What is a match, and when a message is skipped."""

import pytest

from app.retrieval.relevance import by_words, is_match, skipped, vouched
from app.types import Candidate, Hit, Passage


def candidate(similarity: float | None, words: Hit | None = None) -> Candidate:
    """A candidate of that similarity, seen by the word leg or not."""
    return Candidate(Passage("documents", "a", "text", 1, "a.pdf#1", similarity=similarity), words)


RARE = Hit("a", 3.0, 0.3, rare=True)
MOST = Hit("a", 3.0, 0.61)
SOME = Hit("a", 3.0, 0.6)
CONTENT = Hit("a", 3.0, 0.3, content=0.4)


@pytest.mark.parametrize(
    ("similarity", "words", "match"),
    [
        pytest.param(0.21, None, True, id="above the threshold"),
        pytest.param(0.2, None, False, id="at the threshold"),
        pytest.param(-0.5, RARE, True, id="far off, but it holds the rare words"),
        pytest.param(0.1, MOST, True, id="most of the query's words"),
        pytest.param(0.1, SOME, False, id="some of them"),
        pytest.param(None, None, False, id="not embedded, no words"),
        pytest.param(None, RARE, True, id="not embedded, rare words"),
        pytest.param(None, CONTENT, True, id="not embedded, enough of the content"),
    ],
)
def test_a_match_is_similar_or_vouched_for(similarity: float | None, words: Hit | None, match: bool) -> None:
    """Above the threshold, or words vouch for it."""
    assert is_match(candidate(similarity, words), 0.2) is match


@pytest.mark.parametrize(("words", "so"), [(RARE, True), (MOST, True), (SOME, False), (None, False)])
def test_words_vouch_whatever_the_similarity(words: Hit | None, so: bool) -> None:
    """A ledger tells it, so that another threshold can be tried on it."""
    assert [by_words(candidate(similarity, words)) for similarity in (None, -1.0, 1.0)] == [so] * 3


def test_a_boosted_score_makes_no_match() -> None:
    """The threshold looks at similarity, never at the score."""
    boosted = Candidate(Passage("documents", "a", "t", 1, "a.pdf#1", similarity=0.1, score=1.0))
    assert not is_match(boosted, 0.2)


@pytest.mark.parametrize(
    ("hit", "said"), [pytest.param(RARE, True, id="rare"), pytest.param(SOME, False, id="common")]
)
def test_words_vouch_by_what_is_rare(hit: Hit, said: bool) -> None:
    assert vouched(hit) is said


@pytest.mark.parametrize(
    ("message", "candidates", "short"),
    [
        pytest.param("hi there", [], True, id="short, nothing found"),
        pytest.param("123456789", [candidate(0.2)], True, id="nine characters, at the threshold"),
        pytest.param("1234567890", [], False, id="ten characters"),
        pytest.param("rhine", [candidate(0.1), candidate(0.3)], False, id="short, but something is similar"),
        pytest.param("rhine", [candidate(0.1, RARE)], True, id="short, words alone do not lift the rule"),
        pytest.param("hi" + " " * 20, [], True, id="spaces are no characters"),
        pytest.param("rhine", [candidate(None)], True, id="not embedded"),
        pytest.param("rhine", [candidate(None, RARE)], False, id="not embedded, so words decide"),
    ],
)
def test_short_messages_without_a_similar_passage_are_skipped(
    message: str, candidates: list[Candidate], short: bool
) -> None:
    """Under 10 characters and no match above the threshold; without similarities words decide."""
    assert skipped(message, candidates, 0.2) is short
