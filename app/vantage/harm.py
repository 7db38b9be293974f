"""Which act on which object is which harm, and how surely: the policy of risk, one line a rule.

A weight is the risk when the request is operational (how-to, intent, imperative); `know`, `made`, `told` and
`guarded` are factors when it asks about the world, wants a text written, states a fact, or stands against
the deed. `.7` refuses, `.4` negotiates (app/vantage/decision.py). Class names: acts, objects, targets,
frames.
"""

from dataclasses import dataclass

RISKS = (
    "violence", "weapons", "drugs", "selfharm", "sexual", "minors", "hate", "harassment", "privacy", "theft",
    "fraud", "cyber", "extremism", "misinformation", "advice", "secrets",
    "extraction",
)  # fmt: skip
"""The categories of harm, each in every `Descriptors.risk`."""

PERSON = "person relation minor group name"
BODILY = frozenset({"violence", "weapons", "theft"})
"""What games play: a game's stage lowers these."""

PLAYED = frozenset({"drugs", "fraud", "cyber", "extremism"})
"""What games play less often: lowered less."""

OWNED = frozenset({"theft", "cyber", "harassment", "privacy"})
"""What one may do to one's own."""


@dataclass(frozen=True, slots=True)
class Harm:
    """One rule. `acts` on `objects` (none: by itself); or, without acts, all of `groups` in one clause."""

    id: str
    category: str
    weight: float
    acts: str = ""
    objects: str = ""
    groups: tuple[str, ...] = ()
    unless: str = ""
    """Classes that take the rule away when the clause has them."""
    know: float = 0.3
    made: float = 0.5
    told: float = 0.5
    guarded: float = 0.3
