"""Words that point out of a message, and the same words when they do not."""

import pytest

from app.answering.followup import content, points, tokenised

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
    """By what stands around it."""
    assert points(tokenised(outward))
    assert not points(tokenised(inward))


def test_a_quotation_is_content_and_does_not_point() -> None:
    """`it` that is spoken of is not `it`."""
    assert not points(tokenised('What does "it depends" mean?'))
    assert content(tokenised('What does "it depends" mean?')) == ["Quotation"]


def test_clitics_are_verbs_and_possessives_are_not() -> None:
    """`that's` is two words, `museum's` is one."""
    assert tokenised("That's the museum’s?") == ["That", "is", "the", "museum"]
