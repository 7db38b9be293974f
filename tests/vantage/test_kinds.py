"""app/vantage/kinds.py: a byte a word."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage import kinds, words
from app.vantage.clarity import lists
from app.vantage.clause import HITS
from app.vantage.kinds import ALNUM, DECIMAL, LETTER, PART, Shape, Table
from app.vantage.words import ENDS

FELT, STOPS = Table(lists()["feeling"]), Table(ENDS)
LOOKS = {
    "words": (ALNUM, str.isalnum),
    "numbers": (DECIMAL, str.isdecimal),
    "letters": (LETTER, lambda word: word.isalpha() and len(word) == 1),
    "parts": (PART, lambda word: word[0] == "'" and len(word) > 1),
}
TABLES = {name: Table(look=look) for name, (look, _) in LOOKS.items()}


@given(
    st.text()
    | st.lists(st.sampled_from(["I", "hate", "2019", "99999", "é", "x", "don't", "."])).map(" ".join)
)
def test_words_are_found_by_their_bytes(text: str) -> None:
    """Where a table has them, and nowhere else; by their look, whether a table has them or not."""
    tokens = words.read(text).tokens
    found = kinds.of(tokens)
    assert [tokens[place] for place in FELT.places(found)] == [
        word for word in tokens if word in lists()["feeling"]
    ]
    assert STOPS.count(found) == sum(word in ENDS for word in tokens)
    assert len(STOPS.without(found)) == len(tokens) - STOPS.count(found)
    for name, (_, looks) in LOOKS.items():
        assert TABLES[name].marks(found) == bytes(map(looks, tokens)), name


def test_a_table_that_is_new_is_indexed() -> None:
    """Whoever comes later is counted, too."""
    tokens = ("quokka", "hate")
    assert FELT.count(kinds.of(tokens)) == 1
    new = Table(frozenset({"quokka"}))
    assert new.marks(kinds.of(tokens)) == b"\1\0"


def test_what_is_kept_of_a_word_is_found_with_its_byte() -> None:
    """By one look-up; of a word that no table has there is nothing."""
    found = kinds.entries(("murder", "quagga", "."))
    assert found[0][1:] == HITS["murder"]
    assert found[1] == (kinds.UNKNOWN,)
    assert found[2][1:] == HITS["."]


def test_a_shape_is_met_by_words() -> None:
    """A capital stands for a word of its table, or for none of its tables; a new table changes nothing."""
    shape = Shape("F(A*)S", {"F": FELT, "S": STOPS}, {"A": [FELT, STOPS]})
    tokens = ("hate", "the", "rain", ".", "hate", "love", "?", "the", "!")
    for _ in range(2):
        assert sorted(found.span() for found in shape.found(kinds.of(tokens))) == [(0, 4), (5, 7)]
        Table(frozenset({"rain", "."}))


@pytest.mark.parametrize("text", ["heeelp", "AAArgh", "a bbbé", "Www."])
def test_letters_drawn_out_are_seen(text: str) -> None:
    """In either case, beside any others."""
    assert kinds.drawn(text)


@given(st.text(st.sampled_from("aab \n.1é")))
def test_three_in_a_row_are_drawn(text: str) -> None:
    """Of a-z alone."""
    assert kinds.drawn(text) == ("aaa" in text or "bbb" in text)
