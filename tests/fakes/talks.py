"""Conversations and knowledge in memory (`domain/conversation.Conversations`,
`domain/project.KnowledgeRecord`), which fail as they are told; and a digest of set words."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

from app.answering.summaries import Digest
from app.db.conversations import (
    Conversation,
    ConversationDraft,
    ConversationEntry,
    ConversationOutcome,
    ConversationStore,
    Known,
    Summary,
    Written,
    derived,
    names,
)
from app.db.projects import Knowledge, KnowledgeChange, KnowledgeStore, merged
from app.errors import IbidError
from app.types import Embedding, Scope

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


@dataclass
class FakeTalks(ConversationStore):
    """Rows by (tenant, owner, project, id), with hash and space."""

    rows: dict[tuple[str, str, str | None, str], tuple[Conversation, str, str]] = field(default_factory=dict)
    error: IbidError | None = None
    scopes: list[Scope] = field(default_factory=list)
    written: list[list[ConversationEntry]] = field(default_factory=list)
    since: list[datetime] = field(default_factory=list)

    async def known(self, scope: Scope, entries: Sequence[ConversationEntry], space: str) -> Known:
        """Which of them are kept."""
        self._asked(scope)
        return Known(NOON, [self._same(scope, each, space) for each in entries])

    async def write(
        self,
        scope: Scope,
        entries: Sequence[ConversationEntry],
        embeddings: Sequence[Embedding],
        space: str,
        since: datetime,
    ) -> list[Written]:
        self._asked(scope)
        self.written.append(list(entries))
        self.since.append(since)
        assert len(embeddings) == len(entries)
        return [self._put(scope, each, space) for each in entries]

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Conversation], str | None]:
        """Newest first; the cursor is a number."""
        self._asked(scope)
        start = int(cursor or 0)
        found = sorted(self._seen(scope), key=lambda row: str(row.indexed_at), reverse=True)
        return found[start : start + limit], str(start + limit) if len(found) > start + limit else None

    async def get(self, scope: Scope, name: str) -> tuple[Conversation, bool] | None:
        self._asked(scope)
        for owner in dict.fromkeys((scope.owner, "")):
            place = Scope(scope.tenant, owner, project=scope.project)
            for key in (name, derived(place, name)):
                if found := self.rows.get((scope.tenant, owner, scope.project, key)):
                    return found[0], owner == scope.owner
        return None

    async def remove(self, scope: Scope, id: str | None) -> int:  # noqa: A002 - its name
        self._asked(scope)
        place = (scope.tenant, scope.owner, scope.project)
        gone = [key for key in self.rows if key[:3] == place and id in (None, key[3])]
        for key in gone:
            del self.rows[key]
        return len(gone)

    def _asked(self, scope: Scope) -> None:
        """By whom; and the error that was ordered."""
        self.scopes.append(scope)
        if self.error:
            raise self.error

    def _seen(self, scope: Scope) -> Sequence[Conversation]:
        return [
            row
            for (tenant, owner, project, _), (row, _, _) in self.rows.items()
            if (tenant, project) == (scope.tenant, scope.project) and owner in {"", scope.owner}
        ]

    def _same(self, scope: Scope, entry: ConversationEntry, space: str) -> Conversation | None:
        """The row, if it is just so."""
        found = self.rows.get((scope.tenant, scope.owner, scope.project, names(scope, entry)[1]))
        return found[0] if found and found[1:] == (entry.sha256, space) else None

    def _put(self, scope: Scope, entry: ConversationEntry, space: str) -> Written:
        """One, a minute after the last."""
        name, draft = names(scope, entry)[1], entry.draft
        key = (scope.tenant, scope.owner, scope.project, name)
        row = Conversation(
            session_id=name,
            project=scope.project or "",
            title=draft.title,
            tags=draft.tags or (),
            key_entities=draft.key_entities or (),
            summary_short=draft.summary_short,
            summary_detailed=draft.summary_detailed,
            memory_snippet=draft.memory_snippet,
            indexed_at=draft.indexed_at or NOON + timedelta(minutes=len(self.rows)),
        )
        outcome = ConversationOutcome.REPLACED if key in self.rows else ConversationOutcome.CREATED
        self.rows[key] = (row, entry.sha256, space)
        return row, outcome


class FakeDigest(Digest):
    """Notes what it is asked; each part says what it is."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[ConversationDraft] = []

    async def all(self, drafts: Sequence[ConversationDraft], until: float) -> list[ConversationDraft]:
        self.asked += [draft for draft in drafts if draft.wanting]
        made = Summary("plain title", "plain short", "plain detailed", "plain snippet")
        return [draft.completed(made) if draft.wanting else draft for draft in drafts]


@dataclass
class FakeKnowledge(KnowledgeStore):
    rows: dict[tuple[str, str | None], Knowledge] = field(default_factory=dict)
    error: IbidError | None = None

    async def get(self, scope: Scope) -> Knowledge | None:
        self._asked()
        return self.rows.get((scope.tenant, scope.project))

    async def put(self, scope: Scope, knowledge: Knowledge) -> None:
        self._asked()
        self.rows[scope.tenant, scope.project] = knowledge

    async def merge(self, scope: Scope, change: KnowledgeChange) -> Knowledge:
        found = await self.get(scope)
        await self.put(scope, merged(found or Knowledge(), change))
        return self.rows[scope.tenant, scope.project]

    async def remove(self, scope: Scope) -> bool:
        self._asked()
        return self.rows.pop((scope.tenant, scope.project), None) is not None

    async def projects(self, scope: Scope) -> Sequence[str]:
        self._asked()
        return sorted(name or "" for tenant, name in self.rows if tenant == scope.tenant)

    def _asked(self) -> None:
        """The error that was ordered."""
        if self.error:
            raise self.error
