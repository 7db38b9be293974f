"""Vantage cards and facts: what a namespace (`vantage_id`) tells every answer given from it.

A card is a text with a weight; a fact has a key, and a later fact of the same key replaces it. Of one user,
or (user_id None) of all users of the namespace. Times are UTC; tokens are the answering model's. Nothing
here raises. Source: CONTRACT §3, seed 003 (8).
"""

import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from app.domain.label import key as look
from app.domain.passage import Scope
from app.domain.recipe import Ref, sha256
from app.domain.sanitise import one_line, sanitise_name

HEAD = "[Cards]"
"""The block's first line."""
SHOWN = 100
"""Cards and facts that an answer looks at."""
TOKENS = 1_000
"""Of the block, at most."""
IDS = uuid.UUID("3e0c2a6e-9f55-5b7e-8c0f-4f9a5f1f6a20")
"""What their ids are named under."""


class Shape(StrEnum):
    """Which of both."""

    CARD = "card"
    FACT = "fact"


@dataclass(frozen=True, slots=True)
class Card:
    """A card or a fact that is kept."""

    id: str
    shape: Shape
    vantage_id: str
    user_id: str | None
    text: str
    key: str | None
    weight: float
    """In [0, 1]: the heavier first in the prompt."""
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class CardDraft:
    """One to be written."""

    shape: Shape
    vantage_id: str
    text: str
    user_id: str | None = None
    key: str | None = None
    weight: float = 1.0


class VantageCards(Protocol):
    """Where they are kept (`stores/cards.py`). `Unavailable` when Postgres does not answer; reads for an
    answer raise `RetrievalError`."""

    async def put(self, scope: Scope, draft: CardDraft) -> tuple[Card, bool]:
        """(the card, whether it is new). The same words, or the same key, again: replaces."""

    async def shown(self, scope: Scope, limit: int) -> list[Card]:
        """Those of the scope's vantage_id that its user may see, heaviest first, then newest."""

    async def list(
        self, scope: Scope, shape: Shape, *, cursor: str | None, limit: int
    ) -> tuple[list[Card], str | None]:
        """A page, newest first."""

    async def remove(self, scope: Scope, card_id: str) -> bool:
        """Gone; False: not there, or another's."""

    async def by_id(self, scope: Scope, ids: Sequence[str]) -> dict[str, Card]:
        """Those of them that are there: a replay looks at them."""


@dataclass(frozen=True, slots=True)
class CardsBlock:
    """Cards as a block of a prompt, and what it is made of."""

    text: str = ""
    """"" without any."""
    refs: tuple[Ref, ...] = ()


def card_id(tenant: str, draft: CardDraft) -> str:
    """A UUIDv5 of whose it is and its key; without a key, of its words: case and white space aside."""
    told = " ".join(draft.text.casefold().split()) if draft.key is None else ""
    key = "" if draft.key is None else f"={same(draft.key)}"
    whose = "" if draft.user_id is None else f"={draft.user_id}"
    return str(uuid.uuid5(IDS, "\x1f".join((tenant, draft.vantage_id, whose, draft.shape, key, told))))


def same(key: str) -> str:
    """What two keys have in common that name one fact: case, width, white space, what nobody sees aside."""
    return " ".join(look(key).casefold().split())


def own_first(cards: Sequence[Card]) -> list[Card]:
    """Without what all users have under a key, however it is written, under which this one has their own: two
    answers to one question are none. In the order given."""
    keys = [None if card.key is None else (card.shape, same(card.key)) for card in cards]
    own = {key for card, key in zip(cards, keys, strict=True) if card.user_id is not None and key}
    return [card for card, key in zip(cards, keys, strict=True) if card.user_id is not None or key not in own]


def cards_block(cards: Sequence[Card], count: Callable[[str], int], tokens: int = TOKENS) -> CardsBlock:
    """The cards in the order given, at most `tokens` by `count`. One that is too long for what is left is
    passed over, not a stop: a heavy essay does not silence the others."""
    kept: list[Card] = []
    left = tokens - count(HEAD + "\n")
    for card in own_first(cards):
        price = count(card_line(card) + "\n")
        if price <= left:
            kept.append(card)
            left -= price
    return CardsBlock(cards_text(kept), tuple(ref(card) for card in kept))


def cards_text(cards: Sequence[Card]) -> str:
    """The block of just these, as a replay writes it again; "" without any."""
    return "\n".join((HEAD, *map(card_line, cards))) if cards else ""


def card_line(card: Card) -> str:
    """One card as the model sees it, `- [card] text` or `- [fact] key: text`: it cannot forge a line."""
    name = f"{sanitise_name(card.key)}: " if card.key else ""
    return f"- [{card.shape}] {name}{one_line(card.text)}"


def ref(card: Card) -> Ref:
    """A card as a trace names it."""
    return Ref(f"vantage_{card.shape}", card.id, sha256(card.text))
