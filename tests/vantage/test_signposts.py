"""Whom an answer says to contact."""

import pytest

from app.vantage.sentence import sentences
from app.vantage.signposts import helps, points


@pytest.mark.parametrize(
    "text",
    [
        "Contact your bank right away; they can freeze the card.",
        "You should talk to your vet at once.",
        "A lawyer can tell you more.",
        "I'd recommend speaking with an accountant.",
        "Frag deinen Steuerberater.",
        "Consultez un avocat.",
    ],
)
def test_who_helps_better_is_named(text: str) -> None:
    """By whom to contact, or who can tell; which is no help in danger."""
    assert (points(sentences(text)), helps(sentences(text))) == (True, False)


@pytest.mark.parametrize(
    "text",
    [
        "Talk to your GP.",
        "Go to the ER immediately.",
        "Contact the Samaritans on 116123.",
        "Appelez le 15 immédiatement.",
        "Chiama subito il 118.",
        "Don't hesitate to call 999.",
        "The crisis line 988 answers at any hour.",
        "请拨打120。",
    ],
)
def test_who_helps_in_danger_is_named(text: str) -> None:
    """By whom to call, or a line with its number."""
    assert (points(sentences(text)), helps(sentences(text))) == (True, True)


@pytest.mark.parametrize(
    "text",
    [
        "Be professional. Life is what it is.",
        "There is no emergency. The 112 bus leaves at nine.",
        "Don't call an ambulance.",
        "I would call it a day.",
        "The doctor was late.",
        "```\ncall the doctor\n```",
        "你好。",
        "",
    ],
)
def test_a_word_alone_names_nobody(text: str) -> None:
    """Nor does what is denied."""
    assert (points(sentences(text)), helps(sentences(text))) == (False, False)
