"""app/vantage/words.py: a text as its words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.words import BRIEF, ENDS, PLAIN, TOKEN, cut, fold, read


def test_case_stays_beside_the_lower_form() -> None:
    """The same word at the same index."""
    text = read("Ask Ann's Friend")
    assert text.cased == ("Ask", "Ann", "'s", "Friend")
    assert text.tokens == ("ask", "ann", "'s", "friend")


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


def test_words_are_without_marks() -> None:
    """In order; what follows an apostrophe stands apart."""
    assert read("Don't stop: go, now!").words == ("don", "'t", "stop", "go", "now")


def test_a_quotation_is_no_apostrophe() -> None:
    """A mark before a word stays a mark."""
    assert read("say 'yes'").tokens == ("say", "'", "yes", "'")


def test_sentences_keep_their_ends() -> None:
    """At marks and line ends."""
    assert read("Go. Why?\nSo").sentences == (("go", "."), ("why", "?"), ("so",))


@given(st.text())
def test_every_text_has_aligned_tokens(text: str) -> None:
    """None empty, none with a blank, both forms of one length; sentences hold all but doubled ends."""
    found = read(text)
    assert len(found.cased) == len(found.tokens)
    assert all(token and (token == "\n" or not token.isspace()) for token in found.tokens)
    told = [token for sentence in found.sentences for token in sentence if token not in ENDS]
    assert told == [token for token in found.tokens if token not in ENDS]


@given(st.text(st.one_of(st.characters(max_codepoint=127), st.sampled_from("a'-_ .\n"))))
def test_plain_texts_are_cut_like_all_others(text: str) -> None:
    """The short way for ASCII gives the same tokens."""
    assert PLAIN.findall(text) == TOKEN.findall(text)


@given(st.text(st.one_of(st.characters(), st.sampled_from("a\u03bc'-_ .\n\t\x00\u2026\u2013\u2014\u00b7"))))
def test_long_texts_are_cut_like_short_ones(text: str) -> None:
    """The way of blanks gives the same tokens as the pattern."""
    whole = fold(f"{text} said " + "so it is. " * (BRIEF // 10))
    assert list(cut(whole).cased) == TOKEN.findall(whole)
    assert [token.lower() for token in cut(whole).cased] == list(cut(whole).tokens)


@given(st.text(st.sampled_from("a`\r\u00e9\u2019\ufb01\u1fef\uffed\u25a0\u0301\ud55c "), max_size=30))
def test_few_odd_characters_are_folded_like_many(text: str) -> None:
    """However few of them are not ASCII."""
    assert fold(f"{text}{'x' * 600}") == fold(text) + "x" * 600 or text.isascii()


def test_what_stands_beyond_all_letters_is_a_blank() -> None:
    """Unassigned and private characters, however many there are; a tag is nothing."""
    assert fold("a\U000e1000b\U0010fffdc\U00050000d") == "a b c d"
    assert fold("a\U000e0041b") == "ab"
    assert fold("\U00020000\ud55c") == "\U00020000\u1112\u1161\u11ab"
