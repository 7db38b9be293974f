"""What a person keeps asking for (`vb_desire_profile` card), as a bias for each `vb:` tag.

Source: seed 003 (3.1; 7.2 names both functions twice: they stand here once). Nothing here raises.
"""

from collections.abc import Iterable

from app.domain.memory import DESIRE, Memory
from app.domain.weights import card_weights, newest

FAMILY = "vb:"


def load_latest_vb_desire_profile(cards: Iterable[Memory]) -> Memory | None:
    """The newest `vb_desire_profile` card."""
    return newest(cards, DESIRE)


def vb_desire_bias_map(card: Memory | None) -> dict[str, float]:
    """A bias in [-1, 1] for each `vb:` tag of the card: its weight over the greatest there. No card: {}."""
    weights = {tag: weight for tag, weight in card_weights(card).items() if tag.startswith(FAMILY)}
    most = max(map(abs, weights.values()), default=0.0)
    return {tag: weight / most for tag, weight in weights.items()} if most else {}
