"""What a message is searched as."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Role, Turn
from app.answering.followup import (
    BACK,
    PART,
    REFERRING_CHARACTERS,
    TURNS,
    answers,
    content,
    points,
    refers,
    resolve,
    tokenised,
)
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

turns = st.lists(st.builds(Turn, st.sampled_from([Role.USER, Role.ASSISTANT]), st.text(max_size=400)))
messages = st.sampled_from([message for _, message, _ in FOLLOWS]) | st.text(max_size=400)


@pytest.mark.parametrize("case", FOLLOWS, ids=lambda case: case[1])
def test_a_follow_up_is_searched_with_what_it_refers_to(case: Case) -> None:
    """The question it depends on is in front of it, or the item it picks."""
    told, message, word = case
    assert refers(message)
    found = resolve(message, TALKS[told])
    assert found.endswith(f" {message}")
    assert word in found.removesuffix(message)


@pytest.mark.parametrize("message", [message for message in ALONE if message not in DOUBTFUL])
def test_a_self_contained_message_is_never_expanded(message: str) -> None:
    assert not refers(message)
    assert [resolve(message, said) for said in TALKS.values()] == [message] * len(TALKS)


def test_an_item_is_taken_from_the_list_without_its_citation() -> None:
    boats = TALKS["boats"]
    asked = boats[0].content
    assert resolve("and the second one?", boats) == f"{asked} the ketch Anna, for eight and the second one?"
    assert "dinghy Pip" in resolve("what about the last one?", boats)


@pytest.mark.parametrize("message", ["and the seventh one?", "which one?"])
def test_what_the_list_does_not_have_is_not_picked(message: str) -> None:
    boats = TALKS["boats"]
    assert resolve(message, boats) == f"{boats[0].content} {message}"


def test_a_name_that_answers_who_stands_for_she() -> None:
    assert "Ada Stone" in resolve("When was she born?", TALKS["founder"])


def test_a_chain_is_followed_to_its_beginning() -> None:
    """The question that stands alone, and the last follow-up to it."""
    said = talk(
        "How long does the Tern take?", "Forty minutes.", "and in fog?", "An hour.", "and in May?", "Less."
    )
    assert resolve("how much is it?", said) == "How long does the Tern take? and in May? how much is it?"


@pytest.mark.parametrize(
    ("asked", "message", "searched"),
    [
        (["and in 2020?"], "and the year before?", "What did the Tern cost in 2019?"),
        (["and the year before?"], "and the year before?", "What did the Tern cost in 2019?"),
        (["and for dogs?"], "and the following year?", "What did the Tern cost in 2022? and for dogs?"),
        (["and in 2020?"], "and in 2020?", "What did the Tern cost in 2020?"),
        (["and in 2020?"], "and for dogs?", "What did the Tern cost in 2020? and for dogs?"),
    ],
)
def test_the_year_that_is_meant_replaces_the_one_before(
    asked: list[str], message: str, searched: str
) -> None:
    texts = [text for question in ("What did the Tern cost in 2021?", *asked) for text in (question, "Ten.")]
    assert resolve(message, talk(*texts)) == searched


CHAINS: Sequence[tuple[str, list[str], str, str]] = (
    ("Where is Heron's office?", ["And Tern's?"], "And Falk's?", "Where is Falk's office?"),
    ("Where is Heron's office?", ["And Tern?"], "What about Falk's?", "Where is Falk's office?"),
    ("Who leads the yard of Heron?", [], "And Tern's?", "Who leads the yard of Tern?"),
    ("What did Heron sell in Canada?", [], "and in Mexico?", "What did Heron sell in Mexico?"),
    ("What was sold?", ["in Canada?"], "and in Mexico?", "What was sold? in Mexico?"),
    ("What was sold in Q3 2021?", ["and in Q4?"], "and in 2020?", "What was sold in Q4 2020?"),
    ("Heron profit 2021?", [], "And in 2020?", "Heron profit 2020?"),
    ("What is my dog called?", [], "what about my sister?", "What is my sister called?"),
    ("What does it cost for cats?", ["and for dogs?"], "and for mice?", "What does it cost for mice?"),
    ("Wo ist der Sitz von Heron?", [], "Und von Tern?", "Wo ist der Sitz von Tern?"),
    ("What did Heron sell in May in Oslo?", [], "And Tern in June?", "What did Tern sell in June in Oslo?"),
)


@pytest.mark.parametrize(("asked", "between", "message", "searched"), CHAINS)
def test_a_new_name_replaces_the_one_it_is_parallel_to(
    asked: str, between: list[str], message: str, searched: str
) -> None:
    """And none of the earlier ones is searched again. A name that a citation names is one in any case."""
    texts = [text for question in (asked, *between) for text in (question, "Ten [heron_2021.pdf#1].")]
    assert resolve(message, talk(*texts)) == searched


@pytest.mark.parametrize(
    ("asked", "message"),
    [
        ("Where is Heron's office?", "When did it buy Tern?"),
        ("Where is Heron's office?", "and in Mexico?"),
        ("Did Marie sail to Oslo?", "and Anna?"),
        ("What did Falk do from 2019 to 2021?", "and in 2022?"),
        ("How long is the warranty of the pump?", "And the motor?"),
        ("Who is the CEO?", "and at Heron?"),
        ("Where is Heron's office?", "And Tern's price?"),
    ],
)
def test_where_nothing_or_several_could_be_replaced_the_message_is_kept(asked: str, message: str) -> None:
    """A question about the same thing, another kind of thing, or a thing that has none of its kind."""
    assert resolve(message, talk(asked, "Ten.")).endswith(f" {message}")


def test_thanks_between_two_questions_are_no_question() -> None:
    said = talk("What does the Tern ferry cost?", "Nine pounds.", "thanks!", "You are welcome.")
    assert resolve("and for dogs?", said) == "What does the Tern ferry cost? and for dogs?"


def test_a_question_that_was_never_answered_counts() -> None:
    assert resolve("and the motor?", TALKS["pump"][:1]).startswith("What is the warranty of the Kestrel")


def test_no_further_back_than_the_bound() -> None:
    said = talk(*(text for n in range(BACK + 1) for text in (f"and number {n}?", "Yes.")))
    assert resolve("why?", (*talk("What is a sloop?", "A boat."), *said)).startswith("and number 1?")


@pytest.mark.parametrize("said", [(), talk("hello", "Hi, what can I do for you?")], ids=["none", "greeting"])
def test_without_a_question_before_it_a_follow_up_stands_as_it_is(said: tuple[Turn, ...]) -> None:
    assert refers("and the second one?")
    assert resolve("and the second one?", said) == "and the second one?"


def test_no_more_turns_than_the_bound() -> None:
    asked = Turn(Role.USER, "What is a sloop?")
    thanks = [Turn(Role.USER, "thanks")] * TURNS
    assert resolve("why?", [asked, *thanks[1:]]) == "What is a sloop? why?"
    assert resolve("why?", [asked, *thanks]) == "why?"


def test_a_citation_goes_whole_and_brackets_stay() -> None:
    said = talk("Which boats?", "- a sloop\n- a [small] ketch [yard.pdf#1, the guide.pdf#22] [b.pdf#3]")
    assert resolve("the second one?", said) == "Which boats? a [small] ketch the second one?"


def test_a_long_message_brings_its_own_words() -> None:
    assert not refers("and why? " + "really " * REFERRING_CHARACTERS)
    assert not refers(
        "Does it explain rigging, sails, knots, anchors, tides, charts, buoys, lights and flags?"
    )


@given(messages, turns)
def test_law_the_message_is_kept_and_the_rest_is_bounded(message: str, said: list[Turn]) -> None:
    found = resolve(message, said)
    if not found.endswith(message):  # its names or its year were put into the earlier question
        words = {word for word in content(tokenised(message)) if word.isascii()}
        assert words - {"year", "earlier", "prior", "previous"} <= set(tokenised(found))
    assert len(found) <= len(message) + 3 * (PART + 1)
    assert found == resolve(message, said)


@given(messages, turns)
def test_law_only_what_refers_is_expanded(message: str, said: list[Turn]) -> None:
    assert refers(message) or resolve(message, said) == message


@given(st.text(st.characters(codec=None), max_size=REFERRING_CHARACTERS + 9))
def test_law_any_text_can_be_asked_about(message: str) -> None:
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
    assert "ferry" in answers("yes", [Turn(Role.USER, "Tell me more."), Turn(Role.ASSISTANT, said)])


@pytest.mark.parametrize(
    "said",
    [
        "It carries herring.",
        "Who knows? It is long ago. Nobody wrote it down.",
        "Happy to hear it. What else would you like to know?",
        "",
    ],
)
def test_a_yes_to_nothing_has_no_search_text(said: str) -> None:
    assert answers("yes", [Turn(Role.USER, "Tell me more."), Turn(Role.ASSISTANT, said)]) == ""


PAIRS = {
    "it, a thing": ("How loud is it?", "How much does it cost to ship a piano to Malta?"),
    "it, an object": ("How do I connect it to the boiler?", "Is it known whether the old pump leaks?"),
    "it, the weather": ("Where was it built?", "Why is it raining so much in Bergen?"),
    "that, a thing": ("Does that include labour?", "Which rooms have a lock that jams?"),
    "that, after a verb": ("Explain that in a few words", "Does the lease say that tenants pay?"),
    "that, a condition": ("What holds in that case?", "How sure is the surveyor that the beam holds?"),
    "this, a clause": ("Who drafted this clause?", "Who drafted this report?"),
    "this, a time": ("What does this mean for sailors?", "How many sailors came this year?"),
    "those": ("Are those waterproof?", "What do those who sail alone need?"),
    "they": ("Do they bite?", "If dogs are let in, do they bite?"),
    "its, of another": ("What are its limits?", "How does a bat find its prey?"),
    "she, by name": ("Where was she born?", "Did Ada Stone say where she was born?"),
    "his, by name": ("What was his trade?", "What did Darwin write on his voyage?"),
    "an ordinal": ("What does the second cost?", "What does the second edition cost?"),
    "an ordinal, told": ("Is the first free?", "Who was the first to cross the bay?"),
    "one": ("Which one leaks?", "Which one of the pumps leaks?"),
    "the one": ("Is the red one cheaper?", "Who is the one who signed the lease?"),
    "the same": ("Is the same true for sloops?", "Do sloops and ketches pay the same fee?"),
    "the others": ("What about cost for the others?", "What do other museums charge?"),
    "the latter": ("What counts under the latter?", "What did the former director earn?"),
    "there": ("Who lives there?", "Are there rules for dogs?"),
    "its, of a subject": ("What is the colour of its sail?", "What does the yard do for its boats?"),
    "her, an object": ("What did the yard give her?", "What did the captain give her crew?"),
    "they, people": ("What do they sell in May?", "What do they sell in Malta?"),
    "they, of a place": ("Are they sold in Malta?", "What do they wear in the Faroe Islands?"),
    "it, like": ("What is it like in winter?", "What is it like to sail?"),
    "it, to somebody": ("What does it mean to the landlord?", "What does it mean to be insured?"),
    "an item": ("What does the second point mean?", "What does the second part of the lease mean?"),
    "an item, of a subject": ("Explain the last part", "What does the manual say in the last part?"),
    "an earlier clause": (
        "What should be done with it?",
        "When the pump freezes, what should be done with it?",
    ),
}


@pytest.mark.parametrize(("outward", "inward"), PAIRS.values(), ids=PAIRS.keys())
def test_the_same_word_points_or_does_not(outward: str, inward: str) -> None:
    assert points(tokenised(outward))
    assert not points(tokenised(inward))


def test_a_quotation_is_content_and_does_not_point() -> None:
    assert not points(tokenised('What does "it depends" mean?'))
    assert content(tokenised('What does "it depends" mean?')) == ["Quotation"]
