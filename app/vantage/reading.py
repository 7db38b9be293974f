"""Descriptors as the rules read them: a level for each name, whatever they hold.

`risk.violence`, `risk.*` (the highest of them), `stakes.*`, `clarity`. All in [0, 1]: what is outside is
brought in. What is no number counts as the worst for risk and pressure (what nobody can tell is not
harmless), and as what a message has by default for the rest. A category that is missing is 0. Nothing here
raises.
"""

from collections.abc import Iterable, Mapping
from math import isnan
from typing import TypeAlias

from app.vantage.risk import RISKS
from app.vantage.terms import Descriptors, Evidence

STAKES_WORDS = ("medical", "legal", "money")

Levels: TypeAlias = Mapping[str, float]

UNSURE: Mapping[str, float] = {"risk": 1.0, "pressure": 1.0, "clarity": 1.0, "score": 1.0}
"""What stands for a value that is no number; else 0."""
_NAMES: Mapping[str, Mapping[str, str]] = {
    "risk": {name: f"risk.{name}" for name in RISKS},
    "stakes": {name: f"stakes.{name}" for name in STAKES_WORDS},
}
"""As rules name them."""


def levels(sd: Descriptors, evidence: Evidence | None = None) -> Levels:
    """By name, every value in [0, 1]; `outside.*` only where there is evidence."""
    found = {
        "clarity": _share("clarity", sd.clarity),
        "specificity": _share("specificity", sd.specificity),
        "pressure": _share("pressure", sd.pressure),
        "affect": _share("affect", sd.affect),
        "breadth": _share("breadth", sd.breadth),
        **{f"score.{name}": _share("score", value) for name, value in sd.scores.items()},
    }
    for kind, table in (("risk", sd.risk), ("stakes", sd.stakes)):
        top, names = 0.0, _NAMES[kind]
        for name, value in table.items():
            # Most are 0, and need no look.
            if share := _share(kind, value) if value else 0.0:
                top = max(top, share)
            found[names.get(name) or f"{kind}.{name}"] = share
        found[f"{kind}.*"] = top
    if evidence:
        found["outside.harm"] = _share("outside", evidence.harm)
        found["outside.selfharm"] = _share("outside", evidence.selfharm)
    return found


def _share(kind: str, value: float) -> float:
    """In [0, 1]."""
    if 0.0 < value <= 1.0:
        return value
    return UNSURE.get(kind, 0.0) if isnan(value) else min(1.0, max(0.0, value))


def highest(found: Levels, names: Iterable[str]) -> float:
    """Of all of them; 0 where there is none."""
    return max([found.get(name, 0.0) for name in names], default=0.0)
