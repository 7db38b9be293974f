"""Legs over what was seen: ties by id, what is lent, what is of the days asked about."""

from collections.abc import Mapping

from app.clients.points import Point, Sparse
from app.domain.passage import Hit, Passage
from app.index.seen import Given, Question, Seen, assembled, scored


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
    """With its words and its similarity, in neither leg: how clearly they tell is not moved."""
    given = Given(meaning=[NEAR], dated=[OF_MAY], worded=[Point("b", words=WORDS, score=2.0)])
    seen = scored(Question(WORDS, b"1234", 8, 0.0), given, 100, (), whole=False)
    assert (seen.dated, seen.nearest, [*seen.hits], seen.similarities) == (
        ("b",),
        ("a",),
        ["b"],
        {"a": 0.9, "b": 0.3},
    )
    found = assembled("s", seen, {}, made, limit=8)
    assert ([hit.key for hit in found.meaning], found.words, [*found.passages]) == (["a"], (), ["a", "b"])


def test_of_the_days_too_nothing_is_told_that_is_barred_or_has_no_text() -> None:
    """It may have been removed, or be another tool's."""
    given = Given(dated=[OF_MAY, Point("c", {"text": " "}), Point("d", {"text": "d"})])
    seen = scored(Question(WORDS, b"1234", 8, 0.0), given, 100, {"b"}, whole=False)
    assert (seen.dated, [*seen.points], seen.textless) == (("d",), ["d"], 1)
