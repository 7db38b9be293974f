"""What the model is to see of a person, made of what was fetched: blocking, milliseconds; and what the reply
tells of it.

Pure but for the count of tokens, which are those of the model that answers. Raises `InvalidField` where what
must stand in the prompt does not fit into the model's window. Source: CONTRACT §2 (3-6), seed 003 (3.1, 5.1).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.boost import Wants
from app.domain.budget import Budget, Meter
from app.domain.desire import load_latest_vb_desire_profile, vb_desire_bias_map
from app.domain.explanation import Explanation, Used, build_meta_explanation
from app.domain.gravity import Gravity, gravity, gravity_note, gravity_weights, load_latest_gravity_profile
from app.domain.greeting import is_pure_reentry_greeting, reentry_line
from app.domain.instructions import (
    SYSTEM_GREETING,
    SYSTEM_MEMORY,
    SYSTEM_MEMORY_BARE,
    SYSTEM_MEMORY_CROWDED,
    SYSTEM_TALK,
)
from app.domain.memory import CARDS, DESIRE, GRAVITY, Memory, Moment, Tallies, Tally
from app.domain.passage import Passage
from app.domain.persona import TOKENS, block_of, fitting
from app.domain.prompt import BREAK, GREETING, Prompt, build_system_prompt
from app.domain.recall import (
    MEMORIES,
    TOLD,
    pack,
    rerank_personal,
    tags_of,
    unified_retrieve,
)
from app.domain.recipe import Block, Kind, Recipe, block, card_ref, recipe_of
from app.domain.room import Limits, share
from app.domain.selection import Selection
from app.domain.tags import infer_query_tags
from app.domain.trace import Degraded, Reason, Trace, Verdict
from app.services.recall import Known, Wanted
from app.services.retrieval import VERSION
from app.services.shown import explained, recalled

KINDS = (*CARDS, GRAVITY, DESIRE)
"""Of the cards that an answer looks at."""
PERSONA_SHARE = 4
"""The persona block has at most one part in so many of the window's free tokens."""


@dataclass(frozen=True, slots=True)
class Context:
    """A prompt, and how it came to be."""

    prompt: Prompt
    trace: Trace
    tokens: int
    """o200k tokens of the prompt."""
    explanation: Explanation
    recipe: Recipe
    bypass: str | None = None

    def shown(self, *, debug: bool) -> dict[str, object]:
        """What `meta` tells beside chat's facts."""
        entries = {(entry.source, entry.id): entry for entry in self.trace.packed}
        used = [recalled(passage, entries[passage.source, passage.id]) for passage in self.prompt.passages]
        told: dict[str, object] = {
            "memory_used": used,
            "meta_explanation": explained(self.explanation),
            "bypass": self.bypass,
        }
        return told | ({"system_prompt": self.prompt.messages()[0]["content"]} if debug else {})


def assemble(wanted: Wanted, known: Known, overlay: str, limits: Limits, meter: Meter) -> Context:
    """Boosts, what is told, persona, overlay, gravity note: the prompt."""
    tags = infer_query_tags(wanted.message)
    profile = load_latest_gravity_profile(known.cards)
    weights = gravity_weights(profile)
    lies = gravity(tags, weights)
    note = gravity_note(lies, weights)
    fixed = (SYSTEM_MEMORY, overlay, note)
    persona = block_of(fitting(known.cards, meter, roomy(limits, meter, wanted.message, fixed)))
    system = BREAK.join(block for block in (*fixed, persona) if block)
    budget, _ = share(limits, meter, system=system, message=wanted.message, notes=(), turns=())
    wants = Wants(tags, vb_desire_bias_map(load_latest_vb_desire_profile(known.cards)), weights)
    selection = chosen(wanted, known, wants, Budget(budget, TOLD + wanted.corpus), meter)
    packed = {passage.id for passage in selection.passages}
    others = [card for card in known.cards if card.id not in packed]  # what is a memory here is told once
    cards = fitting(others, meter, meter(persona)) if persona else []
    prompt = build_system_prompt(
        *(told(selection), wanted.message, selection.passages),
        persona=block_of(cards),
        overlay_text=overlay,
        note=note,
    )
    trace = Trace(
        reason=known.found.reason(bool(wanted.personal) + bool(wanted.corpus), selection),
        entries=selection.entries,
        degraded=known.degraded,
        cached=known.found.cached,
        tokens=meter.context(prompt),
        budget=budget,
        took_ms=known.found.took_ms,
        sources=known.found.sources,
        told=known.found.notes,
    )
    used = [evidence(passage, known) for passage in selection.passages if passage.source == MEMORIES]
    explanation = build_meta_explanation(tags, used, weights, lies, known.moment)
    before = (personal(cards), block(Kind.OVERLAY, overlay, keep=True))
    recipe = recipe_of(prompt, ranking=VERSION, before=before, notes=[pulled(note, profile)])
    return Context(prompt, trace, meter.prompt(prompt), explanation, recipe)


def greeted(
    message: str,
    moment: Moment | None,
    overlay: str,
    limits: Limits,
    meter: Meter,
    *,
    lost: Sequence[Degraded] = (),
) -> Context:
    """Small talk's: the minimal prompt, with how long its sender was away."""
    why = Reason.GREETING if is_pure_reentry_greeting(message) else Reason.SMALL_TALK
    prompt = build_system_prompt(
        SYSTEM_GREETING if why is Reason.GREETING else SYSTEM_TALK,
        message,
        reentry=reentry_line(moment),
        overlay_text=overlay,
        form=GREETING,
        reason=why,
    )
    share(limits, meter, system=prompt.messages()[0]["content"], message=message, notes=(), turns=())
    explanation = build_meta_explanation(infer_query_tags(message), (), {}, Gravity(), moment)
    trace = Trace(why, degraded=tuple(lost))
    before = (
        block(Kind.REENTRY, reentry_line(moment), keep=True),
        block(Kind.OVERLAY, overlay, keep=True),
    )
    recipe = recipe_of(prompt, ranking=VERSION, before=before)
    return Context(prompt, trace, meter.prompt(prompt), explanation, recipe, bypass=trace.reason)


def personal(cards: Sequence[Memory]) -> Block:
    """The persona block, for the recipe."""
    return block(Kind.PERSONA, block_of(cards), refs=tuple(map(card_ref, cards)))


def pulled(note: str, profile: Memory | None) -> Block:
    """The gravity note, for the recipe."""
    return block(Kind.GRAVITY, note, refs=(card_ref(profile),) if profile else ())


def chosen(wanted: Wanted, known: Known, wants: Wants, budget: Budget, meter: Meter) -> Selection:
    """At most three memories, then the reference texts, as far as they fit; of the same words the memory."""
    memories = rerank_personal(
        known.drawn, known.tallies or Tallies(), wants, keep=min(TOLD, wanted.personal)
    )
    corpus = unified_retrieve(
        known.found.candidates,
        wants.tags,
        top_k=wanted.corpus,
        threshold=wanted.threshold,
        told=memories.chosen,
    )
    return pack((memories, corpus), known.found.duplicates, budget=budget, meter=meter)


def roomy(limits: Limits, meter: Meter, message: str, fixed: Sequence[str]) -> int:
    """Tokens that the persona block may have: the cards of a person must not crowd out the message."""
    free = limits.window - limits.answer - sum(map(meter, (message, *fixed)))
    return min(TOKENS, max(0, free // PERSONA_SHARE))


def told(selection: Selection) -> str:
    """The system text that is true of what was found."""
    if selection.passages:
        return SYSTEM_MEMORY
    crowded = any(entry.verdict is Verdict.OVER_BUDGET for entry in selection.entries)
    return SYSTEM_MEMORY_CROWDED if crowded else SYSTEM_MEMORY_BARE


def evidence(passage: Passage, known: Known) -> Used:
    """A memory that is told, as the explanation counts it."""
    return Used(tags_of(passage), (known.tallies or Tallies()).get(passage.id, Tally()))
