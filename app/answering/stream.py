"""The opening of a model's stream: begun by a task of its own, waited for twice, closed exactly once.

The status of a reply is decided at the response head or after some seconds, whichever is first; the stream
is then read by whoever answers. Raises `ModelError` as the model does.

A reply under way: the model's deltas checked for citations, then how it ended, then kept.

The owner (the API) iterates `events()` and always calls `aclose()`, which ends the model's stream at once.
Nothing here holds a timeout across a yield: the model's own deadlines are the model's.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime

from app.answer import Answer, Citation, Finish, Prompt, Recipe, Role, Turn, Usage
from app.answering.budget import Meter
from app.answering.citations import CitationFilter, appended, closing
from app.answering.enforcement import Held
from app.answering.meta import ledger, plainly, retrieved
from app.answering.recorder import Keep, Kept, Recorder, Remembered
from app.errors import ModelError
from app.models.base import Delta, ModelStream, Tokens
from app.stopwatch import Stages, elapsed
from app.types import Clock, Scope, Trace


class Opening:
    """The model's stream, being opened by a task of its own; closed exactly once."""

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
        """The opened stream."""
        opened = await asyncio.shield(self._task)
        self.model = opened.model
        return opened

    async def close(self) -> None:
        """Let the model go: its connection closes, also if who waits for that is cancelled meanwhile."""
        self._closing = self._closing or asyncio.create_task(self._close())
        await asyncio.shield(self._closing)

    async def _close(self) -> None:
        """Once."""
        self._task.cancel()
        await asyncio.wait({self._task})
        if not self._task.cancelled() and self._task.exception() is None:
            await self._manager.__aexit__(None, None, None)


HEAD_SECONDS = 2.0
"""After this the 200 goes out, whether the model's head is there or not."""

Event = tuple[str, dict[str, object]]


@dataclass(slots=True, kw_only=True)
class Reply:
    """One answer, from its head to its record."""

    answer_id: str
    ask_scope: Scope
    endpoint: str
    prompt: Prompt
    trace: Trace
    citations: tuple[Citation, ...]
    opening: Opening
    recorder: Recorder
    tokens: Tokens
    clock: Clock
    started: datetime
    debug: bool
    extra: Mapping[str, object] = field(default_factory=dict)
    """What else `meta` tells, of an endpoint's own."""
    prompt_tokens: int | None = None
    """o200k tokens of the prompt, where they are known."""
    stages: Stages = field(default_factory=Stages)
    keep: Keep | None = None
    """Has the asker's words remembered when the answer has ended (`answering/recorder.py`); None: unasked."""
    held: Held | None = None
    """What /vantage decided on the answer; None: it may be anything."""
    recipe: Recipe | None = None
    more: bool = False
    """Whether another event follows the last one at once: both may leave in one piece."""
    _text: list[str] = field(default_factory=list)
    _usage: Usage | None = None
    _finish: Finish | None = None
    _filter: CitationFilter = field(init=False)
    _appended: bool = False
    _settled: bool = False
    _sha256: str = ""
    _remembered: Remembered | None = None

    def __post_init__(self) -> None:
        self._filter = CitationFilter(passage.label for passage in self.prompt.passages)

    async def head(self) -> None:
        """Until the status can be decided. Raises `ModelError`; the question is kept all the same."""
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
        """The `meta` event."""
        told: dict[str, object] = {
            "answer_id": self.answer_id,
            "session_id": self.ask_scope.session_id,
            "model": self.opening.model,
            **retrieved(self.trace, self.citations),
            **self.extra,
        }
        if self.debug:
            seen = {"prompt_sha256": self._hash(), "prompt": self.prompt.text()}
            told["debug"] = {"chunks": ledger(self.trace), **seen}
        return told

    async def events(self) -> AsyncIterator[Event]:
        """`token`s, `citations`, `done`. Raises `ModelError` where the model fails on the way. What was said
        is kept before the end is told, a bad one too: whoever hears of it finds the turn in the log."""
        try:
            async for text in self._said():
                yield "token", {"text": text}
            self.stages.lap("stream")
            self.more = True
            for text in self._ending():
                yield "token", {"text": text}
            self.more = False
            yield "citations", self._marks()
            await self._settle(self._finish or Finish.STOP)
            self._remembered = await self.keep() if self.keep else None
            yield "done", self._done()
        except ModelError:
            await self._settle(None)
            raise

    async def _said(self) -> AsyncIterator[str]:
        """The model's words as they may leave; `more` tells of each whether the next one is there already."""
        held = ""
        try:
            async for delta in await self.opening.stream():
                text = self._take(delta)
                if held and text:
                    self.more = True
                    yield held
                held = text or held
                if held and not delta.more:
                    self.more = False
                    yield held
                    held = ""
        except ModelError:
            if held:
                yield held
            raise

    async def whole(self) -> dict[str, object]:
        """The same facts as one object."""
        try:
            async for _ in self.events():
                pass
        finally:
            await self.aclose()
        told = {key: value for key, value in self.meta.items() if key != "session_id" or value is not None}
        return told | self._marks() | self._done() | {"answer": self.text, "model": self.opening.model}

    @property
    def text(self) -> str:
        """What has left so far."""
        return "".join(self._text)

    async def aclose(self) -> None:
        """Close the model's stream; an answer that did not end is kept as cancelled."""
        try:
            await self.opening.close()
        finally:
            if not self._settled:
                self._settled = True
                self.recorder.later(self._kept(Finish.CANCELLED))

    def _take(self, delta: Delta) -> str:
        """What of a delta may leave; its end and usage noted."""
        self._finish = delta.finish or self._finish
        self._usage = delta.usage or self._usage
        text = self._filter.feed(delta.text) if delta.text else ""
        if text:
            self._text.append(text)
        return text

    def _ending(self) -> list[str]:
        """What the filter still holds, and the sources when context was used but nothing cited. Sources alone
        are no answer: where the model said nothing, neither is this."""
        rest = [text] if (text := self._filter.end()) else []
        said = "".join([*self._text, *rest])
        uncited = said.strip() and self.prompt.passages and not self._filter.cited
        if uncited and (not self.held or self.held.names_sources):
            sources, labels = appended(self.prompt.passages)
            self._appended = bool(labels)
            self._filter.cited.extend(labels)
            rest.append(closing(said) + sources)
        self._text += rest
        return rest

    def _marks(self) -> dict[str, object]:
        """The `citations` event."""
        return {
            "cited": list(self._filter.cited),
            "unknown": list(self._filter.unknown),
            "appended": self._appended,
        }

    def _done(self) -> dict[str, object]:
        """The `done` event."""
        return {
            "answer_id": self.answer_id,
            "finish_reason": str(self._finish or Finish.STOP),
            "usage": plainly(self._counted()),
            "took_ms": elapsed(self.started, self.clock()),
            "remembered": self._remembered,
            **(self.held.done() if self.held else {}),
        }

    def _hash(self) -> str:
        """The prompt's, made once."""
        self._sha256 = self._sha256 or self.prompt.sha256()
        return self._sha256

    def _counted(self) -> Usage:
        """The server's figures, or ours."""
        if self._usage is None:
            if self.prompt_tokens is None:
                self.prompt_tokens = Meter(self.tokens.count, form=self.prompt.form).prompt(self.prompt)
            self._usage = Usage(self.prompt_tokens, self.tokens.count(self.text))
        return self._usage

    async def _settle(self, finish: Finish | None) -> None:
        """Keep the answer, once; None: it broke off."""
        if not self._settled:
            self._settled = True
            await self.recorder.keep(self._kept(finish))

    def _kept(self, finish: Finish | None) -> Kept:
        """The record of this answer."""
        now, text = self.clock(), self.text
        total = elapsed(self.started, now)
        answer = Answer(
            id=self.answer_id,
            endpoint=self.endpoint,
            question=self.prompt.message,
            text=text,
            model=self.opening.model,
            finish=finish,
            citations=self.citations,
            cited=tuple(self._filter.cited),
            unknown=tuple(self._filter.unknown),
            appended=self._appended,
            prompt_sha256=self._hash(),
            trace=self.trace,
            usage=self._counted(),
            created_at=self.started,
            timings={"retrieval": self.trace.took_ms, **self.stages.took, "total": total},
            recipe=self.recipe,
            ruling=self.held.kept() if self.held else None,
        )
        asked = Turn(Role.USER, self.prompt.message, self.started)
        said = [Turn(Role.ASSISTANT, text, now)] if text else []
        return Kept(self.ask_scope, answer, [asked, *said])
