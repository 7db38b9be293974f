"""A message to /vantage/query as the API took it, and what the settings say of how it is answered.

Fields alone. Source: docs/contract.md.

What the model is told under a decision: overlay, policy, lens, cards, thread, and what was found.
Blocking, milliseconds.

All that is settled before the search is `Given`; the prompt's blocks and the recipe's are made of it in one
order: re-entry line, the asker's overlay, policy, lens, cards, thread. No persona. Pure but for the count of
tokens, which are those of the model that answers. Raises `InvalidField` where what must stand in the prompt
does not fit into the model's window. Source: docs/contract.md.

What is settled of an answer before anything is searched: the thread, the cards, and the decision.

Thread and cards are read, and the outside service is asked, beside each other; what fails or is late ends in
`degraded`, and the decision is taken without it. The features see the asker's own turns of those that the
prompt shows, and no others: what the model does not see makes nothing clearer, and an earlier answer may
quote what somebody else wrote. Seconds. Raises `InvalidField` for a lens that is not there.

An answer that is not given (`inspect_only`): everything up to the model, and the trace of it.

Keeps what the API needs of a reply. No model is asked, no turn is written, nobody's activity is marked.
Source: docs/contract.md. Raises nothing.

/vantage/query: the same retrieval under a policy that decides before the model speaks.

prepare: thread, cards, decision -> greeting? refusal? -> small prompt. Else the mix splits k -> recall ->
boosts, recency -> rivals? ask back -> prompt -> the model's stream, opened and held to the class; or, to
inspect only, nothing more. Raises `ModelError` from prepare, and `InvalidField` where the message does not
fit into the model's window or a lens is not there; faults of stores end in `degraded`. Source:
docs/contract.md.

POST /vantage/mix: an answer's candidates under another mix; nothing is asked but the answer itself.

Raises `Missing` for an answer that is not the asker's, `InvalidField` for one that has no mix, `Unavailable`.
Source: docs/contract.md.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from app.answer import (
    BREAK,
    CHAT_LOG_REF,
    GREETING_FORM,
    MEMORY_FORM,
    Answer,
    Block,
    Citation,
    Finish,
    Form,
    Kind,
    Prompt,
    Ref,
    Role,
    Usage,
    build_system_prompt,
    new_id,
    recipe_block,
    sha256,
)
from app.answering import mix, ruling
from app.answering.budget import Budget, Meter, PromptLimits, Selection, reason_of, share
from app.answering.budget import PromptLimits as Room
from app.answering.enforcement import POLICY, WHOLE_CLASSES, Held
from app.answering.meta import build_meta_explanation, explained, ledger, plainly, retrieved
from app.answering.mix import Split, Standing, Weighing, lens_name, remix, weighed
from app.answering.prompt import CARDS_TOKENS as CARDS_MOST
from app.answering.prompt import (
    GIVEN,
    SYSTEM_GREETING,
    SYSTEM_MEMORY,
    SYSTEM_POLICY,
    SYSTEM_TALK,
    CardsBlock,
    ThreadBlock,
    cards_block,
    reentry_line,
    thread_block,
)
from app.answering.prompt import THREAD_TOKENS as THREAD_MOST
from app.answering.recall import CORPUS, MEMORIES, TOLD, Known, Recall, Wanted, pack, timely
from app.answering.recall import MEMORIES as PERSONAL
from app.answering.recorder import Kept, Recorder, unanswered
from app.answering.replay import recipe_of
from app.answering.ruling import Ruling, SplitRecord, described, written
from app.answering.stream import Event, Opening, Reply
from app.db.cards import SHOWN, CardStore
from app.db.memories import DESIRE, GRAVITY, Moment, Tallies
from app.db.sessions import Threads
from app.errors import InvalidField
from app.models.base import ChatModel, Tokens
from app.models.moderation import MODERATION, Moderator
from app.retrieval.ranking import Wants
from app.retrieval.search import VERSION
from app.retrieval.tags import (
    Gravity,
    gravity,
    gravity_weights,
    infer_query_tags,
    load_latest_gravity_profile,
    load_latest_vb_desire_profile,
    vb_desire_bias_map,
)
from app.services import rag
from app.services.answers import AnswerService
from app.services.chat import cite
from app.services.rag import Context
from app.stopwatch import Stages, elapsed
from app.text.greeting import is_pure_reentry_greeting, is_small_talk
from app.types import Clock, Degraded, Reason, Scope, Trace
from app.vantage.checks import lead
from app.vantage.policy import policy
from app.vantage.rivals import rivals
from app.vantage.terms import Evidence, Limits, Mix, ResponseClass, Routing
from app.vantage.weigh import Weighed, rivalled, weigh


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One message as the API took it."""

    scope: Scope
    """Names the user, and the namespace (vantage_id)."""
    message: str
    top_k: int = 8
    overlay: str = ""
    """As `overlay_to_instructions` gives it."""
    limits: Limits = field(default_factory=Limits)
    routing: Routing = field(default_factory=Routing)
    mix: Mix = field(default_factory=Mix)
    model: str | None = None
    """None: VANTAGE_MODEL."""
    inspect_only: bool = False
    debug: bool = False
    """Show candidates and the prompt in the reply."""
    endpoint: str = "/vantage/query"


@dataclass(frozen=True, slots=True)
class House:
    """What the settings say."""

    model: str
    """VANTAGE_MODEL, or what that stands for."""
    room: Room
    """`threshold` is RETRIEVE_THRESHOLD."""
    personal: bool = False
    """VANTAGE_PERSONAL_MEMORY."""
    debug: bool = False
    """VANTAGE_DEBUG."""
    speaks: bool = True
    """Whether there is a chat model: the extractive answerer knows nothing of classes."""


KINDS = (GRAVITY, DESIRE)
"""Of the cards that memories are ranked by; a persona is not shown."""
SHARE = 4
"""Cards, and the thread, have at most one part in so many of the window's free tokens each."""


@dataclass(frozen=True, slots=True)
class Given:
    """What an answer is given beside what is found."""

    message: str
    weighed: Weighed
    by: mix.Weighing
    overlay: str = ""
    """The asker's, as `overlay_to_instructions` gives it."""
    lens: bool | str = False
    cards: CardsBlock = field(default_factory=CardsBlock)
    thread: ThreadBlock = field(default_factory=ThreadBlock)
    lost: tuple[Degraded, ...] = ()
    """What could not be read of it."""
    greets: bool = False
    """A pure greeting that is to be answered: nothing but its own prompt."""

    @property
    def response_class(self) -> ResponseClass:
        """The answer's."""
        return self.weighed.decision.response_class

    @property
    def sought(self) -> bool:
        """Whether anything is to be looked for."""
        wanted = self.by.split.personal or self.by.split.corpus
        return bool(wanted) and not self.bare

    @property
    def bare(self) -> bool:
        """Whether nothing that was retrieved is shown: in a greeting's prompt, and in a refusal's."""
        return self.greets or self.response_class is ResponseClass.REFUSE

    def reentry(self, moment: Moment | None) -> str:
        """How long the asker was away; not where the answer only asks."""
        return "" if self.response_class is ResponseClass.CLARIFY else reentry_line(moment)

    def says(self, system: str) -> str:
        """A system text that tells of cards and thread, where there are any."""
        return GIVEN.get(system, system) if self.cards.text or self.thread.text else system

    def blocks(self) -> tuple[str, ...]:
        """Those that stand in every prompt, in order; "" where there is none."""
        if self.bare:
            return (self.overlay, self.weighed.overlay_text, "", "", "")
        lens = mix.lens_block(self.lens)
        return (self.overlay, self.weighed.overlay_text, lens, self.cards.text, self.thread.text)

    def recipe(self, reentry: str) -> tuple[Block, ...]:
        """The same, by what they are made of."""
        overlay, policy, lens, cards, thread = self.blocks()
        turns = tuple(Ref(CHAT_LOG_REF, turn.id, sha256(turn.content)) for turn in self.thread.turns)
        return (
            recipe_block(Kind.REENTRY, reentry, keep=True),
            recipe_block(Kind.OVERLAY, overlay, keep=True),
            # Turns that were weighed and are not shown: a replay weighs them again.
            recipe_block(Kind.POLICY, policy, refs=turns if self.bare else ()),
            recipe_block(Kind.LENS, lens, name=mix.lens_name(self.lens)),
            recipe_block(Kind.CARDS, cards, refs=self.cards.refs),
            recipe_block(Kind.THREAD, thread, refs=turns),
        )

    def prompt(
        self,
        system: str,
        reentry: str,
        selection: Selection | None = None,
        form: Form = MEMORY_FORM,
        reason: Reason = Reason.OK,
    ) -> Prompt:
        """All of it, and what was found."""
        overlay = BREAK.join(filter(None, self.blocks()))
        passages = selection.passages if selection else ()
        return build_system_prompt(
            *(system, self.message, passages),
            reentry=reentry,
            overlay_text=overlay,
            include_persona=False,
            form=form,
            reason=reason,
        )


def assemble(given: Given, wanted: Wanted, known: Known, limits: PromptLimits, meter: Meter) -> Context:
    """With what was found: boosts, recency, what is told."""
    tags, reentry = infer_query_tags(given.message), given.reentry(known.moment)
    weights = gravity_weights(load_latest_gravity_profile(known.cards))
    bare = given.prompt(given.says(SYSTEM_MEMORY), reentry).messages()[0]["content"]
    budget, _ = share(limits, meter, system=bare, message=given.message, notes=(), turns=())
    wants = Wants(tags, vb_desire_bias_map(load_latest_vb_desire_profile(known.cards)), weights)
    drawn = mix.told(known.drawn, known.found.candidates, known.tallies or Tallies(), wants, given.by)
    room = Budget(budget, TOLD + wanted.corpus)
    selection = pack(drawn, known.found.duplicates, budget=room, meter=meter)
    prompt = given.prompt(instructed(given, selection), reentry, selection)
    trace = Trace(
        reason=reason_of(known.found, bool(wanted.personal) + bool(wanted.corpus), selection),
        entries=selection.entries,
        degraded=tuple(dict.fromkeys((*given.lost, *known.degraded))),
        cached=known.found.cached,
        tokens=meter.context(prompt),
        budget=budget,
        took_ms=known.found.took_ms,
        sources=known.found.sources,
        told=known.found.notes,
    )
    used = [rag.evidence(one, known) for one in selection.passages if one.source == PERSONAL]
    explanation = build_meta_explanation(tags, used, weights, gravity(tags, weights), known.moment)
    recipe = recipe_of(prompt, ranking=VERSION, before=given.recipe(reentry))
    return Context(prompt, trace, meter.prompt(prompt), explanation, recipe)


def contested(
    given: Given, wanted: Wanted, known: Known, limits: PromptLimits, meter: Meter, *, ask: Inquiry
) -> tuple[Given, Context]:
    """The same; but where rival sources answer differently, the answer only asks which of them is meant."""
    context = assemble(given, wanted, known, limits, meter)
    said = [turn.content for turn in given.thread.turns if turn.role is Role.USER]
    found = rivals(given.message, context.prompt.passages, said)
    again = rivalled(given.weighed, ask.limits, ask.routing, found)
    if again is None:
        return given, context
    given = replace(given, weighed=again)
    return given, assemble(given, wanted, known, limits, meter)


def unsought(
    given: Given,
    moment: Moment | None,
    limits: PromptLimits,
    meter: Meter,
    *,
    lost: Sequence[Degraded] = (),
) -> Context:
    """With nothing looked for: a refusal, a mix of nothing, or a pure greeting's minimal prompt."""
    reentry, greets = given.reentry(moment), given.greets
    greeting = is_pure_reentry_greeting(given.message)
    talk = SYSTEM_GREETING if greeting else SYSTEM_TALK
    system, form = (talk, GREETING_FORM) if greets else (SYSTEM_POLICY, MEMORY_FORM)
    why = (Reason.GREETING if greeting else Reason.SMALL_TALK) if greets else Reason.UNASKED
    prompt = given.prompt(system, reentry, form=form, reason=why)
    share(
        limits,
        meter,
        system=prompt.messages()[0]["content"],
        message=given.message,
        notes=(),
        turns=(),
    )
    trace = Trace(why, degraded=(*given.lost, *lost))
    explanation = build_meta_explanation(infer_query_tags(given.message), (), {}, Gravity(), moment)
    recipe = recipe_of(prompt, ranking=VERSION, before=given.recipe(reentry))
    bypass = why if greets else None
    return Context(prompt, trace, meter.prompt(prompt), explanation, recipe, bypass=bypass)


def instructed(given: Given, selection: Selection) -> str:
    """The system text that is true of what was found, and of what the answer may be."""
    return SYSTEM_POLICY if given.response_class in WHOLE_CLASSES else given.says(rag.told(selection))


def roomy(limits: PromptLimits, meter: Meter, texts: Sequence[str]) -> int:
    """Tokens that cards, or the thread, may have beside these: they must not crowd out the message."""
    free = limits.window - limits.answer - sum(map(meter, (GIVEN[SYSTEM_MEMORY], *texts)))
    return max(0, free // SHARE)


SECONDS = 2.0
"""The cards have so long, as the thread has."""
AT_ONCE = 1_000
"""Characters that are weighed on the loop: about a millisecond."""

T = TypeVar("T")


class Briefing:
    """Settles it."""

    def __init__(
        self, threads: Threads, cards: CardStore, house: House, moderator: Moderator | None = None
    ) -> None:
        self._threads = threads
        self._moderator = moderator
        self._cards = cards
        self._house = house

    async def given(self, ask: Inquiry, at: datetime, meter: Meter) -> Given:
        """Everything. `at`: when the question came."""
        mix.lens_name(ask.mix.lens_fm)  # raises, before anything is asked
        room, personal = self._house.room, self._house.personal
        by = mix.weighed(ask.mix, ask.top_k, threshold=room.threshold, at=at, personal=personal)
        if is_small_talk(ask.message):
            alone = await weighed_in_thread(ask, ThreadBlock(), None)
            if alone.decision.response_class is ResponseClass.COMPLY:
                return Given(ask.message, alone, by, overlay=ask.overlay, greets=True)
        asked, lost = (ask.message, ask.overlay), list[Degraded]()
        most = await aside(sum(map(len, asked)), roomy, room, meter, asked)
        async with asyncio.TaskGroup() as group:
            thread = group.create_task(self._thread(ask, meter, min(most, THREAD_MOST), lost))
            cards = group.create_task(self._shown(ask.scope, meter, min(most, CARDS_MOST), lost))
            evidence = group.create_task(self._evidence(ask.message, lost))
        return Given(
            ask.message,
            await weighed_in_thread(ask, thread.result(), evidence.result()),
            by,
            overlay=ask.overlay,
            lens=ask.mix.lens_fm,
            cards=cards.result(),
            thread=thread.result(),
            lost=tuple(dict.fromkeys(lost)),
        )

    async def _thread(self, ask: Inquiry, meter: Meter, most: int, lost: list[Degraded]) -> ThreadBlock:
        """The turns that the mix wants shown."""
        turns, faults = await self._threads.turns(ask.scope, ask.mix.conversation)
        lost += faults
        return await aside(sum(len(turn.content) for turn in turns), thread_block, turns, meter, most)

    async def _evidence(self, message: str, lost: list[Degraded]) -> Evidence | None:
        """What the outside service says of the message; None: there is none, or it does not answer."""
        if self._moderator is None:
            return None
        until = asyncio.get_running_loop().time() + SECONDS
        scores = await timely(MODERATION, self._moderator.scores(message), until, lost)
        return None if scores is None else Evidence(scores)

    async def _shown(self, scope: Scope, meter: Meter, most: int, lost: list[Degraded]) -> CardsBlock:
        """The cards and facts of the namespace."""
        if scope.vantage_id is None:
            return CardsBlock()
        until = asyncio.get_running_loop().time() + SECONDS
        found = await timely("vantage_cards", self._cards.shown(scope, SHOWN), until, lost)
        return await aside(sum(len(card.text) for card in found or ()), cards_block, found or (), meter, most)


async def weighed_in_thread(ask: Inquiry, thread: ThreadBlock, evidence: Evidence | None) -> Weighed:
    """The decision."""
    said = tuple(turn.content for turn in thread.turns if turn.role is Role.USER)
    size = len(ask.message) + len(ask.overlay) + sum(map(len, said))
    told = (ask.message, said, ask.overlay, ask.limits, ask.routing)
    return await aside(size, weigh, *told, evidence=evidence)


async def aside(size: int, work: Callable[..., T], *args: Any, **named: Any) -> T:  # noqa: ANN401 - the work's own
    """What comes of it; in a thread where there are more than AT_ONCE characters to look through or count."""
    return await asyncio.to_thread(work, *args, **named) if size > AT_ONCE else work(*args, **named)


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
        split=SplitRecord(ask.top_k, given.by.split.personal, given.by.split.corpus),
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
        meter = Meter(self._tokens.count, self._tokens.factor(self._named(ask)), form=MEMORY_FORM)
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


UNSOUGHT = (Reason.GREETING, Reason.SMALL_TALK, Reason.UNASKED)
"""Nothing was looked for: a greeting, a refusal."""
RAG, RAG_TOP_K = "/rag/query", 8
"""Its answers have memories and reference texts too. How many were wanted is not kept: so many by default."""
MOMENT = 100
"""Candidates that are weighed on the loop: a millisecond."""


@dataclass(frozen=True, slots=True)
class Mixed:
    """What would have been told."""

    answer_id: str
    top_k: int
    mix: Mix
    was: Weighing
    now: Weighing
    standings: Sequence[Standing]

    @property
    def unsearched(self) -> list[str]:
        """Sources that this mix would look into and the answer did not: nothing is known of them."""
        was, now = self.was.split, self.now.split
        found = {MEMORIES: now.personal and not was.personal, CORPUS: now.corpus and not was.corpus}
        return [source for source, missing in found.items() if missing]


class MixService:
    """Answers, mixed anew."""

    def __init__(self, answers: AnswerService, *, threshold: float, personal: bool) -> None:
        """`threshold`: RETRIEVE_THRESHOLD; `personal`: VANTAGE_PERSONAL_MEMORY."""
        self._answers = answers
        self._threshold = threshold
        self._personal = personal

    async def mix(self, scope: Scope, answer_id: str, mix: Mix) -> Mixed:
        """The candidates of the scope's answer, under `mix`."""
        lens_name(mix.lens_fm)
        answer = await self._answers.get(scope, answer_id)
        top_k, was = self._given(answer)
        now = weighed(mix, top_k, threshold=self._threshold, at=answer.created_at, personal=self._personal)
        entries = answer.trace.entries
        if len(entries) > MOMENT:
            standings = await asyncio.to_thread(remix, entries, was=was, now=now)
        else:
            standings = remix(entries, was=was, now=now)
        return Mixed(answer_id, top_k, mix, was, now, standings)

    def _given(self, answer: Answer) -> tuple[int, Weighing]:
        """top_k, and how its candidates were weighed."""
        if answer.ruling is not None:
            kept = ruling.read(answer.ruling)
            sought = answer.trace.reason not in UNSOUGHT
            shares = Split(kept.split.personal, kept.split.corpus) if sought else Split(0, 0)
            by = Weighing(shares, kept.threshold, kept.mix.recency_bias, answer.created_at)
            return kept.split.base, by
        if answer.endpoint != RAG:
            raise InvalidField(f"an answer of {answer.endpoint} has no mix", field="body.answer_id")
        return RAG_TOP_K, weighed(Mix(), RAG_TOP_K, threshold=self._threshold, at=answer.created_at)
