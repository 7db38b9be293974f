"""What several searches for one question found, as one list."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.fusion import scored
from app.retrieval.relevance import is_match
from app.retrieval.rewrite import KEPT, falling, merged
from app.types import Candidate, Degraded, Found, Hit
from tests.fakes.answering import passage

RARE, COMMON = Hit("k", 3, 0.9, rare=True), Hit("k", 1, 0.1)


def item(key: str, score: float, *, similarity: float | None = 0.8, words: Hit | None = None) -> Candidate:
    """A candidate with a text of its own."""
    return Candidate(scored(passage(key, f"text of {key}", similarity), score), words)


def ids(found: Found) -> list[str]:
    """In order."""
    return [each.passage.id for each in found.candidates]


def test_without_rewordings_nothing_changes() -> None:
    """To the last figure."""
    own = Found((item("a", 0.9),), notes=("n",), stored=3, answered=1)
    assert merged(own, [], 0.2) is own


def test_each_by_what_it_fits_best() -> None:
    """Behind the question's own first ones, whoever found it."""
    own = Found(
        tuple(item(key, score) for key, score in zip("abcde", (0.9, 0.8, 0.7, 0.3, 0.1), strict=True))
    )
    more = [Found((item("e", 0.65), item("x", 0.5))), Found((item("y", 0.4), item("a", 0.2)))]
    assert ids(merged(own, more, 0.2)) == [*"abc", "e", "x", "y", "d"]


def test_the_first_matches_of_the_question_stay_the_first() -> None:
    """However sure a rewording is; none is more relevant than what stands before it."""
    own = Found(tuple(item(key, score) for key, score in zip("abcd", (0.5, 0.4, 0.3, 0.2), strict=True)))
    found = merged(own, [Found((item("x", 0.99), item("d", 0.9), item("c", 0.8)))], 0.2)
    assert ids(found) == [*"abc", "x", "d"]
    assert [each.passage.score for each in found.candidates] == [0.5, 0.4, 0.4, 0.4, 0.4]


def test_what_is_no_match_of_the_question_holds_no_place() -> None:
    """It would not have been packed."""
    own = Found((item("a", 0.3, similarity=0.1), item("b", 0.2, similarity=0.1)))
    assert ids(merged(own, [Found((item("x", 0.9),))], 0.2)) == ["x", "a", "b"]


def test_a_match_for_any_of_the_texts_is_one() -> None:
    """By similarity to one, or by words of another."""
    own = Found((item("a", 0.5, similarity=0.1, words=RARE), item("b", 0.4, similarity=None)))
    more = Found((item("a", 0.9, similarity=0.15, words=COMMON), item("b", 0.1, similarity=0.6)))
    found = {each.passage.id: each for each in merged(own, [more], 0.2).candidates}
    assert (found["a"].passage.similarity, found["a"].words) == (0.15, RARE)
    assert found["b"].passage.similarity == 0.6
    assert all(is_match(each, 0.2) for each in found.values())


def test_copies_are_told_once() -> None:
    """Whichever search saw which of them."""
    one = item("a", 0.9)
    copy = Candidate(scored(passage("b", one.passage.text), 0.95))
    found = merged(Found((one,)), [Found((copy,), (one,))], 0.2)
    assert (ids(found), [each.passage.id for each in found.duplicates]) == (["a"], ["b"])


def test_all_that_went_wrong_is_told_once() -> None:
    """And what each search tells."""
    lost = Degraded("corpus", "timeout")
    own = Found((item("a", 0.9),), degraded=(lost,), stored=5, answered=1, notes=("one",))
    more = Found((item("b", 0.8),), degraded=(lost,), stored=5, answered=2, notes=("one", "two"))
    found = merged(own, [more], 0.2)
    assert (found.degraded, found.notes, found.stored, found.answered) == ((lost,), ("one", "two"), 5, 2)


SEARCH = st.dictionaries(st.sampled_from("abcdefgh"), st.floats(0, 1), max_size=8).map(
    lambda told: Found(
        tuple(falling([item(key, told[key]) for key in sorted(told, key=lambda at: -told[at])]))
    )
)


@given(SEARCH, st.lists(SEARCH, max_size=3))
def test_law_nothing_is_lost_and_relevance_falls(own: Found, others: list[Found]) -> None:
    """Each passage is there once, the question's first where they were."""
    found = merged(own, others, 0.2)
    scores = [each.passage.score for each in found.candidates]
    assert sorted(ids(found)) == sorted({key for each in (own, *others) for key in ids(each)})
    assert ids(found)[: min(KEPT, len(own.candidates))] == ids(own)[:KEPT]
    assert scores == sorted(scores, reverse=True)


def test_what_two_searches_found_in_nearly_the_same_words_is_told_once() -> None:
    """The better one stays, and the notes say for what."""
    one, other = (
        Candidate(replace(scored(passage(key, text), score), source="memories"))
        for key, text, score in (("a", "I love tea", 0.9), ("b", "i love  tea!", 0.8))
    )
    found = merged(Found((one,), notes=("n",)), [Found((other,))], 0.2)
    assert (ids(found), [each.passage.id for each in found.duplicates]) == (["a"], ["b"])
    assert found.notes == ("n", "b.pdf#1 is a duplicate of a.pdf#1")


def test_twins_are_told_of_the_list_that_is_told() -> None:
    """A rewording may see them the other way round; what stays is no duplicate, and is not called one."""
    one, other = (
        Candidate(replace(scored(passage(key, text), 0.9), source="memories"))
        for key, text in (("a", "I love tea"), ("b", "I love tea!"))
    )
    own = Found((one,), (other,), notes=("n", "b.pdf#1 is a duplicate of a.pdf#1"))
    more = Found((other,), (one,), notes=("a.pdf#1 is a duplicate of b.pdf#1", "x is a duplicate of y"))
    found = merged(own, [more], 0.2)
    assert ids(found) == ["a"]
    assert found.notes == ("n", "x is a duplicate of y", "b.pdf#1 is a duplicate of a.pdf#1")
