"""Hand-written services behind the API: they record what they were asked and answer, wait or fail as told.
And the stores in memory beneath some of them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from typing import ClassVar, cast

from app.answer import Answer
from app.answering.live import Live
from app.answering.question import Question
from app.answering.replay import Replayed
from app.api.openapi import EXAMPLES
from app.db.answers import AnswerLine
from app.db.cards import Card, CardDraft, CardShape, CardStore, card_id
from app.db.code import CodeFile, CodeFiled, CodeKept, CodeListed, CodeOutcome, CodeRow
from app.db.corpus import CollectionFigures, Reference, ReferenceDraft
from app.db.documents import Document, State, Upload
from app.db.history import Change, HistoryChanges, HistoryPage, HistoryStore, Span
from app.db.keys import Caller, KeyStore
from app.db.memories import Draft, Memory, MemoryOutcome, MemoryStore, Moment, Tally, Written
from app.db.pool import Pool
from app.db.sessions import Session, Utterance
from app.db.users import Receipt
from app.errors import IbidError, Missing, RetrievalError
from app.retrieval.originals import OriginalStore
from app.retrieval.search import Retrieval
from app.services.answers import AnswerService
from app.services.chat import ChatService
from app.services.code import CodeService
from app.services.conversations import ConversationService
from app.services.corpus import CorpusService
from app.services.documents import DocumentService, UploadOutcome
from app.services.feedback import Effect, FeedbackService, Remark, SignalService
from app.services.memories import MemoryService
from app.services.profiles import ProfileService
from app.services.projects import KnowledgeService, ProjectContext, ProjectService
from app.services.rag import RagService
from app.services.replay import ReplayService
from app.services.search import Searched, SearchService
from app.services.sentiment import DecidedBy, Sentiment
from app.services.services import Services
from app.services.sessions import SessionService
from app.services.streams import StreamService
from app.services.users import UserService
from app.services.vantage import CardService, MixService, VantageService
from app.types import Chunk, Embedding, Hit, Legs, Passage, Query, Reason, Scope, Trace
from tests.fakes.remembering import FakeProfiles
from tests.fakes.talks import FakeDigest, FakeKnowledge, FakeTalks
from tests.fakes.uploads import SPACE, vector

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)


@dataclass
class FakeUsers:
    """Holds some rows of everybody."""

    rows: Sequence[tuple[str, Mapping[str, object]]] = (("memories", {"id": "m1"}), ("answers", {"id": "a1"}))
    holdings: tuple[str, ...] = ("memories", "votes", "answers", "activity")
    error: IbidError | None = None
    broken: Exception | None = None
    """Raised after the rows."""
    scopes: list[Scope] = field(default_factory=list)
    closed: int = 0

    def notes(self, scope: Scope) -> tuple[str, ...]:
        return ()

    async def export(self, scope: Scope) -> AsyncIterator[tuple[str, Mapping[str, object]]]:
        self.scopes.append(scope)
        if self.error:
            raise self.error
        try:
            for row in self.rows:
                yield row
            if self.broken:
                raise self.broken
        finally:
            self.closed += 1

    async def erase(self, scope: Scope) -> Receipt:
        self.scopes.append(scope)
        if self.error:
            raise self.error
        counts = dict.fromkeys(self.holdings, 0)
        return Receipt(scope.user_id or "", AT, counts, True, AT, None, (), ("postgres",), (), None)


SPOKEN = datetime(2026, 11, 19, 9, 30, 40, 500_000, tzinfo=UTC)


@dataclass
class FakeFeedback:
    """Has the effect it was given."""

    effect: Effect = field(
        default_factory=lambda: Effect(
            "answer-1", Sentiment.POSITIVE, DecidedBy.MARKER, None, ("m1", "m2"), 2, persona_refreshed=True
        )
    )
    error: IbidError | None = None
    remarks: list[Remark] = field(default_factory=list)

    async def take(self, remark: Remark) -> Effect:
        self.remarks.append(remark)
        if self.error:
            raise self.error
        return self.effect


@dataclass
class FakeSignals:
    """One memory with votes, one moment."""

    error: IbidError | None = None
    moment: Moment = field(default_factory=lambda: Moment("days", SPOKEN, 172_800.0004))
    votes: list[tuple[Scope, str, int, str | None]] = field(default_factory=list)
    asked: list[tuple[Scope, list[str]]] = field(default_factory=list)
    scopes: list[Scope] = field(default_factory=list)

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        """Remembered; the same again is none."""
        if self.error:
            raise self.error
        again = (scope, memory_id, signal, answer_id) in self.votes
        self.votes.append((scope, memory_id, signal, answer_id))
        return not again

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> dict[str, Tally]:
        """Of `m1` three and one."""
        self.asked.append((scope, list(ids)))
        if self.error:
            raise self.error
        return {key: Tally(3, 1) if key == "m1" else Tally() for key in ids}

    async def last(self, scope: Scope) -> Moment:
        """The one there is."""
        self.scopes.append(scope)
        if self.error:
            raise self.error
        return self.moment


NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
CODE_ID = "4e7c1b0a-6a52-5c1f-8f0e-2b9f6f1c7d3e"


@dataclass
class FakeCode:
    """Of /projects/{project}/code: holds one chunk, of one file."""

    fresh: bool = True
    error: IbidError | None = None
    asked: list[tuple[Scope, str, object]] = field(default_factory=list)

    def _asked(self, scope: Scope, project: str, what: object) -> None:
        self.asked.append((scope, project, what))
        if self.error:
            raise self.error

    async def put(self, scope: Scope, project: str, rows: Sequence[CodeRow]) -> list[tuple[str, bool]]:
        self._asked(scope, project, list(rows))
        return [(CODE_ID, self.fresh) for _ in rows]

    async def sync(self, scope: Scope, project: str, files: Sequence[CodeFile]) -> list[CodeFiled]:
        """All of them, two chunks each."""
        self._asked(scope, project, list(files))
        return [CodeFiled(file.path, CodeOutcome.ADDED, 2, 2) for file in files]

    async def files(
        self, scope: Scope, project: str, *, after: str, limit: int
    ) -> tuple[list[CodeListed], str | None]:
        """A page of one."""
        self._asked(scope, project, (after, limit))
        return [CodeListed("app/hello.py", "0" * 64, 2, "python", NOON)], "app/hello.py"

    async def remove_files(self, scope: Scope, project: str, paths: Sequence[str]) -> int:
        self._asked(scope, project, list(paths))
        return len(paths)

    async def clear(self, scope: Scope, project: str) -> int:
        """Two rows, if there are any."""
        self._asked(scope, project, None)
        return 2 if self.fresh else 0

    async def get(self, scope: Scope, project: str, name: str) -> CodeKept:
        """The one there is; of another tool, without a time."""
        self._asked(scope, project, name)
        if name != CODE_ID:
            raise Missing
        return CodeKept(CODE_ID, "app/hello.py", "python", "pass", {"start_line": 1}, project, None)

    async def remove(self, scope: Scope, project: str, name: str) -> None:
        await self.get(scope, project, name)


NOW = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
DOCUMENT_ID = "01998f39-1c02-7b3a-9c41-5d2f8e6a1b90"
OTHER_ID = "01998f39-1c02-7b3a-9c41-5d2f8e6a1b91"
PDF = b"%PDF-1.7\n" + b"words " * 100


def stored(**changes: object) -> Document:
    """A document as the service knows it."""
    facts: dict[str, object] = {
        "id": DOCUMENT_ID,
        "label": "report.pdf",
        "filename": "report.pdf",
        "session_id": "thesis",
        "state": State.READY,
        "pages": 3,
        "chunks": 7,
        "tokens": 900,
        "size": len(PDF),
        "sha256": "0" * 64,
        "created_at": NOW,
    }
    return Document(**(facts | changes))  # type: ignore[arg-type] # facts are its fields


@dataclass
class FakeReply:
    """Says its tokens with a pause before each; then ends, fails, or waits to be closed."""

    tokens: Sequence[str] = ("Revenue rose ", "[report.pdf#3].")
    head: Mapping[str, object] = field(default_factory=lambda: EXAMPLES["ChatMeta"][0])
    end: Mapping[str, object] = field(default_factory=lambda: EXAMPLES["AnswerEnd"][0])
    pause: float = 0
    error: Exception | None = None
    endless: bool = False
    answer_id: str = "answer-1"
    more: bool = False
    closed: asyncio.Event = field(default_factory=asyncio.Event)
    closings: int = 0
    said: int = 0
    """Tokens that have left."""
    finished: bool = False
    ended: bool = False
    """Whether `events()` was seen to its end, or closed."""

    @property
    def meta(self) -> dict[str, object]:
        return {**self.head, "answer_id": self.answer_id}

    async def events(self) -> AsyncIterator[tuple[str, dict[str, object]]]:
        try:
            async for text in self._said():
                yield "token", {"text": text}
            if self.error:
                raise self.error
            yield "citations", dict(EXAMPLES["CitationMarks"][0])
            self.finished = True
            yield "done", dict(self.end)
        finally:
            self.ended = True

    async def _said(self) -> AsyncIterator[str]:
        while True:
            for text in self.tokens:
                await asyncio.sleep(self.pause)
                self.said += 1
                yield text
            if not self.endless:
                return

    async def whole(self) -> dict[str, object]:
        """The same as one object."""
        async for _ in self.events():
            pass
        told = {**self.head, **EXAMPLES["CitationMarks"][0], **self.end, "answer": "".join(self.tokens)}
        return {**told, "answer_id": self.answer_id}

    async def unfollowed(self) -> None:
        """Nobody follows."""

    def fail(self, error: Exception) -> None:
        """The stream ends with it."""

    async def aclose(self) -> None:
        """Closed, as the model's stream would be."""
        self.closings += 1
        self.closed.set()


@dataclass
class FakeAnswering:
    """Prepares the reply it was given."""

    reply: FakeReply = field(default_factory=FakeReply)
    error: IbidError | None = None
    delay: float = 0
    asks: list[Question] = field(default_factory=list)
    cancelled: asyncio.Event = field(default_factory=asyncio.Event)
    head: ClassVar[Mapping[str, object]] = EXAMPLES["ChatMeta"][0]
    end: ClassVar[Mapping[str, object]] = EXAMPLES["AnswerEnd"][0]

    async def prepare(self, ask: Question) -> FakeReply:
        """Everything that can fail."""
        self.asks.append(ask)
        try:
            await asyncio.sleep(self.delay)
        except asyncio.CancelledError:
            self.cancelled.set()
            raise
        if self.error:
            raise self.error
        self.reply.head, self.reply.end = self.head, self.end
        return self.reply


@dataclass
class FakeChat(FakeAnswering):
    """Of /api/chat."""


@dataclass
class FakeRag(FakeAnswering):
    head = EXAMPLES["RagMeta"][0]
    end = EXAMPLES["AnswerEnd"][0] | {"remembered": "created"}

    reply: FakeReply = field(default_factory=lambda: FakeReply(tokens=("Paper ", "[memory#k3v9q2ax].")))


@dataclass
class FakeVantage(FakeAnswering):
    head = EXAMPLES["VantageMeta"][0]
    end = EXAMPLES["VantageEnd"][0]

    reply: FakeReply = field(default_factory=lambda: FakeReply(tokens=("Paper ", "[memory#k3v9q2ax].")))


@dataclass
class FakeDocuments:
    """Keeps one document; remembers uploads with what was on disk."""

    document: Document = field(default_factory=stored)
    outcome: UploadOutcome = UploadOutcome.CREATED
    error: Exception | None = None
    pieces: Sequence[bytes] = (PDF,)
    broken: Exception | None = None
    """Raised in the middle of a download."""
    uploads: list[tuple[Scope, Upload, float]] = field(default_factory=list)
    hashes: list[str] = field(default_factory=list)
    """SHA-256 of each upload, taken from the file on disk."""
    scopes: list[Scope] = field(default_factory=list)
    pages: list[tuple[str | None, int]] = field(default_factory=list)
    downloads_closed: int = 0

    async def upload(self, scope: Scope, upload: Upload, *, wait: float) -> tuple[Document, UploadOutcome]:
        """Take a file in."""
        self.uploads.append((scope, upload, wait))
        self.hashes.append(sha256(await asyncio.to_thread(upload.path.read_bytes)).hexdigest())
        if self.error:
            raise self.error
        return self.document, self.outcome

    async def count(self, scope: Scope) -> int:
        return 1

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Document], str | None]:
        """A page of one."""
        self.scopes.append(scope)
        self.pages.append((cursor, limit))
        return [self.document], "cursor-2"

    async def get(self, scope: Scope, document_id: str) -> Document:
        """The one there is."""
        self.scopes.append(scope)
        if document_id != self.document.id:
            raise Missing
        return self.document

    async def remove(self, scope: Scope, document_id: str) -> None:
        await self.get(scope, document_id)
        if self.error:
            raise self.error

    async def chunk(self, scope: Scope, document_id: str, ordinal: int) -> tuple[Document, Chunk]:
        """Chunk 3, and no other."""
        document = await self.get(scope, document_id)
        if ordinal != 3:
            raise Missing
        return document, Chunk(3, "Revenue rose.", 12, 13, "Results", 4)

    async def with_file(self, scope: Scope, document_id: str) -> Document:
        """The one there is."""
        return await self.get(scope, document_id)

    async def content(
        self, document: Document, start: int = 0, end: int | None = None
    ) -> AsyncIterator[bytes]:
        try:
            for piece in self.pieces:
                yield piece[start:end]
            if self.broken:
                raise self.broken
        finally:
            self.downloads_closed += 1


@dataclass
class FakeSessions:
    """One session with one exchange."""

    there: bool = True
    error: IbidError | None = None
    scopes: list[Scope] = field(default_factory=list)
    pages: list[tuple[str | None, int]] = field(default_factory=list)

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int, containing: str | None = None
    ) -> tuple[list[Session], str]:
        """A page of one."""
        self._asked(scope, cursor, limit)
        return [Session("thesis", 1, 2, NOW, NOW)], "cursor-2"

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        """A question and its answer."""
        self._asked(scope, cursor, limit)
        said = (("user", "Why?"), ("assistant", "Because."))
        return [Utterance("thesis", role, text, NOW, DOCUMENT_ID) for role, text in said], None

    async def remove(self, scope: Scope) -> None:
        """Gone, if it was there."""
        self._asked(scope, None, 0)
        if not self.there:
            raise Missing

    def _asked(self, scope: Scope, cursor: str | None, limit: int) -> None:
        self.scopes.append(scope)
        self.pages.append((cursor, limit))
        if self.error:
            raise self.error


@dataclass
class FakeAnswers:
    """Holds one answer, or none."""

    answer: Answer | None = None
    error: IbidError | None = None
    scopes: list[Scope] = field(default_factory=list)

    async def list(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[AnswerLine], str | None]:
        self.scopes.append(scope)
        return [
            AnswerLine(DOCUMENT_ID, NOW, "/api/chat", "Why?", "So.", "m", "stop", "s", None, None, [])
        ], None

    async def get(self, scope: Scope, answer_id: str) -> Answer:
        """The one there is."""
        self.scopes.append(scope)
        if self.error:
            raise self.error
        if self.answer is None or answer_id != self.answer.id:
            raise Missing
        return self.answer

    async def found(self, scope: Scope, answer_id: str) -> tuple[Scope, Answer]:
        """The same, asked in session `s`."""
        return replace(scope, session_id="s"), await self.get(scope, answer_id)


@dataclass
class FakeReplays:
    """Says of every answer what it was told to."""

    found: Replayed = field(default_factory=lambda: Replayed("ab", "ab"))
    error: IbidError | None = None
    asked: list[tuple[Scope, str]] = field(default_factory=list)

    async def replay(self, scope: Scope, answer_id: str) -> Replayed:
        self.asked.append((scope, answer_id))
        if self.error:
            raise self.error
        return self.found


@dataclass
class FakeKeys(KeyStore):
    """Knows the keys it was given; without any the service is open."""

    known: Mapping[str, Caller] = field(default_factory=dict)
    error: IbidError | None = None

    async def find(self, key: str) -> Caller | None:
        """Whom it stands for."""
        if self.error:
            raise self.error
        return self.known.get(key)

    async def any(self) -> bool:
        """True if there is one."""
        return bool(self.known)


@dataclass
class FakeProbe:
    """A dependency that answers, waits or fails."""

    name: str = "postgres"
    delay: float = 0
    error: IbidError | None = None

    async def check(self) -> Mapping[str, str | int | float]:
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return {"version": "18.6"}


ADA = Scope(tenant="acme", user_id="ada", thread_id="t1")


def kept(text: str = "Juno is a rabbit.", **changes: object) -> Memory:
    """A memory as the record has it."""
    facts: dict[str, object] = {
        "id": "6f3a8f6e-7b0c-5a6e-9a3e-0f4f5f9a1c2d",
        "user_id": "ada",
        "text": text,
        "tokens": 6,
        "created_at": NOON,
        "place": 1,
    }
    return Memory(**(facts | changes))  # type: ignore[arg-type] # facts are its fields


def reference(text: str = "Light delays sleep.", **changes: object) -> Reference:
    """A text of the corpus as the record has it."""
    facts: dict[str, object] = {"point": "p1", "id": "a1", "text": text, "tokens": 4, "created_at": NOON}
    return Reference(**(facts | changes))  # type: ignore[arg-type] # facts are its fields


@dataclass
class FakeVectors:
    """An embedder whose vectors are those of `uploads.vector`; may wait, or fail."""

    error: IbidError | None = None
    delay: float = 0
    asked: list[str] = field(default_factory=list)
    space: str = SPACE.name

    async def query(self, text: str) -> Embedding:
        return (await self.passages([text]))[0]

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        self.asked += texts
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return [vector(text) for text in texts]


async def say(pool: Pool, *texts: str | Draft, scope: Scope = ADA) -> list[str]:
    """Keep memories; their ids."""
    drafts = [Draft(each) if isinstance(each, str) else each for each in texts]
    vectors = [vector(draft.text) for draft in drafts]
    now = await MemoryStore(pool).clock()
    written = await MemoryStore(pool).admit(scope, drafts, vectors, [1] * len(drafts), SPACE.name, since=now)
    return [each.memory.id for each in written if each.memory]


@dataclass
class FakeMemories:
    """The service behind the API: holds one memory."""

    outcomes: Sequence[MemoryOutcome] = (MemoryOutcome.CREATED,)
    error: IbidError | None = None
    asks: list[tuple[Scope, Sequence[Draft]]] = field(default_factory=list)
    pages: list[tuple[Scope, str | None, int]] = field(default_factory=list)

    async def remember(
        self, scope: Scope, drafts: Sequence[Draft], *, asked: datetime | None = None, seconds: float = 0
    ) -> list[Written]:
        self.asks.append((scope, drafts))
        if self.error:
            raise self.error
        return [
            Written(outcome, None if outcome is MemoryOutcome.ECHO else kept(draft.text))
            for outcome, draft in zip(self.outcomes, drafts, strict=True)
        ]

    async def count(self, scope: Scope) -> int:
        return 1

    async def list(self, scope: Scope, *, cursor: str | None, limit: int) -> tuple[list[Memory], str | None]:
        """A page of one."""
        self.pages.append((scope, cursor, limit))
        return [kept()], "cursor-2"

    async def remove(self, scope: Scope, memory_id: str) -> None:
        """Gone, if it is the one."""
        self.pages.append((scope, memory_id, 0))
        if self.error or memory_id != kept().id:
            raise self.error or Missing


@dataclass
class FakeCorpus:
    """The service behind the API: holds one text."""

    fresh: bool = True
    error: IbidError | None = None
    asks: list[tuple[Scope, str, Sequence[ReferenceDraft]]] = field(default_factory=list)

    async def keep(
        self, scope: Scope, collection: str, texts: Sequence[ReferenceDraft], *, seconds: float = 0
    ) -> list[tuple[Reference, bool]]:
        self.asks.append((scope, collection, texts))
        if self.error:
            raise self.error
        return [(reference(text.text, id=text.id or "made"), self.fresh) for text in texts]

    async def collections(self, scope: Scope) -> list[CollectionFigures]:
        return [CollectionFigures("sleep", 2, 18, NOON)]

    async def texts(
        self, scope: Scope, collection: str, *, cursor: str | None, limit: int
    ) -> tuple[list[Reference], str | None]:
        if self.error or collection != "sleep":
            raise self.error or Missing
        return [reference("Keep the hours.", id="a1")], None

    async def remove(self, scope: Scope, collection: str, text_id: str) -> None:
        """Gone, if it is the one."""
        self.asks.append((scope, collection, []))
        if self.error or text_id != "a1":
            raise self.error or Missing

    async def remove_all(self, scope: Scope, collection: str) -> None:
        """Gone, if it is the one."""
        self.asks.append((scope, collection, []))
        if self.error or collection != "sleep":
            raise self.error or Missing


class ScriptedMemories(MemoryService):
    """Keeps nothing, and notes what it is asked."""

    def __init__(
        self, outcome: MemoryOutcome = MemoryOutcome.CREATED, error: IbidError | None = None
    ) -> None:
        self.outcome, self.error = outcome, error
        self.asked: list[tuple[Scope, Sequence[Draft], float]] = []

    async def remember(
        self, scope: Scope, drafts: Sequence[Draft], *, asked: datetime | None = None, seconds: float = 0
    ) -> list[Written]:
        self.asked.append((scope, drafts, seconds))
        if self.error:
            raise self.error
        return [Written(self.outcome)]


def card(draft: CardDraft, *, tenant: str = "default", minutes: int = 0) -> Card:
    """A draft as it is kept."""
    at = NOON + timedelta(minutes=minutes)
    told = (draft.vantage_id, draft.user_id, draft.text, draft.key, draft.weight)
    return Card(card_id(tenant, draft), draft.shape, *told, at, at)


@dataclass
class FakeCards(CardStore):
    """Rows by tenant and id."""

    rows: dict[tuple[str, str], Card] = field(default_factory=dict)
    error: IbidError | None = None
    scopes: list[Scope] = field(default_factory=list)
    pages: list[tuple[str | None, int]] = field(default_factory=list)

    async def put(self, scope: Scope, draft: CardDraft) -> tuple[Card, bool]:
        """Kept, a minute after the last."""
        self._asked(scope)
        made = card(draft, tenant=scope.tenant, minutes=len(self.rows))
        before = self.rows.get((scope.tenant, made.id))
        kept = replace(made, created_at=before.created_at) if before else made
        self.rows[scope.tenant, made.id] = kept
        return kept, before is None

    async def shown(self, scope: Scope, limit: int) -> list[Card]:
        self._asked(scope)
        seen = [each for each in self._seen(scope) if each.vantage_id == scope.vantage_id]
        return sorted(seen, key=lambda each: -each.weight)[:limit]

    async def list(
        self, scope: Scope, shape: CardShape, *, cursor: str | None, limit: int
    ) -> tuple[list[Card], str | None]:
        """All on one page."""
        self._asked(scope)
        self.pages.append((cursor, limit))
        found = [each for each in self._seen(scope) if each.shape is shape]
        return [each for each in found if scope.vantage_id in (None, each.vantage_id)], None

    async def remove(self, scope: Scope, card_id: str) -> bool:
        self._asked(scope)
        return self.rows.pop((scope.tenant, card_id), None) is not None

    async def by_id(self, scope: Scope, ids: Sequence[str]) -> dict[str, Card]:
        """Those that are there."""
        self._asked(scope)
        return {each.id: each for each in self._seen(scope) if each.id in ids}

    def _seen(self, scope: Scope) -> Sequence[Card]:
        ours = [each for (tenant, _), each in self.rows.items() if tenant == scope.tenant]
        return [each for each in ours if scope.user_id is None or each.user_id in (None, scope.user_id)]

    def _asked(self, scope: Scope) -> None:
        self.scopes.append(scope)
        if self.error:
            raise self.error


@dataclass
class FakeRows:
    """Keeps `ProjectSource`, and its `Reach`, over passages by hand; a hung one never answers."""

    name: str
    passages: Sequence[Passage] = ()
    error: Exception | None = None
    hung: bool = False
    asked: list[tuple[Scope, int]] = field(default_factory=list)
    standing: str = "1"

    async def newest(self, scope: Scope, limit: int) -> list[Passage]:
        return await self._given(scope, limit)

    async def most_similar(self, scope: Scope, vector: Embedding, limit: int) -> list[Passage]:
        """The first ones, whatever the vector."""
        assert vector
        return await self._given(scope, limit)

    async def reach(self, scope: Scope) -> "FakeRows":
        await self._given(scope, 0)
        return self

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """All of them, by the similarity they have; words find those that hold the whole query."""
        await embedding
        words = tuple(Hit(each.id, 1.0, 1.0) for each in self.passages if query.text in each.text)
        return Legs(
            self.name,
            words=words,
            meaning=tuple(Hit(each.id, each.similarity or 0.0) for each in self.passages),
            passages={each.id: each for each in self.passages},
            stored=len(self.passages),
        )

    async def _given(self, scope: Scope, limit: int) -> list[Passage]:
        self.asked.append((scope, limit))
        if self.hung:
            await asyncio.Event().wait()
        if self.error:
            raise self.error
        return list(self.passages[:limit])


@dataclass
class FakeEmbedder:
    """One vector for everything, or none."""

    error: RetrievalError | None = None
    hung: bool = False
    asked: list[str] = field(default_factory=list)
    space: str = "fake"

    async def query(self, text: str) -> Embedding:
        self.asked.append(text)
        if self.hung:
            await asyncio.Event().wait()
        if self.error:
            raise self.error
        return b"\0\0\x80\x3f"

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        return [await self.query(text) for text in texts]


class FakeHistory:
    """What the API asks of `HistoryStore`: nothing was deleted, and one memory is new."""

    async def memories(
        self, scope: Scope, span: Span, *, cursor: str | None, limit: int
    ) -> HistoryPage[Memory]:
        return HistoryPage([kept()], [], None)

    async def documents(
        self, scope: Scope, span: Span, *, cursor: str | None, limit: int
    ) -> HistoryPage[Document]:
        return HistoryPage([stored()], [], None)

    async def changes(
        self, scope: Scope, since: datetime | None, *, cursor: str | None, limit: int
    ) -> HistoryChanges:
        return HistoryChanges([Change("memory", kept().id, "new", AT, None, kept().text)], AT, None)


@dataclass
class FakeProjects:
    """What the API asks of `ProjectService`."""

    asked: list[tuple[str, str | None, Scope, int | None]] = field(default_factory=list)

    async def build_project_context(
        self, project: str, user_message: str | None, scope: Scope, top_k: int | None = None
    ) -> ProjectContext:
        """The same for all."""
        self.asked.append((project, user_message, scope, top_k))
        return ProjectContext(context="### Heading\n\nentry", notes=["Retrieved 1 things"])


@dataclass
class FakeSearch:
    asked: list[tuple[Scope, str, Mapping[str, object]]] = field(default_factory=list)

    async def search(self, scope: Scope, text: str, **how: object) -> Searched:
        self.asked.append((scope, text, how))
        return Searched((), (), Trace(Reason.NO_MATCH))


@dataclass
class Fakes:
    """All of them, and as the API takes them."""

    chat: FakeChat = field(default_factory=FakeChat)
    documents: FakeDocuments = field(default_factory=FakeDocuments)
    sessions: FakeSessions = field(default_factory=FakeSessions)
    answers: FakeAnswers = field(default_factory=FakeAnswers)
    replays: FakeReplays = field(default_factory=FakeReplays)
    rag: FakeRag = field(default_factory=FakeRag)
    vantage: FakeVantage = field(default_factory=FakeVantage)
    feedback: FakeFeedback = field(default_factory=FakeFeedback)
    signals: FakeSignals = field(default_factory=FakeSignals)
    users: FakeUsers = field(default_factory=FakeUsers)
    memories: FakeMemories = field(default_factory=FakeMemories)
    profiles: FakeProfiles = field(default_factory=FakeProfiles)
    corpus: FakeCorpus = field(default_factory=FakeCorpus)
    projects: FakeProjects = field(default_factory=FakeProjects)
    code: FakeCode = field(default_factory=FakeCode)
    talks: FakeTalks = field(default_factory=FakeTalks)
    knowledge: FakeKnowledge = field(default_factory=FakeKnowledge)
    cards: FakeCards = field(default_factory=FakeCards)
    search: FakeSearch = field(default_factory=FakeSearch)
    keys: FakeKeys = field(default_factory=FakeKeys)
    probes: tuple[FakeProbe, ...] = (FakeProbe(),)
    token: str = "local-token"
    debug: bool | None = True
    published: list[str] = field(default_factory=list)

    def services(self) -> Services:
        return Services(
            chat=cast(ChatService, self.chat),
            documents=cast(DocumentService, self.documents),
            sessions=cast(SessionService, self.sessions),
            answers=cast(AnswerService, self.answers),
            streams=StreamService(Live(), cast(AnswerService, self.answers), cast(OriginalStore, None)),
            replays=cast(ReplayService, self.replays),
            rag=cast(RagService, self.rag),
            feedback=cast(FeedbackService, self.feedback),
            vantage=cast(VantageService, self.vantage),
            signals=cast(SignalService, self.signals),
            users=cast(UserService, self.users),
            history=cast(HistoryStore, FakeHistory()),
            memories=cast(MemoryService, self.memories),
            profiles=cast(ProfileService, self.profiles),
            corpus=cast(CorpusService, self.corpus),
            cards=CardService(self.cards),
            projects=cast(ProjectService, self.projects),
            code=cast(CodeService, self.code),
            conversations=ConversationService(self.talks, FakeDigest(), FakeVectors(), {"DAAS"}.__contains__),
            knowledge=KnowledgeService(self.knowledge, len, 1 << 20),
            mixing=MixService(cast(AnswerService, self.answers), threshold=0.3, personal=True),
            search=cast(SearchService, self.search),
            retrieval=cast(Retrieval, None),  # no route asks it
            keys=self.keys,
            probes=self.probes,
            debug=self.debug,
            token=self.token,
            publish=self.published.append,
        )
