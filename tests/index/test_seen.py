"""Legs over what was seen: ties by id, what is lent, what is of the days asked about."""

from collections.abc import Mapping

from app.clients.points import Point, Sparse
from app.domain.passage import Hit, Passage
from app.index.seen import DATED, Given, Question, Seen, assembled, scored


def made(marks: Mapping[str, str]) -> dict[str, Passage]:
    """Passages of nothing but their labels."""
    return {key: Passage("s", key, key, 1, f"s#{mark}") for key, mark in marks.items()}


def test_equal_scores_stand_in_the_order_of_their_ids() -> None:
    """In both legs and among the passages, whatever order they were seen in."""
    hits = {key: Hit(key, 1.0, 0.5, True) for key in "cab"}
    seen = Seen(hits=hits, similarities=dict.fromkeys("bca", 0.5), nearest=("b", "c", "a"))
    found = assembled("s", seen, dict.fromkeys("bca", 1.0), made, limit=2)
    assert [hit.key for hit in found.words] == [hit.key for hit in found.meaning] == ["a", "b"]
    assert list(found.passages) == ["a", "b"]


def test_a_passage_that_meaning_alone_chose_keeps_its_words_beside() -> None:
    """With the score it has now, and what it covers by itself; without a score it has no words."""
    seen = Seen(
        hits={"a": Hit("a", 2.0, 0.5, True), "b": Hit("b", 1.0, 0.25)},
        similarities={"b": 0.9, "c": 0.8},
        nearest=("b", "c"),
    )
    found = assembled("s", seen, {"a": 2.0, "b": 1.5, "c": 0.0}, made, limit=1)
    assert found.words == (Hit("a", 2.0, 0.5, True),)
    assert found.meaning == (Hit("b", 0.9),)
    assert found.beside == {"b": Hit("b", 1.5, 0.25)}
    assert [*found.passages] == ["a", "b"]


def test_what_neighbours_lend_stands_beside_the_score() -> None:
    """The whole of it where a passage holds no word, what was added where it does, nothing where none was."""
    hits = {key: Hit(key, 2.0, 0.5) for key in "ab"}
    found = assembled("s", Seen(hits=hits), {"a": 2.0, "b": 3.5, "c": 1.0}, made, limit=3)
    assert [(hit.key, hit.lent) for hit in found.words] == [("b", 1.5), ("a", 0.0), ("c", 1.0)]


WORDS = Sparse((1,), (1.0,))
NEAR = Point("a", {"text": "a"}, score=0.9)
OF_MAY = Point("b", {"text": "b"}, score=0.3)


def test_what_is_of_the_days_is_found_beside_the_legs() -> None:
    """With its words and its similarity, in neither leg however well it scores: how clearly they tell, and
    what neighbours lend, is not moved."""
    given = Given(meaning=[NEAR], dated=[OF_MAY, NEAR], worded=[Point("b", words=WORDS, score=2.0)])
    seen = scored(Question(WORDS, b"1234", 8, 0.0), given, 100, (), whole=False)
    assert (seen.nearest, [*seen.hits], seen.similarities) == (("a",), [], {"a": 0.9, "b": 0.3})
    assert [(key, hit.score) for key, hit in seen.dated.items() if hit] == [("b", 2.0)]
    found = assembled("s", seen, {"a": 1.0}, made, limit=8)
    assert [hit.key for hit in found.meaning] == [hit.key for hit in found.words] == ["a"]
    assert ([*found.passages], [*found.dated]) == (["a", "b"], ["b"])


def test_what_a_leg_found_of_the_days_stays_in_it() -> None:
    """It is not told twice."""
    given = Given(words=[Point("b", {"text": "b"}, words=WORDS, score=2.0)], dated=[OF_MAY])
    seen = scored(Question(WORDS, b"1234", 8, 0.0), given, 100, (), whole=True)
    assert (seen.lone, [*seen.hits]) == (frozenset(), ["b"])
    found = assembled("s", seen, {"b": 2.0}, made, limit=8)
    assert ([hit.key for hit in found.words], found.dated) == (["b"], {})


def test_what_a_leg_found_and_did_not_choose_is_told_for_its_day() -> None:
    """Its list is longer than what it may choose."""
    many = [Point(key, {"text": key}, words=WORDS, score=2.0) for key in "abc"]
    seen = scored(Question(WORDS, b"1234", 8, 0.0), Given(words=many, dated=[many[2]]), 100, (), whole=True)
    found = assembled("s", seen, dict.fromkeys("abc", 2.0), made, limit=2)
    assert ([hit.key for hit in found.words], [*found.dated], [*found.passages]) == (
        ["a", "b"],
        ["c"],
        ["a", "b", "c"],
    )


def test_of_the_days_too_nothing_is_told_that_is_barred_or_has_no_text() -> None:
    """It may have been removed, or be another tool's; so many others are told all the same."""
    removed = [Point(f"r{n}", {"text": "r"}) for n in range(DATED)]
    living = [Point(f"l{n:02}", {"text": "l"}) for n in range(DATED + 1)]
    given = Given(dated=[*removed, Point("c", {"text": " "}), *living])
    seen = scored(Question(WORDS, b"1234", 8, 0.0), given, 100, {each.id for each in removed}, whole=False)
    assert (sorted(seen.dated), seen.textless) == (sorted(each.id for each in living[: DATED - 1]), 1)
