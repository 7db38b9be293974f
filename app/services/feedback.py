"""/rag/feedback: what a person said of an answer becomes votes on the memories it used.

answer -> sentiment -> tag -> one vote for each memory and answer -> the style card. The message is no turn:
the next question brings it again, and marks the person active (docs/decisions/0031-feedback.md). Source:
CONTRACT §2 and §3, seed 003 (3.2).
Raises `Missing` (no such answer), and `Unavailable` where votes cannot be kept.
"""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Protocol, TypeAlias

from app.domain.answer import Answer
from app.domain.errors import Missing
from app.domain.memory import Votes
from app.domain.passage import Scope
from app.domain.sentiment import Sentiment
from app.domain.tags import extract_tag_from_message
from app.services.verdict import DecidedBy, Judge

PERSONAL = "memories"
"""The source whose passages are the person's own."""
SIGNALS = {Sentiment.POSITIVE: 1, Sentiment.NEGATIVE: -1}


@dataclass(frozen=True, slots=True)
class Remark:
    """What somebody said of an answer. The scope has a user_id."""

    scope: Scope
    message: str
    answer_id: str | None = None
    """None: the last of the user and thread."""
    rating: str | None = None
    """up or down."""


@dataclass(frozen=True, slots=True)
class Effect:
    """What came of it."""

    answer_id: str
    sentiment: Sentiment
    decided_by: DecidedBy
    tag: str | None
    memory_ids: tuple[str, ...]
    """The person's memories that the answer used."""
    applied: int
    """Votes that are others now: none of a repeat."""
    persona_refreshed: bool


class Heard(Protocol):
    """Where answers are looked up (`services/answers.py`). Raises `Missing`, `Unavailable`."""

    async def get(self, scope: Scope, answer_id: str) -> Answer:
        """The asker's, by its id."""

    async def last(self, scope: Scope) -> Answer:
        """The newest of the scope's user and thread."""

    async def used(self, scope: Scope, answer_id: str) -> tuple[str, ...]:
        """The memories of an answer to the scope's user that an older tool gave, by the trace it left."""


Refresh: TypeAlias = Callable[[Scope], Awaitable[bool]]
"""Of the style card of the scope's user (`services/personas.py`): whether it says what they are like now.
Never raises: the votes stand without it."""


class FeedbackService:
    """Takes feedback, for whichever endpoint gave the answer."""

    def __init__(self, answers: Heard, judge: Judge, votes: Votes, refresh: Refresh) -> None:
        self._answers = answers
        self._judge = judge
        self._votes = votes
        self._refresh = refresh

    async def take(self, remark: Remark) -> Effect:
        """Again with the same changes nothing. Neutral votes for nothing and takes no vote back."""
        answer_id, ids = await self._meant(remark)
        sentiment, by = await self._judge.sentiment(remark.message, remark.rating)
        changed = await self._voted(remark.scope, answer_id, ids, sentiment)
        return Effect(
            answer_id=answer_id,
            sentiment=sentiment,
            decided_by=by,
            tag=extract_tag_from_message(remark.message),
            memory_ids=ids,
            applied=changed,
            persona_refreshed=await self._refresh(remark.scope),
        )

    async def _meant(self, remark: Remark) -> tuple[str, tuple[str, ...]]:
        """The answer that is meant, by its id, and its memories."""
        scope, answer_id = remark.scope, remark.answer_id
        if answer_id is None:
            answer = await self._answers.last(scope)
            return answer.id, memories(answer)
        try:
            answer = await self._answers.get(scope, answer_id)
        except Missing:
            return answer_id, await self._answers.used(scope, answer_id)
        if not answer.text:  # only inspected, or ended before a word: there is nothing to judge
            raise Missing("nothing was said in that answer")
        return answer.id, memories(answer)

    async def _voted(self, scope: Scope, answer_id: str, ids: tuple[str, ...], sentiment: Sentiment) -> int:
        """Votes changed."""
        signal = SIGNALS.get(sentiment)
        if signal is None or not ids:
            return 0
        return len(await self._votes.judge(scope, ids, signal, answer_id=answer_id))


def memories(answer: Answer) -> tuple[str, ...]:
    """The person's own among the passages that an answer was given, each once."""
    return tuple(dict.fromkeys(item.id for item in answer.citations if item.source == PERSONAL))
