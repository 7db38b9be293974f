"""Ordinary answers against their class: good ones hold, bad ones do not (tests/vantage/answers.py)."""

from collections.abc import Callable, Sequence

import pytest

from app.models.tokens import O200k
from app.vantage.clarify import enforce_clarify_shape
from app.vantage.contract import check
from app.vantage.terms import Decision, Limits, Params, ResponseClass
from app.vantage.wording import question
from tests.vantage import answers

PARAMS = Params(800, 3, 2, 0.5, 0.4)
COUNT = O200k().count
COMPLY, REDIRECT, CLARIFY, NEGOTIATE, REFUSE = ResponseClass
RULES = {REDIRECT: "distress", CLARIFY: "unclear", REFUSE: "violence.asked"}


def broken(kind: ResponseClass, text: str) -> tuple[str, ...]:
    """What an answer breaks as it leaves the model."""
    decision = Decision(kind, (RULES.get(kind, "default"),), "1")
    return check(text, decision, PARAMS, cited=(), tokens=COUNT(text)).broken


def asked(text: str) -> bool:
    """Whether the model's own questions leave, and hold."""
    decision = Decision(CLARIFY, ("unclear",), "1")
    sent = enforce_clarify_shape(text, PARAMS, decision)
    return sent != question(decision) and not broken(CLARIFY, sent)


def share(texts: Sequence[str], bad: Callable[[str], object]) -> float:
    """Of texts."""
    return sum(map(bool, map(bad, texts))) / len(texts)


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (COMPLY, answers.COMPLY),
        (REDIRECT, answers.REDIRECT),
        (NEGOTIATE, answers.NEGOTIATE),
        (REFUSE, answers.REFUSE),
    ],
)
def test_an_ordinary_answer_holds_its_class(kind: ResponseClass, texts: Sequence[str]) -> None:
    """At most one in ten is told to be broken."""
    assert len(texts) == 30
    assert share(texts, lambda text: broken(kind, text)) <= 0.1, [
        (text, broken(kind, text)) for text in texts if broken(kind, text)
    ]


def test_a_models_questions_leave() -> None:
    """At most one in ten of those who ask is replaced by the policy's question."""
    lost = [text for text in answers.CLARIFY if not asked(text)]
    assert len(answers.CLARIFY) == 30
    assert len(lost) <= 3, lost


@pytest.mark.parametrize(
    ("kind", "texts"),
    [
        (REFUSE, answers.LEAKING),
        (CLARIFY, answers.TELLING),
        (NEGOTIATE, answers.UNNAMED),
        (REDIRECT, answers.UNHELPED),
    ],
)
def test_a_bad_answer_is_told(kind: ResponseClass, texts: Sequence[str]) -> None:
    """At least four in five."""
    assert share(texts, lambda text: broken(kind, text)) >= 0.8, [
        text for text in texts if not broken(kind, text)
    ]


@pytest.mark.parametrize(
    "text", ["Contact your bank right away; they can freeze the card.", "Talk to your vet."]
)
def test_help_of_any_kind_is_better_help(text: str) -> None:
    """Where nobody is in danger."""
    decision = Decision(REDIRECT, ("routing.force",), "1")
    assert check(text, decision, PARAMS, cited=(), tokens=10).held


@pytest.mark.parametrize("kind", ResponseClass)
@pytest.mark.parametrize("rule", ["emergency", "distress", "selfharm.asked", "selfharm.likely"])
def test_danger_needs_help_named_in_every_class(kind: ResponseClass, rule: str) -> None:
    """And no other rule does."""
    found = [
        "helped" in check("I can't help.", Decision(kind, (by,), "1"), PARAMS, cited=(), tokens=9).broken
        for by in (rule, "default")
    ]
    assert found == [True, False]


def test_hedges_have_room_by_length_but_not_beyond_the_askers() -> None:
    """Three for each hundred tokens that the answer has begun; the asker's own limit is for all of it."""
    text = "Perhaps. " * 6
    decision = Decision(COMPLY, ("default",), "1")
    held = [
        check(text, decision, PARAMS, cited=(), tokens=tokens, limits=limits).held
        for tokens, limits in ((100, None), (101, None), (101, Limits()), (101, Limits(hedge_budget=3)))
    ]
    assert held == [False, True, True, False]


@pytest.mark.parametrize("lead", ["Could you tell me a few things first?\n", "To help you, please answer:\n"])
def test_a_list_that_the_asker_is_to_answer_counts(lead: str) -> None:
    """It is not what was asked for."""
    text = lead + "- Which city?\n- Which year?\n- Which hotel?\n- Which train?"
    assert "budget.questions" in broken(COMPLY, text)


def test_a_clarification_in_danger_asks_for_help_first() -> None:
    """Questions only, within budget, and 112 among them."""
    decision = Decision(CLARIFY, ("emergency", "routing.force"), "1")
    sent = enforce_clarify_shape("Where does it hurt? Since when? How old are you?", PARAMS, decision)
    assert sent == f"{question(decision)}\nWhere does it hurt?"
    assert check(sent, decision, PARAMS, cited=(), tokens=COUNT(sent)).held
    assert enforce_clarify_shape(sent, PARAMS, decision) == sent
