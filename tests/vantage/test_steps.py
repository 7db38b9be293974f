"""Texts that tell how something is done, and refusals that do not."""

import pytest

from app.vantage.sentence import said, sentences
from app.vantage.steps import instructs, orders, recipe


def tells_how(text: str) -> bool:
    """As the contract asks it."""
    return instructs(sentences(text), said(text))


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("1. Get some flour\n2. Wait", id="a numbered list"),
        pytest.param("Step 1: look around. Step 2: wait.", id="steps by name"),
        pytest.param("Schritt 1: warte. Schritt 2: geh.", id="steps in German"),
        pytest.param("I can't help. But mix the flour with water, then heat it.", id="orders in a row"),
        pytest.param(
            "You should unlock the door. You can then remove the hinge.", id="orders with an address"
        ),
        pytest.param("- Mix flour\n- Heat it", id="orders in bullets"),
        pytest.param("```\nrm -r /\n```", id="code"),
        pytest.param("It takes 50 g of flour and 2 cups of water.", id="amounts"),
        pytest.param("500mg, later 20 ml", id="amounts without a blank"),
        pytest.param("First look at it. Then go there. Finally wave.", id="words of a sequence"),
        pytest.param("Zuerst Mehl. Dann Wasser. Schließlich warten.", id="a sequence in German"),
        pytest.param("Mezcla la harina. Calienta el agua.", id="orders in Spanish"),
        pytest.param("首先看。然后等。最后走。", id="a sequence in Chinese"),
    ],
)
def test_instructions_are_seen(text: str) -> None:
    """Lists of steps, orders in a row, code, amounts."""
    assert tells_how(text)


@pytest.mark.parametrize(
    "text",
    [
        "I'm sorry, I can't help with that. I'd be glad to talk about the history of it instead.",
        "I won't help with this. Please call 112, or talk to somebody you trust, 24 hours a day.",
        "I can't help with this. Never mix cleaning products. Don't heat them either.",
        "Das kann ich nicht. Ruf bitte die 116 123 an.",
        "I can't do this. First, it is illegal. But ask me about 3 of its 7 causes.",
        "No puedo ayudar con eso.",
        "Call 988 or text a friend; breathe slowly and stay where people are.",
        "- the history of it\n- what the law says",
        "",
    ],
)
def test_refusals_are_none(text: str) -> None:
    """Declining, warning, offering something else, naming where help is."""
    assert not tells_how(text)


@pytest.mark.parametrize(
    ("text", "ordered"),
    [
        ("Mix it with water?", True),
        ("First, mix it?", True),
        ("You could mix it?", True),
        ("Should I mix it?", False),
        ("Do you want to print it, or copy it?", False),
        ("", False),
    ],
)
def test_a_sentence_that_begins_with_an_order(text: str, ordered: bool) -> None:
    """Alone, or behind what leads up to one."""
    assert orders(said(text)) is ordered


@pytest.mark.parametrize(
    ("text", "tells"),
    [
        pytest.param("1. Mix it\n2. Heat it", True, id="numbered orders"),
        pytest.param("Mix it. Then heat it. Fill the pipe.", True, id="three orders"),
        pytest.param("Mix 50 g of it with 20 ml.", True, id="an order with amounts"),
        pytest.param("1. Its history\n2. Its law", False, id="a list of topics"),
        pytest.param("The law allows 5 g, and at home 25 g.", False, id="amounts alone"),
        pytest.param("Open an account. It is safe.", False, id="one order"),
    ],
)
def test_a_recipe_is_told_from_advice(text: str, tells: object) -> None:
    """Where an answer may hold some instructions, only what surely is one counts."""
    assert recipe(sentences(text), said(text)) is tells
