"""What the asker's routing does to a class."""

from itertools import pairwise

import pytest
from hypothesis import given

from app.vantage.routes import DETOURS, routed
from app.vantage.terms import ResponseClass, Routing
from tests.vantage.strategies import KINDS, ROUTINGS

COMPLY, REDIRECT, CLARIFY, NEGOTIATE, REFUSE = ResponseClass


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
def test_what_is_forbidden_is_not_given(given_class: ResponseClass, routing: Routing) -> None:
    """Unless everything is."""
    then = after(given_class, routing)
    assert then not in routing.forbid or (set(routing.forbid) == set(ResponseClass) and then is REFUSE)


@given(KINDS, ROUTINGS)
def test_forbidding_makes_stricter_where_it_can(given_class: ResponseClass, routing: Routing) -> None:
    """A laxer class comes only if every stricter one is forbidden, too."""
    order = list(ResponseClass)
    before = after(given_class, Routing(routing.force, (), routing.redirect))
    then = after(given_class, routing)
    stricter = set(order[order.index(before) + 1 :])
    assert order.index(then) >= order.index(before) or stricter <= set(routing.forbid)


@given(KINDS, ROUTINGS)
def test_a_step_that_changes_nothing_is_not_told(given_class: ResponseClass, routing: Routing) -> None:
    """Each step told gives another class than the one before."""
    told = [given_class, *(kind for _, kind in routed(given_class, routing))]
    assert all(one is not other for one, other in pairwise(told))


def test_every_class_has_all_detours() -> None:
    """So that one is left, whatever is forbidden."""
    assert list(DETOURS) == list(ResponseClass)
    assert all({kind, *others} == set(ResponseClass) for kind, others in DETOURS.items())
