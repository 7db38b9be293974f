"""Who said it and when: evidence beside words and meaning."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.passage import Candidate, Passage
from app.domain.said import DATED, SPEAKER, TIME, asked, days, notes, speaker, weighed
from app.domain.span import Span

NOW = datetime(2024, 2, 1, 12, tzinfo=UTC)
MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def memory(
    text: str = "I swam", at: datetime | None = MAY, *, key: str = "m", score: float = 0.4
) -> Candidate:
    """A memory that was found."""
    return Candidate(Passage("memories", key, text, 1, f"memory#{key}", score=score, created_at=at))


def evidence(question: str, text: str = "I swam", at: datetime | None = MAY) -> float:
    """What a question says for a memory."""
    return asked(question, NOW).evidence(memory(text, at).passage)


@pytest.mark.parametrize(
    "question",
    [
        "What happened in May 2023?",
        "what was on 8 May",
        "Where was I last spring?",
        "Was war im letzten Frühling?",
        "¿Qué hice el año pasado?",
        "Qu'ai-je fait le 8 mai 2023 ?",
        "what have I done since 2023",
        "before June 2023",
        "until May 2023",
        "after April 2023",
        "since May",
    ],
)
def test_a_memory_of_the_time_asked_about_has_evidence(question: str) -> None:
    """Relative times are seen from when it is asked; without a year any is meant."""
    assert evidence(question) == TIME


@pytest.mark.parametrize(
    "question",
    [
        "in April 2023",
        "last summer",
        "yesterday",
        "on 7 June",
        "after May 2023",
        "before May 2023",
        "What did I do?",
    ],
)
def test_one_of_another_time_has_none(question: str) -> None:
    """Nor where the question names no time."""
    assert evidence(question) == 0


@pytest.mark.parametrize(
    ("text", "question"),
    [
        pytest.param("I swam yesterday", "on 7 May 2023", id="yesterday"),
        pytest.param("we married last summer", "in July 2022", id="a part"),
        pytest.param("on 24 July I fly home", "in July 2023", id="the nearest year"),
        pytest.param("in 1999 I moved", "where did I live in 1999", id="absolute"),
    ],
)
def test_a_memory_is_of_the_days_it_speaks_of(text: str, question: str) -> None:
    """As they were seen from its own day; of a season that is asked about in part, in part."""
    assert 0 < evidence(question, text) <= TIME
    assert evidence(question) == 0


def test_its_own_day_comes_first() -> None:
    """And one that has no date has no days: nobody knows what its `yesterday` was."""
    found = memory("I swam yesterday").passage
    assert list(days(found)) == [
        Span(date(2023, 5, 8), date(2023, 5, 9)),
        Span(date(2023, 5, 7), date(2023, 5, 8)),
    ]
    assert list(days(replace(found, created_at=None))) == []


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("Anna: I swam", "anna", id="name"),
        pytest.param("  Jean-Luc O. Picard : Engage", "jean-luc o. picard", id="long name"),
        pytest.param("Олег: привет", "олег", id="Cyrillic"),
        pytest.param("at 10:30 I swam", "", id="hour"),
        pytest.param("https://example.org", "", id="address"),
        pytest.param("I swam. And then: nothing", "i swam. and then", id="a sentence"),
        pytest.param("a" * 60 + ": x", "", id="too long"),
        pytest.param("no colon", "", id="none"),
    ],
)
def test_a_speaker_is_named_before_a_colon(text: str, name: str) -> None:
    """As in transcripts; what is no name is one that no question names."""
    assert speaker(text) == name


def test_who_is_named_is_whose_memory_is_meant() -> None:
    """As a whole word, whatever its case; a memory that only mentions him is another's."""
    assert evidence("What did ANNA swim?", "Anna: I swam") == SPEAKER
    assert evidence("What did Annabel swim?", "Anna: I swam") == 0
    assert evidence("What did Anna swim?", "Ben: Anna swam") == 0


@pytest.mark.parametrize(
    ("question", "weight"),
    [
        pytest.param("When did I swim?", DATED, id="when"),
        pytest.param("Seit wann schwimme ich?", DATED, id="seit wann"),
        pytest.param("¿Cuándo nadé?", DATED, id="cuándo"),
        pytest.param("in what year did I swim?", DATED, id="what year"),
        pytest.param("Was I happy when I swam?", 0, id="no question"),
        pytest.param("Who swam?", 0, id="who"),
    ],
)
def test_a_question_for_a_time_prefers_what_tells_one(question: str, weight: float) -> None:
    """A little: whether it is the time of what is asked about, words and meaning must tell."""
    assert evidence(question, "I swam last week") == weight
    assert evidence(question, "I swam") == 0


def test_a_document_has_no_such_time() -> None:
    """What says `yesterday` in it, and when it was uploaded, says nothing of what it is about."""
    found = replace(memory("Anna: I swam yesterday").passage, source="documents")
    assert asked("When did Anna swim in May 2023?", NOW).evidence(found) == 0


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=9))
def test_evidence_is_bounded_and_takes_nothing(found: list[tuple[float, bool]]) -> None:
    """Relevance stays in [0, 1] and never falls, all stay, and the most relevant is first."""
    given_ones = [
        memory("Anna: I swam yesterday", MAY if dated else None, key=str(n), score=score)
        for n, (score, dated) in enumerate(found)
    ]
    ranked = weighed(given_ones, asked("When did Anna swim in May?", NOW))
    scores = [item.passage.score for item in ranked]
    assert scores == sorted(scores, reverse=True)
    assert {item.passage.id for item in ranked} == {item.passage.id for item in given_ones}
    for item in ranked:
        before = given_ones[int(item.passage.id)].passage.score
        assert (
            before <= item.passage.score <= min(1.0, before + (TIME + SPEAKER + DATED) * (1 - before) + 1e-9)
        )


def test_of_equal_relevance_the_one_of_that_time_is_first() -> None:
    """And what nothing is known of stays in its order."""
    june = memory(at=datetime(2023, 6, 1, tzinfo=UTC), key="june")
    others = [replace(june, passage=replace(june.passage, id=str(n))) for n in range(3)]
    ranked = weighed([june, *others, memory()], asked("in May", NOW))
    assert [item.passage.id for item in ranked] == ["m", "june", "0", "1", "2"]


def test_what_is_of_the_time_is_told() -> None:
    """By label, with the days that the question was taken for."""
    found = [memory(), memory(at=None, key="n")]
    assert notes(found, asked("in May 2023", NOW)) == [
        "Of the time asked about (2023-05-01 to 2023-05-31): memory#m"
    ]
    assert notes(found, asked("in May", NOW)) == ["Of the time asked about (05-01 to 05-31): memory#m"]
    assert notes(found, asked("since 2021", NOW)) == ["Of the time asked about (since 2021-01-01): memory#m"]
    assert notes(found, asked("until 2024", NOW)) == ["Of the time asked about (until 2024-12-31): memory#m"]
    assert notes(found, asked("in June", NOW)) == notes(found, asked("Who swam?", NOW)) == []


def test_the_same_words_are_another_question_tomorrow() -> None:
    """So that a cache does not answer with yesterday's yesterday."""
    later = NOW.replace(day=2)
    assert asked("yesterday", NOW).key != asked("yesterday", later).key
    assert asked("in May 2023", NOW).key == asked("in May 2023", later).key
    assert asked("who swam", NOW).key == []
