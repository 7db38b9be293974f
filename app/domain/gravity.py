"""Gravity: whether a question goes where this person's thoughts usually go.

A tag of the question is at home as far as its weight in the `gravity_profile` card reaches the mean weight of
its family (`vb`, `topic`, …) there. Misalignment is 1 minus the mean over the question's tags, in [0, 1].
Source: CONTRACT §2.6, seed 003 (3.1, 8). Nothing here raises.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from app.domain.memory import GRAVITY, Memory
from app.domain.sanitise import quote
from app.domain.tags import family
from app.domain.weights import card_weights, newest

NOTED = 0.4
"""Misalignment from which the model is told (CONTRACT §2.6)."""
MISALIGNED = 0.7
"""From here most of the question lies elsewhere."""


@dataclass(frozen=True, slots=True)
class Gravity:
    """How far a question is from home."""

    misalignment: float = 0.0
    label: str = "unknown"
    """unknown (no card, or no tags), aligned, drifting (≥ 0.4), misaligned (≥ 0.7)."""


def load_latest_gravity_profile(cards: Iterable[Memory]) -> Memory | None:
    """The newest `gravity_profile` card."""
    return newest(cards, GRAVITY)


def gravity_weights(card: Memory | None) -> dict[str, float]:
    """The card's tag weights; none: {}."""
    return card_weights(card)


def misalignment(tags: Sequence[str], weights: Mapping[str, float]) -> float:
    """In [0, 1]; 0 without tags or weights, 1 if none of the tags ever counted."""
    means = _means(weights)
    if not tags or not means:
        return 0.0
    return 1 - sum(_home(tag, weights, means) for tag in tags) / len(tags)


def gravity(tags: Sequence[str], weights: Mapping[str, float]) -> Gravity:
    """The misalignment of a question's tags, with its name."""
    if not tags or not _means(weights):
        return Gravity()
    far = round(misalignment(tags, weights), 6)
    label = "misaligned" if far >= MISALIGNED else "drifting" if far >= NOTED else "aligned"
    return Gravity(far, label)


def gravity_note(found: Gravity, weights: Mapping[str, float]) -> str:
    """What the system prompt is told; "" below 0.4."""
    if found.misalignment < NOTED:
        return ""
    home = [
        tag for tag, weight in sorted(weights.items(), key=lambda item: (-item[1], item[0])) if weight > 0
    ]
    usual = ", ".join(quote(tag[:60]) for tag in home[:3])
    return (
        f"[gravity-note] This question lies away ({found.misalignment:.2f}) from what this person usually"
        f" turns to ({usual}). Answer what is asked; do not pull it back there."
    )


def _home(tag: str, weights: Mapping[str, float], means: Mapping[str, float]) -> float:
    """How much a tag is at home, in [0, 1]."""
    mean = means.get(family(tag), 0.0)
    return min(1.0, max(0.0, weights.get(tag, 0.0)) / mean) if mean else 0.0


def _means(weights: Mapping[str, float]) -> dict[str, float]:
    """The mean positive weight of each family."""
    groups: dict[str, list[float]] = {}
    for tag, weight in weights.items():
        if weight > 0:
            groups.setdefault(family(tag), []).append(weight)
    # Divided before it is summed: weights of an older tool may be as large as numbers get.
    return {name: sum(weight / len(held) for weight in held) for name, held in groups.items()}
