"""Hand-written stand-ins of what a chat asks of projects."""

import asyncio
from dataclasses import dataclass, field

from app.answering.projects import Gathered, Item, ShownSection, profile_of
from app.db.projects import Knowledge, KnowledgeChange, KnowledgeStore, merged
from app.errors import IbidError
from app.types import CODE, CONVERSATIONS, DREAMS, Candidate, Degraded, Passage, Reason, Scope


def row(source: str, key: str, text: str, similarity: float | None = None, title: str = "") -> Passage:
    """A row of a project as its source finds it."""
    called = {CONVERSATIONS: "conversation", CODE: "main.py", DREAMS: "dream"}[source]
    return Passage(source, key, text, 5, f"{called}#{key}", similarity=similarity, title=title)


def gathered(*rows: Passage, project: str = "THN", reason: Reason | None = None) -> Gathered:
    """A project's context of these rows, each in the section of its source, shown as its text."""
    profile = profile_of(project)
    parts = [
        ShownSection(
            section, tuple(Item(Candidate(one), one.text) for one in rows if one.source == section.source)
        )
        for section in profile.sections
    ]
    found = Reason.OK if any(part.items for part in parts) else Reason.EMPTY
    return Gathered(profile, tuple(parts), reason or found, notes=("Retrieved as a project says",))


@dataclass
class FakeProjects:
    """Shows what it was given; remembers what it was asked. `delay` is cut off by the deadline."""

    shown: Gathered = field(default_factory=lambda: gathered(reason=Reason.EMPTY))
    asked: list[tuple[Scope, str | None, int | None]] = field(default_factory=list)
    delay: float = 0

    async def gathered(
        self, scope: Scope, message: str | None, *, top_k: int | None = None, until: float | None = None
    ) -> Gathered:
        """The same for every message."""
        self.asked.append((scope, message, top_k))
        try:
            async with asyncio.timeout_at(until):
                await asyncio.sleep(self.delay)
        except TimeoutError:
            lost = (Degraded(CONVERSATIONS, "timeout"),)
            return Gathered(self.shown.profile, (), Reason.TIMEOUT, degraded=lost)
        return self.shown


@dataclass
class FakeKnowledge(KnowledgeStore):
    """Knows what it was given of every project; may wait, or fail."""

    known: Knowledge | None = None
    delay: float = 0
    error: IbidError | None = None
    asked: list[Scope] = field(default_factory=list)

    async def get(self, scope: Scope) -> Knowledge | None:
        self.asked.append(scope)
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return self.known

    async def put(self, scope: Scope, knowledge: Knowledge) -> None:
        self.known = knowledge

    async def merge(self, scope: Scope, change: KnowledgeChange) -> Knowledge:
        self.known = merged(self.known or Knowledge(), change)
        return self.known

    async def remove(self, scope: Scope) -> bool:
        before, self.known = self.known, None
        return before is not None

    async def projects(self, scope: Scope) -> list[str]:
        return []
