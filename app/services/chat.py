"""A cited answer: prepare() does all that can still become a status, the Reply then streams it.

prepare: what is fetched (`material.py`) -> the prompt (`assembly.py`) -> the model's stream, opened. The
reply's head is decided when the model's response head is there, or after HEAD_SECONDS, whichever is first
(CONTRACT §0). Raises `ModelError` from prepare; faults of what is fetched end in `degraded`.
"""

import asyncio
from dataclasses import replace
from urllib.parse import quote

from app.domain.answer import Citation, new_id
from app.domain.budget import Meter
from app.domain.passage import Passage
from app.domain.ports import ChatModel, Clock, Tokens
from app.domain.project import CODE, CONVERSATIONS, DREAMS
from app.domain.quick import quick
from app.domain.room import Limits
from app.domain.trace import Pending, Reason
from app.services.ask import Ask
from app.services.assembly import Assembled, assemble, form_of
from app.services.counting import counted, laborious
from app.services.keepsake import Keepsake
from app.services.material import Collector, Material
from app.services.opening import Opening
from app.services.recorder import Recorder, unanswered
from app.services.reply import Reply
from app.services.shown import metadata_of, own_id
from app.services.stages import Stages

named = quick(Citation)

ROWS = frozenset({CONVERSATIONS, CODE, DREAMS})
"""Sources whose rows can be read under their project (`api/conversations.py`, `api/code.py`)."""


UNMATCHED = frozenset({Reason.EMPTY, Reason.SKIPPED, Reason.NO_MATCH})
"""What was searched holds nothing: a document that is still being read may."""


class ChatService:
    """Answers with citations."""

    def __init__(
        self,
        collector: Collector,
        model: ChatModel,
        tokens: Tokens,
        recorder: Recorder,
        *,
        limits: Limits,
        clock: Clock,
        keepsake: Keepsake | None = None,
    ) -> None:
        self._collector = collector
        self._model = model
        self._tokens = tokens
        self.recorder = recorder
        self._limits = limits
        self._clock = clock
        self._keepsake = keepsake

    async def prepare(self, ask: Ask) -> Reply:
        """Everything that can fail, while a status can still be sent. The caller closes the reply."""
        started, stages = self._clock(), Stages()
        try:
            made = await self._context(ask, stages)
        except asyncio.CancelledError:
            model = ask.model or self._model.name
            self.recorder.later(
                unanswered(
                    ask.scope, ask.endpoint, ask.message, model=model, began=started, now=self._clock()
                )
            )
            raise
        keeps = self._keepsake if ask.remember else None
        reply = Reply(
            answer_id=new_id(),
            ask_scope=ask.scope,
            endpoint=ask.endpoint,
            prompt=made.prompt,
            trace=made.trace,
            citations=tuple(cite(passage) for passage in made.prompt.passages),
            opening=Opening(self._model.open(made.prompt, model=ask.model), ask.model or self._model.name),
            recorder=self.recorder,
            tokens=self._tokens,
            clock=self._clock,
            started=started,
            debug=ask.debug,
            stages=stages,
            keep=keeps.of(ask.scope, ask.message, started) if keeps else None,
            recipe=made.recipe,
        )
        await counted(reply, made.meter)
        await reply.head()
        return reply

    async def _context(self, ask: Ask, stages: Stages) -> Assembled:
        """What the model is to see, and how it came to be."""
        await self.recorder.written(ask.scope)
        material = await self._collector.collect(ask)
        stages.lap("gather")
        made = await self._assembled(ask, material)
        stages.lap("assemble")
        if made.trace.reason in UNMATCHED and (pending := await self._collector.pending(ask)):
            return processing(made, pending)
        return made

    async def _assembled(self, ask: Ask, material: Material) -> Assembled:
        """On the loop where little is to be counted: forty new passages take milliseconds."""
        model = ask.model or self._model.name
        meter = Meter(self._tokens.count, self._tokens.factor(model), form=form_of(ask))
        beside = [ask.message, *ask.notes, *material.told, *(turn.content for turn in material.turns)]
        beside += material.texts if ask.projected else []  # none of them was ever counted
        if laborious(beside, material.texts, self._limits):
            return await asyncio.to_thread(assemble, ask, material, self._limits, meter)
        return assemble(ask, material, self._limits, meter)


def processing(made: Assembled, pending: tuple[Pending, ...]) -> Assembled:
    """The same, with the true reason why nothing was found."""
    trace = replace(made.trace, reason=Reason.PROCESSING, pending=pending)
    return replace(made, prompt=replace(made.prompt, reason=trace.reason), trace=trace)


def cite(passage: Passage) -> Citation:
    """A packed passage as the reply names it."""
    fields = passage.fields
    page, page_end, url = fields.get("page"), fields.get("page_end"), url_of(passage)
    return named(
        passage.label,
        passage.source,
        own_id(passage),
        passage.title,
        page if isinstance(page, int) else None,
        page_end if isinstance(page_end, int) else None,
        url,
        metadata_of(passage),
    )


def url_of(passage: Passage) -> str | None:
    """Where it can be read; None: nowhere."""
    url, project = passage.fields.get("url"), passage.fields.get("project")
    named = isinstance(project, str) and "/" not in project and project not in {"", ".", ".."}
    if passage.source in ROWS and named:
        return f"/projects/{quote(str(project), safe='')}/{passage.source}/{passage.id}"
    return url if isinstance(url, str) else None
