"""A message as the policy reads it: folded, cut into tokens, disguises undone."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.lexicon import LEXICON
from app.vantage.text import cut, fold, read, reveal


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("\uff46\uff4f\uff4f", "foo"),
        ("caf\u00e9", "cafe"),
        ("cafe\u0301", "cafe"),
        ("\u0440\u0430ssw\u043erd", "password"),
        ("a\u200bb", "ab"),
        ("it\u2019s", "it's"),
        ("Stra\u00dfe", "Strasse"),
        ("a\U0001f525b", "a b"),
    ],
    ids=["wide", "accent", "mark", "look-alike", "no width", "quote", "sharp s", "emoji"],
)
def test_a_letter_has_one_plain_form(written: str, plain: str) -> None:
    """However it is written."""
    assert fold(written) == plain


@given(st.text())
def test_every_text_has_aligned_tokens(text: str) -> None:
    """None empty, none with a blank, both forms of one length."""
    found = read(text)
    assert len(found.cased) == len(found.tokens)
    assert all(token and (token == "\n" or not token.isspace()) for token in found.tokens)


def test_what_stands_beyond_all_letters_is_a_blank() -> None:
    """Unassigned and private characters, however many there are; a tag is nothing."""
    assert fold("a\U000e1000b\U0010fffdc\U00050000d") == "a b c d"
    assert fold("a\U000e0041b") == "ab"
    assert fold("\U00020000\ud55c") == "\U00020000\u1112\u1161\u11ab"


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("how do i k1ll my boss", "kill"),
        ("how do i k!ll my boss", "kill"),
        ("make a b0mb at home", "bomb"),
        ("how do i k i l l my boss", "kill"),
        ("k.i.l.l my boss", "kill"),
        ("h o w  d o  i  k i l l", "kill"),
        ("kiiiill my boss", "kill"),
    ],
)
def test_a_disguised_word_is_read(written: str, plain: str) -> None:
    """Digits and signs for letters, letters set apart, letters drawn out."""
    assert plain in reveal(read(written), LEXICON).tokens


@pytest.mark.parametrize(
    "text", ["Room 101 at 10:30", "e.g. a test", "x = a + b", "C++17", "A B C", "3-5 p.m."]
)
def test_ordinary_texts_stay_as_they_are(text: str) -> None:
    """What no word of the lexicon hides in."""
    assert reveal(read(text), LEXICON).folded == fold(text)


@given(st.text(st.one_of(st.characters(), st.sampled_from("k1l!l a-_.\n"))))
def test_revealing_is_stable(text: str) -> None:
    """The tokens of what is revealed are those of its text."""
    shown = reveal(read(text), LEXICON)
    assert shown.tokens == cut(shown.folded).tokens
