"""A line of the policy."""

import pytest

from app.vantage.rule import MAY_ASK, Rule, at_least, found_by, naming, under
from app.vantage.terms import ResponseClass


@pytest.mark.parametrize(("value", "holds"), [(0.39, False), (0.4, True), (0.69, True), (0.7, False)])
def test_a_threshold_belongs_to_what_is_above(value: float, holds: bool) -> None:
    """From it on, up to the next one without that."""
    assert at_least(0.4, "risk.fraud", below=0.7).holds({"risk.fraud": value}) is holds
    assert under(0.7, "risk.fraud").holds({"risk.fraud": value}) is (value < 0.7)


def test_a_condition_looks_at_the_highest() -> None:
    """Of all that it names; below means all of them."""
    sd = {"risk.fraud": 0.2, "risk.drugs": 0.6, "risk.*": 0.6}
    assert at_least(0.5, "risk.fraud", "risk.drugs").holds(sd)
    assert not under(0.5, "risk.fraud", "risk.drugs").holds(sd)
    assert at_least(0.6, "risk.*").holds(sd)


def test_a_condition_reads_as_it_is() -> None:
    """Names, marks and thresholds."""
    assert at_least(0.4, "risk.fraud", "pressure", below=0.7).text() == (
        "risk.fraud or pressure ≥ 0.4 and risk.fraud or pressure < 0.7"
    )
    assert under(0.35, "clarity").text() == "clarity < 0.35"


def test_a_rule_tells_everything_it_asks_for() -> None:
    """Topics, descriptors, findings, budget, exceptions."""
    rule = Rule(
        "x",
        ResponseClass.CLARIFY,
        "Why.",
        (under(0.35, "clarity"),),
        needs=(naming("limits.refuse"), found_by("despair"), MAY_ASK),
        unless=("y",),
    )
    assert rule.text() == (
        "clarity < 0.35 and the message names one of limits.refuse and found by despair"
        " and question_budget ≥ 1 and not y"
    )


def test_a_rule_holds_if_all_does() -> None:
    """Levels and facts; one alone is not enough."""
    rule = Rule("x", ResponseClass.CLARIFY, "Why.", (under(0.35, "clarity"),), needs=(MAY_ASK,))
    assert rule.holds({"clarity": 0.1}, {MAY_ASK, "another"})
    assert not rule.holds({"clarity": 0.1}, set())
    assert not rule.holds({"clarity": 0.9}, {MAY_ASK})


def test_a_rule_names_what_must_be_raised() -> None:
    """Its first threshold; a rule that holds for low values names none."""
    raised = Rule(
        "x", ResponseClass.REFUSE, "Why.", (under(0.9, "clarity"), at_least(0.4, "pressure", "affect"))
    )
    assert raised.raised == at_least(0.4, "pressure", "affect")
    assert Rule("x", ResponseClass.REFUSE, "Why.", (under(0.4, "clarity"),)).raised is None
    assert Rule("x", ResponseClass.REFUSE, "Why.", (at_least(0.0, "pressure"),)).raised is None
