"""The rules by which nobody could tell what a message wants."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.vague import FOLDED, LONGEST, RESOLVED, RULES, SENTENCE, folded, told, vague
from tests.fakes.dialogues import (
    AGAIN_ALONE,
    AGAIN_FOLLOWS,
    DEV_ALONE,
    DEV_FOLLOWS,
    HELD_ALONE,
    HELD_FOLLOWS,
    TALKS,
)

THREAD = ("When does the ferry to Uist leave?",)
ENOUGH = {"Who lost his licence?", "yes"}
"""Built like `Who wrote its preface?`, as decision 0021 tells; and an answer to nothing."""
LONG = {"Is this covered when a neighbour installs it?"}
"""Three words of its own: in doubt a message is clear."""

FOLLOWS = (*DEV_FOLLOWS, *HELD_FOLLOWS, *AGAIN_FOLLOWS)
ALONE = (*DEV_ALONE, *HELD_ALONE, *AGAIN_ALONE)
BY_RULE = {
    "clarity.silent": "?!",
    "clarity.mash": "sdkjfh xkcvb",
    "clarity.name": "Jennifer",
    "clarity.hollow": "can you help me with something?",
    "clarity.fragment": "because of the weather",
    "clarity.dangling": "when was she born?",
    "clarity.missing": "book a table",
    "clarity.cut": "is bread cheaper than",
    "clarity.clash": "make the soup hotter but colder",
}


def clarified(message: str, thread: tuple[str, ...] = ()) -> bool:
    """Whether a rule weighs so much that the policy would ask back."""
    return any(finding.weight > 0.65 for finding in vague(message, thread))


def test_every_rule_has_an_example() -> None:
    """The table below is whole."""
    assert {rule.id for rule in RULES} == BY_RULE.keys()


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_each_rule_alone_makes_a_message_unclear(rule: object) -> None:
    """Its finding names it and holds no word of the message."""
    assert rule in RULES
    rule_id = getattr(rule, "id", "")
    found = list(vague(BY_RULE[rule_id], ()))
    assert rule_id in [finding.evidence for finding in found]
    assert {finding.descriptor for finding in found} == {"clarity"}
    assert clarified(BY_RULE[rule_id])


@pytest.mark.parametrize("rule", RULES, ids=lambda rule: rule.id)
def test_a_thread_lifts_what_it_may_resolve(rule: object) -> None:
    """Mash, a sentence cut off and a contradiction stay what they are."""
    resolved = getattr(rule, "resolved", None)
    assert clarified(BY_RULE[getattr(rule, "id", "")], THREAD) is not resolved


def test_a_thread_of_greetings_resolves_nothing() -> None:
    """Nor does one that is as hollow as the message."""
    assert told(THREAD)
    assert not told(("hello", "can you help me?", ""))
    assert clarified("can you fix it?", ("hello", "Hi!"))
    assert RESOLVED < 0.65


def test_follow_ups_are_clear_behind_their_thread() -> None:
    """Those of decision 0021."""
    behind = {message: tuple(turn.content for turn in TALKS[talked]) for talked, message, _ in FOLLOWS}
    assert [message for message, turns in behind.items() if clarified(message, turns)] == []


def test_follow_ups_are_unclear_without_it() -> None:
    """But for one with enough of its own."""
    assert {message for _, message, _ in FOLLOWS if not clarified(message)} == LONG


def test_self_contained_messages_are_clear() -> None:
    """Those of decision 0021, which nothing was made with here."""
    assert {message for message in ALONE if clarified(message)} == ENOUGH


@pytest.mark.parametrize(
    "message",
    [
        "Hey\n\ncan you help me with this?\nthanks",
        "HELP ME PLEASE",
        "heeeelp",
        "pls fix this\nthank you",
        "there?",
        "I want it now",
    ],
)
def test_how_it_is_written_does_not_matter(message: str) -> None:
    """Lines, capitals, stretched letters."""
    assert clarified(message)


@pytest.mark.parametrize(
    "message",
    [
        "Translate: how are you",
        "fix this\nI goes to there",
        "rename it: foo_bar",
        "explain `it`",
        "How many moons are there?",
        "She left.",
        "I want her to be happy",
        "It was him.",
    ],
)
def test_what_stands_in_the_message_is_used(message: str) -> None:
    """A text to work on, code; and who tells something asks nothing."""
    assert not clarified(message)


@pytest.mark.parametrize("message", ["next week", "on Tuesday", "my sister", "because", "if it rains"])
def test_a_part_of_a_sentence_asks_nothing(message: str) -> None:
    """A time, a noun of one's own, a clause that hangs on another."""
    assert clarified(message)
    assert not clarified(message, THREAD)


@pytest.mark.parametrize(
    "message", ["my dog's name", "news today", "The Beatles", "how to say no", "weather on Tuesday"]
)
def test_a_topic_is_no_fragment(message: str) -> None:
    """It can be looked up."""
    assert not clarified(message)


def test_a_long_message_is_clear() -> None:
    """Unless it is mash."""
    assert not clarified("The roof leaks above the stairs, and the tenant wants it mended soon. " * 5)
    assert not clarified(" ".join(f"Can you fix it in room {n}?" for n in range(30)))
    assert clarified("sdkjfh xkcvb " * 30)
    assert len("sdkjfh xkcvb " * 30) > LONGEST


@pytest.mark.parametrize("message", ["Can you fix it? ", "is she coming?\n", "can you do it now please "])
def test_what_is_said_again_tells_no_more(message: str) -> None:
    """A long message is read without what it says twice."""
    assert clarified(message * 25)
    assert not clarified(message * 25 + "The roof leaks above the stairs. " * 12)
    assert folded("a. " * FOLDED) == ""


@given(
    st.lists(st.sampled_from(["a.", " A. ", "b!", "\n", "what?", "c", " ", "help me with it. "]), max_size=60)
)
def test_what_is_said_twice_is_read_once(parts: list[str]) -> None:
    """However far behind, in either case, in the order it was said first."""
    message = "".join(parts)
    once = {
        found[0].strip().casefold(): found[0].strip() for found in reversed([*SENTENCE.finditer(message)])
    }
    first = dict.fromkeys(found[0].strip().casefold() for found in SENTENCE.finditer(message))
    assert folded(message) == " ".join(once[key] for key in first)
