"""The days that a memory is of."""

from datetime import UTC, date, datetime
from hashlib import sha256

import pytest

from app.text.dates import VERSION, days, noted, recall, spoken, timed
from app.text.memo import Text
from app.types import Passage

AT = date(2023, 5, 8)
SWAM = "I swam yesterday, and in the summer of 2021; from May to July 2020 I did not"
SAMPLES = {
    "English": [
        "I swam on Monday",
        "in the spring of 2021",
        "three weeks ago",
        "on 7 May",
        "since March",
        "next year",
    ],
    "German": ["am Montag", "im Frühling 2021", "vor drei Wochen", "am 7. Mai", "seit März", "nächstes Jahr"],
    "French": [
        "lundi dernier",
        "au printemps 2021",
        "il y a trois semaines",
        "le 7 mai",
        "l'année prochaine",
    ],
    "Spanish": [
        "el lunes pasado",
        "en la primavera de 2021",
        "hace tres semanas",
        "el 7 de mayo",
        "el año próximo",
    ],
}
NOTES = {1: "69270766d6af"}
"""SHA-256 of the notes of all samples, by VERSION."""


def passage(text: str, said: datetime | None) -> Passage:
    """A memory."""
    return Passage("memories", "m", Text(text), 1, "m", created_at=said)


def test_the_day_it_was_said_and_those_it_speaks_of() -> None:
    """Seen from that day, each once."""
    found = [*days(passage(SWAM, datetime(2023, 5, 8, 13, tzinfo=UTC)))]
    assert found[0].start == AT
    assert found[1:] == [*spoken(SWAM, AT)]
    assert [span.start.year for span in found[1:]] == [2023, 2021, 2020]


def test_yesterday_is_another_day_from_another_day() -> None:
    assert spoken("I swam yesterday", AT) != spoken("I swam yesterday", date(2023, 5, 9))


def test_without_a_day_nothing_is_known() -> None:
    assert [*days(passage(SWAM, None))] == []


@pytest.mark.parametrize(("text", "told"), [(SWAM, True), ("I swam", False)])
def test_words_of_time_are_recognised(text: str, told: bool) -> None:
    assert timed(text) is told


@pytest.mark.parametrize(
    "text", [SWAM, "I swam", "Nobody swam on the 35th of May", "yesterday, or last week"]
)
def test_a_note_says_what_would_be_read(text: str) -> None:
    """Its days, and whether there is any word of time."""
    known = Text(text)
    recall(known, AT, noted(text, AT))
    at = datetime(AT.year, AT.month, AT.day, 13, tzinfo=UTC)
    assert [*days(Passage("memories", "m", known, 1, "m", created_at=at))] == [*days(passage(text, at))]
    assert timed(known) == timed(text)


@pytest.mark.parametrize("note", [None, [], [0, 1, 738_000, 738_001]])
def test_what_has_no_note_of_today_is_read(note: list[int] | None) -> None:
    """An older row, or a note of an older version."""
    known = Text(SWAM)
    recall(known, AT, note)
    assert spoken(known, AT) == spoken(SWAM, AT)
    assert not known.memo or timed(known)


def test_notes_are_of_this_version() -> None:
    """A change in how days are read makes stored notes wrong: raise VERSION with it."""
    texts = [SWAM, *(text for texts in SAMPLES.values() for text in texts)]
    notes = [noted(text, AT) for text in texts]
    assert sha256(repr(notes).encode()).hexdigest()[:12] == NOTES[VERSION]
