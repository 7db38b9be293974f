"""What a project has to say to a message: the seeds' functions, under their names.

Sections are fetched at once, under one deadline (RAG_TIMEOUT_SECONDS), with one embedding of the message; a
source that fails or is late costs its section, never the answer. Whatever else goes wrong falls through to
the project's conversations by words and meaning. Raises nothing but on cancellation; times are seconds.
Source: seeds 000-002, CONTRACT §4; docs/decisions/0043.
"""

import asyncio
import time
from collections.abc import Mapping
from dataclasses import replace
from typing import TypedDict

import structlog

from app.domain.instructions import SYSTEM_PROJECT
from app.domain.knowledge import knowledge_text
from app.domain.passage import Passage, Scope
from app.domain.project import CODE, CONVERSATIONS, KnowledgeRecord
from app.domain.prompt import BREAK
from app.domain.trace import Degraded, Reason
from app.projects.gathered import Gathered, row_of
from app.projects.profile import DAAS, THN, Profile, default_of, profile_of
from app.projects.thn import ROW, SNIPPET
from app.services.excerpt import Excerpt, Means
from app.services.recall import timely

ANYBODY = Scope()
"""Who asks where nobody says: the default tenant, as in the seeds."""
UNEXPECTED = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)
"""What is a bug of ours or a row beyond imagination. (`ExceptionGroup`, what tasks raise, holds these.)"""

log = structlog.get_logger(__name__)


class Context(TypedDict):
    """What the seeds' functions give."""

    context: str
    notes: list[str]


class ProjectService:
    """Contexts of projects."""

    def __init__(self, means: Means, knowledge: KnowledgeRecord) -> None:
        self._means = means
        self._knowledge = knowledge

    async def gathered(
        self, scope: Scope, message: str | None, *, top_k: int | None = None, until: float | None = None
    ) -> Gathered:
        """What `scope.project` shows for a message, before any budget (`app/projects/gathered.py`).

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
            found = await self._shown(profile, scope, message, top_k, until)
        except (*UNEXPECTED, ExceptionGroup):
            log.exception("project context failed", project=profile.name)
            found = await self._default(default_of(profile), scope, message, top_k, until)
        return replace(found, took_ms=round((time.perf_counter() - started) * 1000))

    async def build_project_context(
        self, project: str, user_message: str | None, scope: Scope = ANYBODY, top_k: int | None = None
    ) -> Context:
        """A project's context for a message, and notes of how it came to be (seed 001, Integration)."""
        found = await self.gathered(replace(scope, project=project), user_message, top_k=top_k)
        return Context(context=found.context, notes=list(found.notes))

    async def build_thn_rag_context(self, user_message: str | None, scope: Scope = ANYBODY) -> Context:
        """The last conversations, and the code nearest to the message (seed 001, 1)."""
        return await self.build_project_context(THN, user_message, scope)

    async def build_daas_rag_context(
        self, user_message: str | None, top_k: int = 3, scope: Scope = ANYBODY
    ) -> Context:
        """The dreams nearest to the message (seed 000)."""
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
        database fails (seed 001, 4)."""
        asked = self._means.sources[CONVERSATIONS].newest(replace(scope, project=THN), limit)
        rows = rows_of(await timely(CONVERSATIONS, asked, self._until(), []))
        return [tuple(row.get(column) for column in ROW) for row in rows]

    async def _retrieve_thn_code(
        self, user_message: str | None, top_k: int = 5, scope: Scope = ANYBODY
    ) -> list[dict[str, object]]:
        """file_path, language, chunk_text and chunk_metadata of THN's nearest; none where the database or
        the embedding fails (seed 001, 5)."""
        excerpt = self._excerpt(replace(scope, project=THN), user_message, self._until())
        rows = rows_of(await excerpt.nearest(CODE, top_k))
        return [{line.column: row.get(line.column) for line in SNIPPET} for row in rows]

    async def _shown(
        self, profile: Profile, scope: Scope, message: str | None, top_k: int | None, until: float
    ) -> Gathered:
        """By a profile."""
        return await self._excerpt(scope, message, until).of(profile, top_k)

    async def _default(
        self, profile: Profile, scope: Scope, message: str | None, top_k: int | None, until: float
    ) -> Gathered:
        """What is shown after an unexpected error; nothing after another one."""
        try:
            return await self._shown(profile, scope, message, top_k, until)
        except (*UNEXPECTED, ExceptionGroup):
            log.exception("default context failed", project=profile.name)
            lost = tuple(Degraded(source, "unavailable") for source in profile.sources)
            return Gathered(profile, (), Reason.UNAVAILABLE, degraded=lost)

    def _excerpt(self, scope: Scope, message: str | None, until: float) -> Excerpt:
        """One message's way through the sources."""
        return Excerpt(self._means, scope, message or "", until)

    def _until(self) -> float:
        """When what begins now must end, in the loop's time."""
        return asyncio.get_running_loop().time() + self._means.retrieval.seconds


def rows_of(found: list[Passage] | None) -> list[Mapping[str, object]]:
    """Rows of passages; none of what failed."""
    return [row_of(passage) for passage in found or ()]
