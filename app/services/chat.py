"""A cited answer: prepare() does all that can still become a status, the Reply then streams it.

prepare: history -> retrieval -> selection -> prompt -> the model's stream, opened. The reply's head is
decided when the model's response head is there, or after HEAD_SECONDS, whichever is first (CONTRACT §0).
Raises `ModelError` from prepare; retrieval and history faults end in `degraded`.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace

from app.domain.answer import Citation, new_id
from app.domain.budget import Budget, newest_turns, scaled, window
from app.domain.errors import RetrievalError
from app.domain.instructions import SYSTEM, SYSTEM_BARE
from app.domain.passage import Passage, Query, Scope
from app.domain.ports import ChatLog, ChatModel, Clock, Tokens
from app.domain.prompt import Prompt, Turn
from app.domain.selection import select
from app.domain.trace import Degraded, Trace
from app.services.recorder import Recorder
from app.services.reply import Opening, Reply
from app.services.retrieval import Found, Retrieval

HISTORY_TURNS = 200
"""Turns read from the log at most; the token budget takes the newest of them."""
HISTORY_SECONDS = 2.0
"""Seconds the log has to give them; without it the answer goes on without history."""


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
class Limits:
    """The knobs of one answer, as tokens and passages."""

    budget: int
    top_k: int
    threshold: float
    window: int
    """Tokens of the model's context."""
    history: int
    answer: int
    """Tokens kept free for the answer."""


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
    ) -> None:
        self._retrieval = retrieval
        self._model = model
        self._tokens = tokens
        self._chatlog = chatlog
        self._recorder = recorder
        self._limits = limits
        self._clock = clock

    async def prepare(self, ask: Ask) -> Reply:
        """Everything that can fail, while a status can still be sent. The caller closes the reply."""
        started = self._clock()
        async with asyncio.TaskGroup() as group:
            remembered = group.create_task(self._history(ask))
            search = group.create_task(self._search(ask))
        (turns, lost), found = remembered.result(), search.result()
        # Counting tokens of forty passages takes milliseconds: not on the loop.
        prompt, trace = await asyncio.to_thread(self._assemble, ask, found, turns)
        trace = replace(trace, degraded=(*trace.degraded, *lost))
        reply = Reply(
            answer_id=new_id(),
            ask_scope=ask.scope,
            endpoint=ask.endpoint,
            prompt=prompt,
            trace=trace,
            citations=tuple(cite(passage) for passage in prompt.passages),
            opening=Opening(self._model.open(prompt, model=ask.model), ask.model or self._model.name),
            recorder=self._recorder,
            tokens=self._tokens,
            clock=self._clock,
            started=started,
            debug=ask.debug,
        )
        await reply.head()
        return reply

    async def _history(self, ask: Ask) -> tuple[Sequence[Turn], list[Degraded]]:
        """The turns before this one: the request's own, else the thread's."""
        if ask.history is not None:
            return ask.history, []
        try:
            async with asyncio.timeout(HISTORY_SECONDS):
                return await self._chatlog.turns(ask.scope, HISTORY_TURNS), []
        except TimeoutError:
            return (), [Degraded("postgres", "timeout")]
        except RetrievalError as error:
            return (), [Degraded("postgres", error.reason)]

    async def _search(self, ask: Ask) -> Found:
        """What the sources hold on the message."""
        limit = ask.top_k or self._limits.top_k
        query = Query(
            ask.message, ask.scope, limit=max(limit, self._limits.top_k), threshold=self._limits.threshold
        )
        return await self._retrieval.gather(query, ask.sources)

    def _budget(self, ask: Ask, turns: Sequence[Turn], factor: float) -> tuple[Budget, tuple[Turn, ...]]:
        """What the window leaves for context, and the turns that it holds."""
        limits, count = self._limits, self._tokens.count
        kept = newest_turns(turns, lambda text: scaled(count(text), factor), limits.history)
        texts = (SYSTEM, ask.message, *ask.notes, *(turn.content for turn in kept))
        tokens = window(
            limits.budget,
            context=limits.window,
            taken=sum(map(count, texts)),
            reserve=limits.answer,
            factor=factor,
        )
        return Budget(tokens, ask.top_k or limits.top_k), kept

    def _assemble(self, ask: Ask, found: Found, history: Sequence[Turn]) -> tuple[Prompt, Trace]:
        """Candidates -> passages -> prompt, with the ledger of how. Tokens are the model's."""
        factor = self._tokens.factor(ask.model or self._model.name)
        budget, turns = self._budget(ask, history, factor)
        selection = select(
            ask.message,
            found.candidates,
            found.duplicates,
            threshold=self._limits.threshold,
            budget=budget,
            cost=lambda text: scaled(self._tokens.count(text), factor),
        )
        system = SYSTEM if selection.passages else SYSTEM_BARE
        prompt = Prompt(system, ask.message, selection.passages, ask.notes, turns)
        trace = Trace(
            reason=found.reason(len(ask.sources), selection),
            entries=selection.entries,
            degraded=found.degraded,
            tokens=scaled(self._tokens.count(prompt.context), factor),
            budget=budget.tokens,
            took_ms=found.took_ms,
        )
        return prompt, trace


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
