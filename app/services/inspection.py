"""An answer that is not given (`inspect_only`): everything up to the model, and the trace of it.

Keeps what the API needs of a reply. No model is asked, no turn is written, nobody's activity is marked.
Source: CONTRACT §3, seed 003 (3.3, step 8). Raises nothing.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from datetime import datetime

from app.domain.answer import Answer, Citation, Finish, Usage
from app.domain.passage import Scope
from app.domain.ports import Clock
from app.services.context import Context
from app.services.recorder import Kept, Recorder
from app.services.reply import Event
from app.services.ruling import Ruling, written
from app.services.shown import ledger, plainly, retrieved
from app.services.stages import Stages, elapsed

MARKS: Mapping[str, object] = {"cited": [], "unknown": [], "appended": False}


@dataclass(slots=True, kw_only=True)
class Inspection:
    """What an answer would have been made of."""

    answer_id: str
    scope: Scope
    endpoint: str
    model: str
    """The one that would have been asked."""
    context: Context
    ruling: Ruling
    citations: tuple[Citation, ...]
    recorder: Recorder
    clock: Clock
    started: datetime
    stages: Stages
    extra: Mapping[str, object]
    debug: bool = False
    more: bool = False

    @property
    def meta(self) -> dict[str, object]:
        """The `meta` event, as of an answer."""
        prompt, trace = self.context.prompt, self.context.trace
        told: dict[str, object] = {
            "answer_id": self.answer_id,
            "session_id": self.scope.session_id,
            "model": self.model,
            **retrieved(trace, self.citations),
            **self.extra,
        }
        if self.debug:
            seen = {"prompt_sha256": prompt.sha256(), "prompt": prompt.text()}
            told["debug"] = {"chunks": ledger(trace), **seen}
        return told

    async def events(self) -> AsyncIterator[Event]:
        """`citations` and `done`: nothing is said."""
        yield "citations", dict(MARKS)
        await self.recorder.keep(self._kept())
        yield "done", self._done()

    async def whole(self) -> dict[str, object]:
        """The same facts as one object."""
        async for _ in self.events():
            pass
        told = {key: value for key, value in self.meta.items() if key not in ("session_id", "model")}
        return told | dict(MARKS) | self._done() | {"answer": None, "model": self.model}

    async def aclose(self) -> None:
        """Nothing is open. Who left before it was told has not inspected anything."""

    def _done(self) -> dict[str, object]:
        """The `done` event."""
        return {
            "answer_id": self.answer_id,
            "finish_reason": str(Finish.STOP),
            "usage": plainly(Usage(self.context.tokens)),
            "took_ms": elapsed(self.started, self.clock()),
            "remembered": None,
            "class_check": None,
        }

    def _kept(self) -> Kept:
        """The record: without turns."""
        context, total = self.context, elapsed(self.started, self.clock())
        answer = Answer(
            id=self.answer_id,
            endpoint=self.endpoint,
            question=context.prompt.message,
            text="",
            model=self.model,
            finish=Finish.STOP,
            citations=self.citations,
            cited=(),
            unknown=(),
            prompt_sha256=context.prompt.sha256(),
            trace=context.trace,
            usage=Usage(context.tokens),
            created_at=self.started,
            timings={"retrieval": context.trace.took_ms, **self.stages.took, "total": total},
            recipe=context.recipe,
            ruling=written(self.ruling),
        )
        return Kept(self.scope, answer, [])
