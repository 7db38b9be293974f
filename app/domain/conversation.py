"""Rows of conversation_index as they are written and what their write side asks for.

A row is known by its id: the UUID that was given, where its tenant is `default` and it has no owner, else a
UUIDv5 of (tenant, owner, project, id); unnamed, of what was given. What was given is hashed (SHA-256): the
same again costs nothing. What was said (`said`, `text`) is raw material for what is missing, and is not kept.
Lengths are characters, times UTC. Source: seeds 000-001, CONTRACT §4, docs/decisions/0045.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

from app.domain.passage import DEFAULT_TENANT, Embedding, Scope

IDS = uuid.UUID("5b8f1a52-6f0e-5c39-9f3b-7a1d2c44e0d6")
"""What rows are named under."""
VERSION = 1
"""Of the hash: what was hashed in another way is written anew."""


class Outcome(StrEnum):
    """What became of a row."""

    CREATED = "created"
    REPLACED = "replaced"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class Said:
    """A turn of a conversation that is to be summed up."""

    role: str
    """user, assistant; others are passed over."""
    text: str


@dataclass(frozen=True, slots=True)
class Made:
    """What a summary makes; "": it could not."""

    title: str = ""
    summary_short: str = ""
    summary_detailed: str = ""
    memory_snippet: str = ""


TITLE, SHORT, DETAILED, SNIPPET = 80, 300, 1_500, 300
"""Lengths of what is made, at most."""
ENDS = re.compile(r"[.!?…](?=\s|$)|[。！？।؟]")


def shortened(text: str, most: int) -> str:
    """A text of one line, cut behind its last whole sentence that fits; else behind a word, with `…`."""
    if len(text) <= most:
        return text
    whole = [found.end() for found in ENDS.finditer(text, 0, most) if found.end() >= most // 3]
    if whole:
        return text[: whole[-1]]
    cut = text[: most - 1]
    return (cut[: cut.rfind(" ")] if " " in cut[most // 3 :] else cut).rstrip() + "…"


@dataclass(frozen=True, slots=True)
class Draft:
    """A row as its writer gives it; None: nothing was said of it."""

    id: str | None = None
    title: str | None = None
    tags: tuple[str, ...] | None = None
    key_entities: tuple[str, ...] | None = None
    summary_short: str | None = None
    summary_detailed: str | None = None
    memory_snippet: str | None = None
    indexed_at: datetime | None = None
    said: tuple[Said, ...] = ()
    text: str = ""

    @property
    def wanting(self) -> bool:
        """Whether something is missing that can be made."""
        made = (self.title, self.summary_short, self.summary_detailed, self.memory_snippet)
        return None in made and bool(self.said or self.text)

    def completed(self, made: Made) -> "Draft":
        """With what was made in place of what is missing."""
        told = {name: value for name, value in asdict(made).items() if value and getattr(self, name) is None}
        return replace(self, **told)


@dataclass(frozen=True, slots=True)
class Entry:
    """A row to be written."""

    draft: Draft
    sha256: str
    """Of what was given, whatever was made of it since."""


def entry(draft: Draft) -> Entry:
    """With its hash: of all that was given but the id, in hexadecimal digits."""
    at = draft.indexed_at and draft.indexed_at.astimezone(UTC).isoformat()
    told = asdict(replace(draft, id=None, indexed_at=None)) | {"indexed_at": at, "version": VERSION}
    return Entry(draft, hashlib.sha256(json.dumps(told, sort_keys=True).encode()).hexdigest())


@dataclass(frozen=True, slots=True)
class Conversation:
    """A row that is kept. Of one that another tool wrote, anything may be None."""

    id: str
    """`session_id`, as text."""
    project: str
    title: str | None
    tags: tuple[str, ...]
    key_entities: tuple[str, ...]
    summary_short: str | None
    summary_detailed: str | None
    memory_snippet: str | None
    indexed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Known:
    """What is kept of entries before they are written."""

    began: datetime
    """By the store's clock."""
    rows: Sequence[Conversation | None]
    """Of each entry; None: it is not kept as it was given, in the space that is asked for."""


Written: TypeAlias = tuple[Conversation, Outcome]


class Digests(Protocol):
    """What sums up a conversation."""

    async def digest(self, draft: Draft) -> Made:
        """Of its raw material; a part that cannot be made is "". Raises nothing."""


class Conversations(Protocol):
    """`public.conversation_index` (`stores/conversations.py`). `Unavailable` when Postgres does not answer,
    `Rejected` where a table that another tool made does not take it. The scope names the project; a row of
    another tenant, owner or project is not there."""

    async def known(self, scope: Scope, entries: Sequence[Entry], space: str) -> Known:
        """Which of them are kept already, just as they are given."""

    async def write(
        self,
        scope: Scope,
        entries: Sequence[Entry],
        embeddings: Sequence[Embedding],
        space: str,
        since: datetime,
    ) -> list[Written]:
        """All or none; searchable when it returns. An id again replaces; of one id in one request the last
        stands. `RemovedMeanwhile`: the owner was erased after `since`."""

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Conversation], str | None]:
        """In reach, newest first, those without a time last; and the cursor of the next page."""

    async def get(self, scope: Scope, name: str) -> tuple[Conversation, bool] | None:
        """By its id, or what its writer called it; and whether it is the asker's own."""

    async def remove(self, scope: Scope, id: str | None) -> int:  # noqa: A002 - its name
        """The owner's row of that id, or all of his in the project that Ibid wrote; how many were there.
        `KeptElsewhere`: another tool wrote the one."""


def names(scope: Scope, entry: Entry) -> tuple[str | None, str]:
    """(the id as it was given, if it may stand as it is; the UUIDv5 of it)."""
    given = entry.draft.id
    if given is None:
        return None, derived(scope, "", entry.sha256)
    plain = scope.tenant == DEFAULT_TENANT and not scope.owner
    return given if plain else None, derived(scope, given)


def derived(scope: Scope, *name: str) -> str:
    """The id of a row that is called so."""
    return str(uuid.uuid5(IDS, "\x1f".join((scope.tenant, scope.owner, scope.project or "", *name))))
