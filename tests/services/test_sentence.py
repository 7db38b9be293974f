"""SentenceBuffer out of a text in pieces: where they end, and that nothing is lost on the way."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.answering.enforcement import LONGEST, Cut, SentenceBuffer, complete


def split(text: str, *, step: int = 1) -> list[str]:
    """Fed in pieces of so many characters, and what is left at the end."""
    sentences = SentenceBuffer()
    found = [one for at in range(0, len(text), step) for one in sentences.feed(text[at : at + step])]
    rest = sentences.end()
    return [*found, rest] if rest else found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("One. Two? Three!", ["One.", " Two?", " Three!"], id="marks"),
        pytest.param("It rose by 3.5 % in v1.2. So?", ["It rose by 3.5 % in v1.2.", " So?"], id="decimals"),
        pytest.param("It did [a#1]. So [b#2].", ["It did [a#1].", " So [b#2]."], id="citations within"),
        pytest.param("It did. [a#1][b#2] So.", ["It did. [a#1][b#2]", " So."], id="citations behind"),
        pytest.param("“It did.” [a#1]\n\n“So.”", ["“It did.” [a#1]", "\n\n“So.”"], id="quotations"),
        pytest.param("Dr. Who, e.g. the first. No.", ["Dr. Who, e.g. the first.", " No."], id="shortened"),
        pytest.param("J. S. Bach wrote. So.", ["J. S. Bach wrote.", " So."], id="initials"),
        pytest.param("1. Read.\n2. Sleep.", ["1. Read.", "\n2. Sleep."], id="items"),
        pytest.param("Well... so it is. Yes.", ["Well...", " so it is.", " Yes."], id="dots"),
        pytest.param("- one\n- two\n", ["- one", "\n- two\n"], id="lines"),
        pytest.param("你好。你好吗？好", ["你好。", "你好吗？", "好"], id="no blanks between"),
        pytest.param("no end at all", ["no end at all"], id="no mark"),
        pytest.param("", [], id="nothing"),
    ],
)
@pytest.mark.parametrize("step", [1, 3, 1_000])
def test_a_sentence_ends_where_a_reader_ends_it(text: str, found: list[str], step: int) -> None:
    """However the text arrives."""
    assert split(text, step=step) == found


def test_a_sentence_leaves_once_the_next_has_begun() -> None:
    """Until then a citation may still follow it."""
    sentences = SentenceBuffer()
    assert sentences.feed("It did. ") == []
    assert sentences.feed("S") == ["It did."]


def test_a_citation_that_is_arriving_holds_its_sentence() -> None:
    """Its label leaves with it, or not at all."""
    sentences = SentenceBuffer()
    assert sentences.feed("It did. [a.pdf#") == []
    assert sentences.feed("1] So") == ["It did. [a.pdf#1]"]


def test_what_has_no_end_is_cut() -> None:
    """At a blank where there is one, at the latest after so many characters."""
    words = split("word " * 1_000)
    assert [len(one) <= LONGEST for one in words] == [True] * 3
    assert not words[0].endswith("wor")
    assert [len(one) for one in split("x" * 5_000, step=100)] == [LONGEST, LONGEST, 1_000]


@given(st.text(alphabet="ab1 .?!\n[]#“”)。？e.g", max_size=300), st.integers(1, 50))
def test_every_character_leaves_once_in_order(text: str, step: int) -> None:
    """Whatever the text."""
    assert "".join(split(text, step=step)) == text


@given(st.text(alphabet="ab1 .?!\n[]#“”)。？e.g", max_size=300), st.integers(1, 50))
@example("。[。]1", 1)
@example("One. [a. b", 1)
@example("One.\n[a.\n b [c. d] e. F", 2)
def test_the_pieces_do_not_depend_on_the_deltas(text: str, step: int) -> None:
    """What waits for what comes next is found again, however little of it comes."""
    assert split(text, step=step) == split(text, step=1_000)


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("One.", True),
        ("One. [a#1] ", True),
        ("“One?”", True),
        ("- one\n", True),
        ("One", False),
        ("e.g.", False),
        ("1.", False),
        ("\n", False),
        ("", False),
    ],
)
def test_a_text_ends_as_a_sentence_or_does_not(text: str, whole: bool) -> None:
    """By its mark, or with its line."""
    assert complete(text) is whole


def test_a_cut_piece_says_so() -> None:
    """So that a budget may cut it further; what ends is none."""
    sentences = SentenceBuffer()
    pieces = [*sentences.feed("x" * 5_000), sentences.end()]
    assert [isinstance(one, Cut) for one in pieces] == [True, True, True]
    assert [isinstance(one, Cut) for one in [*sentences.feed("One. Two"), sentences.end()]] == [False, False]


@pytest.mark.parametrize(("most", "left"), [(5, "one two"), (2, "one two"), (1, "one"), (0, "")])
def test_a_cut_piece_is_cut_at_a_word(most: int, left: str) -> None:
    """As many as there is room for."""
    assert Cut("one two").within(most, lambda text: len(text.split())) == left
