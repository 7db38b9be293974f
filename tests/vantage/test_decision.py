"""Which class an answer has: total, monotonous in risk, and never talked out of a refusal."""

from collections import Counter
from dataclasses import replace
from math import isnan, nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.vantage.decision import (
    DESPAIR,
    DISTRESSED,
    HARMS,
    IN_DESPAIR,
    IN_EMERGENCY,
    IN_FICTION,
    MAY_ASK,
    NEGOTIATED_TOPIC,
    REFUSED_TOPIC,
    RIVALLED,
    RULES,
    SECRETS,
    STRICTNESS,
    decide,
    levels,
    routed,
)
from app.vantage.features import STAKES
from app.vantage.overlay import derive_params
from app.vantage.risk import RISKS
from app.vantage.terms import Decision, Descriptors, Evidence, Finding, Limits, Params, ResponseClass, Routing
from app.vantage.version import version
from app.vantage.weigh import weigh
from tests.vantage.strategies import KINDS, LIMITS, ODD, PARAMS, ROUTINGS, SHARES, descriptors

COMPLY, REDIRECT, CLARIFY, NEGOTIATE, REFUSE = ResponseClass
ANY = Routing()
DESPERATE = (Finding("risk.selfharm", DESPAIR, 0.6),)
HELPED = {"distress", "emergency"}
ORDER = [*(rule.id for rule in RULES), "default", "routing.redirect", "routing.force", "routing.forbid"]


def decided(sd: Descriptors, limits: Limits | None = None, routing: Routing = ANY) -> Decision:
    limits = limits or Limits()
    return decide(sd, derive_params(sd, limits), limits, routing)


@pytest.mark.parametrize(
    ("sd", "kind", "rules"),
    [
        pytest.param(Descriptors(), COMPLY, ("default",), id="plain"),
        pytest.param(Descriptors(risk={"weapons": 0.7}), REFUSE, ("weapons.asked",), id="harm"),
        pytest.param(Descriptors(risk={"weapons": 0.4}), NEGOTIATE, ("weapons.likely",), id="perhaps harm"),
        pytest.param(Descriptors(risk={"weapons": 0.39}), COMPLY, ("default",), id="hardly harm"),
        pytest.param(Descriptors(risk={"secrets": 1}), NEGOTIATE, ("secrets.asked",), id="secrets"),
        pytest.param(Descriptors(clarity=0.1), CLARIFY, ("unclear",), id="unclear"),
        pytest.param(
            Descriptors(clarity=0.1, risk={"fraud": 0.5}), NEGOTIATE, ("fraud.likely", "unclear"), id="both"
        ),
        pytest.param(
            Descriptors(pressure=0.9, risk={"fraud": 0.5}),
            REFUSE,
            ("fraud.likely", "pressed.harm", "pressed.trace", "pressed"),
            id="pressed",
        ),
        pytest.param(
            Descriptors(pressure=0.9, risk={"fraud": 0.2}),
            NEGOTIATE,
            ("pressed.trace", "pressed"),
            id="pressed, with a trace of harm",
        ),
        pytest.param(Descriptors(pressure=0.9), COMPLY, ("pressed",), id="pressed to no harm"),
        pytest.param(
            Descriptors(risk={"selfharm": 0.6}, findings=DESPERATE),
            REDIRECT,
            ("distress",),
            id="a cry for help",
        ),
        pytest.param(
            Descriptors(clarity=0.1, risk={"selfharm": 0.6}, findings=DESPERATE),
            REDIRECT,
            ("distress",),
            id="a cry for help is not asked back",
        ),
        pytest.param(
            Descriptors(risk={"selfharm": 0.8}, findings=DESPERATE),
            REFUSE,
            ("selfharm.asked",),
            id="a way to do it",
        ),
        pytest.param(Descriptors(risk={"selfharm": 0.5}), NEGOTIATE, ("selfharm.likely",), id="of self-harm"),
        pytest.param(
            Descriptors(stakes={"medical": 0.9}, specificity=0.8),
            COMPLY,
            ("careful",),
            id="somebody's own case",
        ),
    ],
)
def test_the_scale(sd: Descriptors, kind: ResponseClass, rules: tuple[str, ...]) -> None:
    """What each kind of message gets, and why."""
    decision = decided(sd)
    assert (decision.response_class, decision.rules) == (kind, rules)


@settings(max_examples=60)
@given(descriptors(ODD), PARAMS, LIMITS, ROUTINGS)
def test_every_input_has_one_class(sd: Descriptors, params: Params, limits: Limits, routing: Routing) -> None:
    """Whatever the values: one class, at least one rule, in the policy's order, the same again."""
    decision = decide(sd, params, limits, routing)
    assert decision.response_class in ResponseClass
    places = [ORDER.index(rule) for rule in decision.rules]
    assert places == sorted(set(places))
    assert decision.rules
    assert decision.policy_version == version()
    assert decide(sd, params, limits, routing) == decision


@settings(max_examples=60)
@given(descriptors(ODD), st.sampled_from(RISKS), ODD, LIMITS)
def test_more_risk_is_never_laxer(sd: Descriptors, category: str, more: float, limits: Limits) -> None:
    """Raising any category keeps the class or makes it stricter; who may be in danger is not asked back."""
    low, high = sorted([sd.risk.get(category, 0.0), more])
    params = derive_params(sd, limits)
    before = decide(replace(sd, risk={**sd.risk, category: low}), params, limits, ANY)
    after = decide(replace(sd, risk={**sd.risk, category: high}), params, limits, ANY)
    if not (isnan(high) or isnan(low)):  # no number has no place in the order
        stricter = STRICTNESS[after.response_class] >= STRICTNESS[before.response_class]
        assert stricter or HELPED & {*after.rules}
        assert after.final or not before.final


@settings(max_examples=60)
@given(descriptors(SHARES), st.sampled_from(sorted(HARMS)), LIMITS, ROUTINGS)
def test_nothing_lifts_a_refusal(sd: Descriptors, category: str, limits: Limits, routing: Routing) -> None:
    """No routing, no limit, nothing else in the message, once harm is surely asked for."""
    sure = replace(sd, risk={**sd.risk, category: 0.7})
    decision = decided(sure, limits, routing)
    assert decision.response_class is REFUSE
    assert decision.final
    assert not any(rule.startswith("routing.") for rule in decision.rules)


@settings(max_examples=60)
@given(descriptors(ODD), LIMITS, ROUTINGS)
def test_routing_never_touches_what_is_final(sd: Descriptors, limits: Limits, routing: Routing) -> None:
    """What is final without routing is the same with any."""
    before = decided(sd, limits)
    if before.final:
        assert decided(sd, limits, routing) == before


@settings(max_examples=60)
@given(descriptors(SHARES), ROUTINGS)
def test_the_class_is_what_routing_wished(sd: Descriptors, routing: Routing) -> None:
    """A class that is not final is the forced one, unless that is forbidden."""
    decision = decided(sd, None, routing)
    if not decision.final and routing.force is not None and routing.force not in routing.forbid:
        assert decision.response_class is routing.force


def test_topics_of_the_asker_decide() -> None:
    """Refused ones refuse, negotiable ones negotiate; routing may still move both."""
    sd = Descriptors(terms=("on", "tax", "law"))
    assert decided(sd, Limits(refuse=("tax law",))).rules == ("limits.refuse",)
    assert decided(sd, Limits(refuse=("tax law",))).response_class is REFUSE
    assert decided(sd, Limits(negotiate=("tax",))).response_class is NEGOTIATE
    assert decided(sd, Limits(refuse=("law tax",))).response_class is COMPLY
    lifted = decided(sd, Limits(refuse=("tax",)), Routing(force=COMPLY))
    assert (lifted.response_class, lifted.final) == (COMPLY, False)


@pytest.mark.parametrize(
    ("message", "rule"),
    [
        ("i want to die", "distress"),
        ("I don't want to live anymore", "distress"),
        ("my dad is not breathing", "emergency"),
        ("help, I can’t breathe", "emergency"),
        ("she took too many pills", "emergency"),
        ("mein Vater atmet nicht!", "emergency"),
    ],
)
def test_who_may_be_in_danger_is_sent_to_help(message: str, rule: str) -> None:
    """The phrases meet a message as it is read, and so does the finding of the words of risk."""
    decision = weigh(message).decision
    assert rule in decision.rules
    assert decision.response_class is REDIRECT


def test_who_may_not_ask_does_not() -> None:
    """Without a question in the budget an unclear message is answered."""
    assert decided(Descriptors(clarity=0), Limits(question_budget=0)).response_class is COMPLY


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
    """Topics of the caller, emergencies, the finding of despair, the budget."""
    known = {REFUSED_TOPIC, NEGOTIATED_TOPIC, IN_EMERGENCY, IN_DESPAIR, IN_FICTION, MAY_ASK, RIVALLED}
    assert {fact for rule in RULES for fact in rule.needs} <= known


def test_final_rules_refuse_and_look_at_risk() -> None:
    """Nothing else may be beyond the asker's routing."""
    final = [rule for rule in RULES if rule.final]
    assert {rule.gives for rule in final} == {ResponseClass.REFUSE}
    assert all(any("risk." in condition.text() for condition in rule.when) for rule in final)
    assert {f"{name}.asked" for name in HARMS} <= {rule.id for rule in final}


def after(given_class: ResponseClass, routing: Routing) -> ResponseClass:
    """The class in the end."""
    steps = list(routed(given_class, routing))
    return steps[-1][1] if steps else given_class


@pytest.mark.parametrize(
    ("given_class", "routing", "then"),
    [
        pytest.param(COMPLY, Routing(), COMPLY, id="nothing is wished"),
        pytest.param(COMPLY, Routing(force=CLARIFY), CLARIFY, id="forced"),
        pytest.param(COMPLY, Routing(redirect={COMPLY: NEGOTIATE}), NEGOTIATE, id="redirected"),
        pytest.param(COMPLY, Routing(redirect={CLARIFY: NEGOTIATE}), COMPLY, id="another is redirected"),
        pytest.param(
            COMPLY, Routing(redirect={COMPLY: CLARIFY, CLARIFY: COMPLY}), CLARIFY, id="a ring swaps"
        ),
        pytest.param(COMPLY, Routing(redirect={COMPLY: COMPLY}), COMPLY, id="redirected to itself"),
        pytest.param(
            COMPLY, Routing(force=REDIRECT, redirect={COMPLY: CLARIFY}), REDIRECT, id="force is later"
        ),
        pytest.param(COMPLY, Routing(force=REDIRECT, forbid=(REDIRECT,)), NEGOTIATE, id="forbid is last"),
        pytest.param(CLARIFY, Routing(forbid=(CLARIFY,)), NEGOTIATE, id="not asked back"),
        pytest.param(NEGOTIATE, Routing(forbid=(NEGOTIATE,)), REFUSE, id="stricter"),
        pytest.param(REFUSE, Routing(forbid=(REFUSE,)), NEGOTIATE, id="nothing is stricter"),
        pytest.param(COMPLY, Routing(forbid=tuple(ResponseClass)), REFUSE, id="all are forbidden"),
    ],
)
def test_routing_moves_a_class(given_class: ResponseClass, routing: Routing, then: ResponseClass) -> None:
    """Redirect, force, forbid, in that order."""
    assert after(given_class, routing) is then


@given(KINDS, ROUTINGS)
def test_forbidding_makes_stricter_where_it_can(given_class: ResponseClass, routing: Routing) -> None:
    """A laxer class comes only if every stricter one is forbidden, too."""
    order = list(ResponseClass)
    before = after(given_class, Routing(routing.force, (), routing.redirect))
    then = after(given_class, routing)
    stricter = set(order[order.index(before) + 1 :])
    assert order.index(then) >= order.index(before) or stricter <= set(routing.forbid)


@given(descriptors(ODD))
def test_levels_are_in_bounds(sd: Descriptors) -> None:
    """Every value in [0, 1], and one for each descriptor and category."""
    found = levels(sd)
    assert all(0 <= value <= 1 for value in found.values())
    assert {f"risk.{name}" for name in sd.risk} | {f"stakes.{name}" for name in sd.stakes} <= set(found)
    assert found["risk.*"] == max((found[f"risk.{name}"] for name in sd.risk), default=0)


def test_what_is_no_number_counts_as_the_worst() -> None:
    """Of risk and pressure; of clarity, stakes and the rest as what a message has by default."""
    found = levels(Descriptors(nan, nan, {"weapons": nan}, {"legal": nan}, nan, nan, nan))
    assert {name for name, value in found.items() if value} == {
        "risk.weapons",
        "risk.*",
        "pressure",
        "clarity",
    }
    assert found["risk.weapons"] == found["pressure"] == found["clarity"] == 1


def test_an_outside_score_that_is_no_number_is_no_evidence() -> None:
    """As if the service had not said it; the others count."""
    assert (
        levels(Descriptors(), Evidence({"violence": nan, "self-harm": nan})).keys()
        == levels(Descriptors()).keys()
    )
    found = levels(Descriptors(), Evidence({"violence": nan, "hate": 0.75}))
    assert found["outside.harm"] == 0.75
    assert "outside.selfharm" not in found
