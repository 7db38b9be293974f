"""What a message is searched as."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.followup import BACK, LONGEST, PART, refers, resolve
from app.domain.prompt import Role, Turn
from tests.fakes.dialogues import DEV_ALONE, DEV_FOLLOWS, HELD_ALONE, HELD_FOLLOWS, TALKS, Case, talk

FOLLOWS = (*DEV_FOLLOWS, *HELD_FOLLOWS)
ALONE = (*DEV_ALONE, *HELD_ALONE)
DOUBTFUL = "What changed in the lease between these years: 2019 and 2021?"
"""The one of the held-out messages that is taken for a follow-up: `these` points forward."""

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


@pytest.mark.parametrize("message", [message for message in ALONE if message != DOUBTFUL])
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
