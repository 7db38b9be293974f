"""What a message says of itself: whether it is clear, how specific, how moved, how many things it asks.

Text alone: no model, no clock. Every descriptor is in [0, 1]; what took from clarity is told by the rules'
ids. Below 0.35 (the policy's threshold) nobody could tell what is wanted. Source: CONTRACT §3. Nothing here
raises.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.vantage.affect import affect
from app.vantage.breadth import breadth
from app.vantage.specificity import specificity
from app.vantage.terms import Finding
from app.vantage.vague import vague
from app.vantage.words import Text


@dataclass(frozen=True, slots=True)
class Reading:
    """The descriptors of a message that have nothing to do with harm."""

    clarity: float
    """1: it says what is wanted; 0: nobody could tell."""
    specificity: float
    affect: float
    breadth: float
    findings: tuple[Finding, ...] = ()
    """What took from clarity: the rule's id, and how much it would take alone."""


def read(message: str, text: Text, thread: Sequence[str] = ()) -> Reading:
    """Of a message, its words (`words.read(message)`) and the turns before it, oldest first."""
    found = tuple(vague(message, thread))
    return Reading(
        clarity=round(1 - max((finding.weight for finding in found), default=0.0), 4),
        specificity=round(specificity(message, text), 4),
        affect=round(affect(message, text), 4),
        breadth=round(breadth(text), 4),
        findings=found,
    )
