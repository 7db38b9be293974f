"""Budgets and manner of an answer."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.vantage.overlay import BOUNDS, derive_params
from app.vantage.terms import Descriptors, Limits
from tests.vantage.strategies import LIMITS, ODD, SHARES, descriptors

PLAIN = Descriptors()


@pytest.mark.parametrize(
    ("descriptor", "value", "parameter"),
    [
        ("breadth", 1.0, "token_target"),
        ("stakes", {"medical": 1.0}, "hedge_budget"),
        ("stakes", {"legal": 1.0}, "token_target"),
        ("affect", 1.0, "warmth"),
        ("pressure", 1.0, "directness"),
        ("breadth", 1.0, "question_budget"),
    ],
)
def test_what_a_message_is_like_raises_a_parameter(descriptor: str, value: object, parameter: str) -> None:
    """Breadth widens, stakes allow hedges, affect warms, pressure makes direct."""
    raised = replace(PLAIN, **{descriptor: value})  # type: ignore[arg-type]
    before, after = derive_params(PLAIN, Limits()), derive_params(raised, Limits())
    assert getattr(after, parameter) > getattr(before, parameter)


@given(descriptors(SHARES), st.sampled_from(list(BOUNDS)), st.integers(0, 100))
def test_the_askers_limit_wins(sd: Descriptors, name: str, share: int) -> None:
    """Within bounds, whatever the message is like."""
    low, high = BOUNDS[name]
    wanted = low + (high - low) * share // 100
    assert getattr(derive_params(sd, Limits(**{name: wanted})), name) == wanted  # type: ignore[arg-type]


@given(descriptors(ODD), LIMITS)
def test_parameters_stay_within_bounds(sd: Descriptors, limits: Limits) -> None:
    """Even for descriptors that are no numbers, and limits that the API would refuse."""
    params = derive_params(sd, limits)
    for name, (low, high) in BOUNDS.items():
        assert low <= getattr(params, name) <= high
        assert isinstance(getattr(params, name), int)
    assert 0 <= params.directness <= 1
    assert 0 <= params.warmth <= 1


@given(descriptors(SHARES), SHARES)
def test_more_asks_never_narrow(sd: Descriptors, more: float) -> None:
    """A broader message has at least the tokens and questions of a narrower one."""
    broad = replace(sd, breadth=max(sd.breadth, more))
    before, after = derive_params(sd, Limits()), derive_params(broad, Limits())
    assert after.token_target >= before.token_target
    assert after.question_budget >= before.question_budget


def test_a_plain_message_may_be_asked_back() -> None:
    """Unless the asker forbids it, there is a question to ask."""
    assert derive_params(PLAIN, Limits()).question_budget >= 1
    assert derive_params(PLAIN, Limits(question_budget=0)).question_budget == 0
