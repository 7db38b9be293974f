"""Writing conversations and dreams: completes missing parts, embeds and stores; list and delete.

A conversation that is stored already with the same content costs no model, embedding or write. The project's
profile says whether it keeps dreams or conversations. A user key writes that user's rows, a tenant key the
tenant's shared ones. Times are in seconds. Raises `KeptElsewhere`, `Missing`, `Forbidden`, `Unavailable`,
`NoRoom`, `Rejected`, `RemovedMeanwhile`, `InvalidField` (a cursor).
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from datetime import datetime

from app.answering.summaries import Digest
from app.db.conversations import (
    Conversation,
    ConversationDraft,
    ConversationEntry,
    ConversationOutcome,
    ConversationStore,
    Written,
    entry,
)
from app.db.project_text import conversation_text
from app.errors import Forbidden, KeptElsewhere, Missing
from app.models.base import Embedder
from app.services.memories import WRITE_SECONDS, embedded
from app.tasks import deadline
from app.types import CONVERSATIONS, DREAMS, Scope

SUMMARY_SHARE = 0.5
"""Share of a write's time for the model; the rest is the embedder's."""


class ConversationService:
    """Rows of conversation_index for their writers. `dreams`: whether a project keeps dreams."""

    def __init__(
        self, record: ConversationStore, digest: Digest, embedder: Embedder, dreams: Callable[[str], bool]
    ) -> None:
        self._record = record
        self._digest = digest
        self._embedder = embedder
        self._dreams = dreams

    async def keep(
        self, scope: Scope, kind: str, drafts: Sequence[ConversationDraft], *, seconds: float = WRITE_SECONDS
    ) -> list[Written]:
        """One outcome per draft, in order; durable and searchable on return, all or none. If an id occurs
        twice the last one counts. `scope` names the project."""
        self.check_kind(scope, kind)
        start = deadline(0)
        entries = await asyncio.to_thread(lambda: list(map(entry, drafts)))
        last = {called(each): each for each in entries}
        asked_for = list(last.values())
        known = await self._record.known(scope, asked_for, self._embedder.space)
        new = [each for each, row in zip(asked_for, known.rows, strict=True) if row is None]
        made = iter(await self._write(scope, new, known.began, start, seconds) if new else ())
        written = [next(made) if row is None else (row, ConversationOutcome.UNCHANGED) for row in known.rows]
        outcomes = dict(zip(last, written, strict=True))
        return [outcomes[called(each)] for each in entries]

    async def _write(
        self, scope: Scope, new: Sequence[ConversationEntry], began: datetime, start: float, seconds: float
    ) -> list[Written]:
        drafts = await self._digest.all([each.draft for each in new], start + SUMMARY_SHARE * seconds)
        vectors = await embedded(self._embedder, [text_of(draft) for draft in drafts], start + seconds)
        rows = [replace(each, draft=draft) for each, draft in zip(new, drafts, strict=True)]
        return await self._record.write(scope, rows, vectors, self._embedder.space, began)

    async def list(
        self, scope: Scope, kind: str, *, cursor: str | None, limit: int
    ) -> tuple[list[Conversation], str | None]:
        self.check_kind(scope, kind)
        return await self._record.list(scope, cursor=cursor, limit=limit)

    async def get(self, scope: Scope, kind: str, name: str) -> Conversation:
        return (await self._found(scope, kind, name))[0]

    async def remove(self, scope: Scope, kind: str, name: str) -> None:
        found, own = await self._found(scope, kind, name)
        if not own:
            raise Forbidden("rows that the tenant shares need a tenant key")
        if not await self._record.remove(scope, found.session_id):
            raise Missing("there is no such row")

    async def remove_all(self, scope: Scope, kind: str) -> None:
        self.check_kind(scope, kind)
        if not await self._record.remove(scope, None):
            raise Missing("there is nothing of yours in this project")

    async def _found(self, scope: Scope, kind: str, name: str) -> tuple[Conversation, bool]:
        self.check_kind(scope, kind)
        found = await self._record.get(scope, name)
        if found is None:
            raise Missing("there is no such row")
        return found

    def check_kind(self, scope: Scope, kind: str) -> None:
        keeps = DREAMS if self._dreams(scope.project or "") else CONVERSATIONS
        if kind != keeps:
            raise KeptElsewhere(f"this project keeps {keeps}: use its path /{keeps}")


def called(each: ConversationEntry) -> str:
    return each.draft.id or each.sha256


def text_of(draft: ConversationDraft) -> str:
    lists = {"tags": list(draft.tags or ()), "key_entities": list(draft.key_entities or ())}
    return conversation_text(asdict(draft) | lists)
