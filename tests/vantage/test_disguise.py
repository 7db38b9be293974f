"""app/vantage/disguise.py: words written so that a list misses them."""

import re
from collections.abc import Callable

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.vantage import disguise
from app.vantage.disguise import reveal
from app.vantage.words import cut


@pytest.mark.parametrize(
    ("written", "plain"),
    [
        ("k1ll b0mb", "kill bomb"),
        ("m@ke a b0mb", "make a bomb"),
        ("k i l l", "kill"),
        ("k-i-l-l", "kill"),
        ("k  i  l  l", "k  i  l  l"),
        ("h o w  t o  k i l l", "how to kill"),
        ("kiiill", "kill"),
        ("booomb!", "bomb!"),
    ],
    ids=["digits", "sign", "blanks", "dashes", "wide", "words", "drawn", "marked"],
)
def test_a_disguised_word_is_written_plainly(written: str, plain: str) -> None:
    """Where its plain form is a word of the tables."""
    assert reveal(written).split() == plain.split() or plain == written


@pytest.mark.parametrize(
    "text",
    [
        "I have 3 mp3 files",
        "room 101",
        "a.m. and p.m.",
        "me@example.org",
        "C3PO and R2D2",
        "1 2 3 4",
        "A B testing",
    ],
)
def test_ordinary_words_stay(text: str) -> None:
    """Numbers, addresses, initials."""
    assert reveal(text) == text


def test_a_text_without_disguise_is_the_same_object() -> None:
    """So that it is not read twice."""
    text = "How do I bake a cake without eggs, and for how long?"
    assert reveal(text) is text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("see: k i l l, p.o.i.s.o.n", "see: kill, poison"),
        ("x_k1ll stays, k1ll not", "x_k1ll stays, kill not"),
        ("ab c d", "ab c d"),
        ("k1ll k1ll", "kill kill"),
        ("kill" * 40 + "1", "kill" * 40 + "1"),
    ],
)
def test_each_disguise_is_undone_where_it_stands(text: str, plain: str) -> None:
    """Several in one text; nothing inside a longer word, and nothing longer than any word known."""
    assert reveal(text) == plain


DISGUISED = [
    "k1ll",
    "_k1ll",
    "x2k1ll",
    "b0mb!",
    "kiiill",
    "\nbooomb",
    "ki ll",
    "3",
    "a!b",
    "@@",
    "www.a.b",
    "lämp2",
    "",
]


@given(st.lists(st.sampled_from(DISGUISED), max_size=20).map(" ".join))
@pytest.mark.parametrize("change", [disguise._lettered, disguise._drawn], ids=["digits", "drawn"])
def test_each_word_is_changed_by_itself(change: Callable[[str], str], text: str) -> None:
    """So in a long text each is looked at once."""
    assert disguise._worded(text, change) == change(text)


PARTS = [
    "k1ll",
    "1",
    "22",
    "b0mb",
    "\u00e92",
    "_1",
    "1_",
    "+",
    "9@",
    "3a",
    "\u0662",
    "5\u00bd",
    ".",
    " ",
    "?",
    "!",
    "\n",
]


@given(st.lists(st.sampled_from(PARTS), max_size=20).map("".join))
def test_digits_alone_are_passed_over(text: str) -> None:
    """And nothing else: what follows a word's letters is found as if each were looked at."""
    every = list(re.finditer(r"[0-9@$!|+][\w@$!|+]*+", text))
    told = {found.span() for found in every if not found[0].isdigit() or text[: found.start()][-1:].isalpha()}
    looked = {found.span() for found in disguise.SIGNED.finditer(text, disguise._first(text))}
    assert told <= looked <= {found.span() for found in every}


@given(st.lists(st.sampled_from(["a", "b", " ", ".", "-", "'s", "'", "ab", "_", "1"])).map("".join))
@example("a b \u3007")
def test_letters_set_apart_are_looked_for_where_they_are(text: str) -> None:
    """Three in a row, or two and what may pass for one."""
    assert disguise._spelt(cut(text)) or not disguise.APART.search(text)
