"""/vantage/query: the same retrieval under a policy that decides before the model speaks.

prepare: thread, cards, decision -> greeting? refusal? -> small prompt. Else the mix splits k -> recall ->
boosts, recency -> rivals? ask back -> prompt -> the model's stream, opened and held to the class; or, to
inspect only, nothing more. Raises `ModelError` from prepare, and `InvalidField` where the message does not
fit into the model's window or a lens is not there; faults of stores end in `degraded`. Source: CONTRACT §3,
seed 003 (3.3).
"""

import asyncio
from dataclasses import asdict, dataclass
from datetime import datetime
from functools import partial

from app.domain.answer import Citation, new_id
from app.domain.budget import Meter
from app.domain.ports import ChatModel, Clock, Tokens
from app.domain.prompt import MEMORIES
from app.domain.trace import Degraded
from app.services.brief import KINDS, Given, contested, unsought
from app.services.briefing import Briefing, aside
from app.services.chat import cite
from app.services.context import Context
from app.services.held import POLICY, Held
from app.services.inquiry import House, Inquiry
from app.services.inspection import Inspection
from app.services.opening import Opening
from app.services.recall import Recall, Wanted
from app.services.recorder import Recorder, unanswered
from app.services.reply import Reply
from app.services.ruling import Ruling, Split, described, written
from app.services.shown import explained
from app.services.stages import Stages
from app.vantage.checks import lead
from app.vantage.policy import policy

SECONDS = 2.0
"""An answer that searches nothing does without knowing when the asker was last here, if that takes longer."""


@dataclass(frozen=True, slots=True)
class Prepared:
    """An answer before the model is asked."""

    ask: Inquiry
    given: Given
    context: Context
    started: datetime
    stages: Stages

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The packed passages."""
        return tuple(cite(passage) for passage in self.context.prompt.passages)

    @property
    def ruling(self) -> Ruling:
        """What was decided, for the record."""
        return ruled(self.ask, self.given)


def ruled(ask: Inquiry, given: Given) -> Ruling:
    """What was decided, with what it was decided on."""
    return Ruling(
        *given.weighed[:3],
        limits=ask.limits,
        routing=ask.routing,
        mix=ask.mix,
        split=Split(ask.top_k, given.by.split.personal, given.by.split.corpus),
        threshold=given.by.threshold,
        thread=len(given.thread.turns),
        vantage_id=ask.scope.vantage_id,
        inspect_only=ask.inspect_only,
        policy_sha256=str(policy()["sha256"]),
        evidence=given.weighed.evidence,
    )


class VantageService:
    """Answers within a policy."""

    def __init__(
        self,
        recall: Recall,
        briefing: Briefing,
        model: ChatModel,
        tokens: Tokens,
        recorder: Recorder,
        *,
        house: House,
        clock: Clock,
    ) -> None:
        self._recall = recall
        self._briefing = briefing
        self._model = model
        self._tokens = tokens
        self.recorder = recorder
        self._house = house
        self._clock = clock

    async def prepare(self, ask: Inquiry) -> Reply | Inspection:
        """Everything that can fail, while a status can still be sent. The caller closes the reply."""
        started, stages = self._clock(), Stages()
        meter = Meter(self._tokens.count, self._tokens.factor(self._named(ask)), form=MEMORIES)
        given: Given | None = None
        try:
            await self.recorder.written(ask.scope)
            given = await self._briefing.given(ask, started, meter)
            stages.lap("decide")
            given, context = await self._context(ask, given, meter, stages)
            made = Prepared(ask, given, context, started, stages)
        except asyncio.CancelledError:
            self._left(ask, given, started)
            raise
        if ask.inspect_only:
            return self._inspection(made)
        reply = self._reply(made)
        await reply.head()
        return reply

    def _left(self, ask: Inquiry, given: Given | None, started: datetime) -> None:
        """The asker left before the model was asked; what was decided by then is kept. Who only inspects
        leaves nothing behind."""
        if ask.inspect_only:
            return
        asked = (ask.scope, ask.endpoint, ask.message)
        ruling = written(ruled(ask, given)) if given else None
        self.recorder.later(
            unanswered(*asked, model=self._named(ask), began=started, now=self._clock(), ruling=ruling)
        )

    def _named(self, ask: Inquiry) -> str:
        """The model that is asked."""
        return ask.model or self._house.model

    async def _context(
        self, ask: Inquiry, given: Given, meter: Meter, stages: Stages
    ) -> tuple[Given, Context]:
        """What the model is to see, and what was decided: the search may have moved it."""
        if not given.sought:
            context = await self._unsought(ask, given, meter)
        else:
            given, context = await self._sought(ask, given, meter, stages)
        stages.lap("assemble")
        return given, context

    async def _unsought(self, ask: Inquiry, given: Given, meter: Meter) -> Context:
        """Nothing is looked for but when the asker was last here."""
        lost: list[Degraded] = []
        until = asyncio.get_running_loop().time() + SECONDS
        moment = await self._recall.moment(ask.scope, until, lost)
        made = partial(unsought, lost=lost)
        return await aside(len(ask.message), made, given, moment, self._house.room, meter)

    async def _sought(
        self, ask: Inquiry, given: Given, meter: Meter, stages: Stages
    ) -> tuple[Given, Context]:
        """With memories and reference texts, as the mix wants them."""
        shares = given.by.split
        wanted = Wanted(
            *(ask.scope, ask.message, given.by.threshold),
            personal=shares.personal,
            corpus=shares.corpus,
            kinds=KINDS if shares.personal else (),
        )
        known = await self._recall.gather(wanted)
        stages.lap("gather")
        # Tags of many texts, their lines and tokens: milliseconds.
        work = partial(contested, ask=ask)
        return await asyncio.to_thread(work, given, wanted, known, self._house.room, meter)

    def _reply(self, made: Prepared) -> Reply:
        """The answer, about to begin."""
        ask, prompt = made.ask, made.context.prompt
        labels = tuple(passage.label for passage in prompt.passages)
        opens = "" if self._house.speaks else lead(made.given.weighed.decision)
        held = Held(made.ruling, labels, self._tokens.count, lead=opens)
        return Reply(
            answer_id=new_id(),
            ask_scope=ask.scope,
            endpoint=ask.endpoint,
            prompt=prompt,
            trace=made.context.trace,
            citations=made.citations,
            opening=self._opening(made, held),
            recorder=self.recorder,
            tokens=self._tokens,
            clock=self._clock,
            started=made.started,
            debug=ask.debug,
            extra=told(made, debug=self._house.debug),
            prompt_tokens=made.context.tokens,
            stages=made.stages,
            held=held,
            recipe=made.context.recipe,
        )

    def _opening(self, made: Prepared, held: Held) -> Opening:
        """The model's stream, of which leaves only what may; without a model, the policy's own text."""
        if held.whole and not self._house.speaks:
            return Opening(held.unasked(), POLICY)
        name = self._named(made.ask)
        return Opening(held.over(self._model.open(made.context.prompt, model=name)), name)

    def _inspection(self, made: Prepared) -> Inspection:
        """All but the answer."""
        ask = made.ask
        return Inspection(
            answer_id=new_id(),
            scope=ask.scope,
            endpoint=ask.endpoint,
            model=self._named(ask),
            context=made.context,
            ruling=made.ruling,
            citations=made.citations,
            recorder=self.recorder,
            clock=self._clock,
            started=made.started,
            stages=made.stages,
            extra=told(made, debug=self._house.debug),
            debug=ask.debug,
        )


def told(made: Prepared, *, debug: bool) -> dict[str, object]:
    """What `meta` tells beside chat's facts; `debug` is VANTAGE_DEBUG."""
    weighed, context = made.given.weighed, made.context
    shown = context.shown(debug=made.ask.debug or made.ask.inspect_only)
    del shown["meta_explanation"]
    asked = {"vantage_id": made.ask.scope.vantage_id, "mix": asdict(made.ask.mix)}
    meta: dict[str, object] = {**explained(context.explanation), **asked}
    if debug:
        split = asdict(made.ruling.split)
        seen = {"timings": made.stages.took, "prompt_sha256": context.prompt.sha256()}
        evidence = weighed.evidence and dict(weighed.evidence.scores)
        rivals = [asdict(rival) for rival in weighed.evidence.rivals] if weighed.evidence else []
        told = {"sd": described(weighed.sd), "evidence": evidence, "rivals": rivals}
        meta |= {**told, "split": split, **seen}
    decision = weighed.decision
    return {
        "response_class": str(decision.response_class),
        "decision": {
            "class": str(decision.response_class),
            "rules": list(decision.rules),
            "policy_version": decision.policy_version,
        },
        "params": asdict(weighed.params),
        **shown,
        "meta": meta,
    }
