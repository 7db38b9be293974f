"""A reply in progress: opens the model's stream, checks citations, ends and records the answer.

`Opening` opens the stream in a task of its own: a reply's status is decided at the response head or after
HEAD_SECONDS, whichever is first. The owner of a `Reply` (the API) iterates `events()` and always calls
`aclose()`, which ends the model's stream at once; `stop()` ends the answer in good order. `progress` has what
was sent, for clients that resume. No timeout is held across a yield: the model has its own deadlines. Raises
`ModelError` as the model does.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from app.answer import Answer, Citation, Finish, Role, Sent, ShownCitation, Span, Turn, Usage
from app.answering.citations import SOURCES, CitationFilter, CitationMark, appended, closing, marks_of
from app.answering.live import Live, LiveReply, lengths, plain, without_texts
from app.answering.meta import links, retrieved, shown
from app.answering.question import Context, Question
from app.answering.recorder import AnswerRecord, Recorder
from app.answering.support import Spans
from app.errors import IbidError, ModelError
from app.metrics import count_answer
from app.models.base import Delta, ModelStream
from app.models.tokens import O200k
from app.tasks import Stages, elapsed
from app.types import Clock, Scope


class Opening:
    """A task that opens the model's stream, and closes it exactly once."""

    def __init__(self, manager: AbstractAsyncContextManager[ModelStream], model: str) -> None:
        self._manager = manager
        self._task = asyncio.create_task(manager.__aenter__())
        self._closing: asyncio.Task[None] | None = None
        self.model = model

    async def head(self, seconds: float) -> None:
        """Wait for the response head, at most `seconds`. Raises what the model raised by then."""
        try:
            await asyncio.wait({self._task}, timeout=seconds)
        except asyncio.CancelledError:
            await self.close()
            raise
        if self._task.done():
            self.model = self._task.result().model

    async def stream(self) -> ModelStream:
        opened = await asyncio.shield(self._task)
        self.model = opened.model
        return opened

    async def close(self) -> None:
        """Close the model's connection, even if the caller is cancelled meanwhile."""
        self._closing = self._closing or asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled() and self._task.exception() is None:
            await self._manager.__aexit__(None, None, None)


ANSWERED = frozenset({"answer_id", "finish_reason", "usage"})
"""Fields of `done` that the answer itself has."""
HEAD_SECONDS = 2.0
"""Seconds after which status 200 is sent without the model's response head."""

Event = tuple[str, dict[str, object]]


class Remembered(StrEnum):
    """Outcome of storing the message as a memory (`remembered`; null: not requested)."""

    CREATED = "created"
    REPEATED = "repeated"
    ECHO = "echo"
    SKIPPED = "skipped"
    """Small talk is not stored."""
    FAILED = "failed"


@dataclass(slots=True, kw_only=True)
class Reply:
    question: Question
    context: Context
    answer_id: str
    endpoint: str
    name: str
    """Name of the requested model."""
    opening: Opening | None
    """None: a dry run (`inspect_only`), without a model and without turns."""
    recorder: Recorder
    tokens: O200k
    clock: Clock
    started: datetime
    stages: Stages = field(default_factory=Stages)
    remember: Callable[[Scope, str, datetime], Awaitable[Remembered]] | None = None
    """Stores the message as a memory when the answer has ended; None: not requested."""
    public_url: str | None = None
    """IBID_PUBLIC_URL, with which citations are linked."""
    live: Live = field(default_factory=Live)
    progress: LiveReply = field(init=False)
    more: bool = False
    """True if another event, or the end, follows at once: they may be sent in one piece."""
    _usage: Usage | None = None
    _finish: Finish | None = None
    _filter: CitationFilter = field(init=False)
    _spans: Spans = field(init=False)
    _fed: int = 0
    """Texts of `progress` that `_spans` has read."""
    _citations: tuple[Citation, ...] = field(init=False)
    _appended: bool = False
    _settled: bool = False
    _sha256: str = ""
    _remembered: Remembered | None = None
    _end: dict[str, object] | None = None
    """The event `done`."""
    _error: IbidError | None = None
    _facts: dict[str, object] = field(default_factory=dict)
    """Further fields of `meta`, as JSON."""
    _taken_back: int = 0
    """Tokens that were sent and taken back."""
    _reading: asyncio.Task[Any] | None = None
    """The task that waits for the model, while it does: `stop` cancels the wait."""
    _stopped: bool = False
    _first: float | None = None
    """Seconds to the first text."""

    def __post_init__(self) -> None:
        self._citations = self.context.citations
        self.progress = LiveReply(self.answer_id, self.endpoint, self.question.scope, self.stop)
        self._begin()
        self.live.add(self.progress)

    def _begin(self) -> None:
        """Nothing of the answer has been read, or all of it is taken back."""
        self._fed = self._taken_back = len(self.progress.texts)
        self._filter = CitationFilter(citation.label for citation in self._citations)
        self._spans = Spans({passage.label: passage.text for passage in self.context.prompt.passages})

    @property
    def model(self) -> str:
        return self.opening.model if self.opening else self.name

    async def head(self) -> None:
        """Wait until the status can be decided. Raises `ModelError`, after recording the question."""
        if self.opening is None:
            return
        try:
            await self.opening.head(HEAD_SECONDS)
            self.stages.lap("open")
        except ModelError:
            await self._settle(None)
            raise
        except asyncio.CancelledError:
            await self.aclose()
            raise

    @property
    def meta(self) -> dict[str, object]:
        told: dict[str, object] = {
            "answer_id": self.answer_id,
            "session_id": self.question.scope.session_id,
            "model": self.model,
            **retrieved(self.context.trace, self._shown()),
            **self.context.extra,
        }
        if self.question.debug:
            seen = {"prompt_sha256": self._hash(), "prompt": self.context.prompt.text()}
            told["debug"] = {"chunks": self.context.trace.entries, **seen}
        return told

    def _shown(self) -> list[ShownCitation]:
        question, passages = self.question, self.context.prompt.passages
        linked = links(self._citations, self.public_url, question.scope.session_id, self.answer_id)
        return [shown(*pair, question.include) for pair in zip(linked, passages, strict=True)]

    async def events(self) -> AsyncGenerator[Event]:
        """`token`s, `citations`, `done`. Raises `ModelError` if the model fails midway. The answer is
        recorded before its last event, a failed one too: a client that sees the event finds the turn in the
        log."""
        told = self.progress
        if self.context.extra:
            self._facts = plain(self.context.extra)  # some of it changes while the answer runs
        told.tell("meta", self.meta | self._facts)
        try:
            if self.opening:
                with self._stoppable() as reading:
                    if self._stopped:
                        raise asyncio.CancelledError  # as if the wait had begun
                    async for delta in await self.opening.stream():
                        self._reading = None
                        if text := self._take(delta):
                            yield "token", {"text": text}
                            self._read()
                        if self._stopped:
                            break
                        self._reading = reading
                self.stages.lap("stream")
                self.more = True
                for text in self._ending():
                    yield "token", {"text": text}
                self.more = False
            told.tell("citations", marks := self._marks())
            yield "citations", marks
            await self._settle(self._finish or Finish.STOP)
            if self.remember:
                self._remembered = await self.remember(
                    self.question.scope, self.question.message, self.started
                )
                await self._settle(self._finish or Finish.STOP, again=True)
            self.more = True
            told.tell("done", done := self._done())
            yield "done", done
        except ModelError as error:
            self.fail(error)
            await self._settle(None)
            raise

    @contextmanager
    def _stoppable(self) -> Iterator[asyncio.Task[Any] | None]:
        """`stop` ends the block, which notes in `_reading` that its task waits for the model."""
        reading = self._reading = asyncio.current_task()
        try:
            yield reading
        except asyncio.CancelledError:
            if not self._stopped or (reading and reading.uncancel()):
                raise
        finally:
            self._reading = None

    def stop(self) -> None:
        """End the answer as `cancelled`, with its citations and `done`."""
        if self._reading and not self._stopped:
            self._reading.cancel()
        self._stopped = True

    async def unfollowed(self) -> None:
        """Return once no other client follows."""
        await self.progress.unfollowed()

    def fail(self, error: IbidError) -> None:
        """The stream ends with this error."""
        if self.progress.said:
            return
        self._error = error
        self.progress.tell("error", {"slug": error.slug, "detail": error.detail})

    async def whole(self) -> dict[str, object]:
        try:
            async for _ in self.events():
                pass
        finally:
            await self.aclose()
        told = {key: value for key, value in self.meta.items() if key != "session_id" or value is not None}
        answer = self.text if self.opening else None
        return told | self._marks() | self._done() | {"answer": answer}

    @property
    def text(self) -> str:
        return "".join(self.progress.texts[self._taken_back :])

    @property
    def marks(self) -> Sequence[CitationMark]:
        """Where the text cites, at the latest when that part is sent. Another list: the text began anew."""
        return self._filter.marks

    @property
    def appended(self) -> bool:
        """True once the sources are named at the end because nothing was cited."""
        return self._appended

    async def aclose(self) -> None:
        """Close the model's stream; an answer that did not end is recorded as cancelled. A dry run that was
        not sent is not recorded."""
        try:
            if self.opening:
                await self.opening.close()
        finally:
            if self.opening and not self._settled:
                kept = self._counted_once(Finish.CANCELLED)
                if self.question.recorded:
                    self.recorder.later(kept)
            self.live.end(self.progress)

    def _take(self, delta: Delta) -> str:
        self._finish = delta.finish or self._finish
        self._usage = delta.usage or self._usage
        if delta.restart:
            self._begin()
        text = self._filter.feed(delta.text) if delta.text else ""
        if text:
            self.progress.token(text)
            if self._first is None:
                self._first = (self.clock() - self.started).total_seconds()
        return text

    def _read(self, *, last: bool = False) -> None:
        """Find and judge the citations of what was sent since; `last`: nothing follows."""
        for text in self.progress.texts[self._fed :]:
            self._spans.feed(text, self._filter.marks)
        self._fed = len(self.progress.texts)
        if last:
            self._spans.end(self._filter.marks)

    def _ending(self) -> list[str]:
        """The rest of the filter's text, and the sources if context was used but nothing cited. If the model
        said nothing, or was stopped, nothing."""
        if self._stopped:
            self._finish = Finish.CANCELLED
            self._read(last=True)
            return []
        rest = [text] if (text := self._filter.end()) else []
        if text:
            self.progress.token(text)
        self._read(last=True)
        said = self.text
        uncited = said.strip() and self.context.prompt.passages and not self._filter.cited
        if uncited and (not self.context.enforcement or self.context.enforcement.names_sources):
            sources, labels = appended(self.context.prompt.passages)
            self._appended = bool(labels)
            self._filter.cited.extend(labels)
            closed = closing(said)
            self._filter.marks += marks_of(labels, len(said) + len(closed) + len(SOURCES))
            rest.append(closed + sources)
            self.progress.token(rest[-1])
            self._fed += 1  # they are no sentence
        return rest

    def _marks(self) -> dict[str, object]:
        return {
            "cited": list(self._filter.cited),
            "unknown": list(self._filter.unknown),
            "appended": self._appended,
            "spans": self._told(),
        }

    def _told(self) -> tuple[Span, ...]:
        return self._spans.told(self.text, self._filter.marks, self._filter.cited)

    def _done(self, finish: Finish | None = None) -> dict[str, object]:
        self._end = self._end or {
            "answer_id": self.answer_id,
            "finish_reason": str(finish or self._finish or Finish.STOP),
            "usage": self._counted(),
            "took_ms": elapsed(self.started, self.clock()),
            **(self.context.enforcement.done() if self.context.enforcement else {}),
        }
        return {**self._end, "remembered": self._remembered}

    def _hash(self) -> str:
        self._sha256 = self._sha256 or self.context.prompt.sha256()
        return self._sha256

    def _counted(self) -> Usage:
        if self._usage is None:
            self._usage = Usage(self.context.tokens, self.tokens.count(self.text))
        return self._usage

    async def _settle(self, finish: Finish | None, *, again: bool = False) -> None:
        if again or not self._settled:
            kept = self._counted_once(finish)
            if self.question.recorded:
                await self.recorder.keep(kept)

    def _counted_once(self, finish: Finish | None) -> AnswerRecord:
        """The record; its tokens are charged also where it is not kept."""
        kept = self._kept(finish)
        if not self._settled:
            count_answer(kept.answer, kept.first, asked=bool(kept.turns))
        self._settled = True
        return kept

    def _kept(self, finish: Finish | None) -> AnswerRecord:
        now, text, context = self.clock(), self.text, self.context
        self._read(last=True)
        answer = Answer(
            id=self.answer_id,
            endpoint=self.endpoint,
            question=self.question.message,
            text=text,
            model=self.model,
            finish=finish,
            citations=self._citations,
            cited=tuple(self._filter.cited),
            unknown=tuple(self._filter.unknown),
            appended=self._appended,
            spans=self._told(),
            prompt_sha256=self._hash(),
            trace=context.trace,
            usage=self._counted(),
            created_at=self.started,
            timings={
                "retrieval": context.trace.took_ms,
                **self.stages.took,
                "total": elapsed(self.started, now),
            },
            recipe=context.recipe,
            ruling=context.enforcement.kept() if context.enforcement else None,
            sent=self._sent(finish) if self.opening else None,
        )
        asked = [Turn(Role.USER, self.question.message, self.started)] if self.opening else []
        said = [Turn(Role.ASSISTANT, text, now)] if text else []
        return AnswerRecord(self.question.scope, answer, [*asked, *said], self._first)

    def _sent(self, finish: Finish | None) -> Sent:
        """So that the same events can be made of the record."""
        error, told = self._error, self.progress
        return Sent(
            pieces=lengths(told.texts[self._taken_back :]),
            taken_back=self._taken_back,
            model=str((told.meta or self.meta)["model"]),
            facts=without_texts(self._facts),
            done={name: value for name, value in self._done(finish).items() if name not in ANSWERED},
            error=(error.slug, error.detail) if error else None,
        )
