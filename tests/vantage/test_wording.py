"""The policy's own texts."""

import pytest

from app.models.tokens import O200k
from app.vantage.clarify import asks
from app.vantage.contract import OWN, check
from app.vantage.decision import DISTRESSED, RULES
from app.vantage.sentence import sentences
from app.vantage.terms import Decision, Params, ResponseClass
from app.vantage.wording import HELP, LEADS, lead, question, refusal

TIGHT = Params(16, 0, 0, 0.5, 0.5)
"""The lowest limits there are."""
RULED = [(rule.id,) for rule in RULES] + [
    ("default",),
    ("unclear", "routing.force"),
    ("limits.refuse", "emergency"),
    ("selfharm.likely", "pressed.harm", "distress"),
]


@pytest.mark.parametrize("rules", RULED, ids=str)
def test_own_texts_hold_their_class(rules: tuple[str, ...]) -> None:
    """Under the lowest limits, whichever rule gave the class."""
    for kind, text in ((ResponseClass.REFUSE, refusal), (ResponseClass.CLARIFY, question)):
        decision = Decision(kind, rules, "1")
        own = text(decision)
        assert check(own, decision, TIGHT, cited=(), tokens=O200k().count(own)).broken == ()


def test_a_question_is_one() -> None:
    """And nothing else."""
    told = sentences(question(Decision(ResponseClass.CLARIFY, ("unclear",), "1")))
    assert len(told) == 1
    assert asks(told[0])


@pytest.mark.parametrize("rule", sorted(DISTRESSED))
@pytest.mark.parametrize("kind", [ResponseClass.REDIRECT, ResponseClass.NEGOTIATE, ResponseClass.COMPLY])
def test_who_may_be_in_danger_is_told_where_help_is(kind: ResponseClass, rule: str) -> None:
    """Before anything else, whatever the class."""
    assert HELP in lead(Decision(kind, (rule,), "1"))


def test_a_refused_way_to_hurt_oneself_tells_where_help_is() -> None:
    """A refusal alone would leave them with nothing."""
    for rules in (("violence.asked", "selfharm.asked"), ("limits.refuse", "emergency"), ("selfharm.likely",)):
        assert refusal(Decision(ResponseClass.REFUSE, rules, "1")).count(HELP) == 1


def test_the_texts_name_the_reason_in_general() -> None:
    """A topic that was set aside is not called harmful."""
    aside = refusal(Decision(ResponseClass.REFUSE, ("limits.refuse",), "1"))
    harm = refusal(Decision(ResponseClass.REFUSE, ("weapons.asked",), "1"))
    assert "harm" not in aside
    assert "harm" in harm


@pytest.mark.parametrize(
    "rules", [("default", "routing.force"), ("unclear", "routing.forbid"), ("secrets.asked",)]
)
def test_a_refusal_that_no_risk_gave_names_no_harm(rules: tuple[str, ...]) -> None:
    """Routing refuses what is harmless, too."""
    assert "harm" not in refusal(Decision(ResponseClass.REFUSE, rules, "1"))


def test_a_risk_is_named_before_the_askers_topic() -> None:
    """Where both refuse."""
    told = refusal(Decision(ResponseClass.REFUSE, ("weapons.asked", "limits.refuse"), "1", final=True))
    assert "harm" in told


@pytest.mark.parametrize("kind", LEADS)
def test_a_lead_names_what_its_class_must(kind: ResponseClass) -> None:
    """An answer that is only quotations holds its class by its first sentence."""
    decision = Decision(kind, ("x",), "1")
    text = f"{lead(decision)}\n\n“Kayaks are boats.” [a.pdf#1]"
    assert check(text, decision, Params(800, 0, 0, 0.5, 0.5), cited=["a.pdf#1"], tokens=40).broken == ()


def test_plain_answers_need_no_lead() -> None:
    """COMPLY opens with what is asked."""
    assert lead(Decision(ResponseClass.COMPLY, ("default",), "1")) == ""


def test_own_texts_are_short() -> None:
    """None needs more than the tokens that every refusal may have."""
    texts = [refusal(Decision(ResponseClass.REFUSE, rules, "1")) for rules in RULED]
    assert max(O200k().count(text) for text in texts) <= OWN
