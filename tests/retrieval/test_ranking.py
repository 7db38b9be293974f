"""Identical content once."""

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval.ranking import content, without_copies_of, without_identical
from app.types import Candidate, Passage


def candidates(texts: list[str]) -> list[Candidate]:
    return [Candidate(Passage("documents", str(n), text, 1, f"a.pdf#{n}")) for n, text in enumerate(texts)]


def test_white_space_and_case_make_no_difference() -> None:
    """The first of equal texts stays, the others are duplicates."""
    kept, duplicates = without_identical(candidates(["The  Sea", "the sea\n", "the sand", "THE SEA"]))
    assert [item.passage.id for item in kept] == ["0", "2"]
    assert [item.passage.id for item in duplicates] == ["1", "3"]


def test_sources_may_be_looked_at_apart() -> None:
    """Then the same words in two of them are no duplicates."""
    twins = [Candidate(Passage(source, source, "The sea", 1, "l#1")) for source in ("corpus", "memories")]
    assert without_identical([*twins, twins[1]], across=False) == (twins, [twins[1]])
    assert without_identical(twins) == (twins[:1], twins[1:])


def test_copies_of_what_is_told_are_set_apart() -> None:
    """Whatever their case; the others keep their order."""
    one, two, three = candidates(["The sea", "the SAND", "THE  sea"])
    assert without_copies_of([one, two, three], [three]) == ([two], [one, three])
    assert without_copies_of([one, two], []) == ([one, two], [])


def told(text: str, *times: datetime | None, source: str = "memories") -> int:
    """How often a text is told that was said at these times."""
    every = [
        Candidate(Passage(source, str(n), text, 1, f"m#{n}", created_at=at)) for n, at in enumerate(times)
    ]
    assert len(without_identical(every, across=False)[0]) == len(without_identical(every)[0])
    return len(without_identical(every)[0])


MAY, JUNE = datetime(2023, 5, 8, tzinfo=UTC), datetime(2023, 6, 9, tzinfo=UTC)


@pytest.mark.parametrize(
    "text",
    [
        "Yesterday I ran",
        "Dentist on Monday",
        "every week, but not last week",
        "Lunes: dentista",
        "Am Montag zum Arzt",
        "I am ill now",
        "ran this morning, for the first time since 8 May 1990",
    ],
)
def test_words_of_time_of_two_days_are_two_things(text: str) -> None:
    """Equal to the letter, and not the same; said on one day they are. Of an unknown day nobody can tell."""
    assert told(text, MAY, JUNE) == 2
    assert told(text, MAY, JUNE, MAY.replace(hour=9), JUNE) == 2
    assert told(text, MAY, None) == told(text, None, None) == 1
    assert told(text, MAY, JUNE, source="corpus") == 1


def test_a_copy_in_another_source_is_one_whatever_its_words_of_time() -> None:
    """A text that nobody said is of no day."""
    one, other = (
        Passage(source, "1", "Yesterday I ran", 1, "m#1", created_at=MAY) for source in ("memories", "corpus")
    )
    assert len(without_identical([Candidate(one), Candidate(other)])[0]) == 1


@pytest.mark.parametrize(
    "text", ["I like tea", "I was born on 8 May 1990", "An apple a day", "I just march on", "Since 2019"]
)
def test_what_means_the_same_on_any_day_is_told_once(text: str) -> None:
    assert told(text, MAY, JUNE) == 1


LONG = st.lists(st.sampled_from(["a", "A", "b", "\u00df", "SS"]), max_size=11).map(" ".join)


@given(st.lists(LONG, max_size=9))
def test_texts_that_begin_alike_are_compared_whole(texts: list[str]) -> None:
    """Of each content the first is kept, however long the words are that it shares with others."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(content(text), text)
    assert [item.passage.text for item in without_identical(candidates(texts))[0]] == list(first.values())


@given(st.lists(st.text("aA \n", max_size=4)))
def test_nothing_is_lost(texts: list[str]) -> None:
    """Kept and duplicates are what was given, in order; no content is kept twice, none is lost."""
    given_ones = candidates(texts)
    kept, duplicates = without_identical(given_ones)
    assert sorted((*kept, *duplicates), key=lambda item: int(item.passage.id)) == given_ones
    shown = [content(item.passage.text) for item in kept]
    assert len(shown) == len(set(shown))
    assert {content(item.passage.text) for item in duplicates} <= set(shown)
