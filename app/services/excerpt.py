"""One message's way through the sources of a project: all sections at once, then their entries and notes.

The message is embedded once, and by its own earlier deadline, so that a hung embedding server leaves the
stores time to answer. A part that fails or is late ends in `lost`, and the others are shown. Seconds. Raises
what is a bug alone (in an `ExceptionGroup`). Source: CONTRACT §4, seed 000 (Behavior), seed 001 (1).
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from app.domain.found import ASIDE, STAGES, Found
from app.domain.passage import Candidate, Embedding, Passage, Query, Scope
from app.domain.project import ProjectSource
from app.domain.recall import Drawn, draw, judged, of
from app.domain.trace import Degraded, Reason, Verdict
from app.projects.entry import fitted
from app.projects.gathered import Gathered, Item, Part, row_of
from app.projects.profile import Profile
from app.projects.section import Choice, Section
from app.services.recall import timely
from app.services.retrieval import EMBEDDING_SHARE, Retrieval

CANDIDATES = 40
"""Passages a leg of each source gives to fused sections, at least."""
EMBEDDING = "embedding"
"""What is degraded where the message could not be embedded."""

Vector = asyncio.Task[Embedding | None]
Fused = asyncio.Task[Found | None]


@dataclass(frozen=True, slots=True)
class Means:
    """What an excerpt is made with."""

    sources: Mapping[str, ProjectSource]
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
        """Whether anything is stored where the nearest were none: rows without a vector are not nothing."""
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
        answered = self._answered(profile.sections, drawn)
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

    def _answered(self, sections: Sequence[Section], drawn: Sequence[Drawn | None]) -> list[Part | None]:
        """What each section may show; None: it was not searched."""
        pairs = zip(sections, drawn, strict=True)
        return [None if one is None else self._part(section, one) for section, one in pairs]

    def _part(self, section: Section, drawn: Drawn) -> Part:
        """A section's entries; rows that hold nothing are not shown."""
        told = [
            Item(item, fitted(section.form, row_of(item.passage), section.tokens, self.means.count))
            for item in drawn.chosen
        ]
        empty = judged([item.candidate for item in told if not item.text], Verdict.SKIPPED)
        return Part(section, tuple(item for item in told if item.text), (*empty, *drawn.left))

    def _note(self, section: Section, part: Part | None) -> str:
        """How it went, in the seeds' words; in ours where they have none."""
        if part is not None:
            return section.note.format(count=len(part.items))
        if self.blank:
            return f"No {section.noun} retrieved: the message is blank"
        told = [item for item in self.lost if item.source in (section.source, EMBEDDING)]
        why = ", ".join(f"{item.source} {item.reason}" for item in dict.fromkeys(told))
        return f"No {section.noun} retrieved: {why}"

    def _reason(self, parts: Sequence[Part], *, stored: bool, answered: bool) -> Reason:
        """In CONTRACT §1's precedence."""
        if shown(parts):
            return Reason.OK
        lost = [item.reason for item in self.lost if item.source not in STAGES]
        if not lost:
            return Reason.EMPTY if answered and not stored else Reason.NO_MATCH
        if answered:
            return Reason.NO_MATCH
        return Reason.TIMEOUT if "timeout" in lost else Reason.UNAVAILABLE


def shown(parts: Sequence[Part]) -> bool:
    """Whether anything is."""
    return any(part.items for part in parts)
