"""/api/chat: a cited answer from documents, any named sources, or a project's context.

Resolves the follow-up; reads earlier turns and the project's knowledge, and searches, concurrently under one
deadline (RAG_TIMEOUT_SECONDS); selects what fits; builds the prompt: system text with the project's overview
and rules, context, notes, turns, message. Only a follow-up's search waits for the earlier turns. Parts that
fail or are late are listed in `degraded`. Raises `ModelError`, and `InvalidField` if the required parts of
the prompt exceed the model's window. Times are in seconds. Source: docs/contract.md, docs/adr/0010.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime

from app.answer import (
    BREAK,
    DOCUMENT_FORM,
    GREETING_FORM,
    KNOWLEDGE,
    NOTES,
    Block,
    Form,
    Kind,
    Prompt,
    Ref,
    Turn,
    recipe_block,
    sha256,
)
from app.answering.budget import (
    Budget,
    Meter,
    PromptLimits,
    answered,
    ledger,
    packed_passages,
    select,
    share,
)
from app.answering.followup import answers, names_nothing, refers, resolve
from app.answering.pipeline import (
    HISTORY_SHARE,
    HISTORY_TURNS,
    Pipeline,
    Run,
    earlier_turns,
    history_of,
    system_text,
)
from app.answering.projects import Gathered
from app.answering.prompt import (
    PROJECT_FORM,
    QUARTER,
    SYSTEM,
    SYSTEM_BARE,
    SYSTEM_CROWDED,
    SYSTEM_PROJECT,
    SYSTEM_PROJECT_BARE,
    SYSTEM_PROJECT_CROWDED,
    SYSTEM_READING,
    SYSTEM_SOURCES,
    SYSTEM_SOURCES_BARE,
    SYSTEM_SOURCES_CROWDED,
    SYSTEM_TALK,
    day_line,
    first,
    knowledge_text,
    left_out,
    notes_text,
    own_words,
    parts_of,
)
from app.answering.question import DEFAULT_SOURCES, Context, Question
from app.answering.reason import reason_of
from app.answering.replay import instructions, recipe_of
from app.answering.stream import Reply
from app.db.documents import DocumentStore
from app.db.projects import Knowledge, KnowledgeStore
from app.db.sessions import ChatLogStore
from app.errors import RETRY_SECONDS, InvalidField, Unavailable
from app.retrieval.ranking import without_identical
from app.retrieval.relevance import skipped
from app.retrieval.rewrite import earlier
from app.retrieval.search import RANKING_VERSION, Retrieval
from app.services.projects import ProjectService, chosen, reason
from app.tasks import deadline, timely
from app.text.greeting import is_assent, is_small_talk
from app.types import Candidate, Degraded, Found, PendingDocument, Query, Reason, Scope, Trace, Verdict

KNOWLEDGE_SECONDS = 2.0
"""Deadline of reading the project's knowledge; after it the answer goes without."""
PENDING_SECONDS = 1.0
"""Deadline of listing documents that are still being read, if nothing matched."""
INLINE_CHARACTERS = 16_000
"""Longest text whose tokens are counted on the event loop."""
UNMATCHED = frozenset({Reason.EMPTY, Reason.SKIPPED, Reason.NO_MATCH, Reason.TIMEOUT, Reason.UNAVAILABLE})
"""Reasons for which a document that is still being read may hold the answer."""
DOCUMENT_TEXTS = (SYSTEM, SYSTEM_BARE, SYSTEM_CROWDED)
SOURCE_TEXTS = (SYSTEM_SOURCES, SYSTEM_SOURCES_BARE, SYSTEM_SOURCES_CROWDED)
PROJECT_TEXTS = (SYSTEM_PROJECT, SYSTEM_PROJECT_BARE, SYSTEM_PROJECT_CROWDED)
"""System texts: with passages, without any, and if none fitted."""


@dataclass(frozen=True, slots=True)
class Fetched:
    searched: str
    """The search text: the message, or a follow-up with what it refers to."""
    found: Found | Gathered
    """Search results, or the project's context."""
    turns: Sequence[Turn] = ()
    """Oldest first, not cut to any budget."""
    knowledge: Knowledge = field(default_factory=Knowledge)
    lost: tuple[Degraded, ...] = ()
    """Failures beside the search."""
    today: str = ""
    """The prompt's line with the date."""


class ChatService:
    def __init__(
        self,
        retrieval: Retrieval,
        chatlog: ChatLogStore,
        projects: ProjectService,
        knowledge: KnowledgeStore,
        pipeline: Pipeline,
        *,
        documents: DocumentStore | None = None,
    ) -> None:
        self._retrieval = retrieval
        self._chatlog = chatlog
        self._projects = projects
        self._knowledge = knowledge
        self._pipeline = pipeline
        self._documents = documents

    async def prepare(self, question: Question) -> Reply:
        """Do everything that can fail while a status can still be sent. The caller closes the reply."""
        make = self._errand if question.errand else self._context
        return await self._pipeline.prepare(question, form_of(question), make)

    async def turns(self, scope: Scope, until: datetime) -> Sequence[Turn]:
        """The thread's newest answered turns up to a time, oldest first. Raises `Unavailable`."""
        await self._pipeline.recorder.written(scope)
        lost = list[Degraded]()
        turns = await earlier_turns(self._chatlog, scope, HISTORY_TURNS, lost)
        if lost:
            raise Unavailable("the conversation cannot be read", retry_after=RETRY_SECONDS)
        return answered([turn for turn in turns if turn.at is None or turn.at <= until])

    async def _errand(self, run: Run) -> Context:
        return errand_context(run.question, self._pipeline.limits, run.meter)

    async def _context(self, run: Run) -> Context:
        question, limits = run.question, self._pipeline.limits
        await self._pipeline.recorder.written(question.scope)
        fetched = replace(await self._fetch(question), today=day_line(run.started))
        run.stages.lap("gather")
        if is_long(question, fetched):
            context = await asyncio.to_thread(chat_context, question, fetched, limits, run.meter)
        else:  # at 64 clients a thread for each answer costs 4 % of the requests per second
            context = chat_context(question, fetched, limits, run.meter)
        run.stages.lap("assemble")
        if is_unmatched(context.trace) and (pending := await pending_documents(self._documents, question)):
            return still_reading(context, pending, run.meter)
        return context

    async def _fetch(self, question: Question) -> Fetched:
        until = deadline(self._retrieval.seconds)
        lost, unknown = list[Degraded](), list[Degraded]()
        async with asyncio.TaskGroup() as group:
            told = group.create_task(self._known(question.scope, unknown))
            fetched = await self._searched(question, until, lost)
        return replace(fetched, knowledge=told.result(), lost=(*lost, *unknown))

    async def _searched(self, question: Question, until: float, lost: list[Degraded]) -> Fetched:
        """Earlier turns and results. Small talk is searched for only if it answers the last answer's
        question."""
        message, seconds = question.message, self._retrieval.seconds
        talk = is_small_talk(message)
        if not talk and not refers(message):
            async with asyncio.TaskGroup() as group:
                history = group.create_task(history_of(question, self._chatlog, lost, seconds=seconds))
                found = await self._search(question, message, until)
            return Fetched(message, found, history.result())
        turns = await history_of(question, self._chatlog, lost, seconds=seconds * HISTORY_SHARE)
        text = resolve(message, turns)
        if talk:
            text = answers(message, turns) if is_assent(message) else ""
        if not text or (text == message and names_nothing(text)):
            return Fetched(message, Found(unsought=True), turns)
        return Fetched(text, await self._search(question, text, until, earlier(turns)), turns)

    async def _known(self, scope: Scope, lost: list[Degraded]) -> Knowledge:
        if scope.project is None:
            return Knowledge()
        until = deadline(min(KNOWLEDGE_SECONDS, self._retrieval.seconds))
        return await timely("knowledge", self._knowledge.get(scope), until, lost) or Knowledge()

    async def _search(
        self, question: Question, text: str, until: float, before: tuple[str, ...] = ()
    ) -> Found | Gathered:
        if question.projected:
            return await self._projects.gathered(question.scope, text, top_k=question.top_k, until=until)
        limits = self._pipeline.limits
        limit = max(question.top_k or 0, limits.top_k)
        query = Query(text, question.scope, limit=limit, threshold=limits.threshold, before=before)
        return await self._retrieval.gather(query, question.searched, until=until)


async def pending_documents(
    documents: DocumentStore | None, question: Question
) -> tuple[PendingDocument, ...]:
    """Searched documents that are still being read; none if that is not known in time."""
    if documents is None or question.projected or "documents" not in question.searched:
        return ()
    try:
        async with asyncio.timeout(PENDING_SECONDS):
            return await documents.pending(question.scope)
    except (TimeoutError, Unavailable):
        return ()


def form_of(question: Question) -> Form:
    return PROJECT_FORM if question.projected else DOCUMENT_FORM


def texts_of(question: Question) -> tuple[str, str, str]:
    if question.projected:
        return PROJECT_TEXTS
    return DOCUMENT_TEXTS if question.searched == DEFAULT_SOURCES else SOURCE_TEXTS


def errand_context(question: Question, limits: PromptLimits, meter: Meter) -> Context:
    """A frontend's own prompt as it is, with its system texts. Raises `InvalidField`."""
    system = BREAK.join(question.notes)
    share(limits, meter, system=system, message=question.message, notes=(), turns=())
    prompt = Prompt(system, question.message, reason=Reason.UNASKED)
    recipe = recipe_of(prompt, ranking=RANKING_VERSION)
    return Context(prompt=prompt, trace=Trace(prompt.reason), recipe=recipe, tokens=meter.prompt(prompt))


def is_long(question: Question, fetched: Fetched) -> bool:
    """True if much text has no stored token counts: counting takes 1 ms for 8,000 characters."""
    found = fetched.found
    texts = [question.message, *question.notes, *(turn.content for turn in fetched.turns)]
    texts += [knowledge_text(fetched.knowledge), notes_text(fetched.knowledge)]
    if isinstance(found, Gathered):
        texts += [item.text for item in found.items]
    else:
        texts += [each.passage.text for each in found.candidates if not each.passage.quoted]
    return sum(map(len, texts)) > INLINE_CHARACTERS


def chat_context(question: Question, fetched: Fetched, limits: PromptLimits, meter: Meter) -> Context:
    """The prompt and its trace. Blocking, milliseconds. Raises `InvalidField`."""
    every = parts_of(fetched.knowledge)
    try:
        parts, (frame, budget) = every, framed(question, fetched, limits, meter, every)
    except InvalidField:
        parts = parts_that_fit(question, fetched, limits, meter)
        frame, budget = framed(question, fetched, limits, meter, parts)
    candidates, why = selected(question, fetched.found, budget, limits, meter)
    talk = why is Reason.SMALL_TALK
    prompt = replace(
        frame,
        system=SYSTEM_TALK if talk else system_text(candidates, texts_of(question)),
        passages=packed_passages(candidates),
        form=GREETING_FORM if talk else frame.form,
        reason=why,
    )
    missing = "" if parts == every else left_out(fetched.knowledge, parts)
    found = fetched.found
    trace = Trace(
        reason=why,
        entries=ledger(candidates),
        degraded=(*found.degraded, *fetched.lost),
        cached=found.cached,
        budget=budget,
        tokens=meter.context(prompt),
        took_ms=found.took_ms,
        sources=found.sources,
        searched=fetched.searched if fetched.searched != question.message else "",
        told=(*found.notes, missing) if missing else found.notes,
    )
    before, notes = blocks(question, fetched, prompt, "" if parts == every else str(parts))
    project = question.scope.project
    recipe = recipe_of(prompt, ranking=RANKING_VERSION, before=before, notes=notes, project=project)
    return Context(prompt=prompt, trace=trace, recipe=recipe, tokens=meter.prompt(prompt))


def is_unmatched(trace: Trace) -> bool:
    """True if nothing matched; matches without room are matches."""
    return trace.reason in UNMATCHED and all(
        entry.verdict is not Verdict.OVER_BUDGET for entry in trace.entries
    )


def still_reading(context: Context, pending: tuple[PendingDocument, ...], meter: Meter) -> Context:
    """The same where a document is still being read."""
    prompt = replace(context.prompt, system=SYSTEM_READING, reason=Reason.PROCESSING)
    return replace(
        context,
        prompt=prompt,
        trace=replace(context.trace, reason=prompt.reason, pending=pending),
        recipe=replace(context.recipe, system=instructions(prompt.system)),
        tokens=meter.prompt(prompt),
    )


def framed(
    question: Question, fetched: Fetched, limits: PromptLimits, meter: Meter, parts: int
) -> tuple[Prompt, int]:
    """(prompt without passages, tokens left for them), with the first `parts` of the project's knowledge.
    Raises `InvalidField`."""
    some = first(fetched.knowledge, parts)
    system, overview, own = texts_of(question)[0], knowledge_text(some), notes_text(some)
    notes = (*filter(None, (own,)), *map(own_words, question.notes))
    turns = fetched.turns if question.history is not None else answered(fetched.turns)
    before = tuple(filter(None, (fetched.today, overview)))
    opening = BREAK.join((system, *before))
    budget, turns = share(limits, meter, system=opening, message=question.message, notes=notes, turns=turns)
    form = form_of(question)
    return Prompt(system, question.message, notes=notes, turns=tuple(turns), before=before, form=form), budget


def parts_that_fit(question: Question, fetched: Fetched, limits: PromptLimits, meter: Meter) -> int:
    """Number of parts of the knowledge that fit into a quarter of the window and leave room for the rest."""

    def crowded(parts: int) -> bool:
        some = first(fetched.knowledge, parts)
        if sum(map(meter, (knowledge_text(some), notes_text(some)))) > limits.window // QUARTER:
            return True
        try:
            framed(question, fetched, limits, meter, parts)
        except InvalidField:
            return True
        return False

    return bisect_left(range(1, parts_of(fetched.knowledge) + 1), True, key=crowded)


def selected(
    question: Question, found: Found | Gathered, budget: int, limits: PromptLimits, meter: Meter
) -> tuple[list[Candidate], Reason]:
    if isinstance(found, Gathered):
        candidates, short = chosen(question, found, budget, limits.threshold, meter)
        return candidates, reason(found, candidates, short=short)
    kept, copies = list(found.candidates), list[Candidate]()
    if len({item.passage.source for item in kept}) > 1:  # within each source there are none any more
        kept, copies = without_identical(kept)
    short = skipped(question.message, kept, limits.threshold)
    candidates = select(
        kept,
        (*found.duplicates, *copies),
        short=short,
        threshold=limits.threshold,
        budget=Budget(budget, question.top_k or limits.top_k),
        meter=meter,
    )
    return candidates, reason_of(found, len(question.searched), candidates, short=short)


def blocks(
    question: Question, fetched: Fetched, prompt: Prompt, parts: str
) -> tuple[list[Block], list[Block]]:
    """(blocks before the context, notes) of the recipe. `parts`: how many parts of the knowledge are shown;
    "": all."""
    project = question.scope.project or ""
    own = prompt.notes[: len(prompt.notes) - len(question.notes)]
    told = prompt.before[bool(fetched.today) :]
    before = [
        recipe_block(Kind.DATE, fetched.today, keep=True),
        *(
            recipe_block(Kind.KNOWLEDGE, text, name=parts, refs=(Ref(KNOWLEDGE, project, sha256(text)),))
            for text in told
        ),
    ]
    notes = [
        recipe_block(Kind.PROJECT_NOTES, text, name=parts, refs=(Ref(NOTES, project, sha256(text)),))
        for text in own
    ]
    return before, [
        *notes,
        *(recipe_block(Kind.NOTE, text, keep=True) for text in prompt.notes[len(own) :]),
    ]
