"""What a project has: its sources, and its knowledge. A project is named by `Scope.project`.

A passage of `conversations` or `dreams` carries the row's columns in `fields` as they are stored: title,
tags, key_entities (JSON text), summary_short, summary_detailed, memory_snippet, project, indexed_at (ISO
8601); one of `code` file_path, language, chunk_metadata (JSON text), start_line, end_line, project. Null is
None.
Source: seeds 000-002, CONTRACT §4.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from app.domain.errors import TooMany
from app.domain.passage import Embedding, Passage, Scope
from app.domain.ports import Source

CONVERSATIONS, CODE, DREAMS = "conversations", "code", "dreams"
"""Sources; their file names, and `Passage.source`."""


class ProjectSource(Source, Protocol):
    """A source that a project's context is made of, also by time and by meaning alone.

    Both raise `RetrievalError`, and give nothing outside of the scope's tenant, owner and project (None: all
    projects of the tenant). Exact, so that no filter ever makes them short.
    """

    async def newest(self, scope: Scope, limit: int) -> list[Passage]:
        """By indexed_at, newest first, those without a time last; similarity None."""

    async def most_similar(self, scope: Scope, vector: Embedding, limit: int) -> list[Passage]:
        """By cosine alone, rows without a vector left out, ties by id."""


@dataclass(frozen=True, slots=True)
class KnowledgeNote:
    """A note of a project, put before the model in every chat of it."""

    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Knowledge:
    """What is told of a project whatever is asked."""

    overview: str = ""
    rules: str = ""
    notes: tuple[KnowledgeNote, ...] = ()


@dataclass(frozen=True, slots=True)
class KnowledgeChange:
    """A part of it that is written anew; None and what is not named stay as they are."""

    overview: str | None = None
    rules: str | None = None
    notes: tuple[KnowledgeNote, ...] = ()


MOST_NOTES = 50
"""Of a project: each stands in every prompt of it."""


def merged(before: Knowledge, change: KnowledgeChange) -> Knowledge:
    """A note takes the place of the one of its title, else it stands behind the others. `TooMany`."""
    notes = {note.title: note for note in (*before.notes, *change.notes)}
    if len(notes) > MOST_NOTES:
        raise TooMany(f"a project has {MOST_NOTES} notes at most; remove some (PUT replaces all)")
    return Knowledge(
        before.overview if change.overview is None else change.overview,
        before.rules if change.rules is None else change.rules,
        tuple(notes.values()),
    )


class KnowledgeRecord(Protocol):
    """`ibid.project_knowledge`. Reads raise `RetrievalError`, writes `Unavailable`."""

    async def get(self, scope: Scope) -> Knowledge | None:
        """The scope's project's; None: nobody wrote any."""

    async def put(self, scope: Scope, knowledge: Knowledge) -> None:
        """Replaces."""

    async def merge(self, scope: Scope, change: KnowledgeChange) -> Knowledge:
        """`merged` with what is there, whoever else writes; what it is now."""

    async def remove(self, scope: Scope) -> bool:
        """Gone; False: there was none."""

    async def projects(self, scope: Scope) -> Sequence[str]:
        """Those of the tenant that have any."""
