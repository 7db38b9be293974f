"""Expressions of time in texts, and the days they mean."""

from datetime import UTC, date, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.dates import (
    KNOWN,
    ONE,
    QUESTION_WORDS,
    DateSpan,
    bare,
    days,
    expressions,
    nearest,
    plain,
    resolved,
    share,
    spoken,
    timely,
)
from app.types import Passage


@pytest.mark.parametrize(
    ("text", "letters"),
    [
        pytest.param("What did I do last spring?", ["LS"], id="season"),
        pytest.param("in May 2023, or on 7 May?", ["MY", "DM"], id="two"),
        pytest.param("May 7th, 2023", ["MDY"], id="American"),
        pytest.param("the 7th of May, 2023", ["DMY"], id="British"),
        pytest.param("am 7. Mai 2023", ["DMY"], id="German"),
        pytest.param("el 7 de mayo de 2023", ["DMY"], id="Spanish"),
        pytest.param("le 7 février 2023", ["DMY"], id="French"),
        pytest.param("2023-05-07 and 8.5.2023", ["I", "I"], id="digits"),
        pytest.param("il y a deux semaines", ["VNU"], id="il y a"),
        pytest.param("a couple of weeks ago", ["NUA"], id="ago"),
        pytest.param("twenty-two days ago", ["NUA"], id="two words of one number"),
        pytest.param("45 days ago, in the last 90 days", ["CUA", "LCU"], id="large numbers"),
        pytest.param("il y a sept jours", ["VDU"], id="sept"),
        pytest.param("*yesterday*", ["R"], id="marked"),
        pytest.param("on Monday, am Dienstag", ["OW", "OW"], id="on a weekday"),
        pytest.param("last march, last may", ["Lm", "Lm"], id="small months"),
        pytest.param("between May and July 2023", ["QM&MY"], id="between"),
        pytest.param("from 2021 to 2023", ["QY&Y"], id="from"),
        pytest.param("7 mar 2023, on 7 may", ["DwY", "Dm"], id="months that are words"),
        pytest.param("in 1999", ["PY"], id="year"),
        pytest.param("two weeks before 11 August 2023", ["NUbDMY"], id="beside"),
        pytest.param("on the Sunday before 11 August 2023", ["WbDMY"], id="on a day beside"),
    ],
)
def test_an_expression_is_told_by_the_kinds_of_its_words(text: str, letters: list[str]) -> None:
    """Whatever stands between them."""
    assert [found.letters for found in expressions(text)] == letters


@pytest.mark.parametrize(
    "text",
    [
        "this may be so",
        "the fall of Rome",
        "they march on",
        "I paid 2000 dollars",
        "Ich bin hier",
        "May is my sister",
        "2023-02-30",
        "half past 3",
        "day by day",
        "Quels sont mes derniers projets ?",
        "en el mar",
        "al mar",
        "life on Mars",
        "How long did the summer last?",
        "How long does a day last?",
        "Which of the 10 may be used?",
        "section 5 may be",
        "the 10 may start",
        "I am May",
        "for April",
        "a poem written by May",
        "during the fall of Rome",
        "for spring rolls",
        "in 2000 words",
        "after 2000 meters",
        "1.5 years ago",
        "2,5 weeks ago",
        "one hundred two days ago",
        "we have not met in a few days",
        "drawings inspired by autumn",
        "the last day of school",
        "0001-01-01 or 9999-12-30 of a day",
        "",
    ],
)
def test_what_is_no_time_is_none(text: str) -> None:
    """Words that are something else as well, and days that there are not."""
    assert expressions(text) == ()


@pytest.mark.parametrize(
    ("text", "bound"),
    [
        pytest.param("since 2021", "s", id="since"),
        pytest.param("seit Mai 2021", "s", id="seit"),
        pytest.param("before 7 May 2021", "B", id="before"),
        pytest.param("bis Mai", "b", id="bis"),
        pytest.param("después de mayo", "a", id="after"),
        pytest.param("in May", "", id="in"),
        pytest.param("vor 2020", "B", id="vor"),
        pytest.param("by 7 May 2021", "b", id="by"),
        pytest.param("for the summer", "", id="for the summer"),
        pytest.param("since Monday", "s", id="since a weekday"),
        pytest.param("from May until July", "", id="both"),
    ],
)
def test_a_word_before_it_bounds_it(text: str, bound: str) -> None:
    """From then on, until then, or afterwards."""
    (found,) = expressions(text)
    assert found.bound == bound


@given(
    st.lists(st.sampled_from([*sorted(KNOWN), "cat", "99", ",", "é"]), max_size=30).map(" ".join) | st.text()
)
def test_any_text_is_read(text: str) -> None:
    """An expression has a number for each of its letters, and at least one word of time."""
    for found in expressions(text):
        assert len(found.letters) == len(found.numbers)
        assert set(found.letters) & set("MmwSWURYI")


def test_here_in_german_is_not_yesterday_in_french() -> None:
    """The words beside it tell."""
    assert plain("ich bin hier") == "ich bin hier"
    assert plain(bare("hier j’ai nagé")) == "gestern j'ai nage"


MONDAY = date(2023, 5, 8)


def meant(text: str, at: date = MONDAY) -> DateSpan | None:
    """Of the one expression of a text."""
    (found,) = expressions(text)
    return resolved(found, at)


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        pytest.param("yesterday", "2023-05-07", "2023-05-07", id="yesterday"),
        pytest.param("the day before yesterday", "2023-05-06", "2023-05-06", id="before that"),
        pytest.param("vorgestern", "2023-05-06", "2023-05-06", id="vorgestern"),
        pytest.param("last night", "2023-05-07", "2023-05-07", id="last night"),
        pytest.param("this evening", "2023-05-08", "2023-05-08", id="this evening"),
        pytest.param("last Tuesday", "2023-05-02", "2023-05-02", id="last Tuesday"),
        pytest.param("last Monday", "2023-05-01", "2023-05-01", id="not today"),
        pytest.param("next Monday", "2023-05-15", "2023-05-15", id="next Monday"),
        pytest.param("this Friday", "2023-05-12", "2023-05-12", id="this Friday"),
        pytest.param("last week", "2023-05-01", "2023-05-07", id="last week"),
        pytest.param("el fin de semana pasado", "2023-05-06", "2023-05-07", id="weekend"),
        pytest.param("next month", "2023-06-01", "2023-06-30", id="next month"),
        pytest.param("l'année dernière", "2022-01-01", "2022-12-31", id="last year"),
        pytest.param("last spring", "2022-03-01", "2022-05-31", id="over, not on"),
        pytest.param("this spring", "2023-03-01", "2023-05-31", id="on"),
        pytest.param("im letzten Winter", "2022-12-01", "2023-02-28", id="two years"),
        pytest.param("next winter", "2023-12-01", "2024-02-29", id="a leap year"),
        pytest.param("last May", "2022-05-01", "2022-05-31", id="last May"),
        pytest.param("two weeks ago", "2023-04-21", "2023-04-27", id="weeks are wide"),
        pytest.param("hace 3 días", "2023-05-05", "2023-05-05", id="days are not"),
        pytest.param("vor zwei Jahren", "2021-01-01", "2021-12-31", id="years"),
        pytest.param("the last two months", "2023-03-08", "2023-05-08", id="until today"),
        pytest.param("7.5.2021", "2021-05-07", "2021-05-07", id="digits"),
        pytest.param("summer of 2021", "2021-06-01", "2021-08-31", id="a season's year"),
        pytest.param("in 1999", "1999-01-01", "1999-12-31", id="a year"),
        pytest.param("the week before 3 June 2023", "2023-05-27", "2023-06-03", id="before a day"),
        pytest.param("two months after 3 June 2023", "2023-06-03", "2023-08-03", id="after a day"),
        pytest.param("the Sunday before 3 June", "2023-05-27", "2023-06-03", id="before any year's"),
        pytest.param("zwei Wochen vor dem 3. Juni 2023", "2023-05-20", "2023-06-03", id="vor a day"),
        pytest.param("this Monday", "2023-05-08", "2023-05-08", id="this Monday"),
        pytest.param("this April", "2023-04-01", "2023-04-30", id="this April, over"),
        pytest.param("this summer", "2023-06-01", "2023-08-31", id="this summer, to come"),
        pytest.param("this winter", "2022-12-01", "2023-02-28", id="this winter, the nearest"),
        pytest.param("twenty two days ago", "2023-04-16", "2023-04-16", id="twenty two"),
        pytest.param("half a year ago", "2022-11-01", "2022-11-30", id="half a year"),
        pytest.param("a couple of weeks ago", "2023-04-21", "2023-04-27", id="a couple"),
        pytest.param("a few days ago", "2023-05-05", "2023-05-05", id="a few"),
        pytest.param("45 days ago", "2023-03-24", "2023-03-24", id="45 days"),
        pytest.param("the past month", "2023-04-08", "2023-05-08", id="the past month"),
        pytest.param("the past year", "2022-05-08", "2023-05-08", id="the past year"),
        pytest.param("last 90 days", "2023-02-07", "2023-05-08", id="90 days"),
        pytest.param("the last day of May 2022", "2022-05-31", "2022-05-31", id="the last day"),
        pytest.param("the last week of May 2022", "2022-05-25", "2022-05-31", id="the last week"),
        pytest.param("the last weekend of May 2022", "2022-05-28", "2022-05-29", id="the last weekend"),
        pytest.param("the last month of 2022", "2022-12-01", "2022-12-31", id="the last month"),
        pytest.param("the day after tomorrow", "2023-05-10", "2023-05-10", id="after tomorrow"),
        pytest.param("day before yesterday", "2023-05-06", "2023-05-06", id="before yesterday"),
        pytest.param("between May and July 2022", "2022-05-01", "2022-07-31", id="between"),
        pytest.param("from November to February 2022", "2021-11-01", "2022-02-28", id="over a new year"),
        pytest.param("von 2020 bis 2022", "2020-01-01", "2022-12-31", id="years"),
        pytest.param("from 5 to 10 May 2022", "2022-05-05", "2022-05-10", id="days of a month"),
        pytest.param("on Monday", "2023-05-08", "2023-05-08", id="on Monday"),
        pytest.param("on Tuesday", "2023-05-02", "2023-05-02", id="on Tuesday"),
        pytest.param("in two weeks", "2023-05-19", "2023-05-25", id="to come"),
        pytest.param("this morning", "2023-05-08", "2023-05-08", id="this morning"),
        pytest.param("il y a sept jours", "2023-05-01", "2023-05-01", id="sept jours"),
        pytest.param("last march", "2023-03-01", "2023-03-31", id="last march"),
    ],
)
def test_an_expression_means_days(text: str, first: str, last: str) -> None:
    """Seen from Monday, 8 May 2023."""
    assert meant(text) == DateSpan(date.fromisoformat(first), date.fromisoformat(last) + ONE)


def test_without_a_year_it_is_any_years() -> None:
    """A memory of any May is of May, one of June is not; a winter begins in one year and ends in the next."""
    may, winter = meant("in May"), meant("in winter")
    assert may is not None
    assert winter is not None
    for year in (1987, 2023):
        assert share([may], DateSpan(date(year, 5, 31), date(year, 6, 1))) == 1
        assert share([may], DateSpan(date(year, 6, 1), date(year, 6, 2))) == 0
        assert share([winter], DateSpan(date(year, 1, 31), date(year, 2, 1))) == 1
        assert share([winter], DateSpan(date(year, 12, 31), date(year + 1, 1, 1))) == 1


@pytest.mark.parametrize(
    ("at", "year"),
    [
        pytest.param(date(2023, 1, 20), 2022, id="over"),
        pytest.param(date(2023, 11, 2), 2023, id="to come"),
        pytest.param(date(2023, 12, 24), 2023, id="today"),
    ],
)
def test_the_nearest_year_is_chosen(at: date, year: int) -> None:
    """Of a day without one, as a memory tells it."""
    span = meant("on 24 December", at)
    assert span is not None
    assert nearest(span, at).start == date(year, 12, 24)


SWAM = "I swam yesterday, and in the summer of 2021; from May to July 2020 I did not"


def passage(text: str, said: datetime | None) -> Passage:
    return Passage("memories", "m", text, 1, "m", created_at=said)


def test_the_day_it_was_said_and_those_it_speaks_of() -> None:
    """Seen from that day, each once."""
    found = [*days(passage(SWAM, datetime(2023, 5, 8, 13, tzinfo=UTC)))]
    assert found[0].start == MONDAY
    assert found[1:] == [*spoken(expressions(SWAM), MONDAY)]
    assert [span.start.year for span in found[1:]] == [2023, 2021, 2020]


@pytest.mark.parametrize(
    "question",
    [
        "What did I do last Tuesday?",
        "what happened yesterday",
        "What have I done since 7 May 2023?",
        "Where was I on 2023-05-07?",
        "Was habe ich am 3. Mai 2026 gemacht?",
        "Was war letzte Woche los?",
        "¿Qué hice el martes pasado?",
        "¿Qué pasó en mayo?",
        "Qu'ai-je fait hier ?",
        "Qu'est-ce que j'ai fait la semaine dernière ?",
    ],
)
def test_who_names_a_time_alone_is_understood(question: str) -> None:
    assert timely(question)


@pytest.mark.parametrize(
    "question",
    [
        "What did I eat last Tuesday?",
        "What did Anna do yesterday?",
        "What was Apple's revenue in May 2023?",
        "Which note 45 was of May?",
        "Wann habe ich den Garten umgegraben?",
        "¿Qué comí el martes pasado?",
        "Qu'ai-je mangé hier ?",
        "昨日は何をしましたか",
        "yesterday",
        "How are you today?",
        "I do not think so, not today",
        "How many steps did I do yesterday?",
        "¿Cuántos pasos hice ayer?",
        "Combien de pas ai-je fait hier ?",
        "How many calories did I have yesterday?",
        "How many people were there in 2021?",
        "How many days are there in 2024?",
        "What day was 7 May 2023?",
        "Wie viel Euro sind das heute?",
        "What did I do in C last week?",
        "What did Will do yesterday?",
        "What did April do last week?",
        "Did WHO say so in 2020?",
        "What did US do in 2021?",
        "yesterday " * (QUESTION_WORDS + 1),
        "yesterday" + " " * 1_000 + "I swam",
    ],
)
def test_who_names_more_asks_for_more(question: str) -> None:
    """A memory of that time alone is no answer to it."""
    assert not timely(question)
