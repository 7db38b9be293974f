"""What is fetched for one question of /api/chat: earlier turns, what is known of the project, what was found.

All of it beside each other, under one deadline (RAG_TIMEOUT_SECONDS); each part that fails or is late ends in
`degraded`, and the others are used. Only the search for a follow-up waits, for the turns it refers to.
Seconds. Source: CONTRACT §1, §4; seed 001 (Data Flow).
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

import structlog

from app.domain.errors import RetrievalError, Unavailable
from app.domain.followup import answers, names_nothing, refers, resolve
from app.domain.found import Found
from app.domain.greeting import is_assent, is_small_talk
from app.domain.knowledge import knowledge_text, notes_text
from app.domain.passage import Query, Scope
from app.domain.ports import ChatLog
from app.domain.project import Knowledge, KnowledgeRecord
from app.domain.prompt import Turn
from app.domain.rewording import earlier
from app.domain.room import Limits
from app.domain.trace import Degraded, Pending
from app.projects.gathered import Gathered
from app.services.ask import Ask
from app.services.retrieval import Retrieval

HISTORY_TURNS = 200
"""Turns read from the log at most; the token budget takes the newest of them."""
HISTORY_SECONDS = 2.0
"""Seconds the log has to give them; without it the answer goes on without history."""
HISTORY_SHARE = 1 / 3
"""Part of RAG_TIMEOUT_SECONDS that it has where the search must wait for it."""
PENDING_SECONDS = 1.0
"""To look whether a document is still being read, where nothing matched."""
DOCUMENTS = "documents"
KNOWLEDGE = "knowledge"
"""`Degraded.source` of overview, rules and notes that did not come."""

log = structlog.get_logger(__name__)

Lost = tuple[Degraded, ...]


class Projects(Protocol):
    """What gives a project's context (`services/projects.py`)."""

    async def gathered(
        self, scope: Scope, message: str | None, *, top_k: int | None = None, until: float | None = None
    ) -> Gathered:
        """Never raises but on cancellation; ends by `until`, the loop's time."""


@dataclass(frozen=True, slots=True)
class Material:
    """What came of it."""

    text: str
    """What was searched: the message, or a follow-up with what it refers to."""
    turns: Sequence[Turn] = ()
    """Oldest first, not cut to any budget."""
    found: Found | Gathered = field(default_factory=Found)
    """What the sources hold, or what the project shows."""
    knowledge: Knowledge = field(default_factory=Knowledge)
    lost: Lost = ()
    """What did not come beside what was searched."""

    @property
    def told(self) -> tuple[str, str]:
        """All that is told of the project whatever is asked."""
        return knowledge_text(self.knowledge), notes_text(self.knowledge)

    @property
    def texts(self) -> list[str]:
        """All that may be shown of what was found."""
        if isinstance(self.found, Gathered):
            return [item.text for item in self.found.items]
        return [item.passage.text for item in self.found.candidates]


class Filed(Protocol):
    """What knows the documents that are being read (`stores/documents.py`)."""

    async def pending(self, scope: Scope) -> tuple[Pending, ...]:
        """Those in reach, newest first. `Unavailable` when Postgres does not answer."""


class Collector:
    """Fetches it."""

    def __init__(
        self,
        retrieval: Retrieval,
        chatlog: ChatLog,
        projects: Projects,
        knowledge: KnowledgeRecord,
        *,
        limits: Limits,
        documents: Filed | None = None,
    ) -> None:
        self._documents = documents
        self._retrieval = retrieval
        self._chatlog = chatlog
        self._projects = projects
        self._knowledge = knowledge
        self._limits = limits

    async def collect(self, ask: Ask) -> Material:
        """Raises nothing but on cancellation."""
        until = asyncio.get_running_loop().time() + self._retrieval.seconds
        if ask.scope.project is None:
            return await self._collected(ask, until)
        async with asyncio.TaskGroup() as group:
            collected = group.create_task(self._collected(ask, until))
            known = group.create_task(self._known(ask.scope))
        material, (knowledge, faults) = collected.result(), known.result()
        return replace(material, knowledge=knowledge, lost=(*material.lost, *faults))

    async def pending(self, ask: Ask) -> tuple[Pending, ...]:
        """Documents that were to be searched and are still being read; none where that cannot be told in
        time. Raises nothing but on cancellation."""
        if self._documents is None or ask.projected or DOCUMENTS not in ask.searched:
            return ()
        try:
            async with asyncio.timeout(PENDING_SECONDS):
                return await self._documents.pending(ask.scope)
        except (TimeoutError, Unavailable):
            return ()

    async def _collected(self, ask: Ask, until: float) -> Material:
        """The history and what was found. Only a follow-up's search waits for the history; small talk is not
        searched for, unless it answers a question of the last answer."""
        seconds = self._retrieval.seconds
        talk = is_small_talk(ask.message)
        if talk or refers(ask.message):
            turns, lost = await self._history(ask, seconds * HISTORY_SHARE)
            text = resolve(ask.message, turns)
            if talk:
                text = answers(ask.message, turns) if is_assent(ask.message) else ""
            if not text or (text == ask.message and names_nothing(text)):
                return Material(ask.message, turns, Found(unsought=True), lost=lost)
            found = await self._search(ask, text, until, earlier(turns))
            return Material(text, turns, found, lost=lost)
        async with asyncio.TaskGroup() as group:
            history = group.create_task(self._history(ask, seconds))
            search = group.create_task(self._search(ask, ask.message, until))
        turns, lost = history.result()
        return Material(ask.message, turns, search.result(), lost=lost)

    async def _history(self, ask: Ask, seconds: float) -> tuple[Sequence[Turn], Lost]:
        """The turns before this one: the request's own, else the thread's, if they come in time."""
        if ask.history is not None:
            return ask.history, ()
        try:
            async with asyncio.timeout(min(HISTORY_SECONDS, seconds)):
                return await self._chatlog.turns(ask.scope, HISTORY_TURNS), ()
        except TimeoutError:
            return (), (Degraded("postgres", "timeout"),)
        except RetrievalError as error:
            return (), (Degraded("postgres", error.reason),)

    async def _known(self, scope: Scope) -> tuple[Knowledge, Lost]:
        """The project's overview, rules and notes, if they come in time."""
        try:
            async with asyncio.timeout(min(HISTORY_SECONDS, self._retrieval.seconds)):
                return await self._knowledge.get(scope) or Knowledge(), ()
        except TimeoutError:
            reason = "timeout"
        except RetrievalError as error:
            reason = error.reason
        log.warning("knowledge not read", reason=reason)
        return Knowledge(), (Degraded(KNOWLEDGE, reason),)

    async def _search(
        self, ask: Ask, text: str, until: float, before: tuple[str, ...] = ()
    ) -> Found | Gathered:
        """What the sources hold on `text`, or the project shows for it, as far as it is there by then."""
        if ask.projected:
            return await self._projects.gathered(ask.scope, text, top_k=ask.top_k, until=until)
        limit = ask.top_k or self._limits.top_k
        limit, threshold = max(limit, self._limits.top_k), self._limits.threshold
        query = Query(text, ask.scope, limit=limit, threshold=threshold, before=before)
        return await self._retrieval.gather(query, ask.searched, until=until)
