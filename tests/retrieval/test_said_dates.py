"""Who said it and when: evidence beside words and meaning."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta, timezone

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.retrieval.fusion import (
    DATED,
    MAX_TIMES,
    SPEAKER,
    TIME,
    YEARS,
    Asked,
    asked,
    named,
    notes,
    speaker,
    with_time_evidence,
)
from app.retrieval.relevance import is_match
from app.text.dates import KNOWN, LAST, MAX_EXPRESSIONS, DateSpan, days
from app.types import Candidate, Passage, Stretch

NOW = datetime(2024, 2, 1, 12, tzinfo=UTC)
MAY = datetime(2023, 5, 8, 13, 56, tzinfo=UTC)


def memory(
    text: str = "I swam", at: datetime | None = MAY, *, key: str = "m", score: float = 0.4
) -> Candidate:
    return Candidate(Passage("memories", key, text, 1, f"memory#{key}", score=score, created_at=at))


def evidence(question: str, text: str = "I swam", at: datetime | None = MAY) -> float:
    """What a question says for a memory."""
    asks, item = asked(question, NOW), memory(text, at)
    return asks.evidence(item.passage, asks.shares([item]).get("m", 0.0))


def ranked_for(candidates: Sequence[Candidate], asks: Asked) -> list[Candidate]:
    return with_time_evidence(candidates, asks, asks.shares(candidates))


def notes_for(candidates: Sequence[Candidate], asks: Asked, threshold: float) -> list[str]:
    return notes(candidates, asks, asks.shares(candidates), threshold)


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
        DateSpan(date(2023, 5, 8), date(2023, 5, 9)),
        DateSpan(date(2023, 5, 7), date(2023, 5, 8)),
    ]
    assert list(days(replace(found, created_at=None))) == []


def test_who_is_named_is_whose_memory_is_meant() -> None:
    """One that only mentions him is another's."""
    assert evidence("What did Anna swim?", "Anna: I swam") == SPEAKER
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
    asks = asked("When did Anna swim in May 2023?", NOW)
    assert asks.shares([Candidate(found, None)]) == {}
    assert asks.evidence(found, 1.0) == 0


@given(st.lists(st.tuples(st.floats(0, 1), st.booleans()), max_size=9))
def test_evidence_is_bounded_and_takes_nothing(found: list[tuple[float, bool]]) -> None:
    """Relevance stays in [0, 1] and never falls, all stay, and the most relevant is first."""
    given_ones = [
        memory("Anna: I swam yesterday", MAY if dated else None, key=str(n), score=score)
        for n, (score, dated) in enumerate(found)
    ]
    ranked = ranked_for(given_ones, asked("When did Anna swim in May?", NOW))
    scores = [item.passage.score for item in ranked]
    assert scores == sorted(scores, reverse=True)
    assert {item.passage.id for item in ranked} == {item.passage.id for item in given_ones}
    for item in ranked:
        before = given_ones[int(item.passage.id)].passage.score
        assert (
            before <= item.passage.score <= min(1.0, before + (TIME + SPEAKER + DATED) * (1 - before) + 1e-9)
        )


@pytest.mark.parametrize(
    ("question", "times"),
    [
        ("in May 2023", "2023-05-01 to 2023-05-31"),
        ("in May", "05-01 to 05-31"),
        ("since 2021", "since 2021-01-01"),
        ("until 2024", "until 2024-12-31"),
    ],
)
def test_what_a_question_was_taken_for_is_told(question: str, times: str) -> None:
    """Where a match is of it; no memory is named, for which of them are told is decided later."""
    found = [memory(), memory(at=None, key="n")]
    assert notes_for(found, asked(question, NOW), -1) == []
    found[0] = Candidate(replace(found[0].passage, similarity=0.5), None)
    assert notes_for(found, asked(question, NOW), 0.3) == [f"Time asked about: {times}"]
    assert notes_for(found, asked(question, NOW), 0.6) == []
    assert (
        notes_for(found, asked("in June", NOW), 0.3) == notes_for(found, asked("Who swam?", NOW), 0.3) == []
    )


def test_only_what_somebody_said_is_of_a_time() -> None:
    """A document that was uploaded in May, and speaks of it, is neither looked at nor told of."""
    passage = replace(memory("on 8 May 2023").passage, source="documents", similarity=0.5)
    assert notes_for([Candidate(passage, None)], asked("in May 2023", NOW), 0.3) == []


def test_the_same_words_are_another_question_tomorrow() -> None:
    """So that a cache does not answer with yesterday's yesterday."""
    later = NOW.replace(day=2)
    assert asked("yesterday", NOW).key != asked("yesterday", later).key
    assert asked("in May 2023", NOW).key == asked("in May 2023", later).key
    assert asked("who swam", NOW).key == []


@pytest.mark.parametrize("word", ["since", "until", "before", "after", "last", "this", "next"])
@pytest.mark.parametrize("month", range(1, 13))
def test_a_season_is_found_in_every_month(word: str, month: int) -> None:
    """In January a winter is on that began in another year."""
    for season in ("winter", "spring", "summer", "autumn"):
        assert len(asked(f"{word} {season}", NOW.replace(month=month)).spans) == 1


SAID = st.sampled_from(
    [
        *sorted(KNOWN),
        *(
            "0001-01-01",
            "9999-12-30",
            "1.1.1000",
            "31.12.2999",
            "999",
            "29",
            "Yesterday",
            "What",
            "Anna:",
            ",",
        ),
    ]
)
TEXTS = st.lists(SAID, max_size=12).map(" ".join) | st.text()
ZONES = st.integers(-1439, 1439).map(lambda minutes: timezone(timedelta(minutes=minutes)))
LEAST, MOST = datetime.min, datetime.max  # noqa: DTZ901 - an outside collection may hold them
MOMENTS = st.datetimes(LEAST, MOST) | st.datetimes(LEAST, MOST, timezones=ZONES)


@given(TEXTS, TEXTS, MOMENTS, MOMENTS)
@example("What about the dentist on 7 May?", "0001-01-01", NOW, NOW)
@example("What about the dentist on 7 May?", "Yesterday … 9999-12-30", NOW, NOW)
@example("on 7 May", "yesterday, in winter", NOW, MOST)
@example("on 7 May", "in two years", NOW, LEAST.replace(tzinfo=timezone(timedelta(hours=2))))
@example("since 29 February, next winter", "on 29 February", LEAST, MOST)
def test_no_text_and_no_day_is_a_fault(question: str, text: str, at: datetime, created: datetime) -> None:
    """Whatever is asked whenever, and whatever an outside collection says of when it was kept."""
    found = [Candidate(replace(memory(text, created).passage, similarity=1.0), None)]
    asks = asked(question, at)
    assert all(each.start < each.end for each in (*days(found[0].passage), *asks.spans))
    assert 0 <= ranked_for(found, asks)[0].passage.score <= 1
    assert len(notes_for(found, asks, 0)) <= 1


def test_as_many_times_are_read_as_people_name() -> None:
    """Of a question and of a memory; each once."""
    many = " ".join(f"7 May {year}" for year in range(1950, 2000))
    assert len(asked(many, NOW).spans) == MAX_TIMES
    assert len(list(days(memory(many).passage))) == 1 + MAX_EXPRESSIONS
    assert len(asked("7 May, 7 May, May 7", NOW).spans) == 1


@pytest.mark.parametrize(
    ("question", "stretches"),
    [
        pytest.param("what did I do", (), id="none"),
        pytest.param("what did I do yesterday", ((date(2024, 1, 31), date(2024, 2, 1)),), id="one day"),
        pytest.param(
            "May 2021 and June 2021, and 3 June 2021", ((date(2021, 5, 1), date(2021, 7, 1)),), id="touching"
        ),
        pytest.param("since June 2023", ((date(2023, 6, 1), LAST),), id="open"),
        pytest.param(
            "what do I do in May",
            tuple((date(year, 5, 1), date(year, 6, 1)) for year in range(2024 - YEARS + 1, 2025)),
            id="any year's",
        ),
    ],
)
def test_the_days_that_are_asked_about(question: str, stretches: tuple[Stretch, ...]) -> None:
    assert asked(question, NOW).stretches(NOW.year) == stretches


@pytest.mark.parametrize(
    ("question", "text", "matches"),
    [
        pytest.param("what did I do in May 2023", "otters eat fish", True, id="nothing but the time"),
        pytest.param("what did otters do in May 2023", "I swam", False, id="more than the time"),
        pytest.param("what did I do in June 2023", "otters eat fish", False, id="another time"),
        pytest.param("what did I do on 1 May 2023", "I swam last week", False, id="a part of its days"),
    ],
)
def test_who_asks_for_a_time_alone_is_told_what_is_of_it(question: str, text: str, *, matches: bool) -> None:
    """However little its words and its meaning have in common with the question."""
    item = memory(text)
    [found] = ranked_for([replace(item, passage=replace(item.passage, similarity=0.0))], asked(question, NOW))
    assert is_match(found, 0.2) is matches


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param("Anna: I swam", "Anna", id="name"),
        pytest.param("  Jean-Luc O. Picard : Engage", "Jean-Luc O. Picard", id="long name"),
        pytest.param("Олег: привет", "Олег", id="Cyrillic"),
        pytest.param("Will: I swam", "Will", id="a name that is a verb"),
        pytest.param("at 10:30 I swam", "", id="hour"),
        pytest.param("https://example.org", "", id="address"),
        pytest.param("I swam. And then: nothing", "I swam. And then", id="a sentence"),
        pytest.param("a" * 60 + ": x", "", id="too long"),
        pytest.param("no colon", "", id="none"),
        pytest.param("Summary: x", "", id="heading"),
        pytest.param("Zusammenfassung: x", "", id="German heading"),
        pytest.param("What: x", "", id="closed class"),
        pytest.param("I: x", "", id="pronoun"),
    ],
)
def test_a_speaker_is_named_before_a_colon(text: str, name: str) -> None:
    """As in transcripts; headings and words that name nothing are nobody."""
    assert speaker(text) == name


@pytest.mark.parametrize(
    ("question", "name", "is_named"),
    [
        pytest.param("What did Anna swim?", "Anna", True, id="as it is"),
        pytest.param("What did ANNA swim?", "Anna", True, id="in capitals"),
        pytest.param("what did anna swim", "Anna", True, id="no capitals at all"),
        pytest.param("What does anna mean?", "Anna", False, id="no name here"),
        pytest.param("What did Annabel swim?", "Anna", False, id="a part of another"),
        pytest.param("Annabel, or Anna?", "Anna", True, id="behind another"),
        pytest.param("Anna swam?", "Anna", True, id="first"),
        pytest.param("What will I do?", "Will", False, id="a verb"),
        pytest.param("what will i do", "Will", False, id="a verb, no capitals"),
        pytest.param("So. Will I do it?", "Will", False, id="a verb, first"),
        pytest.param("What did Will do?", "Will", True, id="a verb as a name"),
        pytest.param("Give me a summary", "Summary", False, id="not as a name"),
        pytest.param("小明说了什么? 小明", "小明", True, id="no such thing as capitals"),
        pytest.param("", "Anna", False, id="nothing"),
        pytest.param("Who?", "", False, id="nobody"),
    ],
)
def test_who_is_named_is_written_as_a_name(question: str, name: str, is_named: bool) -> None:
    """As a whole word and with a capital, if the question has any."""
    assert named(name, question) is is_named


@given(st.text(), st.text())
def test_any_text_is_read(text: str, question: str) -> None:
    """Nothing raises, and nobody is named by nothing."""
    assert named(speaker(text), question) in (True, False)
    assert not named("", question)
