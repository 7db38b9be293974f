"""A cited answer: prepare() does all that can still become a status, the Reply then streams it.

prepare: history -> retrieval -> selection -> prompt -> the model's stream, opened. The reply's head is
decided when the model's response head is there, or after HEAD_SECONDS, whichever is first (CONTRACT §0).
Raises `ModelError` from prepare; retrieval and history faults end in `degraded`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.answer import Citation, new_id
from app.domain.budget import Budget, Meter
from app.domain.errors import RetrievalError
from app.domain.followup import refers, resolve
from app.domain.found import Found
from app.domain.instructions import SYSTEM, SYSTEM_BARE, SYSTEM_CROWDED
from app.domain.passage import Passage, Query, Scope
from app.domain.ports import ChatLog, ChatModel, Clock, Tokens
from app.domain.prompt import Prompt, Turn
from app.domain.ranking import dedupe
from app.domain.recipe import Kind, Recipe, block, recipe_of
from app.domain.room import Limits, answered, share
from app.domain.selection import Selection, select
from app.domain.trace import Degraded, Trace, Verdict
from app.services.counting import counted, laborious
from app.services.keepsake import Keepsake
from app.services.opening import Opening
from app.services.recorder import Recorder, unanswered
from app.services.reply import Reply
from app.services.retrieval import VERSION, Retrieval
from app.services.stages import Stages

HISTORY_TURNS = 200
"""Turns read from the log at most; the token budget takes the newest of them."""
HISTORY_SECONDS = 2.0
"""Seconds the log has to give them; without it the answer goes on without history."""
HISTORY_SHARE = 1 / 3
"""Part of RAG_TIMEOUT_SECONDS that it has where the search must wait for it."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question as the API took it."""

    scope: Scope
    message: str
    sources: tuple[str, ...] = ("documents",)
    history: tuple[Turn, ...] | None = None
    """None: the thread's stored turns."""
    notes: tuple[str, ...] = ()
    top_k: int | None = None
    model: str | None = None
    remember: bool = False
    on_disconnect: str = "cancel"
    debug: bool = False
    """Show candidates and the prompt in the reply."""
    endpoint: str = "/api/chat"


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt, and how it came to be."""

    prompt: Prompt
    trace: Trace
    """Its tokens are not counted yet."""
    meter: Meter
    recipe: Recipe


class ChatService:
    """Answers with citations."""

    def __init__(
        self,
        retrieval: Retrieval,
        model: ChatModel,
        tokens: Tokens,
        chatlog: ChatLog,
        recorder: Recorder,
        *,
        limits: Limits,
        clock: Clock,
        keepsake: Keepsake | None = None,
    ) -> None:
        self._retrieval = retrieval
        self._model = model
        self._tokens = tokens
        self._chatlog = chatlog
        self.recorder = recorder
        self._limits = limits
        self._clock = clock
        self._keepsake = keepsake

    async def prepare(self, ask: Ask) -> Reply:
        """Everything that can fail, while a status can still be sent. The caller closes the reply."""
        started, stages = self._clock(), Stages()
        try:
            made = await self._context(ask, stages)
        except asyncio.CancelledError:
            model = ask.model or self._model.name
            self.recorder.later(
                unanswered(
                    ask.scope, ask.endpoint, ask.message, model=model, began=started, now=self._clock()
                )
            )
            raise
        keeps = self._keepsake if ask.remember else None
        reply = Reply(
            answer_id=new_id(),
            ask_scope=ask.scope,
            endpoint=ask.endpoint,
            prompt=made.prompt,
            trace=made.trace,
            citations=tuple(cite(passage) for passage in made.prompt.passages),
            opening=Opening(self._model.open(made.prompt, model=ask.model), ask.model or self._model.name),
            recorder=self.recorder,
            tokens=self._tokens,
            clock=self._clock,
            started=started,
            debug=ask.debug,
            stages=stages,
            keep=keeps.of(ask.scope, ask.message, started) if keeps else None,
            recipe=made.recipe,
        )
        await counted(reply, made.meter)
        await reply.head()
        return reply

    async def _context(self, ask: Ask, stages: Stages) -> Assembled:
        """What the model is to see, and how it came to be."""
        (turns, lost), found, text = await self._gathered(ask)
        stages.lap("gather")
        made = await self._assembled(ask, found, turns)
        stages.lap("assemble")
        searched, degraded = text if text != ask.message else "", (*made.trace.degraded, *lost, *absent(ask))
        return replace(made, trace=replace(made.trace, degraded=degraded, searched=searched))

    async def _assembled(self, ask: Ask, found: Found, turns: Sequence[Turn]) -> Assembled:
        """On the loop where little is to be counted: forty new passages take milliseconds."""
        beside = (ask.message, *ask.notes, *(turn.content for turn in turns))
        if laborious(beside, [item.passage.text for item in found.candidates], self._limits):
            return await asyncio.to_thread(self._assemble, ask, found, turns)
        return self._assemble(ask, found, turns)

    async def _gathered(self, ask: Ask) -> tuple[tuple[Sequence[Turn], list[Degraded]], Found, str]:
        """The history, what was found, and the text that was searched. Only a follow-up's search waits for
        the history; else they run beside each other. One deadline for both."""
        seconds = self._retrieval.seconds
        until = asyncio.get_running_loop().time() + seconds
        if refers(ask.message):
            remembered = await self._history(ask, seconds * HISTORY_SHARE)
            text = resolve(ask.message, remembered[0])
            return remembered, await self._search(ask, text, until), text
        async with asyncio.TaskGroup() as group:
            history = group.create_task(self._history(ask, seconds))
            search = group.create_task(self._search(ask, ask.message, until))
        return history.result(), search.result(), ask.message

    async def _history(self, ask: Ask, seconds: float) -> tuple[Sequence[Turn], list[Degraded]]:
        """The turns before this one: the request's own, else the thread's, if they come in time."""
        if ask.history is not None:
            return ask.history, []
        try:
            async with asyncio.timeout(min(HISTORY_SECONDS, seconds)):
                return await self._chatlog.turns(ask.scope, HISTORY_TURNS), []
        except TimeoutError:
            return (), [Degraded("postgres", "timeout")]
        except RetrievalError as error:
            return (), [Degraded("postgres", error.reason)]

    async def _search(self, ask: Ask, text: str, until: float) -> Found:
        """What the sources hold on `text`, as far as it is found by then."""
        limit = ask.top_k or self._limits.top_k
        query = Query(text, ask.scope, limit=max(limit, self._limits.top_k), threshold=self._limits.threshold)
        return await self._retrieval.gather(query, ask.sources, until=until)

    def _assemble(self, ask: Ask, found: Found, history: Sequence[Turn]) -> Assembled:
        """Candidates -> passages -> prompt, with the ledger of how."""
        meter = Meter(self._tokens.count, self._tokens.factor(ask.model or self._model.name))
        turns = history if ask.history is not None else answered(history)
        budget, turns = share(
            self._limits, meter, system=SYSTEM, message=ask.message, notes=ask.notes, turns=turns
        )
        kept, copies = dedupe(found.candidates)
        selection = select(
            ask.message,
            kept,
            (*found.duplicates, *copies),
            threshold=self._limits.threshold,
            budget=Budget(budget, ask.top_k or self._limits.top_k),
            meter=meter,
        )
        prompt = Prompt(told(selection), ask.message, selection.passages, ask.notes, tuple(turns))
        trace = Trace(
            reason=found.reason(len(ask.sources), selection),
            entries=selection.entries,
            degraded=found.degraded,
            cached=found.cached,
            budget=budget,
            took_ms=found.took_ms,
            told=found.notes,
        )
        notes = [block(Kind.NOTE, note, keep=True) for note in ask.notes]
        return Assembled(prompt, trace, meter, recipe_of(prompt, ranking=VERSION, notes=notes))


def absent(ask: Ask) -> list[Degraded]:
    """What was asked for and this version does not have."""
    return [Degraded("project", "not_available")] if ask.scope.project is not None else []


def told(selection: Selection) -> str:
    """The system text that is true of what was found."""
    if selection.passages:
        return SYSTEM
    crowded = any(entry.verdict is Verdict.OVER_BUDGET for entry in selection.entries)
    return SYSTEM_CROWDED if crowded else SYSTEM_BARE


def cite(passage: Passage) -> Citation:
    """A packed passage as the reply names it."""
    fields = passage.fields
    page, page_end, url = fields.get("page"), fields.get("page_end"), fields.get("url")
    return Citation(
        label=passage.label,
        source=passage.source,
        id=passage.id,
        title=passage.title,
        page=page if isinstance(page, int) else None,
        page_end=page_end if isinstance(page_end, int) else None,
        url=url if isinstance(url, str) else None,
    )
