"""The steps from a question to a streamed reply that /api/chat, /rag/query and /vantage/query share.

A recipe (chat, rag or vantage in `services/`) makes the `Context`; the pipeline opens the model's stream and
returns a `Reply`, which checks citations and class, and is recorded. If the client disconnects before, the
question is recorded. Every error that can still become a status is raised by `prepare`: `ModelError`, and
`InvalidField` if the required parts of the prompt exceed the model's window. Source: docs/contract.md,
docs/adr/0013.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from app.answer import Answer, Block, Finish, Form, Prompt, Role, Turn, Usage, new_id
from app.answering.budget import Budget, Meter, PromptLimits, ledger, pack_recalled, share
from app.answering.enforcement import POLICY
from app.answering.errands import unaided
from app.answering.live import Live
from app.answering.meta import Used, build_meta_explanation, recalled
from app.answering.question import Context, Question
from app.answering.reason import reason_of
from app.answering.recall import TOLD, Recalled, Weighing, chosen, tags_of
from app.answering.recorder import AnswerRecord, Recorder
from app.answering.replay import recipe_of
from app.answering.ruling import Ruling, written
from app.answering.stream import Opening, Remembered, Reply
from app.db.memories import Moment, Tallies, Tally
from app.db.sessions import ChatLogStore
from app.metrics import count_answer
from app.models.base import ChatModel
from app.models.tokens import O200k
from app.retrieval.ranking import Wants
from app.retrieval.search import RANKING_VERSION
from app.retrieval.tags import (
    Gravity,
    card_weights,
    gravity,
    infer_query_tags,
    load_latest_gravity_profile,
    load_latest_vb_desire_profile,
    vb_desire_bias_map,
)
from app.tasks import Stages, deadline, elapsed, timely
from app.types import MEMORIES, Candidate, Clock, Degraded, Reason, Scope, Trace, Verdict

HISTORY_SHARE = 1 / 3
"""Share of RAG_TIMEOUT_SECONDS for reading earlier turns that the search waits for."""
HISTORY_TURNS = 200
"""Most turns read from the log."""
HISTORY_SECONDS = 2.0
"""Deadline of reading the log; after it the answer has no earlier turns."""


@dataclass(slots=True)
class Run:
    question: Question
    started: datetime
    meter: Meter
    stages: Stages = field(default_factory=Stages)
    ruling: Ruling | None = None
    """Vantage: the decision, as soon as there is one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pipeline:
    """The parts of one endpoint."""

    endpoint: str
    model: ChatModel
    tokens: O200k
    recorder: Recorder
    limits: PromptLimits
    clock: Clock
    name: str | None = None
    """The default model; None: the chat model's own."""
    remember: Callable[[Scope, str, datetime], Awaitable[Remembered]] | None = None
    """Stores the message as a memory (`remember: true`); never raises."""
    public_url: str | None = None
    """IBID_PUBLIC_URL."""
    live: Live = field(default_factory=Live)
    speaks: bool = True
    """False: the extractive answerer, which ignores response classes."""

    async def prepare(
        self, question: Question, form: Form, make: Callable[[Run], Awaitable[Context]]
    ) -> Reply:
        """Do everything that can fail while a status can still be sent. The caller closes the reply."""
        meter = Meter(self.tokens.count, self.tokens.factor(self.model_of(question)), form=form)
        run = Run(question, self.clock(), meter)
        try:
            context = await make(run)
        except asyncio.CancelledError:
            if question.recorded and not question.inspect_only:
                self._record_unanswered(run)
            raise
        reply = self._reply(run, context)
        await reply.head()
        return reply

    def model_of(self, question: Question) -> str:
        return question.model or self.name or self.model.name

    def _reply(self, run: Run, context: Context) -> Reply:
        question = run.question
        return Reply(
            question=question,
            context=context,
            answer_id=new_id(),
            endpoint=self.endpoint,
            name=self.model_of(question),
            opening=None if question.inspect_only else self._opening(question, context),
            recorder=self.recorder,
            tokens=self.tokens,
            clock=self.clock,
            started=run.started,
            stages=run.stages,
            remember=self.remember if question.remember else None,
            public_url=self.public_url,
            live=self.live,
        )

    def _opening(self, question: Question, context: Context) -> Opening:
        """The model's stream, with the decision enforced; without a model, the policy's own text, or what an
        errand asks for."""
        enforcement = context.enforcement
        if question.errand and not self.speaks:
            return Opening(unaided(question.message), self.model_of(question))
        if enforcement and enforcement.whole and not self.speaks:
            return Opening(enforcement.unasked(), POLICY)
        stream = self.model.open(context.prompt, model=question.model or self.name)
        return Opening(enforcement.over(stream) if enforcement else stream, self.model_of(question))

    def _record_unanswered(self, run: Run) -> None:
        """Record a question whose client disconnected before the model was asked."""
        question, began = run.question, run.started
        answer = Answer(
            id=new_id(),
            endpoint=self.endpoint,
            question=question.message,
            text="",
            model=self.model_of(question),
            finish=Finish.CANCELLED,
            citations=(),
            cited=(),
            unknown=(),
            prompt_sha256="",
            trace=Trace(Reason.CANCELLED),
            usage=Usage(),
            created_at=began,
            timings={"total": elapsed(began, self.clock())},
            ruling=written(run.ruling) if run.ruling else None,
        )
        count_answer(answer, None, asked=False)
        self.recorder.later(AnswerRecord(question.scope, answer, [Turn(Role.USER, question.message, began)]))


async def earlier_turns(
    chatlog: ChatLogStore,
    scope: Scope,
    count: int,
    lost: list[Degraded],
    *,
    seconds: float = HISTORY_SECONDS,
) -> Sequence[Turn]:
    """The newest `count` turns of the scope's thread, oldest first; fewer or none if the log is slow."""
    if count < 1:
        return ()
    until = deadline(min(HISTORY_SECONDS, seconds))
    return await timely("postgres", chatlog.turns(scope, min(count, HISTORY_TURNS)), until, lost) or ()


async def history_of(
    question: Question, chatlog: ChatLogStore, lost: list[Degraded], *, seconds: float
) -> Sequence[Turn]:
    """The turns that the client sent, or those of the log."""
    if question.history is not None:
        return question.history
    return await earlier_turns(chatlog, question.scope, HISTORY_TURNS, lost, seconds=seconds)


def system_text(candidates: Iterable[Candidate], texts: tuple[str, str, str]) -> str:
    """One of three system texts: with passages, without any, and if none fitted."""
    full, bare, crowded = texts
    verdicts = {item.verdict for item in candidates}
    if Verdict.PACKED in verdicts:
        return full
    return crowded if Verdict.OVER_BUDGET in verdicts else bare


def wants_of(message: str, known: Recalled) -> Wants:
    desires = vb_desire_bias_map(load_latest_vb_desire_profile(known.cards))
    weights = card_weights(load_latest_gravity_profile(known.cards))
    return Wants(infer_query_tags(message), desires, weights)


def select_recalled(
    wants: Wants, known: Recalled, by: Weighing, budget: int, meter: Meter
) -> list[Candidate]:
    """Rank, boost and cut memories and reference texts, and pack those that fit."""
    drawn = chosen(known.drawn, known.found.candidates, known.tallies or Tallies(), wants, by)
    room = Budget(budget, TOLD + by.split.corpus)
    return pack_recalled(drawn, known.found.duplicates, budget=room, meter=meter)


def room_for(limits: PromptLimits, meter: Meter, prompt: Prompt) -> int:
    """Tokens left for passages in a prompt that has none yet. Raises `InvalidField`."""
    system = prompt.messages()[0]["content"]
    return share(limits, meter, system=system, message=prompt.message, notes=(), turns=())[0]


def recalled_context(
    prompt: Prompt,
    candidates: Sequence[Candidate],
    wants: Wants,
    known: Recalled,
    by: Weighing,
    *,
    meter: Meter,
    budget: int,
    before: Sequence[Block],
    notes: Sequence[Block] = (),
    lost: Sequence[Degraded] = (),
    searched: str = "",
) -> Context:
    """The context of a prompt with recalled passages; `before` and `notes` are its recipe's blocks.
    `searched`: the search text, if it was not the message."""
    found, votes = known.found, known.tallies or Tallies()
    asked = bool(by.split.personal) + bool(by.split.corpus)
    trace = Trace(
        reason=reason_of(found, asked, candidates),
        entries=ledger(candidates, boosted=True),
        degraded=tuple(dict.fromkeys((*lost, *known.degraded))),
        cached=found.cached,
        budget=budget,
        took_ms=found.took_ms,
        sources=found.sources,
        searched=searched,
        told=found.notes,
        tokens=meter.context(prompt),
    )
    used = [
        Used(tags_of(passage), votes.get(passage.id, Tally()))
        for passage in prompt.passages
        if passage.source == MEMORIES
    ]
    return Context(
        prompt=prompt,
        trace=trace,
        recipe=recipe_of(prompt, ranking=RANKING_VERSION, before=before, notes=notes),
        tokens=meter.prompt(prompt),
        explanation=build_meta_explanation(
            wants.tags, used, wants.gravity, gravity(wants.tags, wants.gravity), known.moment
        ),
    )


def bare_context(
    prompt: Prompt,
    moment: Moment | None,
    *,
    meter: Meter,
    limits: PromptLimits,
    before: Sequence[Block],
    lost: Sequence[Degraded],
) -> Context:
    """The context of a prompt without a search: small talk, a refusal. Raises `InvalidField`."""
    room_for(limits, meter, prompt)
    explanation = build_meta_explanation(infer_query_tags(prompt.message), (), {}, Gravity(), moment)
    return Context(
        prompt=prompt,
        trace=Trace(prompt.reason, degraded=tuple(lost)),
        recipe=recipe_of(prompt, ranking=RANKING_VERSION, before=before),
        tokens=meter.prompt(prompt),
        explanation=explanation,
        bypass=None if prompt.reason is Reason.UNASKED else prompt.reason,
    )


def recalled_facts(context: Context, *, debug: bool) -> dict[str, object]:
    """Further `meta` fields for a context with recalled passages."""
    entries = {(entry.source, entry.id): entry for entry in context.trace.packed}
    used = [recalled(item, entries[item.source, item.id]) for item in context.prompt.passages]
    facts: dict[str, object] = {
        "memory_used": used,
        "bypass": context.bypass,
    }
    return facts | ({"system_prompt": context.prompt.messages()[0]["content"]} if debug else {})
