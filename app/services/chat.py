"""What is fetched for one question of /api/chat: earlier turns, what is known of the project, what was found.

All of it beside each other, under one deadline (RAG_TIMEOUT_SECONDS); each part that fails or is late ends in
`degraded`, and the others are used. Only the search for a follow-up waits, for the turns it refers to.
Seconds. Source: docs/contract.md.

What the model is to see of what was fetched, and how that came to be: blocking, milliseconds.

Message 1 is the system text with the project's overview and rules, message 2 the context, message 3 the
notes, the project's and then the request's. Of knowledge that does
not fit into the model's window a quarter's worth is told. Pure but for the count of tokens, which are those
of the model that answers. Raises `InvalidField` where what must stand in the prompt does not fit.

When a chat's tokens are counted: while the model is asked, not before, wherever all fits uncounted.

Forty passages that were never counted take some milliseconds, which the first byte need not wait for.
`rag.tokens` stays exact: the same count, later. Sizes are bytes. Source: docs/adr/0020.

A cited answer: prepare() does all that can still become a status, the Reply then streams it.

prepare: what is fetched (`material.py`) -> the prompt (`assembly.py`) -> the model's stream, opened. The
reply's head is decided when the model's response head is there, or after HEAD_SECONDS, whichever is first.
Raises `ModelError` from prepare; faults of what is fetched end in `degraded`.
"""

import asyncio
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol
from urllib.parse import quote

import structlog

from app.answer import (
    BREAK,
    DOCUMENT_FORM,
    GREETING_FORM,
    KNOWLEDGE,
    NOTES,
    Block,
    Citation,
    Form,
    Kind,
    Prompt,
    Recipe,
    Ref,
    Turn,
    new_id,
    recipe_block,
    sha256,
)
from app.answering.budget import Budget, Meter, PromptLimits, Selection, answered, reason_of, select, share
from app.answering.followup import answers, names_nothing, refers, resolve
from app.answering.meta import metadata_of, own_id
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
    SYSTEM_SOURCES,
    SYSTEM_SOURCES_BARE,
    SYSTEM_SOURCES_CROWDED,
    SYSTEM_TALK,
    first,
    knowledge_text,
    left_out,
    notes_text,
    own_words,
    parts_of,
)
from app.answering.recorder import Keepsake, Recorder, unanswered
from app.answering.replay import recipe_of
from app.answering.stream import Opening, Reply
from app.db.projects import CODE, CONVERSATIONS, DREAMS, Knowledge, KnowledgeStore
from app.db.sessions import ChatLogStore
from app.errors import InvalidField, RetrievalError, Unavailable
from app.models.base import ChatModel, Tokens
from app.retrieval.ranking import dedupe
from app.retrieval.rewrite import earlier
from app.retrieval.search import VERSION, Retrieval
from app.services.projects import DEFAULT_SOURCES, Ask, chosen, reason
from app.stopwatch import Stages
from app.text.greeting import is_assent, is_small_talk
from app.text.memo import known, quick
from app.text.tokens import SHOWN
from app.types import Clock, Degraded, Found, Passage, Pending, Query, Reason, Scope, Trace, Verdict

HISTORY_TURNS = 200
"""Turns read from the log at most; the token budget takes the newest of them."""
HISTORY_SECONDS = 2.0
"""Seconds the log has to give them; without it the answer goes on without history."""
HISTORY_SHARE = 1 / 3
"""Part of RAG_TIMEOUT_SECONDS that it has where the search must wait for it."""
PENDING_SECONDS = 1.0
"""To look whether a document is still being read, where nothing matched."""
DOCUMENTS_SOURCE = "documents"
KNOWLEDGE_SOURCE = "knowledge"
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
    """What knows the documents that are being read (`db/documents.py`)."""

    async def pending(self, scope: Scope) -> tuple[Pending, ...]:
        """Those in reach, newest first. `Unavailable` when Postgres does not answer."""


class Collector:
    """Fetches it."""

    def __init__(
        self,
        retrieval: Retrieval,
        chatlog: ChatLogStore,
        projects: Projects,
        knowledge: KnowledgeStore,
        *,
        limits: PromptLimits,
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
        if self._documents is None or ask.projected or DOCUMENTS_SOURCE not in ask.searched:
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
        return Knowledge(), (Degraded(KNOWLEDGE_SOURCE, reason),)

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


DOCUMENTED = (SYSTEM, SYSTEM_BARE, SYSTEM_CROWDED)
SOURCED = (SYSTEM_SOURCES, SYSTEM_SOURCES_BARE, SYSTEM_SOURCES_CROWDED)
PROJECTED = (SYSTEM_PROJECT, SYSTEM_PROJECT_BARE, SYSTEM_PROJECT_CROWDED)
"""System texts: with passages, without, and where there is no room for them."""


@dataclass(frozen=True, slots=True)
class Assembled:
    """A prompt, and how it came to be."""

    prompt: Prompt
    trace: Trace
    """Its tokens are not counted yet."""
    meter: Meter
    recipe: Recipe


@dataclass(frozen=True, slots=True)
class Frame:
    """What stands around the context."""

    texts: tuple[str, str, str]
    opening: str
    """The project's overview and rules."""
    notes: tuple[str, ...]
    """The project's in one, then the request's."""
    turns: tuple[Turn, ...]
    budget: int
    """Tokens left for the context block."""
    told: str = ""
    """How many parts of the knowledge had room; "": all."""


def assemble(ask: Ask, material: Material, limits: PromptLimits, meter: Meter) -> Assembled:
    """Candidates -> passages -> prompt, with the ledger of how. `meter` is of `form_of(ask)`."""
    frame = framed(ask, material, limits, meter)
    selection, why = selected(ask, material.found, frame, limits, meter)
    prompt = Prompt(
        SYSTEM_TALK if why is Reason.SMALL_TALK else told(selection, frame.texts),
        ask.message,
        selection.passages,
        frame.notes,
        frame.turns,
        (frame.opening,) if frame.opening else (),
        GREETING_FORM if why is Reason.SMALL_TALK else form_of(ask),
        why,
    )
    found = material.found
    trace = Trace(
        reason=why,
        entries=selection.entries,
        degraded=(*found.degraded, *material.lost),
        cached=found.cached,
        budget=frame.budget,
        took_ms=found.took_ms,
        sources=found.sources,
        searched=material.text if material.text != ask.message else "",
        told=(*found.notes, *filter(None, (missing(material, frame),))),
    )
    before, notes = blocks(ask, frame)
    recipe = recipe_of(prompt, ranking=VERSION, before=before, notes=notes, project=ask.scope.project)
    return Assembled(prompt, trace, meter, recipe)


def form_of(ask: Ask) -> Form:
    """How the prompt is written down."""
    return PROJECT_FORM if ask.projected else DOCUMENT_FORM


def texts_of(ask: Ask) -> tuple[str, str, str]:
    """The system texts that are true of what is searched."""
    if ask.projected:
        return PROJECTED
    return DOCUMENTED if ask.searched == DEFAULT_SOURCES else SOURCED


def framed(ask: Ask, material: Material, limits: PromptLimits, meter: Meter) -> Frame:
    """All that stands in the prompt whatever is found, and the room that it leaves. Of knowledge that would
    leave none (older than its limit, or the window smaller than then) the first parts stay."""

    def crowded(parts: int) -> bool:
        known = first(material.knowledge, parts)
        if sum(map(meter, (knowledge_text(known), notes_text(known)))) > limits.window // QUARTER:
            return True
        try:
            frame_of(ask, material, limits, meter, parts)
        except InvalidField:
            return True
        return False

    every = parts_of(material.knowledge)
    try:
        return frame_of(ask, material, limits, meter, every)
    except InvalidField:
        kept = bisect_left(range(1, every + 1), True, key=crowded)
        return replace(frame_of(ask, material, limits, meter, kept), told=str(kept))


def frame_of(ask: Ask, material: Material, limits: PromptLimits, meter: Meter, parts: int) -> Frame:
    """It with the first parts of the knowledge. Raises `InvalidField`."""
    known = first(material.knowledge, parts)
    texts, opening = texts_of(ask), knowledge_text(known)
    own = notes_text(known)
    asked = tuple(map(own_words, ask.notes))
    notes = (own, *asked) if own else asked
    turns = material.turns if ask.history is not None else answered(material.turns)
    system = BREAK.join((texts[0], opening)) if opening else texts[0]
    budget, turns = share(limits, meter, system=system, message=ask.message, notes=notes, turns=turns)
    return Frame(texts, opening, notes, tuple(turns), budget)


def missing(material: Material, frame: Frame) -> str:
    """What of the knowledge had no room, in words."""
    return left_out(material.knowledge, int(frame.told)) if frame.told else ""


def selected(
    ask: Ask, found: Found | Gathered, frame: Frame, limits: PromptLimits, meter: Meter
) -> tuple[Selection, Reason]:
    """What is shown of what was found, and `rag.reason`."""
    if isinstance(found, Gathered):
        selection = chosen(ask, found, frame.budget, limits.threshold, meter)
        return selection, reason(found, selection)
    kept, copies = dedupe(found.candidates)
    selection = select(
        ask.message,
        kept,
        (*found.duplicates, *copies),
        threshold=limits.threshold,
        budget=Budget(frame.budget, ask.top_k or limits.top_k),
        meter=meter,
    )
    return selection, reason_of(found, len(ask.searched), selection)


def blocks(ask: Ask, frame: Frame) -> tuple[list[Block], list[Block]]:
    """What stands before the context, and the notes, by what they are made of."""
    project = ask.scope.project or ""
    asked = len(frame.notes) - len(ask.notes)
    own, theirs = frame.notes[:asked], frame.notes[asked:]
    ref = Ref(KNOWLEDGE, project, sha256(frame.opening))
    before = [recipe_block(Kind.KNOWLEDGE, frame.opening, name=frame.told, refs=(ref,))]
    notes = [
        recipe_block(Kind.PROJECT_NOTES, note, name=frame.told, refs=(Ref(NOTES, project, sha256(note)),))
        for note in own
    ]
    return before, [*notes, *(recipe_block(Kind.NOTE, note, keep=True) for note in theirs)]


def told(selection: Selection, texts: tuple[str, str, str]) -> str:
    """The system text that is true of what was found."""
    full, bare, crowded = texts
    if selection.passages:
        return full
    left_out = any(entry.verdict is Verdict.OVER_BUDGET for entry in selection.entries)
    return crowded if left_out else bare


FRESH_MOST, BESIDE_MOST = 8, 8_000
"""Passages to count, and characters beside them, that are done on the loop: a millisecond."""
ROOMY = 0.8
"""Part of the budget: passages of together so many bytes fit into it as lines, without being counted."""


async def counted(reply: Reply, meter: Meter) -> None:
    """Put the tokens into a reply whose stream is being opened; many new passages in a thread. Who is
    cancelled meanwhile has the reply closed."""

    def tell() -> None:
        reply.trace = replace(reply.trace, tokens=meter.context(reply.prompt))
        reply.prompt_tokens = meter.prompt(reply.prompt)

    try:
        if meter.fresh(reply.prompt) > FRESH_MOST:
            await asyncio.to_thread(meter.context, reply.prompt)
    except asyncio.CancelledError:
        tell()
        await reply.aclose()
        raise
    tell()


def laborious(beside: Sequence[str], passages: Sequence[str], limits: PromptLimits) -> bool:
    """Whether choosing among these passages takes more than a moment: much beside them to count, or many
    new ones that may not all fit."""
    if sum(map(len, beside)) > BESIDE_MOST:
        return True
    if sum(known(text, SHOWN) is None for text in passages) <= FRESH_MOST:
        return False
    sizes = sorted(len(text.encode("utf-8", "surrogatepass")) for text in passages)
    return sum(sizes[-limits.top_k :]) > ROOMY * limits.budget


named = quick(Citation)

ROWS = frozenset({CONVERSATIONS, CODE, DREAMS})
"""Sources whose rows can be read under their project (`api/projects.py`)."""


UNMATCHED = frozenset({Reason.EMPTY, Reason.SKIPPED, Reason.NO_MATCH})
"""What was searched holds nothing: a document that is still being read may."""


class ChatService:
    """Answers with citations."""

    def __init__(
        self,
        collector: Collector,
        model: ChatModel,
        tokens: Tokens,
        recorder: Recorder,
        *,
        limits: PromptLimits,
        clock: Clock,
        keepsake: Keepsake | None = None,
    ) -> None:
        self._collector = collector
        self._model = model
        self._tokens = tokens
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
        await self.recorder.written(ask.scope)
        material = await self._collector.collect(ask)
        stages.lap("gather")
        made = await self._assembled(ask, material)
        stages.lap("assemble")
        if made.trace.reason in UNMATCHED and (pending := await self._collector.pending(ask)):
            return processing(made, pending)
        return made

    async def _assembled(self, ask: Ask, material: Material) -> Assembled:
        """On the loop where little is to be counted: forty new passages take milliseconds."""
        model = ask.model or self._model.name
        meter = Meter(self._tokens.count, self._tokens.factor(model), form=form_of(ask))
        beside = [ask.message, *ask.notes, *material.told, *(turn.content for turn in material.turns)]
        beside += material.texts if ask.projected else []  # none of them was ever counted
        if laborious(beside, material.texts, self._limits):
            return await asyncio.to_thread(assemble, ask, material, self._limits, meter)
        return assemble(ask, material, self._limits, meter)


def processing(made: Assembled, pending: tuple[Pending, ...]) -> Assembled:
    """The same, with the true reason why nothing was found."""
    trace = replace(made.trace, reason=Reason.PROCESSING, pending=pending)
    return replace(made, prompt=replace(made.prompt, reason=trace.reason), trace=trace)


def cite(passage: Passage) -> Citation:
    """A packed passage as the reply names it."""
    fields = passage.fields
    page, page_end, url = fields.get("page"), fields.get("page_end"), url_of(passage)
    return named(
        passage.label,
        passage.source,
        own_id(passage),
        passage.title,
        page if isinstance(page, int) else None,
        page_end if isinstance(page_end, int) else None,
        url,
        metadata_of(passage),
    )


def url_of(passage: Passage) -> str | None:
    """Where it can be read; None: nowhere."""
    url, project = passage.fields.get("url"), passage.fields.get("project")
    named = isinstance(project, str) and "/" not in project and project not in {"", ".", ".."}
    if passage.source in ROWS and named:
        return f"/projects/{quote(str(project), safe='')}/{passage.source}/{passage.id}"
    return url if isinstance(url, str) else None
