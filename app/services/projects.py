"""A project's context for a message: its sections, read concurrently and cut to the budget; and its knowledge
(overview, rules and notes), which is in every prompt of the project.

Sections share one deadline (RAG_TIMEOUT_SECONDS) and one embedding, whose own deadline is earlier, so that a
hung embedding server leaves the stores time. A source that fails or is late costs its section, never the
answer; an unexpected error falls back to the project's conversations and code. Items are taken from the
sections in turn, so that neither the budget nor top_k starves one. Times are in seconds. Source:
docs/contract.md, docs/adr/0019. Writing knowledge raises `Forbidden`, `InvalidField`, `Missing`, `TooMany`,
`Unavailable`, `NoRoom`; the rest raises only on cancellation.
"""

import asyncio
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, zip_longest
from typing import TypedDict

import structlog

from app.answer import Recipe
from app.answering.budget import Meter, judged
from app.answering.projects import (
    NAME_CUT,
    Gathered,
    Item,
    Profile,
    Section,
    SectionChoice,
    ShownSection,
    default_of,
    fitted,
    profile_of,
    row_of,
    symbol,
)
from app.answering.prompt import PROJECT_FORM, QUARTER, entry, sizes
from app.answering.question import Question
from app.answering.recall import draw, of, running
from app.answering.replay import FORMS
from app.db.projects import Knowledge, KnowledgeChange, KnowledgeStore, ProjectSummary, merged
from app.errors import Forbidden, InvalidField, Missing, required
from app.retrieval.projects import RowSource
from app.retrieval.relevance import skipped
from app.retrieval.search import EMBEDDING_SHARE, Retrieval
from app.tasks import deadline, timely
from app.types import (
    ASIDE,
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
"""Least candidates of each retriever and source for fused sections."""
EMBEDDING = "embedding"
"""Source in `degraded` if the message could not be embedded."""

Vector = asyncio.Task[Embedding | None]
Fused = asyncio.Task[Found | None]


@dataclass(slots=True)
class Excerpt:
    service: "ProjectService"
    scope: Scope
    message: str
    until: float
    """The loop's time."""
    lost: list[Degraded] = field(default_factory=list)

    @property
    def blank(self) -> bool:
        return not self.message.strip()

    async def of(self, profile: Profile, top_k: int | None) -> Gathered:
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

    async def _stored(self, profile: Profile, drawn: Sequence[list[Candidate] | None]) -> bool:
        """True if there are rows although the nearest were none: rows may lack a vector."""
        if any(drawn):
            return True
        sections = zip(profile.sections, drawn, strict=True)
        doubtful = {
            section.source
            for section, one in sections
            if one is not None and section.choice is SectionChoice.NEAREST
        }
        for source in sorted(doubtful):
            asked = self.service.sources[source].newest(self.scope, 1)
            if await timely(source, asked, self.until, self.lost):
                return True
        return False

    async def _vector(self, profile: Profile) -> Embedding | None:
        """The message's vector, if a section needs it and it comes in its share of the time."""
        if self.blank or all(section.choice is not SectionChoice.NEAREST for section in profile.sections):
            return None
        retrieval = self.service.retrieval
        until = self.until - retrieval.seconds * (1 - EMBEDDING_SHARE)
        return await timely(EMBEDDING, retrieval.embedded(self.message, self.scope), until, self.lost)

    async def _fused(self, limits: Mapping[Section, int]) -> Found | None:
        fused = {
            section.source: limit
            for section, limit in limits.items()
            if section.choice is SectionChoice.FUSED
        }
        if not fused or self.blank:
            return None
        limit = max(CANDIDATES, *fused.values())
        query = Query(self.message, self.scope, limit=limit, threshold=self.service.threshold)
        found = await self.service.retrieval.gather(query, list(fused), until=self.until)
        self.lost.extend(found.degraded)
        return found

    async def _drawn(
        self, section: Section, limit: int, vector: Vector, fused: Fused
    ) -> list[Candidate] | None:
        if section.choice is SectionChoice.FUSED:
            return self._matches(section, limit, await asyncio.shield(fused))
        if section.choice is SectionChoice.NEWEST:
            asked = self.service.sources[section.source].newest(self.scope, limit)
        else:
            embedding = await asyncio.shield(vector)
            if embedding is None:
                return None
            asked = self.service.sources[section.source].most_similar(self.scope, embedding, limit)
        rows = await timely(section.source, asked, self.until, self.lost)
        return None if rows is None else [Candidate(row) for row in rows]

    def _matches(self, section: Section, limit: int, found: Found | None) -> list[Candidate] | None:
        mine = of(found.candidates, section.source) if found else []
        if found is None or (not mine and any(item.source == section.source for item in found.degraded)):
            return None
        twins = judged(of(found.duplicates, section.source), Verdict.DUPLICATE)
        return [*draw(mine, self.service.threshold, limit), *twins]

    def _gathered(
        self, profile: Profile, drawn: Sequence[list[Candidate] | None], found: Found, *, stored: bool
    ) -> Gathered:
        pairs = zip(profile.sections, drawn, strict=True)
        answered = [None if one is None else self._part(section, one) for section, one in pairs]
        parts = tuple(
            part or ShownSection(section) for section, part in zip(profile.sections, answered, strict=True)
        )
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

    def _part(self, section: Section, drawn: Sequence[Candidate]) -> ShownSection:
        items = [
            Item(item, fitted(section.form, row_of(item.passage), section.tokens, self.service.count))
            for item in running(drawn)
        ]
        empty = judged([item.candidate for item in items if not item.text], Verdict.SKIPPED)
        left = [item for item in drawn if item.verdict]
        return ShownSection(section, tuple(item for item in items if item.text), (*empty, *left))

    def _note(self, section: Section, part: ShownSection | None) -> str:
        if part is not None:
            return section.note.format(count=len(part.items))
        if self.blank:
            return f"No {section.noun} retrieved: the message is blank"
        items = [item for item in self.lost if item.source in (section.source, EMBEDDING)]
        why = ", ".join(f"{item.source} {item.reason}" for item in dict.fromkeys(items))
        return f"No {section.noun} retrieved: {why}"

    def _reason(self, parts: Sequence[ShownSection], *, stored: bool, answered: bool) -> Reason:
        if shown(parts):
            return Reason.OK
        lost = [item.reason for item in self.lost if item.source not in STAGES]
        if not lost:
            return Reason.EMPTY if answered and not stored else Reason.NO_MATCH
        if answered:
            return Reason.NO_MATCH
        return Reason.TIMEOUT if "timeout" in lost else Reason.UNAVAILABLE


def shown(parts: Sequence[ShownSection]) -> bool:
    return any(part.items for part in parts)


ANYBODY = Scope()
"""The default scope."""
UNEXPECTED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""Errors of a bug, or of a row that no check foresaw. Task groups raise them in an `ExceptionGroup`."""

log = structlog.get_logger(__name__)


class ProjectContext(TypedDict):
    context: str
    notes: list[str]


class ProjectService:
    def __init__(
        self,
        sources: Mapping[str, RowSource],
        retrieval: Retrieval,
        count: Callable[[str], int],
        *,
        threshold: float,
    ) -> None:
        """`count` gives o200k tokens; `threshold` (RAG_SIMILARITY_THRESHOLD) applies to fused sections."""
        self.sources = sources
        self.retrieval = retrieval
        self.count = count
        self.threshold = threshold

    async def gathered(
        self, scope: Scope, message: str | None, *, top_k: int | None = None, until: float | None = None
    ) -> Gathered:
        """What `scope.project` shows for a message, before any budget (`app/answering/projects.py`).

        Raises only on cancellation; ends within RAG_TIMEOUT_SECONDS, or at `until` (the loop's time). `top_k`
        applies if the profile allows it (DAAS: 1-5, else 3), and is ignored otherwise.
        """
        started = time.perf_counter()
        profile = profile_of(scope.project or "")
        until = deadline(self.retrieval.seconds) if until is None else until
        try:
            found = await Excerpt(self, scope, message or "", until).of(profile, top_k)
        except (*UNEXPECTED, ExceptionGroup):
            log.exception("project context failed", project=profile.name)
            found = await self._default(default_of(profile), scope, message, top_k, until)
        return replace(found, took_ms=round((time.perf_counter() - started) * 1000))

    async def build_project_context(
        self, project: str, user_message: str | None, scope: Scope = ANYBODY, top_k: int | None = None
    ) -> ProjectContext:
        """A project's context for a message, and notes on its retrieval."""
        found = await self.gathered(replace(scope, project=project), user_message, top_k=top_k)
        return ProjectContext(context=found.context, notes=list(found.notes))

    async def _default(
        self, profile: Profile, scope: Scope, message: str | None, top_k: int | None, until: float
    ) -> Gathered:
        try:
            return await Excerpt(self, scope, message or "", until).of(profile, top_k)
        except (*UNEXPECTED, ExceptionGroup):
            log.exception("default context failed", project=profile.name)
            lost = tuple(Degraded(source, "unavailable") for source in profile.sources)
            return Gathered(profile, (), Reason.UNAVAILABLE, degraded=lost)


Key = tuple[str, str]
"""(source, id)."""

TOKEN_BYTES = 128
"""Longest o200k token in bytes: text that certainly exceeds the budget is not even counted."""


def chosen(
    question: Question, gathered: Gathered, budget: int, threshold: float, meter: Meter
) -> tuple[list[Candidate], bool]:
    """(all candidates with their verdicts, packed ones first in prompt order; True if the skip rule
    holds)."""
    looked_for = [item.candidate for part in gathered.parts if sought(part) for item in part.items]
    short = bool(looked_for) and skipped(question.message, looked_for, threshold)
    offered, others = offers(gathered.parts, short=short)
    packed, over = pack_sections(offered, budget, question.top_k, meter)
    cut = Verdict.OVER_LIMIT if len(packed) == question.top_k else Verdict.OVER_BUDGET
    left = (scored(item, part.section) for part in gathered.parts for item in part.left)
    return [*judged(packed, Verdict.PACKED), *judged(over, cut), *others, *left], short


def sought(part: ShownSection) -> bool:
    return part.section.choice is not SectionChoice.NEWEST


def offers(parts: Sequence[ShownSection], *, short: bool) -> tuple[list[list[Candidate]], list[Candidate]]:
    """(each section's candidates, the rest with verdicts): a passage is shown by one section."""
    offered: list[list[Candidate]] = []
    others: list[Candidate] = []
    seen = set[Key]()
    for part in parts:
        items = [dressed(part.section, item) for item in part.items]
        if short and sought(part):
            others += judged(items, Verdict.SKIPPED)
            items = []
        first = {key(item): item for item in reversed(items) if key(item) not in seen}
        others += judged((item for item in items if first.get(key(item)) is not item), Verdict.DUPLICATE)
        offered.append([item for item in items if first.get(key(item)) is item])
        seen |= first.keys()
    return offered, others


def key(item: Candidate) -> Key:
    return item.passage.source, item.passage.id


def dressed(section: Section, item: Item) -> Candidate:
    shown = placed(item.passage, section, item.text)
    return scored(Candidate(shown), section)


def scored(item: Candidate, section: Section) -> Candidate:
    """With the similarity as score if cosine alone chose it; the newest have none."""
    passage = item.passage
    if section.choice is not SectionChoice.NEAREST or passage.similarity is None:
        return item
    return replace(item, passage=replace(passage, score=min(max(passage.similarity, 0.0), 1.0)))


def placed(passage: Passage, section: Section, text: str) -> Passage:
    """A row as its section shows it; code is named after what it defines, since its label has the path."""
    name = symbol(passage.fields.get("chunk_metadata"), NAME_CUT)
    return entry(passage, text, heading=section.heading, between=section.between, name=name)


def entries(
    recipe: Recipe, passages: Mapping[Key, Passage], count: Callable[[str], int]
) -> dict[Key, Passage]:
    """Rows as the project's profile shows them now, for answers that showed them so."""
    if FORMS[recipe.form] is not PROJECT_FORM:
        return dict(passages)
    sections = {section.source: section for section in profile_of(recipe.project or "").sections}
    return {
        key: rewritten(passage, sections[passage.source], count) if passage.source in sections else passage
        for key, passage in passages.items()
    }


def rewritten(passage: Passage, section: Section, count: Callable[[str], int]) -> Passage:
    return placed(passage, section, fitted(section.form, row_of(passage), section.tokens, count))


def pack_sections(
    offered: Sequence[Sequence[Candidate]], budget: int, most: int | None, meter: Meter
) -> tuple[list[Candidate], list[Candidate]]:
    """(packed, over) of sections' items, both in the order shown. Counts the joined block, so it is never
    over budget."""
    shown = list(chain.from_iterable(offered))
    turns = [item for rank in zip_longest(*offered) for item in rank if item is not None]
    taken = {id(item) for item in turns[:most]}
    if not fits(among(shown, taken), budget, meter):
        taken = by_turns(turns, shown, budget, most, meter)
    return among(shown, taken), [item for item in shown if id(item) not in taken]


def by_turns(
    turns: Iterable[Candidate], shown: Sequence[Candidate], budget: int, most: int | None, meter: Meter
) -> set[int]:
    """Indices of the items that fit together, at most `most`; one that is too long is skipped."""
    taken = set[int]()
    for item in turns:
        if most is not None and len(taken) >= most:
            break
        if fits(among(shown, more := taken | {id(item)}), budget, meter):
            taken = more
    return taken


def among(items: Iterable[Candidate], ids: set[int]) -> list[Candidate]:
    return [item for item in items if id(item) in ids]


def fits(items: Sequence[Candidate], budget: int, meter: Meter) -> bool:
    if sum(len(item.passage.text) for item in items) > budget * TOKEN_BYTES:
        return False
    return meter(PROJECT_FORM.block([item.passage for item in items])) <= budget


def reason(gathered: Gathered, candidates: Iterable[Candidate], *, short: bool) -> Reason:
    if gathered.reason is not Reason.OK:
        return gathered.reason
    if any(item.verdict is Verdict.PACKED for item in candidates):
        return Reason.OK
    return Reason.SKIPPED if short else Reason.NO_MATCH


class KnowledgeService:
    """Knowledge for its writers. The scope names the project."""

    def __init__(self, record: KnowledgeStore, count: Callable[[str], int], window: int) -> None:
        """`count` gives tokens of the answering model, `window` is its size."""
        self._record = record
        self._count = count
        self._most = window // QUARTER

    async def get(self, scope: Scope) -> Knowledge:
        found = await self._found(scope)
        if found is None:
            raise Missing("this project has no knowledge")
        return found

    async def projects(self, scope: Scope) -> Sequence[str]:
        """Names of the projects that the scope may ask about."""
        return await self._record.projects(scope)

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[ProjectSummary], str | None, int]:
        return await self._record.summaries(scope, cursor=cursor, limit=limit)

    async def put(self, scope: Scope, knowledge: Knowledge) -> Knowledge:
        check_tenant_key(scope)
        await asyncio.to_thread(self._admit, knowledge, Knowledge(), ("overview", "rules", "notes"))
        await self._record.put(scope, knowledge)
        return knowledge

    async def merge(self, scope: Scope, change: KnowledgeChange) -> Knowledge:
        """Replace the given parts, note by note; returns the result. Two concurrent calls may together exceed
        the limit; a chat then leaves out parts."""
        check_tenant_key(scope)
        before = await self._found(scope) or Knowledge()
        sent = [name for name in ("overview", "rules", "notes") if getattr(change, name)]
        await asyncio.to_thread(self._admit, merged(before, change), before, sent)
        return await self._record.merge(scope, change)

    async def remove(self, scope: Scope) -> None:
        check_tenant_key(scope)
        if not await self._record.remove(scope):
            raise Missing("this project has no knowledge")

    async def _found(self, scope: Scope) -> Knowledge | None:
        with required("Postgres"):
            return await self._record.get(scope)

    def _admit(self, knowledge: Knowledge, before: Knowledge, sent: Sequence[str]) -> None:
        """`InvalidField` for the largest field sent, if the knowledge is too long and not shorter than
        before."""
        taken = sizes(knowledge, self._count)
        total = sum(taken.values())
        if total <= self._most or not sent or total < sum(sizes(before, self._count).values()):
            return
        raise InvalidField(
            f"overview, rules and notes take {total} tokens together, and may take {self._most}: a quarter of"
            " the model's window",
            field=f"body.{max(sent, key=taken.__getitem__)}",
        )


def check_tenant_key(scope: Scope) -> None:
    if scope.owner:
        raise Forbidden("knowledge needs a tenant key")
