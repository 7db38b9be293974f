"""Budgets and manner of an answer, from what the message is like; the asker's limits win within bounds.

Tokens are o200k, hedges and questions are counted; directness and warmth are in [0, 1]. The table below is
the whole of it, and `/vantage/policy` shows it. Source: CONTRACT §3, seed 003 (3.3). Nothing here raises:
what is out of bounds is brought in (the API has refused it before).
"""

from collections.abc import Mapping
from dataclasses import dataclass

from app.vantage.decision import Levels, levels
from app.vantage.terms import Descriptors, Limits, Params

TOKEN_TARGET = "token_target"  # noqa: S105 - a field's name
HEDGE_BUDGET = "hedge_budget"
QUESTION_BUDGET = "question_budget"

BOUNDS: Mapping[str, tuple[int, int]] = {
    TOKEN_TARGET: (16, 4_000),
    HEDGE_BUDGET: (0, 20),
    QUESTION_BUDGET: (0, 10),
}
"""What a limit may be: the API refuses what is outside. 16 tokens hold a short sentence, 4,000 are six pages;
no questions at all means that the policy never asks back."""


@dataclass(frozen=True, slots=True)
class Line:
    """One parameter: what it begins with, and what each descriptor adds at 1."""

    start: float
    adds: Mapping[str, float]


TABLE: Mapping[str, Line] = {
    TOKEN_TARGET: Line(800, {"breadth": 1_200, "stakes.*": 300}),
    HEDGE_BUDGET: Line(3, {"stakes.*": 5, "risk.*": 1}),
    QUESTION_BUDGET: Line(2, {"breadth": 1}),
    "directness": Line(0.5, {"pressure": 0.4, "affect": -0.2}),
    "warmth": Line(0.4, {"affect": 0.5}),
}
"""`stakes.*` and `risk.*` are the highest of all of them."""


def derive_params(sd: Descriptors, limits: Limits) -> Params:
    """What the table gives, unless the asker set it."""
    plain = levels(sd)
    return Params(
        token_target=_count(plain, TOKEN_TARGET, limits.token_target),
        hedge_budget=_count(plain, HEDGE_BUDGET, limits.hedge_budget),
        question_budget=_count(plain, QUESTION_BUDGET, limits.question_budget),
        directness=_share(_sum(plain, "directness")),
        warmth=_share(_sum(plain, "warmth")),
    )


def _sum(found: Levels, name: str) -> float:
    """A parameter's line, summed up."""
    line = TABLE[name]
    return line.start + sum([weight * found.get(part, 0.0) for part, weight in line.adds.items()])


def _count(found: Levels, name: str, told: int | None) -> int:
    """What the asker told, else the table's; whole, and within bounds."""
    value = _sum(found, name) if told is None else told
    least, most = BOUNDS[name]
    return round(min(most, max(least, value)))


def _share(value: float) -> float:
    """In [0, 1]; three decimals, so that it reads the same wherever it is written."""
    return round(min(1.0, max(0.0, value)), 3)
