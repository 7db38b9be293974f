"""Recipes of prompts, and a prompt rebuilt from its recipe and the present stores, with the changes since.

Changes consist of hashes, ids, labels, versions and classes alone, never text, so that erased texts stay
erased. For a deleted item `after` is None. Pure; nothing here raises. Source: docs/contract.md.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from app.answer import (
    CHAT_LOG_REF,
    DOCUMENT_FORM,
    EMPTY,
    GREETING_FORM,
    KNOWLEDGE,
    MEMORY_FORM,
    MEMORY_REF,
    NOTES,
    Answer,
    Block,
    Form,
    Kind,
    Prompt,
    Recipe,
    Ref,
    Role,
    Turn,
    recipe_block,
    sha256,
)
from app.answering import ruling
from app.answering.prompt import (
    NAMED,
    PROJECT_FORM,
    block_of,
    cards_text,
    first,
    knowledge_text,
    lens_block,
    notes_text,
    thread_text,
)
from app.db.cards import Card
from app.db.memories import Memory
from app.db.projects import Knowledge
from app.retrieval.search import RANKING_VERSION
from app.retrieval.tags import card_weights, gravity, gravity_note, infer_query_tags
from app.types import Passage
from app.vantage.policy import policy
from app.vantage.terms import LENSES
from app.vantage.weigh import Weighed, weigh

FORMS: Mapping[str, Form] = {
    "documents": DOCUMENT_FORM,
    "memories": MEMORY_FORM,
    "greeting": GREETING_FORM,
    "project": PROJECT_FORM,
}
"""By name in a recipe."""

BROUGHT = 16_000
"""Characters stored of the turns in a request, the newest ones: a client may send its whole history with
every message."""


def recipe_of(
    prompt: Prompt,
    *,
    ranking: int,
    before: Sequence[Block] = (),
    notes: Sequence[Block] = (),
    project: str | None = None,
) -> Recipe:
    """The recipe of a prompt; `before` and `notes` are blocks it does not know. Empty blocks are left out."""
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
    return tuple(block for block in blocks if block.sha256 != EMPTY)


def instructions(text: str) -> Block:
    name = next((name for name, known in NAMED.items() if known == text), "")
    return recipe_block(Kind.INSTRUCTIONS, text, name=name, keep=not name)


def turn_blocks(turns: Sequence[Turn]) -> tuple[Block, ...]:
    """Earlier turns, oldest first. Of those not stored elsewhere, the newest BROUGHT characters are kept."""
    made, room = list[Block](), BROUGHT
    for turn in reversed(turns):
        room -= 0 if turn.id else len(turn.content)
        made.append(turn_block(turn, keep=room >= 0))
    return tuple(reversed(made))


def turn_block(turn: Turn, *, keep: bool = True) -> Block:
    """An earlier turn: of the chat log by its id; else with its text, or only its hash."""
    found = sha256(turn.content)
    refs = (Ref(CHAT_LOG_REF, turn.id, found),) if turn.id else ()
    return Block(Kind.TURN, found, turn.content if keep and not turn.id else "", turn.role, refs)


def unkept(block: Block) -> bool:
    return block.kind is Kind.TURN and not block.refs and not block.text and block.sha256 != EMPTY


def card_ref(card: Memory) -> Ref:
    return Ref(MEMORY_REF, card.id, card_sha256(card))


def card_sha256(card: Memory) -> str:
    """Hash of text and fields: a profile's substance is its weights."""
    beside = json.dumps(dict(card.fields), sort_keys=True, default=str) if card.fields else ""
    return sha256(f"{card.text}\n{beside}" if beside else card.text)


T = TypeVar("T")
Told = str | int | None
"""A hash, an id, a label, a version or a class."""
NOT_KEPT, NOT_ASKED = "not kept", "not asked"
"""`after` for parts that were not recorded (an older version's recipe, the oldest turns of a long request),
and for a model that was not asked: they cannot be compared."""


@dataclass(frozen=True, slots=True)
class Difference:
    what: str
    before: Told
    after: Told


@dataclass(frozen=True, slots=True)
class Today:
    """The present state of an answer's inputs."""

    passages: Mapping[tuple[str, str], Passage] = field(default_factory=dict)
    """By (source, id)."""
    cards: Mapping[str, Memory] = field(default_factory=dict)
    turns: Mapping[str, Turn] = field(default_factory=dict)
    notices: Mapping[str, Card] = field(default_factory=dict)
    """Vantage cards and facts."""
    texts: Mapping[Kind, str] = field(default_factory=dict)
    """Texts of blocks made by the policy: POLICY, LENS."""
    said: Mapping[str, str] = field(default_factory=dict)
    """Texts of the thread by hash, for turns stored as hashes."""
    knowledge: Knowledge = field(default_factory=Knowledge)
    """Of the answer's project."""


@dataclass(frozen=True, slots=True)
class Replayed:
    before: str
    """SHA-256 of the model's prompt; "": no model was asked."""
    after: str | None = None
    """Of the rebuilt prompt; None: it could not be rebuilt."""
    changes: tuple[Difference, ...] = ()

    @property
    def identical(self) -> bool:
        return not self.changes and self.before == self.after


def rebuilt(answer: Answer, recipe: Recipe, today: Today) -> Prompt:
    message = answer.question  # the API accepts only text that is stored unchanged

    def texts(blocks: Sequence[Block]) -> list[str]:
        return [text for block in blocks if (text := text_of(block, message, today)) is not None]

    turns = [(block, text_of(block, message, today)) for block in recipe.turns]
    packed = [(today.passages.get((entry.source, entry.id)), entry) for entry in answer.trace.packed]
    return Prompt(
        text_of(recipe.system, message, today) or "",
        message,
        tuple(replace(passage, label=entry.label) for passage, entry in packed if passage),
        tuple(texts(recipe.notes)),
        tuple(Turn(Role(block.name), text) for block, text in turns if text is not None),
        tuple(texts(recipe.before)),
        FORMS[recipe.form],
    )


def text_of(block: Block, message: str, today: Today) -> str | None:
    if make := MADE_ANEW.get(block.kind):
        return make(block, message, today) or None
    if unkept(block):
        return today.said.get(block.sha256)
    if block.refs:
        return next((turn.content for turn in there(block, today.turns)), None)
    return block.text


def pull(cards: Sequence[Memory], message: str) -> str:
    """The gravity note for a profile card; "" without one."""
    weights = card_weights(next(iter(cards), None))
    return gravity_note(gravity(infer_query_tags(message), weights), weights)


def there(block: Block, kept: Mapping[str, T]) -> list[T]:
    return [kept[ref.id] for ref in block.refs if ref.id in kept]


MADE_ANEW: Mapping[Kind, Callable[[Block, str, Today], str | None]] = {
    Kind.INSTRUCTIONS: lambda block, _message, _today: block.text or NAMED.get(block.name),
    Kind.PERSONA: lambda block, _message, today: block_of(there(block, today.cards)),
    Kind.GRAVITY: lambda block, message, today: pull(there(block, today.cards), message),
    Kind.KNOWLEDGE: lambda block, _message, today: knowledge_text(part(block, today)),
    Kind.PROJECT_NOTES: lambda block, _message, today: notes_text(part(block, today)),
    Kind.CARDS: lambda block, _message, today: cards_text(there(block, today.notices)),
    Kind.THREAD: lambda block, _message, today: thread_text(there(block, today.turns)),
    Kind.POLICY: lambda block, _message, today: today.texts.get(block.kind),
    Kind.LENS: lambda block, _message, today: today.texts.get(block.kind),
}
"""Makes the text of blocks from present data."""


def changes(answer: Answer, recipe: Recipe, today: Today) -> Iterator[Difference]:
    """Changed sources, then changed blocks."""
    for entry in answer.trace.packed:
        passage = today.passages.get((entry.source, entry.id))
        now = sha256(passage.text) if passage else None
        yield from differing(f"source {entry.label}", entry.sha256, now)
    for block in recipe.blocks:
        found = [
            change
            for ref in block.refs
            for change in differing(
                f"{title(block)}: {ref.source} {ref.id}", ref.sha256, hash_of(block, ref, today)
            )
        ]
        yield from found
        text = text_of(block, answer.question, today)
        if not found:  # same references, other rendering
            after = NOT_KEPT if unkept(block) else None
            yield from differing(title(block), block.sha256, after if text is None else sha256(text))


def hash_of(block: Block, ref: Ref, today: Today) -> str | None:
    if ref.source == MEMORY_REF:
        card = today.cards.get(ref.id)
        return card_sha256(card) if card else None
    if ref.source == CHAT_LOG_REF:
        turn = today.turns.get(ref.id)
        return sha256(turn.content) if turn else None
    if ref.source in KNOWN:
        text = KNOWN[ref.source](part(block, today))
        return sha256(text) if text else None
    notice = today.notices.get(ref.id)
    return sha256(notice.text) if notice else None


def part(block: Block, today: Today) -> Knowledge:
    return first(today.knowledge, int(block.name)) if block.name else today.knowledge


def differing(what: str, before: Told, after: Told) -> Iterator[Difference]:
    if before != after:
        yield Difference(what, before, after)


def title(block: Block) -> str:
    name = "" if block.kind in (Kind.KNOWLEDGE, Kind.PROJECT_NOTES) else block.name
    return f"{block.kind} {name}".strip()


KNOWN: Mapping[str, Callable[[Knowledge], str]] = {KNOWLEDGE: knowledge_text, NOTES: notes_text}
"""Text of each reference to a project's knowledge."""


TURNS = (Kind.POLICY, Kind.THREAD)
"""Blocks that name turns used by the decision."""


def replayed(answer: Answer, recipe: Recipe, today: Today) -> Replayed:
    weighed = weighed_of(answer, recipe, today)
    texts = {Kind.POLICY: weighed.overlay_text} if weighed else {}
    lens = next((block.name for block in recipe.blocks if block.kind is Kind.LENS), "")
    texts |= {Kind.LENS: lens_block(lens)} if lens in LENSES else {}
    today = replace(today, texts=texts)
    found = [*differing("ranking", recipe.ranking, RANKING_VERSION), *judged(answer, weighed)]
    found += changes(answer, recipe, today)
    if any(change.after == NOT_KEPT for change in found):
        return Replayed(answer.prompt_sha256, None, tuple(found))
    after = rebuilt(answer, recipe, today).sha256()
    if not found:
        found += differing("prompt", answer.prompt_sha256, after)
    return Replayed(answer.prompt_sha256, after, tuple(found))


def weighed_of(answer: Answer, recipe: Recipe, today: Today) -> Weighed | None:
    """The message weighed by the present policy with its recorded inputs; None: it was not weighed."""
    if not answer.ruling:
        return None
    kept = ruling.read(answer.ruling)
    overlay = next((block.text for block in recipe.blocks if block.kind is Kind.OVERLAY), "")
    refs = [ref.id for block in recipe.blocks if block.kind in TURNS for ref in block.refs]
    turns = [today.turns[key] for key in refs if key in today.turns]
    thread = [turn.content for turn in turns if turn.role is Role.USER]
    return weigh(answer.question, thread, overlay, kept.limits, kept.routing, evidence=kept.evidence)


def judged(answer: Answer, weighed: Weighed | None) -> Iterator[Difference]:
    if answer.ruling and weighed:
        kept, today = ruling.read(answer.ruling), weighed.decision
        yield from differing("policy", kept.decision.policy_version, today.policy_version)
        yield from differing("policy_sha256", kept.policy_sha256, str(policy()["sha256"]))
        yield from differing("response_class", str(kept.decision.response_class), str(today.response_class))
