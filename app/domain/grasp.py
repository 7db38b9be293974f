"""How much of a question an embedder can read, told by the pieces that it takes it apart into. Pure.

A vocabulary of word pieces holds the words of the languages it was made for, some four letters a piece, and
of other scripts only their letters: similarities of what is merely spelled are noise, and noise falls off
from place to place like evidence. One measure for all languages, and no table of them: the bundled English
model reads German at 2.7 letters a piece, Russian and Arabic at 1. Figures: docs/decisions/0057.
"""

WHOLE = 2.5
"""Letters a piece from which on a question counts as read: related languages have as many."""
LEAST = 0.05
"""Similarity keeps so much: of passages that words tell nothing of, the nearest still leads."""


def grasp(letters: float) -> float:
    """What similarity counts for a question of so many letters a piece, in [LEAST, 1]."""
    return max(LEAST, min(1.0, letters / WHOLE) ** 2)


def whole(text: str) -> float:  # noqa: ARG001 - what others tell by it
    """Of any text, by an embedder whose pieces nobody sees."""
    return 1.0
