"""Feedback: the sentiment of a remark on an answer becomes votes on the memories it used.

`sentiment.py` decides. Each memory gets one vote per answer, then the style card is refreshed. A rating is
kept with its answer, and taken back with the answer's votes. The message is no turn. Also `/memory_feedback`
and `/temporal`, whose read faults are `Unavailable`. Raises `Missing`, `Rejected`,
`Unavailable`. Times are in seconds. Source: docs/contract.md, docs/adr/0016.
"""

from collections.abc import (
    Awaitable,
    Callable,
    Iterator,
    Sequence,
)
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TypeAlias

from app.answer import Answer
from app.db.memories import Moment, Rating, Tally, Temporal, Votes
from app.errors import (
    Missing,
    Rejected,
    RetrievalError,
    required,
)
from app.retrieval.tags import extract_tag_from_message
from app.services.answers import AnswerService
from app.services.sentiment import RATINGS, UNRATED, DecidedBy, Judge, Sentiment
from app.types import MEMORIES, Scope

NO_TEXT = "that answer has no text"
SIGNALS = {Sentiment.POSITIVE: 1, Sentiment.NEGATIVE: -1}


@dataclass(frozen=True, slots=True)
class Remark:
    scope: Scope
    message: str
    answer_id: str | None = None
    """None: the last answer of the user and thread."""
    rating: str | None = None
    """up, down, or none to take an earlier one back."""


@dataclass(frozen=True, slots=True)
class Rated:
    answer_id: str
    rating: str | None
    applied: int
    """Number of changed votes on memories."""


@dataclass(frozen=True, slots=True)
class Effect:
    answer_id: str
    sentiment: Sentiment
    decided_by: DecidedBy
    tag: str | None
    memory_ids: tuple[str, ...]
    """The user's memories that the answer used."""
    applied: int
    """Number of changed votes: 0 for a repetition."""
    persona_refreshed: bool


Refresh: TypeAlias = Callable[[Scope], Awaitable[bool]]
"""Refreshes the style card of the scope's user (`services/profiles.py`). Never raises: the votes count
without it."""


class FeedbackService:
    def __init__(self, answers: AnswerService, judge: Judge, votes: Votes, refresh: Refresh) -> None:
        self._answers = answers
        self._judge = judge
        self._votes = votes
        self._refresh = refresh

    async def take(self, remark: Remark) -> Effect:
        """Idempotent. A neutral remark neither votes nor withdraws votes, unless its rating is none."""
        answer_id, ids = await self._meant(remark)
        sentiment, by = await self._judge.sentiment(remark.message, remark.rating)
        signal = 0 if remark.rating == UNRATED else SIGNALS.get(sentiment)
        rating = Rating(remark.scope, stored(remark.rating), required=False) if remark.rating else None
        changed = await self._voted(remark.scope, answer_id, ids, signal, rating)
        return Effect(
            answer_id=answer_id,
            sentiment=sentiment,
            decided_by=by,
            tag=extract_tag_from_message(remark.message),
            memory_ids=ids,
            applied=changed,
            persona_refreshed=await self._refresh(remark.scope),
        )

    async def rate(self, scope: Scope, answer_id: str, rating: str) -> Rated:
        """Idempotent. The votes are those of the user who asked. Raises `Unavailable` while the answer is not
        stored."""
        asked, answer = await self._answers.found(scope, answer_id)
        if not answer.text:
            raise Missing(NO_TEXT)
        whose, ids = replace(asked, user_id=asked.user_id or asked.owner or None), memories(answer)
        signal = SIGNALS.get(RATINGS[rating], 0)
        changed = await self._voted(whose, answer_id, ids, signal, Rating(scope, stored(rating)))
        if changed:
            await self._refresh(whose)
        return Rated(answer_id, stored(rating), changed)

    async def _meant(self, remark: Remark) -> tuple[str, tuple[str, ...]]:
        scope, answer_id = remark.scope, remark.answer_id
        if answer_id is None:
            answer = await self._answers.last(scope)
            return answer.id, memories(answer)
        try:
            answer = await self._answers.get(scope, answer_id)
        except Missing:
            return answer_id, await self._answers.used(scope, answer_id)
        if not answer.text:  # a dry run, or ended before the first word
            raise Missing(NO_TEXT)
        return answer.id, memories(answer)

    async def _voted(
        self,
        scope: Scope,
        answer_id: str,
        ids: tuple[str, ...],
        signal: int | None,
        rating: Rating | None = None,
    ) -> int:
        """Votes and rating in one transaction, so that they agree whatever comes at the same time."""
        if rating:
            await self._answers.written(rating.scope, answer_id)
        elif signal is None or not ids:
            return 0
        return len(await self._votes.judge(scope, ids, signal or 0, answer_id=answer_id, rating=rating))


def stored(rating: str) -> str | None:
    return None if rating == UNRATED else rating


def memories(answer: Answer) -> tuple[str, ...]:
    return tuple(dict.fromkeys(item.id for item in answer.citations if item.source == MEMORIES))


class SignalService:
    def __init__(self, votes: Votes, temporal: Temporal) -> None:
        self._votes = votes
        self._temporal = temporal

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        return await self._votes.cast(scope, memory_id, signal, answer_id=answer_id)

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> dict[str, Tally]:
        with needed():
            found = await self._votes.tallies(scope, ids)
        return {key: found.get(key, Tally()) for key in ids}

    async def last(self, scope: Scope) -> Moment:
        with needed():
            return await self._temporal.last(scope)


@contextmanager
def needed() -> Iterator[None]:
    """As `required`, and `Rejected` where the store answered and refused."""
    with required():
        try:
            yield
        except RetrievalError as error:
            if error.rejected:
                raise Rejected("a store rejected this") from error
            raise
