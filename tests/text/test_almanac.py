"""Words of time, by language."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.dates import FRENCH, HINTS, KNOWN, PARTS, PHRASES, SIGNS, bare, hinted, plain, timeless


@pytest.mark.parametrize(
    ("words", "kind", "number"),
    [
        pytest.param("may mai mayo", ("m", "M"), 5, id="month"),
        pytest.param("autumn fall herbst otono automne", ("S",), 3, id="season"),
        pytest.param("tuesday dienstag martes mardi", ("W",), 1, id="weekday"),
        pytest.param("weeks wochen semanas semaines", ("U",), 1, id="unit"),
        pytest.param("last letzten pasado dernier", ("L", "l"), 0, id="over"),
        pytest.param("thirty dreißig treinta trente", ("N",), 30, id="thirty"),
        pytest.param("07 7", ("D",), 7, id="day"),
    ],
)
def test_a_word_means_the_same_in_every_language(words: str, kind: tuple[str, ...], number: int) -> None:
    """Its kind and its number."""
    assert {KNOWN[word][1] for word in words.split()} == {number}
    assert {KNOWN[word][0] for word in words.split()} <= set(kind)


def test_no_word_is_written_in_a_way_that_no_text_is_read_in() -> None:
    """Tables are in lower case and without accents, as texts are once they are plain."""
    assert [word for word in KNOWN if plain(bare(word)) != word and word != "hier"] == []


def test_a_name_of_a_month_is_no_verb() -> None:
    """`May` and `March` are months, `may` and `march` may be verbs."""
    assert [KNOWN[word][0] for word in plain("May may March march").split()] == ["M", "m", "M", "m"]


@pytest.mark.parametrize("phrase", PHRASES)
def test_a_phrase_is_one_word(phrase: str) -> None:
    """One that is known."""
    assert plain(phrase).split()[0] in KNOWN
    assert not timeless(f"{phrase} 2 jours")


def test_here_in_german_is_not_yesterday_in_french() -> None:
    """The words beside it tell."""
    assert plain("ich bin hier") == "ich bin hier"
    assert plain(bare("hier j’ai nagé")) == "gestern j'ai nage"
    assert FRENCH.search("ich war gestern hier") is None


def test_a_text_without_words_of_time_is_soon_told() -> None:
    """Marks aside."""
    assert timeless("The cat sat on the mat in 5 minutes.")
    assert not timeless("The cat sat there (yesterday).")


def test_every_phrase_has_a_part_that_is_looked_for() -> None:
    """Or it would be passed over."""
    assert [phrase for phrase in PHRASES if not any(part in phrase for part in PARTS)] == []


@given(
    st.text("may7-x.," + SIGNS)
    | st.tuples(st.sampled_from(SIGNS), st.sampled_from(sorted(HINTS))).map("".join)
)
def test_law_a_word_has_a_hint_or_is_timeless(word: str) -> None:
    """Two ways to see the same."""
    assert hinted(word) is not timeless(word)


MARKS = [chr(code) for code in range(0x300, 0x320)]


@given(st.text() | st.text([*MARKS, "a", "é", "ﬁ", "\u2019"]))
def test_law_without_accents_nothing_else_is_lost(text: str) -> None:
    """Of few accents and of many."""
    full = text if text.isascii() else unicodedata.normalize("NFKD", text.replace("\u2019", "'"))
    assert bare(text) == "".join(sign for sign in full if not unicodedata.combining(sign))
