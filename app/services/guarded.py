"""The ports that ask something which may be down, each behind its dependency's breaker (`domain/breaker.py`).

Nobody waits for what has just failed several times in a row: the refused are told the same as the last who
tried, at once. What opens a breaker: no answer in time, nobody there, a server's own failure (5xx). What
does not: a refusal (a key, a name, too many requests), our own full pools, a client that leaves. Seconds.
The embedding server's is in `models/embeddings.py`.
"""

import math
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import datetime

from app.domain.answer import Answer
from app.domain.breaker import Breaker
from app.domain.errors import Damaged, ModelError, ModelTimeout, NoRoom, RetrievalError, Unavailable
from app.domain.found import Reach
from app.domain.memory import Ballots, Cards, Memory, Moment, Tallies, Temporal, Told
from app.domain.passage import Scope
from app.domain.ports import Answers, ChatLog, ChatModel, ModelStream, Source
from app.domain.prompt import Prompt, Turn

PATIENCE = 1.5
"""A caller that waited this long for Postgres and then gave up had a deadline; one before that has left."""
PATIENCE_SHARE = 0.25
"""Of RAG_TIMEOUT_SECONDS, where that is less: below every deadline that is a part of it."""
MODELS = 64
"""Models asked by name that are told apart; the one least lately asked is forgotten first."""


def patience(seconds: float) -> float:
    """How long callers wait for Postgres at least, by RAG_TIMEOUT_SECONDS."""
    return min(PATIENCE, PATIENCE_SHARE * seconds)


def lost(error: Exception) -> bool | None:
    """Whether a store's error means that it is down. A full pool of ours says nothing of it; on a full disk
    and beside a damaged file it still reads, and what it refuses it has answered."""
    if isinstance(error, RetrievalError):
        missed = error.reason in {"timeout", "unavailable"} and not error.rejected
        return None if error.reason == "overloaded" else missed
    return isinstance(error, Unavailable) and not isinstance(error, (NoRoom, Damaged))


def failed(error: Exception) -> bool:
    """Whether a model's error is about its server, not about this request."""
    return isinstance(error, ModelError) and error.down


class GuardedModel:
    """Keeps `ports.ChatModel`. The head decides: what happens after it is this answer's own."""

    def __init__(self, model: ChatModel, breaker: Callable[[], Breaker]) -> None:
        self._model = model
        self._make = breaker
        self._own = breaker()
        """The default's: never forgotten, whatever names are asked for."""
        self._breakers: OrderedDict[str, Breaker] = OrderedDict()

    @property
    def name(self) -> str:
        """The model asked when the request names none."""
        return self._model.name

    @asynccontextmanager
    async def open(self, prompt: Prompt, *, model: str | None = None) -> AsyncIterator[ModelStream]:
        """As the model's own, but refused at once with the last failure's kind while it is down."""
        breaker = self._breaker(model or self.name)
        if breaker.refuses:
            raise refusal(breaker)
        async with AsyncExitStack() as held:
            with breaker.attempt(failed):
                stream = await held.enter_async_context(self._model.open(prompt, model=model))
            yield stream

    def _breaker(self, model: str) -> Breaker:
        """A model's own: who asks for one that fails must not close the others to everybody else."""
        if model == self.name:
            return self._own
        found = self._breakers.setdefault(model, self._breakers.get(model) or self._make())
        self._breakers.move_to_end(model)
        if len(self._breakers) > MODELS:
            self._breakers.popitem(last=False)
        return found


def refusal(breaker: Breaker) -> ModelError:
    """What those are told who were not let through: 504 after silence, else 502, and when to ask again."""
    kind = ModelTimeout if isinstance(breaker.last, ModelTimeout) else ModelError
    detail = "The model's server has failed several times in a row, and is left alone for a moment."
    return kind(detail, retry_after=soon(breaker))


def soon(breaker: Breaker) -> int:
    """Whole seconds until it may be asked, for Retry-After."""
    return max(1, math.ceil(breaker.wait))


class GuardedLog:
    """Keeps `ports.ChatLog`."""

    def __init__(self, chatlog: ChatLog, breaker: Breaker, patience: float = PATIENCE) -> None:
        self._chatlog = chatlog
        self._breaker = breaker
        self._patience = patience

    async def turns(self, scope: Scope, limit: int) -> list[Turn]:
        """The newest turns; `RetrievalError` at once while Postgres is down."""
        if self._breaker.refuses:
            raise RetrievalError("unavailable")
        with self._breaker.attempt(lost, patience=self._patience):
            return await self._chatlog.turns(scope, limit)


class GuardedAnswers:
    """Keeps `ports.Answers`."""

    def __init__(self, answers: Answers, breaker: Breaker) -> None:
        self._answers = answers
        self._breaker = breaker

    async def keep(self, scope: Scope, answer: Answer, turns: Sequence[Turn] = ()) -> None:
        """Write one answer and its turns; `Unavailable` at once while Postgres is down."""
        present(self._breaker)
        with self._breaker.attempt(lost, patience=PATIENCE):
            await self._answers.keep(scope, answer, turns)

    async def get(self, scope: Scope, answer_id: str) -> Answer | None:
        """The answer if it is the asker's; `Unavailable` at once while Postgres is down."""
        present(self._breaker)
        with self._breaker.attempt(lost, patience=PATIENCE):
            return await self._answers.get(scope, answer_id)

    async def asked(self, scope: Scope, answer_id: str) -> Scope | None:
        """Where it was asked; `Unavailable` at once while Postgres is down."""
        present(self._breaker)
        with self._breaker.attempt(lost, patience=PATIENCE):
            return await self._answers.asked(scope, answer_id)

    async def used(self, scope: Scope, answer_id: str) -> tuple[str, ...] | None:
        """Memories of an older tool's answer; `Unavailable` at once while Postgres is down."""
        present(self._breaker)
        with self._breaker.attempt(lost, patience=PATIENCE):
            return await self._answers.used(scope, answer_id)

    async def last(self, scope: Scope) -> Answer | None:
        """The newest of the user and thread; `Unavailable` at once while Postgres is down."""
        present(self._breaker)
        with self._breaker.attempt(lost, patience=PATIENCE):
            return await self._answers.last(scope)

    async def removed(self, scope: Scope, since: datetime) -> bool:
        """Whether the session was removed since; `Unavailable` at once while Postgres is down."""
        present(self._breaker)
        with self._breaker.attempt(lost, patience=PATIENCE):
            return await self._answers.removed(scope, since)


def present(breaker: Breaker) -> None:
    """Raises `Unavailable` where Postgres has just failed several times in a row."""
    if breaker.refuses:
        raise Unavailable("Postgres does not answer", retry_after=soon(breaker))


class GuardedSource:
    """Keeps `ports.Source`, for sources whose reach is a statement to Postgres.

    The search after it is not counted: it also waits for the embedding and for a large scope's first
    loading, and one tenant's large scope must not close the source to another's.
    """

    def __init__(self, source: Source, breaker: Breaker, patience: float = PATIENCE) -> None:
        self._source = source
        self._breaker = breaker
        self._patience = patience

    @property
    def name(self) -> str:
        """`Passage.source` of all it finds."""
        return self._source.name

    async def reach(self, scope: Scope) -> Reach:
        """`RetrievalError` at once while Postgres is down."""
        if self._breaker.refuses:
            raise RetrievalError("unavailable")
        with self._breaker.attempt(lost, patience=self._patience):
            return await self._source.reach(scope)


class GuardedVotes:
    """Keeps `memory.Ballots`. A vote does not open the breaker: an outside service may be what is slow."""

    def __init__(self, votes: Ballots, breaker: Breaker, patience: float = PATIENCE) -> None:
        self._votes = votes
        self._breaker = breaker
        self._patience = patience

    async def cast(
        self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None, told: Told | None = None
    ) -> bool:
        """A vote; `Unavailable` at once while Postgres is down."""
        present(self._breaker)
        return await self._votes.cast(scope, memory_id, signal, answer_id=answer_id, told=told)

    async def judge(
        self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str, told: Told | None = None
    ) -> list[str]:
        """Votes; `Unavailable` at once while Postgres is down."""
        present(self._breaker)
        return await self._votes.judge(scope, ids, signal, answer_id=answer_id, told=told)

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        """The user's votes; `RetrievalError` at once while Postgres is down."""
        if self._breaker.refuses:
            raise RetrievalError("unavailable")
        with self._breaker.attempt(lost, patience=self._patience):
            return await self._votes.tallies(scope, ids)


class GuardedTemporal:
    """Keeps `memory.Temporal`."""

    def __init__(self, temporal: Temporal, breaker: Breaker, patience: float = PATIENCE) -> None:
        self._temporal = temporal
        self._breaker = breaker
        self._patience = patience

    async def last(self, scope: Scope) -> Moment:
        """Of the scope's user; `RetrievalError` at once while Postgres is down."""
        if self._breaker.refuses:
            raise RetrievalError("unavailable")
        with self._breaker.attempt(lost, patience=self._patience):
            return await self._temporal.last(scope)


class GuardedCards:
    """Keeps `memory.Cards`, which ask Postgres and then Qdrant: refused while Postgres is down, and counted
    for neither. The search beside them asks both, and its faults count."""

    def __init__(self, cards: Cards, breaker: Breaker) -> None:
        self._cards = cards
        self._breaker = breaker

    async def cards(self, scope: Scope, kinds: Sequence[str]) -> list[Memory]:
        """Of these kinds; `RetrievalError` at once while Postgres is down."""
        if self._breaker.refuses:
            raise RetrievalError("unavailable")
        return await self._cards.cards(scope, kinds)
