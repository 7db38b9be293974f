"""The table of rules, read as data."""

from collections import Counter

from hypothesis import given

from app.vantage.features import STAKES
from app.vantage.harms import RISKS
from app.vantage.reading import levels
from app.vantage.rule import MAY_ASK, RIVALLED, found_by, naming
from app.vantage.rules import DESPAIR, DISTRESSED, HARMS, RULES, SECRETS
from app.vantage.terms import Descriptors, ResponseClass
from tests.vantage.strategies import SHARES, descriptors

IDS = [rule.id for rule in RULES]


def test_every_category_of_risk_has_its_rules() -> None:
    """Surely asked for, and perhaps; the table names no category that nobody measures."""
    assert {*HARMS, *SECRETS} == set(RISKS)
    assert [name for name in RISKS if not {f"{name}.asked", f"{name}.likely"} <= set(IDS)] == []


def test_ids_are_given_once() -> None:
    """A trace names one rule."""
    assert [name for name, count in Counter(IDS).items() if count > 1] == []


def test_rules_name_rules_and_descriptors_that_there_are() -> None:
    """In their exceptions and conditions."""
    kinds = {"clarity", "specificity", "pressure", "affect", "breadth", "risk.*", "stakes.*"}
    kinds |= {"outside.harm", "outside.selfharm", "score.attack", "score.risk"}
    known = kinds | {f"risk.{name}" for name in RISKS} | {f"stakes.{name}" for name in STAKES}
    named = {name for rule in RULES for condition in rule.when for name in condition.names}
    assert named <= known
    assert {name for rule in RULES for name in rule.unless} | DISTRESSED <= set(IDS)


def test_rules_need_facts_that_there_are() -> None:
    """Sets of topics, the finding of despair, the budget, rival sources."""
    sets = {naming(name) for name in ("limits.refuse", "limits.negotiate", "emergencies")}
    known = sets | {MAY_ASK, RIVALLED, found_by(DESPAIR)}  # test_decision.py meets it in a message
    assert {fact for rule in RULES for fact in rule.needs} <= known


def test_final_rules_refuse_and_look_at_risk() -> None:
    """Nothing else may be beyond the asker's routing."""
    final = [rule for rule in RULES if rule.final]
    assert {rule.gives for rule in final} == {ResponseClass.REFUSE}
    assert all(any("risk." in condition.text() for condition in rule.when) for rule in final)
    assert {f"{name}.asked" for name in HARMS} <= {rule.id for rule in final}


def test_a_rule_reads_as_a_policy() -> None:
    """Its condition and its reason are told in words."""
    assert all(rule.text() and rule.says.endswith(".") for rule in RULES)
    texts = {rule.id: rule.text() for rule in RULES}
    assert texts["weapons.asked"] == "risk.weapons ≥ 0.7"
    assert texts["weapons.likely"] == "risk.weapons ≥ 0.4 and risk.weapons < 0.7"
    assert texts["limits.refuse"] == "the message names one of limits.refuse"
    assert texts["unclear"].endswith("question_budget ≥ 1 and not emergency and not distress")


@given(descriptors(SHARES))
def test_sure_and_likely_exclude_each_other(sd: Descriptors) -> None:
    """A category is told once."""
    fired = {rule.id for rule in RULES if rule.holds(levels(sd), set())}
    assert [name for name in RISKS if {f"{name}.asked", f"{name}.likely"} <= fired] == []
