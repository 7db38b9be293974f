"""The tables: what they must never hold."""

import pytest

from app.text.languages import ASKING, COURTESY, ENGLISH, HAPPENING, SOCIAL, TALK, TONGUES, Tongue

NAMES = ("warranty", "kaution", "tarif", "velero", "2022", "boat", "report", "price")
"""Things that a message can be about."""


@pytest.mark.parametrize("tongue", TONGUES, ids=["english", "german", "french", "spanish"])
def test_what_names_something_is_in_no_table(tongue: Tongue) -> None:
    """Else a question about it would be taken for a follow-up."""
    assert not any(tongue.names_nothing(name) for name in NAMES)


@pytest.mark.parametrize("tongue", TONGUES, ids=["english", "german", "french", "spanish"])
def test_the_tables_are_lower_case_words(tongue: Tongue) -> None:
    """As messages are compared to them."""
    every = {*tongue.openings, *tongue.verbs, *tongue.bare, *tongue.ordinals}
    assert all(word == word.lower() and " " not in word for word in every)


def test_ordinals_count_from_the_first_and_the_last() -> None:
    """As indexes of a list."""
    assert [ENGLISH.ordinals[word] for word in ("first", "2nd", "third", "last", "former")] == [
        0,
        1,
        2,
        -1,
        -2,
    ]


def test_courtesy_alone_is_no_greeting_table() -> None:
    """A word is said for company's sake, or goes with one that is; not both."""
    assert SOCIAL.isdisjoint(COURTESY)


def test_what_happens_is_a_verb_and_names_nothing() -> None:
    """`What happened?` hangs on something; it is no verb about the conversation, nor an auxiliary."""
    assert all(ENGLISH.names_nothing(word) for word in HAPPENING)
    assert HAPPENING.isdisjoint(TALK | ENGLISH.verbs)


def test_what_asks_is_an_auxiliary() -> None:
    """Before a subject: `does the author …`; not `is`, which a participle may follow."""
    assert ASKING.issubset(ENGLISH.verbs)
    assert "is" not in ASKING
