"""Which class an answer has: total, monotonous in risk, and never talked out of a refusal."""

from dataclasses import replace
from math import isnan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.vantage.decision import STRICTNESS, decide
from app.vantage.harms import RISKS
from app.vantage.params import derive_params
from app.vantage.policy import version
from app.vantage.rules import HARMS, RULES
from app.vantage.terms import Decision, Descriptors, Finding, Limits, Params, ResponseClass, Routing
from app.vantage.weigh import weigh
from tests.vantage.strategies import LIMITS, ODD, PARAMS, ROUTINGS, SHARES, descriptors

COMPLY, REDIRECT, CLARIFY, NEGOTIATE, REFUSE = ResponseClass
ANY = Routing()
DESPAIR = (Finding("risk.selfharm", "despair", 0.6),)
HELPED = {"distress", "emergency"}
ORDER = [*(rule.id for rule in RULES), "default", "routing.redirect", "routing.force", "routing.forbid"]


def decided(sd: Descriptors, limits: Limits | None = None, routing: Routing = ANY) -> Decision:
    """As the service does."""
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
            Descriptors(risk={"selfharm": 0.6}, findings=DESPAIR),
            REDIRECT,
            ("distress",),
            id="a cry for help",
        ),
        pytest.param(
            Descriptors(clarity=0.1, risk={"selfharm": 0.6}, findings=DESPAIR),
            REDIRECT,
            ("distress",),
            id="a cry for help is not asked back",
        ),
        pytest.param(
            Descriptors(risk={"selfharm": 0.8}, findings=DESPAIR),
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
