"""`meta_explanation` of a reply: why these memories, and how the question lies to the person.

Source: CONTRACT §2, seed 003 (3.1.7). Nothing here raises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.gravity import Gravity
from app.domain.memory import Moment, Tally
from app.domain.tags import FORMATS, of_family


@dataclass(frozen=True, slots=True)
class Used:
    """A personal memory that the answer used: its tags (`memory_tags`) and its votes."""

    tags: tuple[str, ...] = ()
    tally: Tally = field(default_factory=Tally)


@dataclass(frozen=True, slots=True)
class Explanation:
    """The facts of one answer; `feedback.net` is a property of `Tally`."""

    query_tags: tuple[str, ...]
    feedback: Tally
    """Summed over the memories used."""
    format_consistency: float | None
    """Of the used memories that have a form, the share in [0, 1] that has the one asked for, else the usual
    one of the profile; None: no form is asked for or usual, or no memory has one."""
    gravity: Gravity
    temporal: Moment | None
    """None: not known."""


def build_meta_explanation(
    tags: Sequence[str],
    used: Sequence[Used],
    weights: Mapping[str, float],
    gravity: Gravity,
    temporal: Moment | None,
) -> Explanation:
    """`tags` of the question, `weights` of the gravity profile ({}: none), and how the tags lie to it."""
    votes = [memory.tally for memory in used]
    return Explanation(
        query_tags=tuple(tags),
        feedback=Tally(sum(vote.positive for vote in votes), sum(vote.negative for vote in votes)),
        format_consistency=consistency(tags, used, weights),
        gravity=gravity,
        temporal=temporal,
    )


def consistency(tags: Sequence[str], used: Sequence[Used], weights: Mapping[str, float]) -> float | None:
    """See `Explanation.format_consistency`."""
    expected = set(of_family(tags, "format")) or usual(weights)
    forms = [held for memory in used if (held := of_family(memory.tags, "format"))]
    if not expected or not forms:
        return None
    return sum(bool(expected.intersection(held)) for held in forms) / len(forms)


def usual(weights: Mapping[str, float]) -> set[str]:
    """The heavier form of a profile; both, if they weigh the same."""
    forms = {tag: weights[tag] for tag in FORMATS if weights.get(tag, 0.0) > 0}
    most = max(forms.values(), default=0.0)
    return {tag for tag, weight in forms.items() if weight == most}
