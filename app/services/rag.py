"""/rag/query: an answer from a person's memories and from reference texts.

Small talk gets a small prompt. Otherwise: a follow-up is resolved with the thread's turns, recall, boosts,
then the prompt with persona, overlay, gravity note and the newest turns. Faults of stores are listed in
`degraded`. Raises `ModelError`, and `InvalidField` if the message exceeds the model's window. Times are in
seconds. Source: docs/contract.md.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.answer import BREAK, GREETING_FORM, MEMORY_FORM, Kind, Turn, build_system_prompt, recipe_block
from app.answering.budget import Meter, PromptLimits, answered, packed_passages, share
from app.answering.followup import answers, refers, resolve
from app.answering.pipeline import (
    HISTORY_SHARE,
    Pipeline,
    Run,
    bare_context,
    history_of,
    recalled_context,
    recalled_facts,
    select_recalled,
    system_text,
    wants_of,
)
from app.answering.prompt import (
    PERSONA_TOKENS,
    SYSTEM_GREETING,
    SYSTEM_MEMORY,
    SYSTEM_MEMORY_BARE,
    SYSTEM_MEMORY_CROWDED,
    SYSTEM_TALK,
    block_of,
    day_line,
    fitting,
    reentry_line,
)
from app.answering.question import Context, Question
from app.answering.recall import TOP_K, Recall, Recalled, Split, Weighing
from app.answering.replay import card_ref
from app.answering.stream import Reply
from app.db.memories import CARDS, DESIRE, GRAVITY, Moment
from app.db.sessions import ChatLogStore
from app.retrieval.rewrite import earlier
from app.retrieval.tags import gravity, gravity_note, load_latest_gravity_profile
from app.tasks import deadline
from app.text.greeting import is_assent, is_pure_reentry_greeting, is_small_talk
from app.types import Degraded, Reason

KINDS = (*CARDS, GRAVITY, DESIRE)
"""Kinds of cards that an answer reads."""
TEXTS = (SYSTEM_MEMORY, SYSTEM_MEMORY_BARE, SYSTEM_MEMORY_CROWDED)
PERSONA_SHARE = 4
"""The persona block has at most this fraction (1/n) of the window's free tokens."""
GREETING_SECONDS = 2.0
"""Deadline of reading a greeting's last activity."""


@dataclass(frozen=True, slots=True)
class Thread:
    turns: Sequence[Turn] = ()
    searched: str = ""
    """The search text, if it is not the message."""
    lost: tuple[Degraded, ...] = ()


NO_TURNS = Thread()


class RagService:
    def __init__(self, recall: Recall, chatlog: ChatLogStore, pipeline: Pipeline) -> None:
        self._recall = recall
        self._chatlog = chatlog
        self._pipeline = pipeline

    async def prepare(self, question: Question) -> Reply:
        """Do everything that can fail while a status can still be sent. The caller closes the reply."""
        return await self._pipeline.prepare(question, MEMORY_FORM, self._context)

    async def _context(self, run: Run) -> Context:
        question, limits = run.question, self._pipeline.limits
        # A yes is small talk too, but it may answer an earlier question.
        if is_small_talk(question.message) and not is_assent(question.message):
            context = await self._small_talk(run)
        else:
            top_k = question.top_k or TOP_K
            by = Weighing(Split(top_k, top_k), limits.threshold, None, run.started)
            await self._pipeline.recorder.written(question.scope)
            known, thread = await self._recalled(question, by)
            run.stages.lap("gather")
            # Tags of many texts, their lines and tokens: milliseconds.
            context = await asyncio.to_thread(
                recall_context, question, known, by, limits, run.meter, thread=thread
            )
            run.stages.lap("assemble")
        facts = recalled_facts(context, debug=question.debug)
        facts["meta_explanation"] = context.explanation
        return replace(context, extra=facts)

    async def _recalled(self, question: Question, by: Weighing) -> tuple[Recalled, Thread]:
        """The search of a follow-up, or of a yes, waits for the earlier turns."""
        message, seconds, lost = question.message, self._recall.seconds, list[Degraded]()
        until, agrees = deadline(seconds), is_assent(message)
        if not agrees and not refers(message):
            async with asyncio.TaskGroup() as group:
                history = group.create_task(history_of(question, self._chatlog, lost, seconds=seconds))
                known = await self._recall.gather(question, by, KINDS, until=until)
            return known, Thread(history.result(), lost=tuple(lost))
        turns = await history_of(question, self._chatlog, lost, seconds=seconds * HISTORY_SHARE)
        text = (answers(message, turns) if agrees else resolve(message, turns)) or message
        known = await self._recall.gather(question, by, KINDS, text=text, before=earlier(turns), until=until)
        return known, Thread(turns, text if text != message else "", tuple(lost))

    async def _small_talk(self, run: Run) -> Context:
        lost: list[Degraded] = []
        moment = await self._recall.moment(run.question.scope, deadline(GREETING_SECONDS), lost)
        return small_talk_context(run, moment, self._pipeline.limits, lost)


def recall_context(
    question: Question,
    known: Recalled,
    by: Weighing,
    limits: PromptLimits,
    meter: Meter,
    *,
    thread: Thread = NO_TURNS,
) -> Context:
    """The prompt with recalled passages. Blocking, milliseconds. Raises `InvalidField`."""
    today = day_line(by.at)
    wants = wants_of(question.message, known)
    profile = load_latest_gravity_profile(known.cards)
    note = gravity_note(gravity(wants.tags, wants.gravity), wants.gravity)
    fixed = (SYSTEM_MEMORY, today, question.overlay, note)
    persona = block_of(fitting(known.cards, meter, persona_tokens(limits, meter, question.message, fixed)))
    system = BREAK.join(block for block in (*fixed, persona) if block)
    turns = answered(thread.turns)
    budget, turns = share(limits, meter, system=system, message=question.message, notes=(), turns=turns)
    candidates = select_recalled(wants, known, by, budget, meter)
    passages = packed_passages(candidates)
    packed = {passage.id for passage in passages}
    others = [card for card in known.cards if card.id not in packed]  # a card is not shown as a memory, too
    cards = fitting(others, meter, meter(persona)) if persona else []
    prompt = build_system_prompt(
        system_text(candidates, TEXTS),
        question.message,
        passages,
        today=today,
        persona=block_of(cards),
        overlay_text=question.overlay,
        note=note,
        turns=turns,
    )
    before = (
        recipe_block(Kind.DATE, today, keep=True),
        recipe_block(Kind.PERSONA, block_of(cards), refs=tuple(map(card_ref, cards))),
        recipe_block(Kind.OVERLAY, question.overlay, keep=True),
    )
    pull = recipe_block(Kind.GRAVITY, note, refs=(card_ref(profile),) if profile else ())
    return recalled_context(
        prompt,
        candidates,
        wants,
        known,
        by,
        meter=meter,
        budget=budget,
        before=before,
        notes=(pull,),
        lost=thread.lost,
        searched=thread.searched,
    )


def small_talk_context(
    run: Run, moment: Moment | None, limits: PromptLimits, lost: Sequence[Degraded] = ()
) -> Context:
    """The minimal prompt, with the time since the person's last message."""
    question, today = run.question, day_line(run.started)
    greets = is_pure_reentry_greeting(question.message)
    line = reentry_line(moment)
    prompt = build_system_prompt(
        SYSTEM_GREETING if greets else SYSTEM_TALK,
        question.message,
        today=today,
        reentry=line,
        overlay_text=question.overlay,
        form=GREETING_FORM,
        reason=Reason.GREETING if greets else Reason.SMALL_TALK,
    )
    before = (
        recipe_block(Kind.DATE, today, keep=True),
        recipe_block(Kind.REENTRY, line, keep=True),
        recipe_block(Kind.OVERLAY, question.overlay, keep=True),
    )
    return bare_context(prompt, moment, meter=run.meter, limits=limits, before=before, lost=lost)


def persona_tokens(limits: PromptLimits, meter: Meter, message: str, fixed: Sequence[str]) -> int:
    """Tokens for the persona block: a person's cards must not crowd out the message."""
    free = limits.window - limits.answer - sum(map(meter, (message, *fixed)))
    return min(PERSONA_TOKENS, max(0, free // PERSONA_SHARE))
