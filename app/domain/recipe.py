"""How a prompt was put together, so that it can be rebuilt from the trace and today's stores.

A block keeps its text only where that is the request's own or the service's; whatever came of a store is
named by reference and hash, so that a trace shows nothing of a source that was erased since. The passages of
the context block are the trace's packed entries, the message is the answer's question. Nothing here raises.
"""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from app.domain.instructions import NAMED
from app.domain.memory import Memory
from app.domain.prompt import DOCUMENTS, GREETING, MEMORIES, Form, Prompt, Turn
from app.domain.sections import PROJECT
from app.domain.text import once

FORMS: Mapping[str, Form] = {
    "documents": DOCUMENTS,
    "memories": MEMORIES,
    "greeting": GREETING,
    "project": PROJECT,
}
"""By the name that a recipe has for them."""
MEMORY, CHAT_LOG = "memories", "chat_log"
"""What `Ref.source` is of a card, and of a turn."""
KNOWLEDGE, NOTES = "project_knowledge", "project_notes"
"""The same of a project's overview and rules, and of its notes; their id is the project's name."""
BROUGHT = 16_000
"""Characters that are kept of the turns a request brings along, the newest ones: who sends a whole history
with every message would have it kept once an answer."""


class Kind(StrEnum):
    """What a block is, and so where its text comes from when it is rebuilt."""

    INSTRUCTIONS = "instructions"
    """A text of `domain/instructions.py`, by name."""
    REENTRY = "reentry"
    """How long the asker was away: kept as text, it is not derived again."""
    PERSONA = "persona"
    """From cards: by reference."""
    OVERLAY = "overlay"
    """The request's: kept as text."""
    POLICY = "policy"
    """The overlay of /vantage: made again from the message and the request's limits by today's policy."""
    THREAD = "thread"
    """Turns shown as a block: by reference."""
    LENS = "lens"
    """By name."""
    CARDS = "cards"
    """Vantage cards and facts: by reference."""
    GRAVITY = "gravity"
    """The gravity note: from the profile card, by reference."""
    KNOWLEDGE = "knowledge"
    """A project's overview and rules: by reference."""
    PROJECT_NOTES = "project_notes"
    """A project's notes: by reference."""
    NOTE = "note"
    """The request's: kept as text."""
    TURN = "turn"
    """An earlier turn: of the chat log by reference, of the request's own history as text (BROUGHT)."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Something of a store that a block was made of."""

    source: str
    """memories (a card), chat_log, vantage_card, vantage_fact, …"""
    id: str
    sha256: str
    """Of its text."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a prompt."""

    kind: Kind
    sha256: str
    """Of its whole text as the model saw it."""
    text: str = ""
    name: str = ""
    """Of instructions, a lens, or a turn's role; of knowledge how many of its parts had room, "": all."""
    refs: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """A prompt without its texts, in the order of `domain/prompt.py`."""

    form: str
    """documents, memories, greeting or project: `prompt.Form`."""
    system: Block
    before: tuple[Block, ...] = ()
    notes: tuple[Block, ...] = ()
    turns: tuple[Block, ...] = ()
    ranking: int = 0
    """Version of the ranking that chose the passages."""
    project: str | None = None
    """In whose reach they were looked for, and whose knowledge was told; None: no project was named."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All of them, in the prompt's order."""
        return (self.system, *self.before, *self.notes, *self.turns)


def recipe_of(
    prompt: Prompt,
    *,
    ranking: int,
    before: Sequence[Block] = (),
    notes: Sequence[Block] = (),
    project: str | None = None,
) -> Recipe:
    """Of a prompt whose other blocks are told; those that are empty are left out, as the prompt does."""
    return Recipe(
        form=next(name for name, form in FORMS.items() if form == prompt.form),
        system=instructions(prompt.system),
        before=filled(before),
        notes=filled(notes),
        turns=turn_blocks(prompt.turns),
        ranking=ranking,
        project=project,
    )


def filled(blocks: Iterable[Block]) -> tuple[Block, ...]:
    """Those that are not empty."""
    return tuple(block for block in blocks if block.sha256 != EMPTY)


def instructions(text: str) -> Block:
    """A system text by its name; one that has none keeps its words."""
    name = next((name for name, known in NAMED.items() if known == text), "")
    return block(Kind.INSTRUCTIONS, text, name=name, keep=not name)


def turn_blocks(turns: Sequence[Turn]) -> tuple[Block, ...]:
    """Earlier turns, oldest first. Of those that no store has, the newest BROUGHT characters are kept."""
    made, room = list[Block](), BROUGHT
    for turn in reversed(turns):
        room -= 0 if turn.id else len(turn.content)
        made.append(turn_block(turn, keep=room >= 0))
    return tuple(reversed(made))


def turn_block(turn: Turn, *, keep: bool = True) -> Block:
    """An earlier turn: one of the chat log by its id; else with its text, or by its hash alone."""
    found = sha256(turn.content)
    refs = (Ref(CHAT_LOG, turn.id, found),) if turn.id else ()
    return Block(Kind.TURN, found, turn.content if keep and not turn.id else "", turn.role, refs)


def unkept(block: Block) -> bool:
    """Whether nothing but its hash is known of a turn."""
    return block.kind is Kind.TURN and not block.refs and not block.text and block.sha256 != EMPTY


def card_ref(card: Memory) -> Ref:
    """A card as it is now."""
    return Ref(MEMORY, card.id, card_sha256(card))


def card_sha256(card: Memory) -> str:
    """Of its text, and of what it holds beside that: a profile's weights are its substance."""
    beside = json.dumps(dict(card.fields), sort_keys=True, default=str) if card.fields else ""
    return sha256(f"{card.text}\n{beside}" if beside else card.text)


def block(kind: Kind, text: str, *, name: str = "", keep: bool = False, refs: tuple[Ref, ...] = ()) -> Block:
    """A block of a text; `keep`: the text itself stays in the trace."""
    return Block(kind, sha256(text), text=text if keep else "", name=name, refs=refs)


@once
def sha256(text: str) -> str:
    """Hexadecimals; lone surrogates count as they are written."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


EMPTY = sha256("")
