"""What of a text is the person's own."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.services.memories import Echoes, split


def own(text: str, heard: Sequence[str]) -> str:
    """What is new of a text."""
    return Echoes(heard).own(text)


HEARD = ["Alice keeps two rabbits in Odense. They are called Juno and Bramble [memory#k3v9q2ax]."]


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Alice keeps two rabbits in Odense.", id="a sentence"),
        pytest.param("  alice keeps TWO rabbits,\n in Odense ", id="case, white space, punctuation"),
        pytest.param("> “Alice keeps two rabbits in Odense.”", id="quoted"),
        pytest.param("- Alice keeps two rabbits in Odense [memory#k3v9q2ax].", id="a cited bullet"),
        pytest.param("2. They are called Juno and Bramble.", id="numbered"),
        pytest.param(HEARD[0] + " Sources: [memory#k3v9q2ax]", id="a whole answer with its sources"),
        pytest.param("They are called Juno and Bramble【memory#k3v9q2ax】", id="another bracket"),
        pytest.param("Juno", id="a word alone"),
        pytest.param("Sources: [memory#k3v9q2ax]", id="sources alone"),
        pytest.param("...", id="no word"),
    ],
)
def test_what_was_heard_is_no_new_word(text: str) -> None:
    """Nothing of it is the person's own."""
    assert own(text, HEARD) == ""


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("Juno ran away last night.", id="something new about it"),
        pytest.param("Alice keeps three rabbits in Aarhus.", id="another number and place"),
        pytest.param("They are called Juno and Pepper.", id="another name"),
        pytest.param("I moved to Lyon [issue#12].", id="nothing of it"),
    ],
)
def test_new_words_are_kept_as_they_are(text: str) -> None:
    """To the letter."""
    assert own(text, HEARD) == text


def test_of_both_the_new_sentences_are_kept() -> None:
    """In their order, without the echo between them."""
    text = "I fed them today. They are called Juno and Bramble [memory#k3v9q2ax]. Juno has a cold."

    assert own(text, HEARD) == "I fed them today. Juno has a cold."


def test_words_gathered_from_several_texts_are_new() -> None:
    """A sentence is an echo of one text, not of a vocabulary."""
    heard = ["we went to the sea in May", "the sea in May was cold", "was cold and green"]

    assert own("we went to the sea in May was cold and green", heard) != ""
    assert own("the sea in May was cold", heard) == ""


def test_where_words_are_not_spaced_characters_are_compared() -> None:
    """Chinese, Japanese, Thai."""
    assert own("我有两只兔子。", ["她说我有两只兔子。真的。"]) == ""
    assert own("我有三只猫。", ["她说我有两只兔子。"]) == "我有三只猫。"


def test_with_nothing_heard_all_is_own() -> None:
    """And not a letter of it is changed."""
    text = "- Two things:\n  1. I moved [see map#3].\n"

    assert own(text, []) == text


def test_sentences_end_where_they_end() -> None:
    """At marks and at lines; a closing quotation mark belongs to what it closes."""
    assert split("One. “Two!” Three?\nfour") == ["One.", "“Two!", "Three?", "four"]


@given(st.lists(st.text(max_size=60), max_size=4), st.text(max_size=200))
def test_an_echo_of_oneself_is_empty_and_order_is_free(heard: list[str], text: str) -> None:
    """What was heard whole is never new; more heard never makes more new."""
    assert own(text, [*heard, text]) == ""
    assert len(split(own(text, heard))) <= len(split(text))
    assert own(text, heard) == own(text, heard[::-1])


def test_a_sentence_said_a_thousand_times_is_compared_once() -> None:
    """With fifty texts that hold it."""
    echoes = Echoes(["b. "] * 150)

    assert echoes.own("b. " * 10_000) == ""
