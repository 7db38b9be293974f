"""Hand-written stand-ins of the answering side's ports, for injecting faults and delays, and answering
services over them."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, cast

from app.answer import Answer, Finish, Prompt, Turn, Usage
from app.answering.budget import PromptLimits
from app.answering.pipeline import Pipeline
from app.answering.recorder import Recorder
from app.api.schemas import Out
from app.db.answers import AnswerStore
from app.db.sessions import ChatLogStore
from app.errors import IbidError, ModelError, Rejected, Unavailable
from app.models.base import Delta, ModelStream
from app.models.tokens import O200k
from app.retrieval.search import Retrieval
from app.services.chat import ChatService
from app.types import Embedding, Hit, Legs, Passage, Query, Scope
from tests.fakes.projecting import FakeKnowledge, FakeProjects

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)


def passage(
    key: str, text: str = "The sky is blue.", similarity: float | None = 0.8, label: str = ""
) -> Passage:
    """A passage of the documents source."""
    return Passage("documents", key, text, 5, label or f"{key}.pdf#1", similarity=similarity)


@dataclass
class FakeEmbedder:
    """Gives one vector for everything; may wait, or fail."""

    delay: float = 0
    error: IbidError | None = None
    asked: list[str] = field(default_factory=list)
    space: str = "fake@2"

    async def query(self, text: str) -> Embedding:
        self.asked.append(text)
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        return b"\x00\x00\x80\x3f\x00\x00\x00\x00"

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        """The same vector for each."""
        return [await self.query(text) for text in texts]


@dataclass
class FakeSource:
    """Finds what it was given: words at once, meaning when the embedding is there. `version` is part of its
    standing, as is the scope; `reach_error` and `reach_delay` are faults of saying how it stands."""

    passages: Sequence[Passage] = ()
    name: str = "documents"
    delay: float = 0
    error: Exception | None = None
    stored: int | None = None
    queries: list[Query] = field(default_factory=list)
    version: int = 1
    reach_delay: float = 0
    reach_error: Exception | None = None
    notes: tuple[str, ...] = ()
    partial: str = ""

    async def reach(self, scope: Scope) -> "FakeReach":
        await asyncio.sleep(self.reach_delay)
        if self.reach_error:
            raise self.reach_error
        return FakeReach(self, f"{scope.tenant} {scope.owner} {scope.session_id} {self.version}")

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Both legs over the given passages."""
        self.queries.append(query)
        vector = await embedding
        await asyncio.sleep(self.delay)
        if self.error:
            raise self.error
        hits = tuple(Hit(item.id, item.similarity or 0) for item in self.passages)
        words = tuple(Hit(item.id, 5.0, 1.0) for item in self.passages)
        return Legs(
            self.name,
            words=words if vector is None else (),
            meaning=hits if vector is not None else (),
            passages={item.id: item for item in self.passages},
            stored=len(self.passages) if self.stored is None else self.stored,
            notes=self.notes,
            partial=self.partial,
        )


@dataclass(frozen=True)
class FakeReach:
    """A source as it stood."""

    source: FakeSource
    standing: str

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        return await self.source.search(query, embedding)


@dataclass
class FakeStream:
    """Gives its deltas, then ends or fails."""

    deltas: Sequence[str | Delta]
    model: str = "fake"
    error: ModelError | None = None
    pause: float = 0
    ended: Delta | None = field(default_factory=lambda: Delta(finish=Finish.STOP, usage=Usage(7, 3)))

    async def __aiter__(self) -> AsyncIterator[Delta]:
        for text in self.deltas:
            await asyncio.sleep(self.pause)
            yield text if isinstance(text, Delta) else Delta(text)
        if self.error:
            raise self.error
        if self.ended:
            yield self.ended


@dataclass
class FakeModel:
    """Opens the stream it was given; remembers prompts and whether it was let go."""

    stream: FakeStream = field(default_factory=lambda: FakeStream(["Hello", " there"]))
    name: str = "fake"
    head: float = 0
    error: ModelError | None = None
    prompts: list[Prompt] = field(default_factory=list)
    closed: int = 0

    @asynccontextmanager
    async def open(self, prompt: Prompt, *, model: str | None = None) -> AsyncIterator[ModelStream]:
        """The stream, after `head` seconds."""
        self.prompts.append(prompt)
        await asyncio.sleep(self.head)
        if self.error:
            raise self.error
        try:
            yield self.stream
        finally:
            self.closed += 1


@dataclass
class FakeLog(AnswerStore, ChatLogStore):
    """Turns and answers in memory; `down` makes every call fail, `hang` makes it wait."""

    rows: list[tuple[Scope, Turn]] = field(default_factory=list)
    answers: list[Answer] = field(default_factory=list)
    down: bool = False
    hang: float = 0
    gone: set[str | None] = field(default_factory=set)
    poison: str = ""
    """The id of an answer that is not taken."""

    async def turns(self, scope: Scope, limit: int) -> list[Turn]:
        """The newest turns of the thread."""
        await self._fault()
        return [turn for owner, turn in self.rows if owner.thread_id == scope.thread_id][-limit:]

    async def keep(self, scope: Scope, answer: Answer, turns: Sequence[Turn] = ()) -> None:
        """Keep an answer and its turns."""
        await self._fault()
        if answer.id == self.poison:
            raise Rejected
        self.answers.append(answer)
        self.rows += [(scope, turn) for turn in turns]

    async def get(self, scope: Scope, answer_id: str) -> Answer | None:
        return next((answer for answer in self.answers if answer.id == answer_id), None)

    async def asked(self, scope: Scope, answer_id: str) -> Scope | None:
        return scope

    async def used(self, scope: Scope, answer_id: str) -> tuple[str, ...] | None:
        """No older tool left a trace."""
        return None

    async def last(self, scope: Scope) -> Answer | None:
        await self._fault()
        return self.answers[-1] if self.answers else None

    async def removed(self, scope: Scope, since: datetime) -> bool:
        """True if its session is among the removed."""
        await self._fault()
        return scope.session_id in self.gone

    async def _fault(self) -> None:
        await asyncio.sleep(self.hang)
        if self.down:
            raise Unavailable("down")


class Words(O200k):
    """Counts words instead of tokens: easy to reckon with."""

    def count(self, text: str) -> int:
        return len(text.split())

    def factor(self, model: str) -> float:
        return 1.0


def as_json(model: type[Out], told: Mapping[str, object]) -> dict[str, Any]:
    """A reply as the API sends it."""
    return model.model_validate(told).model_dump(mode="json")


def pipeline(
    limits: PromptLimits,
    *,
    endpoint: str = "/api/chat",
    model: FakeModel | None = None,
    log: FakeLog | None = None,
    recorder: Recorder | None = None,
    tokens: O200k | None = None,
    name: str | None = None,
    remember: Any = None,
    speaks: bool = True,
) -> Pipeline:
    return Pipeline(
        endpoint=endpoint,
        model=model or FakeModel(),
        tokens=tokens or Words(),
        recorder=recorder or Recorder(log or FakeLog()),
        limits=limits,
        clock=lambda: NOW,
        name=name,
        remember=remember,
        speaks=speaks,
    )


def chat_service(
    retrieval: Retrieval,
    limits: PromptLimits,
    *,
    log: FakeLog | None = None,
    projects: FakeProjects | None = None,
    knowledge: FakeKnowledge | None = None,
    documents: Any = None,
    **parts: Any,
) -> ChatService:
    """A chat; `parts` are the pipeline's."""
    log, shown = log or FakeLog(), cast("Any", projects or FakeProjects())
    answering = pipeline(limits, log=log, **parts)
    return ChatService(retrieval, log, shown, knowledge or FakeKnowledge(), answering, documents=documents)
