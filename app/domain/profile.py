"""The cards that are computed from what a person says: what each holds, and the drafts that write them.

Gravity: the weights of all tags; desire: those of `vb:` tags alone; style and persona: readable texts, by
rule. All are a daemon's, so that each replaces the one before it. Source: CONTRACT §2 (`ibid profiles`), seed
003 (2.1, 4.3). Nothing here raises.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from app.domain.memory import CARDS, DAEMONS, DESIRE, GRAVITY, Draft
from app.domain.passage import Scope
from app.domain.persona import persona_text, style_text
from app.domain.tags import infer_query_tags, infer_vb_tags
from app.domain.weights import Said, tag_weights

PERSONA, STYLE, _ = CARDS
ORIGINS = dict(zip((GRAVITY, DESIRE, STYLE), DAEMONS, strict=True)) | {PERSONA: DAEMONS[2]}
"""Who writes each card."""
NAMED = 5
"""Tags that a card's text names."""
NOTHING = "nothing in particular"


class Utterances(Protocol):
    """A person's own words (`stores/utterances.py`). Raises `Unavailable`."""

    async def own(self, scope: Scope, limit: int) -> list[Said]:
        """The newest of the scope's user, newest first: what they said in chats, and what they kept."""

    async def speakers(self, scope: Scope, after: str, limit: int) -> list[str]:
        """Users of the scope's tenant who said or kept something, in order, those after `after`."""

    async def count(self, scope: Scope) -> int:
        """How many there are."""


@dataclass(frozen=True, slots=True)
class Portrait:
    """What the cards of one person say."""

    gravity: Mapping[str, float]
    desire: Mapping[str, float]
    style: str
    persona: str


def portrait(said: Sequence[Said], now: datetime) -> Portrait:
    """By rule: the same messages make the same cards, whenever it is done."""
    return Portrait(
        gravity=tag_weights(said, infer_query_tags, now),
        desire=tag_weights(said, infer_vb_tags, now),
        style=style_text(said),
        persona=persona_text(said),
    )


def drafts(found: Portrait) -> list[Draft]:
    """One a card; a text with nothing to say makes none."""
    made = [
        draft(GRAVITY, f"Turns to {named(found.gravity)}.", weights=dict(found.gravity)),
        draft(DESIRE, f"Keeps asking for {named(found.desire)}.", weights=dict(found.desire)),
        draft(STYLE, found.style),
        draft(PERSONA, found.persona),
    ]
    return [card for card in made if card.text]


def draft(kind: str, text: str, **fields: object) -> Draft:
    """A card, as its daemon writes it."""
    return Draft(text, kind=kind, origin=ORIGINS[kind], fields=fields)


def named(weights: Mapping[str, float]) -> str:
    """The heaviest tags with their shares, as a person reads them: `rest (41 %), play (8 %)`."""
    heaviest = sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:NAMED]
    return ", ".join(f"{tag.partition(':')[2] or tag} ({share:.0%})" for tag, share in heaviest) or NOTHING
