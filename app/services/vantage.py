"""/vantage/query: retrieval as for /rag/query, under a policy that decides before the model is asked. Also
/vantage/mix (an answer's candidates under another mix), and the cards and facts of a namespace.

Small talk and refusals get a small prompt. Otherwise: the mix splits k, recall, boosts and recency, a
question back if sources are rivals, the prompt; the answer must keep to its class. The features see only the
user's own turns in the prompt: an earlier answer may quote another person. Parts that fail or are late are
listed in `degraded`. Raises `ModelError`, and `InvalidField` for an unknown lens, a message over the window
or an answer without a mix; `Forbidden`, `Missing`, `Unavailable`, `NoRoom`, `RemovedMeanwhile`. Times are in
seconds. Source: docs/contract.md.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields, replace

from app.answer import (
    BREAK,
    GREETING_FORM,
    MEMORY_FORM,
    Answer,
    Block,
    Form,
    Kind,
    Prompt,
    Role,
    Turn,
    build_system_prompt,
    recipe_block,
)
from app.answering import ruling
from app.answering.budget import Meter, PromptLimits, packed_passages
from app.answering.enforcement import WHOLE_CLASSES, Enforcement
from app.answering.mix import RemixedEntry, remix
from app.answering.pipeline import (
    Pipeline,
    Run,
    bare_context,
    earlier_turns,
    recalled_context,
    recalled_facts,
    room_for,
    select_recalled,
    system_text,
    wants_of,
)
from app.answering.prompt import (
    CARDS_TOKENS,
    GIVEN,
    SYSTEM_GREETING,
    SYSTEM_MEMORY,
    SYSTEM_POLICY,
    SYSTEM_TALK,
    THREAD_TOKENS,
    CardsBlock,
    ThreadBlock,
    cards_block,
    day_line,
    lens_block,
    lens_name,
    reentry_line,
    thread_block,
)
from app.answering.question import Context, Question
from app.answering.recall import TOP_K, Recall, Recalled, Split, Weighing, resolve_mix
from app.answering.ruling import Ruling, SplitRecord, written
from app.answering.stream import Reply
from app.db.cards import SHOWN, Card, CardDraft, CardShape, CardStore
from app.db.memories import DESIRE, GRAVITY, Moment
from app.db.sessions import ChatLogStore
from app.errors import Forbidden, InvalidField, Missing
from app.models.moderation import MODERATION, HttpModerator
from app.services.answers import AnswerService
from app.services.rag import TEXTS
from app.tasks import aside, deadline, timely
from app.text.greeting import is_assent, is_pure_reentry_greeting, is_small_talk
from app.types import CORPUS, MEMORIES, Candidate, Degraded, Passage, Reason, Scope
from app.vantage.checks import lead
from app.vantage.policy import policy
from app.vantage.rivals import rivals
from app.vantage.terms import Evidence, Mix, ResponseClass
from app.vantage.weigh import Weighed, rivalled, weigh

KINDS = (GRAVITY, DESIRE)
"""Kinds of cards for boosts; a persona is not shown."""
SHARE = 4
"""Cards, and the thread, each have at most this fraction (1/n) of the window's free tokens."""
READ_SECONDS = 2.0
"""Deadline for cards, the outside service, and the last activity."""


@dataclass(frozen=True, slots=True)
class Decided:
    question: Question
    weighed: Weighed
    by: Weighing
    cards: CardsBlock = field(default_factory=CardsBlock)
    thread: ThreadBlock = field(default_factory=ThreadBlock)
    lost: tuple[Degraded, ...] = ()
    """Inputs that could not be read."""
    small_talk: bool = False
    """It has a prompt of its own."""

    @property
    def response_class(self) -> ResponseClass:
        return self.weighed.decision.response_class

    @property
    def bare(self) -> bool:
        return self.small_talk or self.response_class is ResponseClass.REFUSE

    @property
    def sought(self) -> bool:
        return bool(self.by.split.personal or self.by.split.corpus) and not self.bare

    @property
    def ruling(self) -> Ruling:
        """The decision as stored with the answer."""
        question, by = self.question, self.by
        return Ruling(
            *self.weighed[:3],
            limits=question.limits,
            routing=question.routing,
            mix=question.mix,
            split=SplitRecord(question.top_k or TOP_K, by.split.personal, by.split.corpus),
            threshold=by.threshold,
            thread=len(self.thread.turns),
            vantage_id=question.scope.vantage_id,
            inspect_only=question.inspect_only,
            policy_sha256=str(policy()["sha256"]),
            evidence=self.weighed.evidence,
        )

    def reentry(self, moment: Moment | None) -> str:
        return "" if self.response_class is ResponseClass.CLARIFY else reentry_line(moment)

    def system(self, candidates: Sequence[Candidate] | None) -> str:
        """The system text for the candidates (None: unknown yet) and the response class."""
        if candidates is not None and self.response_class in WHOLE_CLASSES:
            return SYSTEM_POLICY
        text = SYSTEM_MEMORY if candidates is None else system_text(candidates, TEXTS)
        return GIVEN.get(text, text) if self.cards.text or self.thread.text else text

    def blocks(self) -> tuple[str, ...]:
        overlay, rules = self.question.overlay, self.weighed.overlay_text
        if self.bare:
            return (overlay, rules, "", "", "")
        return (overlay, rules, lens_block(self.question.mix.lens_fm), self.cards.text, self.thread.text)

    def recipe(self, reentry: str) -> tuple[Block, ...]:
        overlay, rules, lens, cards, thread = self.blocks()
        turns = tuple(ref for ref in self.thread.refs if ref.id)
        # Turns of the request's own history are not kept: a replay says so.
        brought = [turn for turn in self.thread.turns if not turn.id]
        return (
            *(recipe_block(Kind.TURN, turn.content, name=turn.role) for turn in brought),
            recipe_block(Kind.DATE, day_line(self.by.at), keep=True),
            recipe_block(Kind.REENTRY, reentry, keep=True),
            recipe_block(Kind.OVERLAY, overlay, keep=True),
            # Turns that were weighed but are not shown: a replay weighs them again.
            recipe_block(Kind.POLICY, rules, refs=turns if self.bare else ()),
            recipe_block(Kind.LENS, lens, name=lens_name(self.question.mix.lens_fm)),
            recipe_block(Kind.CARDS, cards, refs=self.cards.refs),
            recipe_block(Kind.THREAD, thread, refs=turns),
        )

    def prompt(
        self,
        system: str,
        reentry: str,
        passages: Sequence[Passage] = (),
        form: Form = MEMORY_FORM,
        reason: Reason = Reason.OK,
    ) -> Prompt:
        return build_system_prompt(
            system,
            self.question.message,
            passages,
            today=day_line(self.by.at),
            reentry=reentry,
            overlay_text=BREAK.join(filter(None, self.blocks())),
            include_persona=False,
            form=form,
            reason=reason,
        )


class VantageService:
    def __init__(
        self,
        recall: Recall,
        chatlog: ChatLogStore,
        cards: CardStore,
        pipeline: Pipeline,
        *,
        moderator: HttpModerator | None = None,
        personal: bool = False,
        debug: bool = False,
    ) -> None:
        """`pipeline.limits.threshold` is RETRIEVE_THRESHOLD, `personal` VANTAGE_PERSONAL_MEMORY, `debug`
        VANTAGE_DEBUG."""
        self._recall = recall
        self._chatlog = chatlog
        self._cards = cards
        self._pipeline = pipeline
        self._moderator = moderator
        self._personal = personal
        self._debug = debug

    async def prepare(self, question: Question) -> Reply:
        """Do everything that can fail while a status can still be sent. The caller closes the reply."""
        return await self._pipeline.prepare(question, MEMORY_FORM, self._context)

    async def _context(self, run: Run) -> Context:
        await self._pipeline.recorder.written(run.question.scope)
        decided = await self._decide(run)
        run.ruling = decided.ruling
        run.stages.lap("decide")
        if decided.sought:
            decided, context = await self._recalled(run, decided)
        else:
            context = await self._unsought(run, decided)
        run.stages.lap("assemble")
        labels = tuple(passage.label for passage in context.prompt.passages)
        opens = "" if self._pipeline.speaks else lead(decided.weighed.decision)
        return replace(
            context,
            enforcement=Enforcement(decided.ruling, labels, self._pipeline.tokens.count, lead=opens),
            extra=facts(run, decided, context, debug=self._debug),
        )

    async def _decide(self, run: Run) -> Decided:
        question, limits = run.question, self._pipeline.limits
        lens_name(question.mix.lens_fm)  # raises before anything is read
        by = resolve_mix(
            question.mix,
            question.top_k or TOP_K,
            threshold=limits.threshold,
            at=run.started,
            personal=self._personal,
        )
        small_talk = is_small_talk(question.message)
        if small_talk and not is_assent(question.message):  # a yes may agree to anything
            alone = await weighed_in_thread(question, ThreadBlock(), None)
            if alone.decision.response_class is ResponseClass.COMPLY:
                return Decided(question, alone, by, small_talk=True)
        texts, lost = (question.message, question.overlay), list[Degraded]()
        most = await aside(sum(map(len, texts)), block_tokens, limits, run.meter, texts)
        async with asyncio.TaskGroup() as group:
            thread = group.create_task(self._thread(run, min(most, THREAD_TOKENS), lost))
            cards = group.create_task(self._read_cards(run, min(most, CARDS_TOKENS), lost))
            evidence = group.create_task(self._evidence(question.message, lost))
        weighed = await weighed_in_thread(question, thread.result(), evidence.result())
        complied = weighed.decision.response_class is ResponseClass.COMPLY
        return Decided(
            question,
            weighed,
            by,
            cards=cards.result(),
            thread=thread.result(),
            lost=tuple(dict.fromkeys(lost)),
            small_talk=small_talk and complied and not thread.result().text,
        )

    async def _thread(self, run: Run, most: int, lost: list[Degraded]) -> ThreadBlock:
        question = run.question
        turns: Sequence[Turn] | None = question.history
        if turns is None:
            turns = await earlier_turns(self._chatlog, question.scope, question.mix.conversation, lost)
        return await aside(sum(len(turn.content) for turn in turns), thread_block, turns, run.meter, most)

    async def _read_cards(self, run: Run, most: int, lost: list[Degraded]) -> CardsBlock:
        scope: Scope = run.question.scope
        if scope.vantage_id is None:
            return CardsBlock()
        found = (
            await timely("vantage_cards", self._cards.shown(scope, SHOWN), deadline(READ_SECONDS), lost) or ()
        )
        return await aside(sum(len(card.text) for card in found), cards_block, found, run.meter, most)

    async def _evidence(self, message: str, lost: list[Degraded]) -> Evidence | None:
        if self._moderator is None:
            return None
        scores = await timely(MODERATION, self._moderator.scores(message), deadline(READ_SECONDS), lost)
        return None if scores is None else Evidence(scores)

    async def _unsought(self, run: Run, decided: Decided) -> Context:
        lost: list[Degraded] = []
        moment = await self._recall.moment(run.question.scope, deadline(READ_SECONDS), lost)
        size, limits = len(run.question.message), self._pipeline.limits
        return await aside(size, unsought_context, decided, moment, limits, run.meter, lost)

    async def _recalled(self, run: Run, decided: Decided) -> tuple[Decided, Context]:
        kinds = KINDS if decided.by.split.personal else ()
        known = await self._recall.gather(run.question, decided.by, kinds)
        run.stages.lap("gather")
        # Tags of many texts, their lines and tokens: milliseconds.
        return await asyncio.to_thread(contested_context, decided, known, self._pipeline.limits, run.meter)


def block_tokens(limits: PromptLimits, meter: Meter, texts: Sequence[str]) -> int:
    """Tokens for cards, or the thread, beside these texts: they must not crowd out the message."""
    free = limits.window - limits.answer - sum(map(meter, (GIVEN[SYSTEM_MEMORY], *texts)))
    return max(0, free // SHARE)


async def weighed_in_thread(question: Question, thread: ThreadBlock, evidence: Evidence | None) -> Weighed:
    said = own_turns(thread)
    size = len(question.message) + len(question.overlay) + sum(map(len, said))
    texts = (question.message, said, question.overlay)
    return await aside(size, weigh, *texts, question.limits, question.routing, evidence=evidence)


def own_turns(thread: ThreadBlock) -> tuple[str, ...]:
    return tuple(turn.content for turn in thread.turns if turn.role is Role.USER)


def contested_context(
    decided: Decided, known: Recalled, limits: PromptLimits, meter: Meter
) -> tuple[Decided, Context]:
    """The context; if rival sources answer differently, one for asking which is meant."""
    context = recall_context(decided, known, limits, meter)
    question = decided.question
    found = rivals(question.message, context.prompt.passages, own_turns(decided.thread))
    again = rivalled(decided.weighed, question.limits, question.routing, found)
    if again is None:
        return decided, context
    decided = replace(decided, weighed=again)
    return decided, recall_context(decided, known, limits, meter)


def recall_context(decided: Decided, known: Recalled, limits: PromptLimits, meter: Meter) -> Context:
    """The prompt with recalled passages. Blocking, milliseconds. Raises `InvalidField`."""
    wants, reentry = wants_of(decided.question.message, known), decided.reentry(known.moment)
    budget = room_for(limits, meter, decided.prompt(decided.system(None), reentry))
    candidates = select_recalled(wants, known, decided.by, budget, meter)
    prompt = decided.prompt(decided.system(candidates), reentry, packed_passages(candidates))
    before = decided.recipe(reentry)
    return recalled_context(
        prompt,
        candidates,
        wants,
        known,
        decided.by,
        meter=meter,
        budget=budget,
        before=before,
        lost=decided.lost,
    )


def unsought_context(
    decided: Decided,
    moment: Moment | None,
    limits: PromptLimits,
    meter: Meter,
    lost: Sequence[Degraded] = (),
) -> Context:
    """Without a search: small talk's minimal prompt, a refusal, or a mix of nothing."""
    reentry = decided.reentry(moment)
    system, form, reason = SYSTEM_POLICY, MEMORY_FORM, Reason.UNASKED
    if decided.small_talk:
        greeting = is_pure_reentry_greeting(decided.question.message)
        system = SYSTEM_GREETING if greeting else SYSTEM_TALK
        form, reason = GREETING_FORM, Reason.GREETING if greeting else Reason.SMALL_TALK
    prompt = decided.prompt(system, reentry, form=form, reason=reason)
    before, faults = decided.recipe(reentry), (*decided.lost, *lost)
    return bare_context(prompt, moment, meter=meter, limits=limits, before=before, lost=faults)


def facts(run: Run, decided: Decided, context: Context, *, debug: bool) -> dict[str, object]:
    """Further `meta` fields; `debug` is VANTAGE_DEBUG."""
    question, weighed, explanation = decided.question, decided.weighed, context.explanation
    assert explanation  # noqa: S101 - every recipe of /vantage explains
    shown = recalled_facts(context, debug=question.debug or question.inspect_only)
    meta: dict[str, object] = {
        **{each.name: getattr(explanation, each.name) for each in fields(explanation)},
        "vantage_id": question.scope.vantage_id,
        "mix": asdict(question.mix),
    }
    if debug:
        kept = written(decided.ruling)
        meta |= {
            **{name: kept[name] for name in ("sd", "evidence", "rivals", "split")},
            "timings": run.stages.took,
            "prompt_sha256": context.prompt.sha256(),
        }
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
"""Reasons for which nothing was searched."""
RAG = "/rag/query"
"""Its answers have memories and reference texts too. Their k is not recorded: the default is assumed."""
MOMENT = 100
"""Candidates weighed on the loop: a millisecond."""


@dataclass(frozen=True, slots=True)
class Mixed:
    answer_id: str
    top_k: int
    mix: Mix
    was: Weighing
    now: Weighing
    standings: Sequence[RemixedEntry]

    @property
    def unsearched(self) -> list[str]:
        was, now = self.was.split, self.now.split
        found = {MEMORIES: now.personal and not was.personal, CORPUS: now.corpus and not was.corpus}
        return [source for source, missing in found.items() if missing]


class MixService:
    def __init__(self, answers: AnswerService, *, threshold: float, personal: bool) -> None:
        self._answers = answers
        self._threshold = threshold
        self._personal = personal

    async def mix(self, scope: Scope, answer_id: str, mix: Mix) -> Mixed:
        lens_name(mix.lens_fm)
        answer = await self._answers.get(scope, answer_id)
        top_k, was = self._given(answer)
        now = resolve_mix(
            mix, top_k, threshold=self._threshold, at=answer.created_at, personal=self._personal
        )
        entries = answer.trace.entries
        if len(entries) > MOMENT:
            standings = await asyncio.to_thread(remix, entries, was=was, now=now)
        else:
            standings = remix(entries, was=was, now=now)
        return Mixed(answer_id, top_k, mix, was, now, standings)

    def _given(self, answer: Answer) -> tuple[int, Weighing]:
        if answer.ruling is not None:
            kept = ruling.read(answer.ruling)
            sought = answer.trace.reason not in UNSOUGHT
            shares = Split(kept.split.personal, kept.split.corpus) if sought else Split(0, 0)
            by = Weighing(shares, kept.threshold, kept.mix.recency_bias, answer.created_at)
            return kept.split.base, by
        if answer.endpoint != RAG:
            raise InvalidField(f"an answer of {answer.endpoint} has no mix", field="body.answer_id")
        return TOP_K, resolve_mix(Mix(), TOP_K, threshold=self._threshold, at=answer.created_at)


class CardService:
    def __init__(self, cards: CardStore) -> None:
        self._cards = cards

    async def put(self, scope: Scope, draft: CardDraft) -> tuple[Card, bool]:
        check_key(scope, draft.user_id)
        return await self._cards.put(scope, draft)

    async def list(
        self, scope: Scope, shape: CardShape, *, cursor: str | None, limit: int
    ) -> tuple[list[Card], str | None]:
        return await self._cards.list(scope, shape, cursor=cursor, limit=limit)

    async def remove(self, scope: Scope, shape: CardShape, card_id: str) -> None:
        found = (await self._cards.by_id(scope, [card_id])).get(card_id)
        if found is None or found.shape is not shape:
            raise Missing(f"there is no such {shape}")
        check_key(scope, found.user_id)
        if not await self._cards.remove(scope, card_id):
            raise Missing(f"there is no such {shape}")


def check_key(scope: Scope, user_id: str | None) -> None:
    if scope.owner and user_id != scope.owner:
        raise Forbidden("an entry for all users of a namespace needs a tenant key")
