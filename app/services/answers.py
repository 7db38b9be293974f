"""Recorded answers: looked up by who may see them, and replayed against today's stores and policy.

A replay searches nothing and asks no model: it compares the version of the ranking only, and reads in the
scope in which the question was asked. Seconds. Raises `Missing`, and `Unavailable` where a store does not
answer.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from app.answer import CHAT_LOG_REF, KNOWLEDGE, MEMORY_REF, NOTES, Answer, Kind, Recipe, Ref, Role
from app.answering import ruling
from app.answering.mix import lens_block
from app.answering.recorder import Kept, Recorder
from app.answering.replay import (
    NOT_ASKED,
    NOT_KEPT,
    Change,
    Replayed,
    Today,
    changes,
    differing,
    rebuilt,
    unkept,
)
from app.db.answers import AnswerStore, OriginalStore
from app.db.cards import CardStore
from app.db.projects import Knowledge, KnowledgeStore
from app.errors import IbidError, Missing, RetrievalError, Unavailable
from app.retrieval.search import VERSION
from app.services.projects import entries
from app.types import Scope
from app.vantage.policy import policy
from app.vantage.terms import LENSES
from app.vantage.weigh import Weighed, weigh

ASKING_SECONDS = 1.0
"""For whether the session of an answer that waits was removed meanwhile."""


class AnswerService:
    """Answers, as those who asked see them."""

    def __init__(self, answers: AnswerStore, recorder: Recorder) -> None:
        self._answers = answers
        self._recorder = recorder

    async def get(self, scope: Scope, answer_id: str) -> Answer:
        """The answer with its trace, also while it waits to be written; another's is not there."""
        waiting = self._recorder.find(scope, answer_id)
        found = waiting.answer if waiting else await self._answers.get(scope, answer_id)
        if found is None or (waiting and await self._removed(waiting)):
            raise Missing("there is no such answer")
        return found

    async def found(self, scope: Scope, answer_id: str) -> tuple[Scope, Answer]:
        """The same, with the scope in which it was asked."""
        answer = await self.get(scope, answer_id)
        waiting = self._recorder.find(scope, answer_id)
        asked = waiting.scope if waiting else await self._answers.asked(scope, answer_id)
        if asked is None:
            raise Missing("there is no such answer")
        return asked, answer

    async def last(self, scope: Scope) -> Answer:
        """The newest of the scope's user and thread that said anything, also while it waits to be written."""
        kept, waiting = await self._answers.last(scope), self._recorder.last(scope)
        if waiting and (kept is None or kept.id < waiting.answer.id) and not await self._removed(waiting):
            return waiting.answer
        if kept is None:
            raise Missing("there is no answer yet")
        return kept

    async def used(self, scope: Scope, answer_id: str) -> tuple[str, ...]:
        """The memories of an answer that an older tool gave the scope's user, by the trace it left."""
        found = await self._answers.used(scope, answer_id)
        if found is None:
            raise Missing("there is no such answer")
        return found

    async def _removed(self, kept: Kept) -> bool:
        """True if its session was removed since, through whatever replica; no, as long as nobody can say."""
        try:
            async with asyncio.timeout(ASKING_SECONDS):
                return await self._answers.removed(kept.scope, kept.answer.created_at)
        except (IbidError, TimeoutError):
            return False


SECONDS = 10.0
"""For all that is looked up."""
RETRY_SECONDS = 2
TURNS = (Kind.POLICY, Kind.THREAD)
"""Blocks that name turns which the decision rests on; the policy's where they are not shown."""


class ReplayService:
    def __init__(
        self,
        answers: AnswerService,
        originals: OriginalStore,
        notices: CardStore,
        knowledge: KnowledgeStore,
        count: Callable[[str], int],
    ) -> None:
        """`notices`: vantage cards and facts; `count` gives o200k tokens."""
        self._answers = answers
        self._originals = originals
        self._notices = notices
        self._knowledge = knowledge
        self._count = count

    async def replay(self, scope: Scope, answer_id: str) -> Replayed:
        """What has changed since."""
        asked, answer = await self._answers.found(scope, answer_id)
        if answer.recipe is None:  # of an older version, or its asker left before there was a prompt
            what = Change("recipe", None, NOT_KEPT if answer.prompt_sha256 else NOT_ASKED)
            return Replayed(answer.prompt_sha256, None, (what,))
        try:
            async with asyncio.timeout(SECONDS):
                today = await self._today(asked, answer, answer.recipe)
        except TimeoutError:
            raise Unavailable("a store does not answer", retry_after=RETRY_SECONDS) from None
        # A long message is weighed again, forty passages are quoted and hashed: milliseconds.
        return await asyncio.to_thread(replayed, answer, answer.recipe, today)

    async def _today(self, asked: Scope, answer: Answer, recipe: Recipe) -> Today:
        """Everything that the answer was made of, as it is now."""
        asked = replace(asked, project=recipe.project)
        refs = [ref for block in recipe.blocks for ref in block.refs]
        others = [ref.id for ref in refs if ref.source not in (MEMORY_REF, CHAT_LOG_REF, KNOWLEDGE, NOTES)]
        lost = [block.sha256 for block in recipe.turns if unkept(block)]
        passages = await self._originals.passages(asked, answer.trace.packed)
        return Today(
            await asyncio.to_thread(entries, recipe, passages, self._count),
            await self._originals.cards(asked, ids(refs, MEMORY_REF)),
            await self._originals.turns(asked, ids(refs, CHAT_LOG_REF)),
            await self._notices.by_id(asked, others) if others else {},
            said=await self._originals.said(asked, lost) if lost else {},
            knowledge=await self._known(asked),
        )

    async def _known(self, asked: Scope) -> Knowledge:
        """Of the project, if one was named."""
        try:
            return (await self._knowledge.get(asked) if asked.project else None) or Knowledge()
        except RetrievalError:
            raise Unavailable("a store does not answer", retry_after=RETRY_SECONDS) from None


def ids(refs: Sequence[Ref], source: str) -> list[str]:
    """Of what a source keeps."""
    return [ref.id for ref in refs if ref.source == source]


def replayed(answer: Answer, recipe: Recipe, today: Today) -> Replayed:
    """What today's stores and policy make of it."""
    weighed = weighed_of(answer, recipe, today)
    texts = {Kind.POLICY: weighed.overlay_text} if weighed else {}
    lens = next((block.name for block in recipe.blocks if block.kind is Kind.LENS), "")
    texts |= {Kind.LENS: lens_block(lens)} if lens in LENSES else {}
    today = replace(today, texts=texts)
    found = [*differing("ranking", recipe.ranking, VERSION), *judged(answer, weighed)]
    found += changes(answer, recipe, today)
    if any(change.after == NOT_KEPT for change in found):
        return Replayed(answer.prompt_sha256, None, tuple(found))
    after = rebuilt(answer, recipe, today).sha256()
    if not found:
        found += differing("prompt", answer.prompt_sha256, after)
    return Replayed(answer.prompt_sha256, after, tuple(found))


def weighed_of(answer: Answer, recipe: Recipe, today: Today) -> Weighed | None:
    """The message weighed by today's policy, with what it was weighed with then; None: it never was."""
    if not answer.ruling:
        return None
    kept = ruling.read(answer.ruling)
    overlay = next((block.text for block in recipe.blocks if block.kind is Kind.OVERLAY), "")
    refs = [ref.id for block in recipe.blocks if block.kind in TURNS for ref in block.refs]
    turns = [today.turns[key] for key in refs if key in today.turns]
    thread = [turn.content for turn in turns if turn.role is Role.USER]
    return weigh(answer.question, thread, overlay, kept.limits, kept.routing, evidence=kept.evidence)


def judged(answer: Answer, weighed: Weighed | None) -> Iterator[Change]:
    """How today's policy differs, and what it would decide."""
    if answer.ruling and weighed:
        kept, today = ruling.read(answer.ruling), weighed.decision
        yield from differing("policy", kept.decision.policy_version, today.policy_version)
        yield from differing("policy_sha256", kept.policy_sha256, str(policy()["sha256"]))
        yield from differing("response_class", str(kept.decision.response_class), str(today.response_class))
