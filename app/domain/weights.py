"""Tag weights: how much of what a person says lately carries a tag, and such weights read from a card.

A weight is a share in [0, 1] of the messages, each counting half after 30 days (CONTRACT §2, profiles). Cards
that older tools wrote are read as they are: any finite numbers, negative ones too. Nothing here raises.
"""

import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from app.domain.memory import Memory

HALF_LIFE_DAYS = 30.0
DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class Said:
    """A message of a person's own."""

    text: str
    at: datetime


def decay(at: datetime, now: datetime) -> float:
    """What a message counts: 1 now, half after 30 days; one from the future counts as now."""
    age = max(0.0, (now - at).total_seconds()) / DAY_SECONDS
    return float(0.5 ** (age / HALF_LIFE_DAYS))


def tag_weights(
    said: Iterable[Said], infer: Callable[[str], Sequence[str]], now: datetime
) -> dict[str, float]:
    """Share of the messages, by their decay, that carry a tag; heaviest first, six decimals."""
    mass: defaultdict[str, float] = defaultdict(float)
    total = 0.0
    for message in said:
        counts = decay(message.at, now)
        total += counts
        for tag in infer(message.text):
            mass[tag] += counts
    shares = {tag: round(weight / total, 6) for tag, weight in mass.items()} if total else {}
    return dict(sorted(shares.items(), key=lambda item: (-item[1], item[0])))


def card_weights(card: Memory | None) -> dict[str, float]:
    """The finite numbers under `weights` of a card; none: {}."""
    held = card.fields.get("weights") if card else None
    if not isinstance(held, Mapping):
        return {}
    return {str(tag): number for tag, value in held.items() if (number := _number(value)) is not None}


def newest(cards: Iterable[Memory], kind: str) -> Memory | None:
    """The newest card of a kind; of two at once the one with the greater id."""
    found = (card for card in cards if card.kind == kind)
    return max(found, key=lambda card: (card.created_at, card.id), default=None)


def _number(value: object) -> float | None:
    """A finite number that is no truth value."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        number = float(value)
    except OverflowError:
        return None
    return number if math.isfinite(number) else None
