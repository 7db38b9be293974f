"""/rag/query: an answer from what a person said and kept, and from reference texts.

prepare: greeting? -> small prompt. Else recall -> boosts -> persona, overlay, gravity note -> prompt -> the
model's stream, opened. The `Reply` then streams, has its citations checked and is kept, as chat's. Raises
`ModelError` from prepare, and `InvalidField` where the message does not fit into the model's window; faults
of stores end in `degraded`. Tokens are those of the model that answers. Source: CONTRACT §2, seed 003 (3.1).
"""

import asyncio
from dataclasses import dataclass
from datetime import datetime

from app.domain.answer import new_id
from app.domain.budget import Meter
from app.domain.greeting import is_assent, is_small_talk
from app.domain.passage import Scope
from app.domain.ports import ChatModel, Clock, Tokens
from app.domain.prompt import MEMORIES
from app.domain.room import Limits
from app.domain.trace import Degraded
from app.services.chat import cite
from app.services.context import KINDS, Context, assemble, greeted
from app.services.keepsake import Keepsake
from app.services.opening import Opening
from app.services.recall import Recall, Wanted
from app.services.recorder import Recorder, unanswered
from app.services.reply import Reply
from app.services.stages import Stages

GREETING_SECONDS = 2.0
"""A greeting is answered without knowing when its sender was last here, if that takes longer."""


@dataclass(frozen=True, slots=True)
class Question:
    """One message as the API took it."""

    scope: Scope
    """Names the user."""
    message: str
    top_k: int = 8
    overlay: str = ""
    """As `overlay_to_instructions` gives it."""
    remember: bool = False
    debug: bool = False
    """Show candidates and the system prompt in the reply."""
    endpoint: str = "/rag/query"


class RagService:
    """Answers from personal memory."""

    def __init__(
        self,
        recall: Recall,
        model: ChatModel,
        tokens: Tokens,
        recorder: Recorder,
        *,
        name: str,
        limits: Limits,
        clock: Clock,
        keepsake: Keepsake | None = None,
    ) -> None:
        """`name` is the model that is asked, `limits.threshold` RETRIEVE_THRESHOLD."""
        self._recall = recall
        self._model = model
        self._tokens = tokens
        self.recorder = recorder
        self._name = name
        self._limits = limits
        self._clock = clock
        self._keepsake = keepsake

    async def prepare(self, ask: Question) -> Reply:
        """Everything that can fail, while a status can still be sent. The caller closes the reply."""
        started, stages = self._clock(), Stages()
        try:
            context = await self._context(ask, stages)
        except asyncio.CancelledError:
            self.recorder.later(
                unanswered(
                    ask.scope, ask.endpoint, ask.message, model=self._name, began=started, now=self._clock()
                )
            )
            raise
        reply = self._reply(ask, context, started, stages)
        await reply.head()
        return reply

    async def _context(self, ask: Question, stages: Stages) -> Context:
        """What the model is to see, and how it came to be."""
        meter = Meter(self._tokens.count, self._tokens.factor(self._name), form=MEMORIES)
        if is_small_talk(ask.message) and not is_assent(ask.message):  # it may answer what was asked before
            return await self._greeted(ask, meter)
        wanted = Wanted(
            ask.scope, ask.message, self._limits.threshold, personal=ask.top_k, corpus=ask.top_k, kinds=KINDS
        )
        known = await self._recall.gather(wanted)
        stages.lap("gather")
        # Tags of many texts, their lines and tokens: milliseconds.
        context = await asyncio.to_thread(assemble, wanted, known, ask.overlay, self._limits, meter)
        stages.lap("assemble")
        return context

    async def _greeted(self, ask: Question, meter: Meter) -> Context:
        """The bypass: nothing is looked for but when the user was last here."""
        lost: list[Degraded] = []
        until = asyncio.get_running_loop().time() + GREETING_SECONDS
        moment = await self._recall.moment(ask.scope, until, lost)
        return greeted(ask.message, moment, ask.overlay, self._limits, meter, lost=lost)

    def _reply(self, ask: Question, context: Context, started: datetime, stages: Stages) -> Reply:
        """The answer, about to begin."""
        remembers = self._keepsake if ask.remember else None
        prompt = context.prompt
        return Reply(
            answer_id=new_id(),
            ask_scope=ask.scope,
            endpoint=ask.endpoint,
            prompt=prompt,
            trace=context.trace,
            citations=tuple(cite(passage) for passage in prompt.passages),
            opening=Opening(self._model.open(prompt, model=self._name), self._name),
            recorder=self.recorder,
            tokens=self._tokens,
            clock=self._clock,
            started=started,
            debug=ask.debug,
            extra=context.shown(debug=ask.debug),
            prompt_tokens=context.tokens,
            stages=stages,
            keep=remembers.of(ask.scope, ask.message, started) if remembers else None,
            recipe=context.recipe,
        )
