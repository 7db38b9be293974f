"""What the model is to see of a person, made of what was fetched: blocking, milliseconds; and what the reply
tells of it.

Pure but for the count of tokens, which are those of the model that answers. Raises `InvalidField` where what
must stand in the prompt does not fit into the model's window. Source: docs/contract.md.

/rag/query: an answer from what a person said and kept, and from reference texts.

prepare: greeting? -> small prompt. Else recall -> boosts -> persona, overlay, gravity note -> prompt -> the
model's stream, opened. The `Reply` then streams, has its citations checked and is kept, as chat's. Raises
`ModelError` from prepare, and `InvalidField` where the message does not fit into the model's window; faults
of stores end in `degraded`. Tokens are those of the model that answers. Source: docs/contract.md.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from app.answer import (
    BREAK,
    GREETING_FORM,
    MEMORY_FORM,
    Block,
    Kind,
    Prompt,
    Recipe,
    build_system_prompt,
    new_id,
    recipe_block,
)
from app.answering.budget import Budget, Meter, PromptLimits, Selection, reason_of, share
from app.answering.meta import Explanation, Used, build_meta_explanation, explained, recalled
from app.answering.prompt import (
    PERSONA_TOKENS,
    SYSTEM_GREETING,
    SYSTEM_MEMORY,
    SYSTEM_MEMORY_BARE,
    SYSTEM_MEMORY_CROWDED,
    SYSTEM_TALK,
    block_of,
    fitting,
    reentry_line,
)
from app.answering.recall import (
    MEMORIES,
    TOLD,
    Known,
    Recall,
    Wanted,
    pack,
    rerank_personal,
    tags_of,
    unified_retrieve,
)
from app.answering.recorder import Keepsake, Recorder, unanswered
from app.answering.replay import card_ref, recipe_of
from app.answering.stream import Opening, Reply
from app.db.memories import CARDS, DESIRE, GRAVITY, Memory, Moment, Tallies, Tally
from app.models.base import ChatModel, Tokens
from app.retrieval.ranking import Wants
from app.retrieval.search import VERSION
from app.retrieval.tags import (
    Gravity,
    gravity,
    gravity_note,
    gravity_weights,
    infer_query_tags,
    load_latest_gravity_profile,
    load_latest_vb_desire_profile,
    vb_desire_bias_map,
)
from app.services.chat import cite
from app.stopwatch import Stages
from app.text.greeting import is_assent, is_pure_reentry_greeting, is_small_talk
from app.types import Clock, Degraded, Passage, Reason, Scope, Trace, Verdict

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


def assemble(wanted: Wanted, known: Known, overlay: str, limits: PromptLimits, meter: Meter) -> Context:
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
        reason=reason_of(known.found, bool(wanted.personal) + bool(wanted.corpus), selection),
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
    before = (personal(cards), recipe_block(Kind.OVERLAY, overlay, keep=True))
    recipe = recipe_of(prompt, ranking=VERSION, before=before, notes=[pulled(note, profile)])
    return Context(prompt, trace, meter.prompt(prompt), explanation, recipe)


def greeted(
    message: str,
    moment: Moment | None,
    overlay: str,
    limits: PromptLimits,
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
        form=GREETING_FORM,
        reason=why,
    )
    share(limits, meter, system=prompt.messages()[0]["content"], message=message, notes=(), turns=())
    explanation = build_meta_explanation(infer_query_tags(message), (), {}, Gravity(), moment)
    trace = Trace(why, degraded=tuple(lost))
    before = (
        recipe_block(Kind.REENTRY, reentry_line(moment), keep=True),
        recipe_block(Kind.OVERLAY, overlay, keep=True),
    )
    recipe = recipe_of(prompt, ranking=VERSION, before=before)
    return Context(prompt, trace, meter.prompt(prompt), explanation, recipe, bypass=trace.reason)


def personal(cards: Sequence[Memory]) -> Block:
    """The persona block, for the recipe."""
    return recipe_block(Kind.PERSONA, block_of(cards), refs=tuple(map(card_ref, cards)))


def pulled(note: str, profile: Memory | None) -> Block:
    """The gravity note, for the recipe."""
    return recipe_block(Kind.GRAVITY, note, refs=(card_ref(profile),) if profile else ())


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


def roomy(limits: PromptLimits, meter: Meter, message: str, fixed: Sequence[str]) -> int:
    """Tokens that the persona block may have: the cards of a person must not crowd out the message."""
    free = limits.window - limits.answer - sum(map(meter, (message, *fixed)))
    return min(PERSONA_TOKENS, max(0, free // PERSONA_SHARE))


def told(selection: Selection) -> str:
    """The system text that is true of what was found."""
    if selection.passages:
        return SYSTEM_MEMORY
    crowded = any(entry.verdict is Verdict.OVER_BUDGET for entry in selection.entries)
    return SYSTEM_MEMORY_CROWDED if crowded else SYSTEM_MEMORY_BARE


def evidence(passage: Passage, known: Known) -> Used:
    """A memory that is told, as the explanation counts it."""
    return Used(tags_of(passage), (known.tallies or Tallies()).get(passage.id, Tally()))


GREETING_SECONDS = 2.0
"""A greeting is answered without knowing when its sender was last here, if that takes longer."""


@dataclass(frozen=True, slots=True)
class Question:
    """One message as the API took it."""

    scope: Scope
    """Names the user."""
    message: str
    top_k: int = 8
    overlay: str = ""
    """As `overlay_to_instructions` gives it."""
    remember: bool = False
    debug: bool = False
    """Show candidates and the system prompt in the reply."""
    endpoint: str = "/rag/query"


class RagService:
    """Answers from personal memory."""

    def __init__(
        self,
        recall: Recall,
        model: ChatModel,
        tokens: Tokens,
        recorder: Recorder,
        *,
        name: str,
        limits: PromptLimits,
        clock: Clock,
        keepsake: Keepsake | None = None,
    ) -> None:
        """`name` is the model that is asked, `limits.threshold` RETRIEVE_THRESHOLD."""
        self._recall = recall
        self._model = model
        self._tokens = tokens
        self.recorder = recorder
        self._name = name
        self._limits = limits
        self._clock = clock
        self._keepsake = keepsake

    async def prepare(self, ask: Question) -> Reply:
        """Everything that can fail, while a status can still be sent. The caller closes the reply."""
        started, stages = self._clock(), Stages()
        try:
            context = await self._context(ask, stages)
        except asyncio.CancelledError:
            self.recorder.later(
                unanswered(
                    ask.scope, ask.endpoint, ask.message, model=self._name, began=started, now=self._clock()
                )
            )
            raise
        reply = self._reply(ask, context, started, stages)
        await reply.head()
        return reply

    async def _context(self, ask: Question, stages: Stages) -> Context:
        """What the model is to see, and how it came to be."""
        meter = Meter(self._tokens.count, self._tokens.factor(self._name), form=MEMORY_FORM)
        if is_small_talk(ask.message) and not is_assent(ask.message):  # it may answer what was asked before
            return await self._greeted(ask, meter)
        wanted = Wanted(
            ask.scope, ask.message, self._limits.threshold, personal=ask.top_k, corpus=ask.top_k, kinds=KINDS
        )
        known = await self._recall.gather(wanted)
        stages.lap("gather")
        # Tags of many texts, their lines and tokens: milliseconds.
        context = await asyncio.to_thread(assemble, wanted, known, ask.overlay, self._limits, meter)
        stages.lap("assemble")
        return context

    async def _greeted(self, ask: Question, meter: Meter) -> Context:
        """The bypass: nothing is looked for but when the user was last here."""
        lost: list[Degraded] = []
        until = asyncio.get_running_loop().time() + GREETING_SECONDS
        moment = await self._recall.moment(ask.scope, until, lost)
        return greeted(ask.message, moment, ask.overlay, self._limits, meter, lost=lost)

    def _reply(self, ask: Question, context: Context, started: datetime, stages: Stages) -> Reply:
        """The answer, about to begin."""
        remembers = self._keepsake if ask.remember else None
        prompt = context.prompt
        return Reply(
            answer_id=new_id(),
            ask_scope=ask.scope,
            endpoint=ask.endpoint,
            prompt=prompt,
            trace=context.trace,
            citations=tuple(cite(passage) for passage in prompt.passages),
            opening=Opening(self._model.open(prompt, model=self._name), self._name),
            recorder=self.recorder,
            tokens=self._tokens,
            clock=self._clock,
            started=started,
            debug=ask.debug,
            extra=context.shown(debug=ask.debug),
            prompt_tokens=context.tokens,
            stages=stages,
            keep=remembers.of(ask.scope, ask.message, started) if remembers else None,
            recipe=context.recipe,
        )
