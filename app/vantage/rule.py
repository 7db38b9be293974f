"""A line of the policy: a condition on descriptors, the class it gives, and why.

Thresholds are on descriptors in [0, 1]; `text` is the condition as `/vantage/policy` shows it. The lines
themselves stand in `rules.py`. Nothing here raises.
"""

from dataclasses import dataclass

from app.vantage.reading import Levels, highest
from app.vantage.terms import ResponseClass

MAY_ASK = "question_budget ≥ 1"
"""The fact that an answer may ask at all."""
RIVALLED = "the search found rival sources"
"""The fact that sources of equal strength answer differently (`rivals.py`)."""


@dataclass(frozen=True, slots=True)
class Condition:
    """The highest of some descriptors, against a threshold."""

    names: tuple[str, ...]
    """As `reading.levels` has them."""
    at_least: float | None = None
    below: float | None = None

    def holds(self, levels: Levels) -> bool:
        """Whether a message of these levels meets it."""
        names = self.names
        value = levels.get(names[0], 0.0) if len(names) == 1 else highest(levels, names)
        if self.at_least is not None and value < self.at_least:
            return False
        return self.below is None or value < self.below

    def text(self) -> str:
        """As the policy shows it: `risk.* ≥ 0.7`."""
        name = " or ".join(self.names)
        above = [] if self.at_least is None else [f"{name} ≥ {self.at_least:g}"]
        under = [] if self.below is None else [f"{name} < {self.below:g}"]
        return " and ".join(above + under)


@dataclass(frozen=True, slots=True)
class Rule:
    """One line of the policy."""

    id: str
    gives: ResponseClass
    says: str
    """Why, in a sentence."""
    when: tuple[Condition, ...] = ()
    """All of them."""
    needs: tuple[str, ...] = ()
    """Facts beside the descriptors: `naming`, `found_by`, MAY_ASK. All of them."""
    unless: tuple[str, ...] = ()
    """Not where one of these rules fires."""
    final: bool = False
    """A risk rule: nothing lifts its REFUSE."""

    @property
    def raised(self) -> Condition | None:
        """The first that asks for some descriptor above 0; None: it may hold where all of them are 0."""
        return next((condition for condition in self.when if condition.at_least), None)

    def holds(self, levels: Levels, facts: set[str]) -> bool:
        """Whether its own condition does; what it gives way to is not looked at."""
        if self.needs and not facts.issuperset(self.needs):
            return False
        # A loop, not `all` of an expression: every message is held against most of the rules.
        for condition in self.when:  # noqa: SIM110
            if not condition.holds(levels):
                return False
        return True

    def text(self) -> str:
        """Its condition, as the policy shows it."""
        never = [f"not {name}" for name in self.unless]
        return " and ".join([*(condition.text() for condition in self.when), *self.needs, *never])


def naming(topics: str) -> str:
    """The fact that a message names one of a set of topics."""
    return f"the message names one of {topics}"


def found_by(evidence: str) -> str:
    """The fact that a finding has this evidence."""
    return f"found by {evidence}"


def at_least(threshold: float, *names: str, below: float | None = None) -> Condition:
    """Any of them, and none from `below` on."""
    return Condition(names, at_least=threshold, below=below)


def under(threshold: float, *names: str) -> Condition:
    """All of them."""
    return Condition(names, below=threshold)
