"""What a verb cannot do without."""

import pytest

from app.vantage.argument import NEEDS, cut, mentions, missing, onesided

OPEN = [f"{verb} a {thing}" for verb, things in NEEDS.items() for thing in sorted(things) if verb != "remind"]


def test_an_object_for_anything_is_not_enough() -> None:
    """Every entry of the table."""
    assert [text for text in OPEN if not missing(text.split(), given=False)] == []


@pytest.mark.parametrize("verb", NEEDS)
def test_a_word_more_is_enough(verb: str) -> None:
    """A place, a name, a topic."""
    assert not missing([verb, "a", next(iter(sorted(NEEDS[verb]))), "lisbon"], given=False)


@pytest.mark.parametrize(
    "text",
    [
        "translate this into french",
        "please proofread my essay",
        "could you rewrite the following sentence",
        "convert 50",
        "remind me tomorrow at 5",
        "delete the file",
        "i is like to book a flight",
        "what is wrong with my code",
        "here is my essay what do you think",
    ],
)
def test_a_verb_without_what_it_works_on_is_open(text: str) -> None:
    """A text, a unit, a matter."""
    assert missing(text.split(), given=False)


@pytest.mark.parametrize(
    "text",
    [
        "how do i write a letter",
        "how to book a flight",
        "translate good night into french",
        "convert 50 miles",
        "convert miles to km",
        "turn off the lights",
        "summarise this report",
        "who wrote the letter",
        "write a poem",
        "remind me to sleep",
        "",
    ],
)
def test_what_is_whole_misses_nothing(text: str) -> None:
    """A question how, a command with its object, a document that may lie in the service."""
    assert not missing(text.split(), given=False)


def test_a_text_that_was_given_is_worked_on() -> None:
    """`Translate this` with a quotation behind it."""
    assert not missing(["translate", "this"], given=True)


@pytest.mark.parametrize(
    "text",
    [
        "more expensive than",
        "what is the capital of",
        "how do i get to",
        "is 20 of",
        "i want to",
        "write a",
        "tell me about",
    ],
)
def test_a_message_that_breaks_off_is_cut(text: str) -> None:
    """At a word that nothing ends with."""
    assert cut(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "what is glass made of",
        "who should i talk to",
        "what country is lima the capital of",
        "the",
        "vitamin a",
    ],
)
def test_a_question_may_end_with_a_preposition(text: str) -> None:
    """English does."""
    assert not cut(text.split())


def test_a_comparison_needs_two_sides() -> None:
    """Unless it is with what was before."""
    assert onesided(["is", "python", "faster"])
    assert not onesided(["is", "python", "faster", "than", "ruby"])
    assert not onesided(["is", "it", "getting", "warmer"])
    assert not onesided([])


@pytest.mark.parametrize(
    "text",
    [
        "define help",
        "spell something else",
        "what does stuff mean",
        "what is information",
        "what is a process",
        "difference between then and than",
        "how to write better",
    ],
)
def test_a_word_may_be_meant_as_a_word(text: str) -> None:
    """Or as what it names."""
    assert mentions(text.split())


@pytest.mark.parametrize(
    "text",
    [
        "define it",
        "what does it mean",
        "what is it",
        "difference between a and b",
        "how do i write it",
        "say",
    ],
)
def test_a_pronoun_is_never_meant_as_a_word(text: str) -> None:
    """It stands for something."""
    assert not mentions(text.split())
