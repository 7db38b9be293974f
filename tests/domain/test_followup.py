"""What a message is searched as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Role, Turn
from app.answering.followup import BACK, LONGEST, PART, TURNS, answers, refers, resolve
from tests.fakes.dialogues import (
    AGAIN_ALONE,
    AGAIN_FOLLOWS,
    DEV_ALONE,
    DEV_FOLLOWS,
    HELD_ALONE,
    HELD_FOLLOWS,
    TALKS,
    Case,
    talk,
)

REVIEW_FOLLOWS = (
    ("boats", "explain the second item", "Anna"),
    ("boats", "Can you elaborate on the third point?", "Pip"),
    ("boats", "Give me details about the second option", "Anna"),
)
REVIEW_ALONE = (
    "What happened in Berlin?",
    "What happened in 1789?",
    "What happens at Easter?",
    "Why exercise?",
    "What does the author say about his childhood?",
    "What should the tenant do with his keys?",
    "What do they eat in Japan?",
    "What is it like to live in Oslo?",
    "What does the report say about its methods?",
)
"""What a review found to be told wrongly, both."""
FOLLOWS = (*DEV_FOLLOWS, *HELD_FOLLOWS, *AGAIN_FOLLOWS, *REVIEW_FOLLOWS)
ALONE = (*DEV_ALONE, *HELD_ALONE, *AGAIN_ALONE, *REVIEW_ALONE)
DOUBTFUL = {"What changed in the lease between these years: 2019 and 2021?", "Who lost his licence?"}
"""Of the held-out messages, those taken for a follow-up: `these` points forward, and the second is built like
`Who wrote its preface?`."""
LONG = 30_000
HOSTILE = {
    "brackets and hashes": "[" * 900 + "#" * 900 + "x" * 900,
    "brackets": "[" * LONG,
    "hashes": "[" + "#" * LONG,
    "labels begun": "[a#" * LONG,
    "spaces": " " * LONG,
    "lines": "\n" * LONG,
    "English quotations begun": "“" * LONG,
    "French quotations begun": "«" * LONG,
    "German quotations begun": "„" * LONG,
    "single quotations begun": "‘" * LONG,
    "quotes": " 'a" * LONG,
    "clitics": "a's" * LONG,
    "hyphens": "a-" * LONG,
    "names": "Aa " * LONG,
    "bullets": "- \t" * LONG,
    "items": "1. x\n" * LONG,
    "marks": "it, " * LONG,
    "pronouns": "a b c d " + "its " * LONG,
    "courtesy": "ok " * LONG,
}
"""Texts that a careless pattern reads again from every place in them."""

turns = st.lists(st.builds(Turn, st.sampled_from([Role.USER, Role.ASSISTANT]), st.text(max_size=400)))
messages = st.sampled_from([message for _, message, _ in FOLLOWS]) | st.text(max_size=400)


@pytest.mark.parametrize("case", FOLLOWS, ids=lambda case: case[1])
def test_a_follow_up_is_searched_with_what_it_refers_to(case: Case) -> None:
    """The question it hangs on stands in front of it, or the item it picks."""
    told, message, word = case
    assert refers(message)
    found = resolve(message, TALKS[told])
    assert found.endswith(f" {message}")
    assert word in found.removesuffix(message)


@pytest.mark.parametrize("message", [message for message in ALONE if message not in DOUBTFUL])
def test_a_self_contained_message_is_never_expanded(message: str) -> None:
    """Whatever was said before."""
    assert not refers(message)
    assert [resolve(message, said) for said in TALKS.values()] == [message] * len(TALKS)


def test_an_item_is_taken_from_the_list_without_its_citation() -> None:
    """Of the last answer; `the last` from its end."""
    boats = TALKS["boats"]
    asked = boats[0].content
    assert resolve("and the second one?", boats) == f"{asked} the ketch Anna, for eight and the second one?"
    assert "dinghy Pip" in resolve("what about the last one?", boats)


@pytest.mark.parametrize("message", ["and the seventh one?", "which one?"])
def test_what_the_list_does_not_have_is_not_picked(message: str) -> None:
    """Then the question alone stands in front."""
    boats = TALKS["boats"]
    assert resolve(message, boats) == f"{boats[0].content} {message}"


def test_a_name_that_answers_who_stands_for_she() -> None:
    """What the answer names is searched too."""
    assert "Ada Stone" in resolve("When was she born?", TALKS["founder"])


def test_a_chain_is_followed_to_its_beginning() -> None:
    """The question that stands alone, and the last follow-up to it."""
    said = talk(
        "How long does the Tern take?", "Forty minutes.", "and in fog?", "An hour.", "and in May?", "Less."
    )
    assert resolve("how much is it?", said) == "How long does the Tern take? and in May? how much is it?"


def test_thanks_between_two_questions_are_no_question() -> None:
    """The chain goes past them."""
    said = talk("What does the Tern ferry cost?", "Nine pounds.", "thanks!", "You are welcome.")
    assert resolve("and for dogs?", said) == "What does the Tern ferry cost? and for dogs?"


def test_a_question_that_was_never_answered_counts() -> None:
    """The client left, and asks on."""
    assert resolve("and the motor?", TALKS["pump"][:1]).startswith("What is the warranty of the Kestrel")


def test_no_further_back_than_the_bound() -> None:
    """A chain longer than BACK has lost its beginning."""
    said = talk(*(text for n in range(BACK + 1) for text in (f"and number {n}?", "Yes.")))
    assert resolve("why?", (*talk("What is a sloop?", "A boat."), *said)).startswith("and number 1?")


@pytest.mark.parametrize("said", [(), talk("hello", "Hi, what can I do for you?")], ids=["none", "greeting"])
def test_without_a_question_before_it_a_follow_up_stands_as_it_is(said: tuple[Turn, ...]) -> None:
    """There is nothing to refer to."""
    assert refers("and the second one?")
    assert resolve("and the second one?", said) == "and the second one?"


def test_no_more_turns_than_the_bound() -> None:
    """A question behind TURNS of thanks is out of sight."""
    asked = Turn(Role.USER, "What is a sloop?")
    thanks = [Turn(Role.USER, "thanks")] * TURNS
    assert resolve("why?", [asked, *thanks[1:]]) == "What is a sloop? why?"
    assert resolve("why?", [asked, *thanks]) == "why?"


def test_a_citation_goes_whole_and_brackets_stay() -> None:
    """Also a group of them; what has no number is not a citation."""
    said = talk("Which boats?", "- a sloop\n- a [small] ketch [yard.pdf#1, the guide.pdf#22] [b.pdf#3]")
    assert resolve("the second one?", said) == "Which boats? a [small] ketch the second one?"


def test_a_long_message_brings_its_own_words() -> None:
    """However it begins."""
    assert not refers("and why? " + "really " * LONGEST)
    assert not refers(
        "Does it explain rigging, sails, knots, anchors, tides, charts, buoys, lights and flags?"
    )


@given(messages, turns)
def test_law_the_message_is_kept_and_the_rest_is_bounded(message: str, said: list[Turn]) -> None:
    """For any message after any turns; the same each time."""
    found = resolve(message, said)
    assert found.endswith(message)
    assert len(found) <= len(message) + 3 * (PART + 1)
    assert found == resolve(message, said)


@given(messages, turns)
def test_law_only_what_refers_is_expanded(message: str, said: list[Turn]) -> None:
    """`refers` decides whether the history is read at all."""
    assert refers(message) or resolve(message, said) == message


@given(st.text(st.characters(codec=None), max_size=LONGEST + 9))
def test_law_any_text_can_be_asked_about(message: str) -> None:
    """Also halves of characters and marks alone."""
    assert refers(message) in (True, False)


@pytest.mark.parametrize(
    "said",
    [
        "Shall I look up the ferry?",
        "It carries herring. Shall I look up the ferry? Sources: [a.pdf#1] [a.pdf#2]",
        "**Shall I look up the ferry?**",
        "Shall I look up the ferry? \U0001f642",
        "Shall I look up the ferry? (I can do both.)",
    ],
)
def test_a_yes_is_searched_behind_the_question_it_answers(said: str) -> None:
    """Whatever stands behind the question."""
    assert "ferry" in answers("yes", [Turn(Role.USER, "Tell me more."), Turn(Role.ASSISTANT, said)])


@pytest.mark.parametrize(
    "said", ["It carries herring.", "Who knows? It is long ago. Nobody wrote it down.", ""]
)
def test_a_yes_to_nothing_has_no_search_text(said: str) -> None:
    """A question that was left behind is no question any more."""
    assert answers("yes", [Turn(Role.USER, "Tell me more."), Turn(Role.ASSISTANT, said)]) == ""
