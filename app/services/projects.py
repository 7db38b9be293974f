"""What a project shows for a message: its sections, read concurrently, and what of them fits the budget.

Sections share one deadline (RAG_TIMEOUT_SECONDS) and one embedding of the message, whose own deadline is
earlier, so that a hung embedding server leaves the stores time to answer. A source that fails or is late
costs its section, never the answer; anything unexpected falls back to the project's conversations and code.
Items are taken from the sections by turns, so that neither the budget nor top_k starves one. Raises nothing
but on cancellation. Seconds. Source: docs/contract.md, docs/adr/0019.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import TypedDict

import structlog

from app.answer import BREAK, Recipe
from app.answering.budget import Meter, Selection, noted
from app.answering.projects import (
    DAAS,
    NAME_CUT,
    ROW,
    SNIPPET,
    THN,
    Choice,
    Gathered,
    Item,
    Part,
    Profile,
    Section,
    default_of,
    fitted,
    profile_of,
    row_of,
    symbol,
)
from app.answering.prompt import PROJECT_FORM, SYSTEM_PROJECT, entry, knowledge_text
from app.answering.question import Question
from app.answering.recall import Drawn, deadline, draw, judged, of, timely
from app.answering.replay import FORMS
from app.db.projects import KnowledgeStore
from app.retrieval.projects import RowSource
from app.retrieval.relevance import skipped
from app.retrieval.search import EMBEDDING_SHARE, Retrieval
from app.types import (
    ASIDE,
    CODE,
    CONVERSATIONS,
    STAGES,
    Candidate,
    Degraded,
    Embedding,
    Found,
    Passage,
    Query,
    Reason,
    Scope,
    Verdict,
)

CANDIDATES = 40
"""Passages a leg of each source gives to fused sections, at least."""
EMBEDDING = "embedding"
"""What is degraded where the message could not be embedded."""

Vector = asyncio.Task[Embedding | None]
Fused = asyncio.Task[Found | None]


@dataclass(frozen=True, slots=True)
class Means:
    """What an excerpt is made with."""

    sources: Mapping[str, RowSource]
    retrieval: Retrieval
    count: Callable[[str], int]
    """o200k tokens."""
    threshold: float
    """RAG_SIMILARITY_THRESHOLD: of fused sections."""


@dataclass(slots=True)
class Excerpt:
    """What one message draws from a project."""

    means: Means
    scope: Scope
    message: str
    until: float
    """The loop's time."""
    lost: list[Degraded] = field(default_factory=list)

    @property
    def blank(self) -> bool:
        """Nothing can be searched for."""
        return not self.message.strip()

    async def of(self, profile: Profile, top_k: int | None) -> Gathered:
        """All sections of a profile."""
        limits = {section: section.wanted(top_k) for section in profile.sections}
        async with asyncio.TaskGroup() as group:
            vector = group.create_task(self._vector(profile))
            fused = group.create_task(self._fused(limits))
            drawn = [
                group.create_task(self._drawn(section, limit, vector, fused))
                for section, limit in limits.items()
            ]
        found = fused.result() or Found()
        results = [task.result() for task in drawn]
        stored = found.stored > 0 or await self._stored(profile, results)
        if any(section.tokens for section in profile.sections):  # counting may take milliseconds
            return await asyncio.to_thread(self._gathered, profile, results, found, stored=stored)
        return self._gathered(profile, results, found, stored=stored)

    async def nearest(self, source: str, limit: int) -> list[Passage] | None:
        """By cosine; None: the message is blank, or something failed."""
        vector = None if self.blank else await self._embedded()
        if vector is None:
            return None
        asked = self.means.sources[source].most_similar(self.scope, vector, limit)
        return await timely(source, asked, self.until, self.lost)

    async def _stored(self, profile: Profile, drawn: Sequence[Drawn | None]) -> bool:
        """True if anything is stored where the nearest were none: rows without a vector are not nothing."""
        if any(one.chosen or one.left for one in drawn if one):
            return True
        sections = zip(profile.sections, drawn, strict=True)
        doubtful = {section.source for section, one in sections if one and section.choice is Choice.NEAREST}
        for source in sorted(doubtful):
            asked = self.means.sources[source].newest(self.scope, 1)
            if await timely(source, asked, self.until, self.lost):
                return True
        return False

    async def _vector(self, profile: Profile) -> Embedding | None:
        """The message's, where a section looks for the nearest."""
        asked = any(section.choice is Choice.NEAREST for section in profile.sections)
        return await self._embedded() if asked and not self.blank else None

    async def _embedded(self) -> Embedding | None:
        """The message's vector, if it comes in its part of the time."""
        until = self.until - self.means.retrieval.seconds * (1 - EMBEDDING_SHARE)
        return await timely(
            EMBEDDING, self.means.retrieval.embedded(self.message, self.scope), until, self.lost
        )

    async def _fused(self, limits: Mapping[Section, int]) -> Found | None:
        """One search for all fused sections; None: there are none, or nothing to search for."""
        fused = {section.source: limit for section, limit in limits.items() if section.choice is Choice.FUSED}
        if not fused or self.blank:
            return None
        limit = max(CANDIDATES, *fused.values())
        query = Query(self.message, self.scope, limit=limit, threshold=self.means.threshold)
        found = await self.means.retrieval.gather(query, list(fused), until=self.until)
        self.lost.extend(found.degraded)
        return found

    async def _drawn(self, section: Section, limit: int, vector: Vector, fused: Fused) -> Drawn | None:
        """What a section may show; None: it was not searched."""
        if section.choice is Choice.FUSED:
            return self._matches(section, limit, await asyncio.shield(fused))
        if section.choice is Choice.NEWEST:
            asked = self.means.sources[section.source].newest(self.scope, limit)
        else:
            embedding = await asyncio.shield(vector)
            if embedding is None:
                return None
            asked = self.means.sources[section.source].most_similar(self.scope, embedding, limit)
        rows = await timely(section.source, asked, self.until, self.lost)
        return None if rows is None else Drawn(tuple(map(Candidate, rows)))

    def _matches(self, section: Section, limit: int, found: Found | None) -> Drawn | None:
        """Those of a section's source that match, most relevant first."""
        mine = of(found.candidates, section.source) if found else []
        if found is None or (not mine and any(item.source == section.source for item in found.degraded)):
            return None
        drawn = draw(mine, self.means.threshold, limit)
        twins = judged(of(found.duplicates, section.source), Verdict.DUPLICATE)
        return Drawn(drawn.chosen, (*drawn.left, *twins))

    def _gathered(
        self, profile: Profile, drawn: Sequence[Drawn | None], found: Found, *, stored: bool
    ) -> Gathered:
        """Entries, notes and the reason."""
        pairs = zip(profile.sections, drawn, strict=True)
        answered = [None if one is None else self._part(section, one) for section, one in pairs]
        parts = tuple(part or Part(section) for section, part in zip(profile.sections, answered, strict=True))
        lost = tuple(dict.fromkeys(self.lost))
        failed = any(item.source not in ASIDE for item in lost) and not shown(parts)
        notes = [
            self._note(section, part)
            for section, part in zip(profile.sections, answered, strict=True)
            if not section.optional or (part.items if part else not self.blank)
        ]
        return Gathered(
            profile,
            parts,
            self._reason(parts, stored=stored, answered=any(answered)),
            degraded=lost,
            notes=() if failed and profile.silent else (*notes, *found.notes),
            cached=found.cached,
            sources=found.sources,
        )

    def _part(self, section: Section, drawn: Drawn) -> Part:
        """A section's entries; rows that hold nothing are not shown."""
        told = [
            Item(item, fitted(section.form, row_of(item.passage), section.tokens, self.means.count))
            for item in drawn.chosen
        ]
        empty = judged([item.candidate for item in told if not item.text], Verdict.SKIPPED)
        return Part(section, tuple(item for item in told if item.text), (*empty, *drawn.left))

    def _note(self, section: Section, part: Part | None) -> str:
        """How it went, in words."""
        if part is not None:
            return section.note.format(count=len(part.items))
        if self.blank:
            return f"No {section.noun} retrieved: the message is blank"
        told = [item for item in self.lost if item.source in (section.source, EMBEDDING)]
        why = ", ".join(f"{item.source} {item.reason}" for item in dict.fromkeys(told))
        return f"No {section.noun} retrieved: {why}"

    def _reason(self, parts: Sequence[Part], *, stored: bool, answered: bool) -> Reason:
        """In the precedence of `rag.reason`."""
        if shown(parts):
            return Reason.OK
        lost = [item.reason for item in self.lost if item.source not in STAGES]
        if not lost:
            return Reason.EMPTY if answered and not stored else Reason.NO_MATCH
        if answered:
            return Reason.NO_MATCH
        return Reason.TIMEOUT if "timeout" in lost else Reason.UNAVAILABLE


def shown(parts: Sequence[Part]) -> bool:
    """True if anything is."""
    return any(part.items for part in parts)


ANYBODY = Scope()
"""Who asks where nobody says: the default tenant."""
UNEXPECTED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What is a bug of ours or a row beyond imagination. (`ExceptionGroup`, what tasks raise, holds these.)"""

log = structlog.get_logger(__name__)


class ProjectContext(TypedDict):
    """A context and its notes."""

    context: str
    notes: list[str]


class ProjectService:
    def __init__(self, means: Means, knowledge: KnowledgeStore) -> None:
        self._means = means
        self._knowledge = knowledge

    async def gathered(
        self, scope: Scope, message: str | None, *, top_k: int | None = None, until: float | None = None
    ) -> Gathered:
        """What `scope.project` shows for a message, before any budget (`app/answering/projects.py`).

        Never raises but on cancellation; ends within RAG_TIMEOUT_SECONDS, or by `until` (the loop's time)
        where part of it is gone already. `Gathered.items` are in the order shown, each with its passage
        (label, id, similarity, score) and its text; drop what does not fit with `keeping(items)` and show
        `.context`: with nothing dropped it is `build_project_context`'s text to the byte. `top_k` counts
        where a profile lets it (DAAS: 1-5, else 3), and is ignored elsewhere. In a fused section items are
        in order of relevance (`passage.score`), and `Part.left` has what was seen and not shown.
        """
        started = time.perf_counter()
        profile = profile_of(scope.project or "")
        until = self._until() if until is None else until
        try:
            found = await self._excerpt(scope, message, until).of(profile, top_k)
        except (*UNEXPECTED, ExceptionGroup):
            log.exception("project context failed", project=profile.name)
            found = await self._default(default_of(profile), scope, message, top_k, until)
        return replace(found, took_ms=round((time.perf_counter() - started) * 1000))

    async def build_project_context(
        self, project: str, user_message: str | None, scope: Scope = ANYBODY, top_k: int | None = None
    ) -> ProjectContext:
        """A project's context for a message, and notes of how it came to be."""
        found = await self.gathered(replace(scope, project=project), user_message, top_k=top_k)
        return ProjectContext(context=found.context, notes=list(found.notes))

    async def build_thn_rag_context(self, user_message: str | None, scope: Scope = ANYBODY) -> ProjectContext:
        """The last conversations, and the code nearest to the message."""
        return await self.build_project_context(THN, user_message, scope)

    async def build_daas_rag_context(
        self, user_message: str | None, top_k: int = 3, scope: Scope = ANYBODY
    ) -> ProjectContext:
        """The dreams nearest to the message."""
        return await self.build_project_context(DAAS, user_message, scope, top_k)

    async def build_project_system_prompt(self, project: str, scope: Scope = ANYBODY) -> str:
        """The base prompt, and the project's overview and rules behind it, if known in time."""
        asked = self._knowledge.get(replace(scope, project=project))
        known = await timely("knowledge", asked, self._until(), [])
        told = knowledge_text(known) if known else ""
        return BREAK.join(filter(None, (SYSTEM_PROJECT, told)))

    async def _retrieve_thn_conversations(
        self, limit: int = 5, scope: Scope = ANYBODY
    ) -> list[tuple[object, ...]]:
        """(title, tags, key_entities, summary_detailed, memory_snippet) of THN's newest; none where the
        database fails."""
        asked = self._means.sources[CONVERSATIONS].newest(replace(scope, project=THN), limit)
        rows = rows_of(await timely(CONVERSATIONS, asked, self._until(), []))
        return [tuple(row.get(column) for column in ROW) for row in rows]

    async def _retrieve_thn_code(
        self, user_message: str | None, top_k: int = 5, scope: Scope = ANYBODY
    ) -> list[dict[str, object]]:
        """file_path, language, chunk_text and chunk_metadata of THN's nearest; none where the database or
        the embedding fails."""
        excerpt = self._excerpt(replace(scope, project=THN), user_message, self._until())
        rows = rows_of(await excerpt.nearest(CODE, top_k))
        return [{line.column: row.get(line.column) for line in SNIPPET} for row in rows]

    async def _default(
        self, profile: Profile, scope: Scope, message: str | None, top_k: int | None, until: float
    ) -> Gathered:
        """What is shown after an unexpected error; nothing after another one."""
        try:
            return await self._excerpt(scope, message, until).of(profile, top_k)
        except (*UNEXPECTED, ExceptionGroup):
            log.exception("default context failed", project=profile.name)
            lost = tuple(Degraded(source, "unavailable") for source in profile.sources)
            return Gathered(profile, (), Reason.UNAVAILABLE, degraded=lost)

    def _excerpt(self, scope: Scope, message: str | None, until: float) -> Excerpt:
        """One message's way through the sources."""
        return Excerpt(self._means, scope, message or "", until)

    def _until(self) -> float:
        """The deadline of a read that begins now."""
        return deadline(self._means.retrieval.seconds)


def rows_of(found: list[Passage] | None) -> list[Mapping[str, object]]:
    """Rows of passages; none of what failed."""
    return [row_of(passage) for passage in found or ()]


Key = tuple[str, str]
"""Source and id."""
Judged = tuple[Candidate, Verdict]

TOKEN_BYTES = 128
"""A token of o200k is no longer: what is certainly over the budget is not even counted."""


def chosen(question: Question, gathered: Gathered, budget: int, threshold: float, meter: Meter) -> Selection:
    """The items in prompt order, and the ledger of all that was seen."""
    looked_for = [item.candidate for part in gathered.parts if sought(part) for item in part.items]
    short = bool(looked_for) and skipped(question.message, looked_for, threshold)
    offered, verdicts = offers(gathered.parts, short=short)
    packed, over = fitting(offered, budget, question.top_k, meter)
    cut = Verdict.OVER_LIMIT if len(packed) == question.top_k else Verdict.OVER_BUDGET
    ledger = [
        *((item, Verdict.PACKED) for item in packed),
        *((item, cut) for item in over),
        *verdicts,
        *((scored(left, part.section), verdict) for part in gathered.parts for left, verdict in part.left),
    ]
    entries = tuple(noted(item, verdict) for item, verdict in ledger)
    return Selection(tuple(item.passage for item in packed), entries, short)


def sought(part: Part) -> bool:
    """True if its items were looked for; else they are the newest, whatever was said."""
    return part.section.choice is not Choice.NEWEST


def offers(parts: Sequence[Part], *, short: bool) -> tuple[list[list[Candidate]], list[Judged]]:
    """(what each section has to show, what became of the rest): a passage is shown by one section."""
    offered: list[list[Candidate]] = []
    verdicts: list[Judged] = []
    seen = set[Key]()
    for part in parts:
        items = [dressed(part.section, item) for item in part.items]
        if short and sought(part):
            verdicts += judged(items, Verdict.SKIPPED)
            items = []
        first = {key(item): item for item in reversed(items) if key(item) not in seen}
        verdicts += [(item, Verdict.DUPLICATE) for item in items if first.get(key(item)) is not item]
        offered.append([item for item in items if first.get(key(item)) is item])
        seen |= first.keys()
    return offered, verdicts


def key(item: Candidate) -> Key:
    """Which passage it is."""
    return item.passage.source, item.passage.id


def dressed(section: Section, item: Item) -> Candidate:
    """An item as its section shows it, with its score."""
    shown = placed(item.passage, section, item.text)
    return scored(Candidate(shown, item.candidate.words), section)


def scored(item: Candidate, section: Section) -> Candidate:
    """With the score that chose it: where cosine alone did, that is the similarity, from 0 to 1. Time gives
    none."""
    passage = item.passage
    if section.choice is not Choice.NEAREST or passage.similarity is None:
        return item
    return replace(item, passage=replace(passage, score=min(max(passage.similarity, 0.0), 1.0)))


def placed(passage: Passage, section: Section, text: str) -> Passage:
    """A row as its section shows it; code is called what it defines, for its label tells the path."""
    name = symbol(passage.fields.get("chunk_metadata"), NAME_CUT)
    return entry(passage, text, heading=section.heading, between=section.between, name=name)


def entries(
    recipe: Recipe, passages: Mapping[Key, Passage], count: Callable[[str], int]
) -> dict[Key, Passage]:
    """Rows as the project's profile shows them today, where an answer showed them so."""
    if FORMS[recipe.form] is not PROJECT_FORM:
        return dict(passages)
    sections = {section.source: section for section in profile_of(recipe.project or "").sections}
    return {
        key: rewritten(passage, sections[passage.source], count) if passage.source in sections else passage
        for key, passage in passages.items()
    }


def rewritten(passage: Passage, section: Section, count: Callable[[str], int]) -> Passage:
    """A row as an entry of its section."""
    return placed(passage, section, fitted(section.form, row_of(passage), section.tokens, count))


def fitting(
    offered: Sequence[Sequence[Candidate]], budget: int, most: int | None, meter: Meter
) -> tuple[list[Candidate], list[Candidate]]:
    """(packed, over) of sections' items, both in the order shown. Counted as the block would be sent, so that
    it is never over."""
    shown = list(chain.from_iterable(offered))
    turns = [item for rank in zip_longest(*offered) for item in rank if item is not None]
    taken = {id(item) for item in turns[:most]}
    if not fits(among(shown, taken), budget, meter):
        taken = by_turns(turns, shown, budget, most, meter)
    return among(shown, taken), [item for item in shown if id(item) not in taken]


def by_turns(
    turns: Iterable[Candidate], shown: Sequence[Candidate], budget: int, most: int | None, meter: Meter
) -> set[int]:
    """As many as fit together, at most `most`; one that is too long is passed over."""
    taken = set[int]()
    for item in turns:
        if most is not None and len(taken) >= most:
            break
        if fits(among(shown, more := taken | {id(item)}), budget, meter):
            taken = more
    return taken


def among(items: Iterable[Candidate], ids: set[int]) -> list[Candidate]:
    """Those of these identities, in their order."""
    return [item for item in items if id(item) in ids]


def fits(items: Sequence[Candidate], budget: int, meter: Meter) -> bool:
    """True if a block of these stays in budget."""
    if sum(len(item.passage.text) for item in items) > budget * TOKEN_BYTES:
        return False
    return meter(PROJECT_FORM.block([item.passage for item in items])) <= budget


def reason(gathered: Gathered, selection: Selection) -> Reason:
    """`rag.reason` in its precedence."""
    if gathered.reason is not Reason.OK:
        return gathered.reason
    if selection.passages:
        return Reason.OK
    return Reason.SKIPPED if selection.short else Reason.NO_MATCH
