"""The ports behind breakers: what opens them, what the refused are told, and that nobody else is refused."""

import asyncio
from collections.abc import Callable, Coroutine, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass, field
from typing import Any

import pytest

from app.domain.answer import Answer, Finish, Usage
from app.domain.breaker import Breaker
from app.domain.errors import (
    Damaged,
    IbidError,
    ModelBusy,
    ModelError,
    ModelRefused,
    ModelTimeout,
    NoRoom,
    Rejected,
    RetrievalError,
    Unavailable,
)
from app.domain.found import Reach
from app.domain.memory import Moment, Tallies, Told
from app.domain.passage import Scope
from app.domain.prompt import Prompt, Role, Turn
from app.domain.trace import Reason, Trace
from app.services.guarded import (
    MODELS,
    PATIENCE,
    GuardedAnswers,
    GuardedCards,
    GuardedLog,
    GuardedModel,
    GuardedSource,
    GuardedTemporal,
    GuardedVotes,
    patience,
)
from app.services.material import HISTORY_SHARE
from tests.fakes.answering import NOW, FakeLog, FakeModel, FakeStream
from tests.fakes.remembering import FakeCards, card

PROMPT = Prompt("system", "question")
SCOPE = Scope(session_id="s", thread_id="s")
TURNS = [Turn(Role.USER, "question", NOW)]
ANSWER = Answer(
    "a", "/api/chat", "q", "a", "m", Finish.STOP, (), (), (), "0", Trace(Reason.EMPTY), Usage(), NOW
)


@dataclass
class Hands:
    """A clock that tests turn, and breakers that go by it."""

    now: float = 0.0

    def breaker(self) -> Breaker:
        """A new one."""
        return Breaker(lambda: self.now)


@pytest.fixture
def hands() -> Hands:
    """At zero."""
    return Hands()


async def opened(model: GuardedModel, name: str | None = None) -> str:
    """The model that answered."""
    async with model.open(PROMPT, model=name) as stream:
        return stream.model


async def fails(model: GuardedModel, times: int = 1, name: str | None = None) -> ModelError:
    """The last of so many failures."""
    for _ in range(times):
        with pytest.raises(ModelError) as told:
            await opened(model, name)
    return told.value


@pytest.mark.parametrize(
    ("error", "kind"),
    [(ModelTimeout(down=True), ModelTimeout), (ModelError("500", down=True), ModelError)],
    ids=["silent", "5xx"],
)
async def test_a_model_that_is_down_is_not_waited_for(
    hands: Hands, error: ModelError, kind: type[ModelError]
) -> None:
    """After three failures the same kind of problem comes at once, with the time to ask again; the model is
    not asked."""
    inner = FakeModel(error=error)
    model = GuardedModel(inner, hands.breaker)
    await fails(model, 3)
    hands.now += 1.0
    told = await fails(model)
    assert (type(told), told.retry_after, len(inner.prompts)) == (kind, 4, 3)


async def test_a_model_that_is_back_is_asked_again(hands: Hands) -> None:
    """The first request after the pause is the probe; its answer opens the way for all."""
    inner = FakeModel(error=ModelError(down=True))
    model = GuardedModel(inner, hands.breaker)
    await fails(model, 3)
    inner.error = None
    hands.now += 5.0
    assert [await opened(model) for _ in range(3)] == ["fake"] * 3


@pytest.mark.parametrize(
    "error", [ModelRefused(), ModelBusy(retry_after=9), ModelError("400")], ids=["401", "429", "400"]
)
async def test_a_refusal_is_passed_on_every_time(hands: Hands, error: ModelError) -> None:
    """A wrong key, too many requests, a request of the caller's own making: the next one may fare better."""
    inner = FakeModel(error=error)
    model = GuardedModel(inner, hands.breaker)
    assert await fails(model, 5) is error
    assert len(inner.prompts) == 5


async def test_one_model_does_not_close_another(hands: Hands) -> None:
    """Who asks a broken model by name must not take the default one from everybody else."""
    inner = FakeModel(error=ModelError(down=True))
    model = GuardedModel(inner, hands.breaker)
    await fails(model, 3, "broken")
    inner.error = None
    assert await opened(model) == "fake"
    assert (await fails(model, 1, "broken")).retry_after == 5


async def test_names_are_not_kept_for_ever(hands: Hands) -> None:
    """Any text may be asked for as a model: only so many are remembered."""
    model = GuardedModel(FakeModel(), hands.breaker)
    for n in range(3 * MODELS):
        await opened(model, f"model-{n}")
    assert len(model._breakers) == MODELS


async def test_made_up_names_do_not_push_out_the_default(hands: Hands) -> None:
    """Who asks for many models does not send everybody back to a default that is down."""
    inner = FakeModel(error=ModelError(down=True))
    model = GuardedModel(inner, hands.breaker)
    await fails(model, 3)
    for n in range(2 * MODELS):
        await fails(model, 1, f"model-{n}")
    asked = len(inner.prompts)
    await fails(model)
    await fails(model, 1, inner.name)
    assert len(inner.prompts) == asked


async def test_the_middle_of_an_answer_does_not_count(hands: Hands) -> None:
    """The head was there: an answer that breaks off later is told by its own error event."""
    inner = FakeModel(stream=FakeStream(["so "], error=ModelError(down=True)))
    model = GuardedModel(inner, hands.breaker)
    for _ in range(4):
        async with AsyncExitStack() as held:
            stream = await held.enter_async_context(model.open(PROMPT))
            with pytest.raises(ModelError):
                [delta async for delta in stream]
    assert (len(inner.prompts), inner.closed) == (4, 4)


async def test_a_client_that_leaves_says_nothing_of_the_model(hands: Hands) -> None:
    """However many leave before the head."""
    inner = FakeModel(head=30)
    model = GuardedModel(inner, hands.breaker)
    for _ in range(5):
        asking = asyncio.create_task(opened(model))
        await asyncio.sleep(0)
        asking.cancel()
        await asyncio.wait({asking})
    inner.head = 0
    assert await opened(model) == "fake"


@dataclass
class FakeReaching:
    """A source whose reach fails as told."""

    error: IbidError | None = None
    name: str = "documents"
    asked: int = 0
    hang: float = 0
    reached: Reach = field(default_factory=object)  # type: ignore[assignment] # opaque here

    async def reach(self, scope: Scope) -> Reach:
        """The one there is."""
        self.asked += 1
        await asyncio.sleep(self.hang)
        if self.error:
            raise self.error
        return self.reached


async def down(times: int, call: Callable[[], object], kind: type[IbidError]) -> None:
    """So many failures of that kind."""
    for _ in range(times):
        with pytest.raises(kind):
            await call()  # type: ignore[misc] # a coroutine each time


async def test_postgres_is_one_dependency(hands: Hands) -> None:
    """What one of its users has found out holds for all of them: reads say so in `degraded`, writes wait in
    the backlog, a wanted answer is a 503 with Retry-After."""
    breaker, store, source = hands.breaker(), FakeLog(down=True), FakeReaching()
    log, answers = GuardedLog(store, breaker), GuardedAnswers(store, breaker)
    await down(3, lambda: answers.keep(SCOPE, ANSWER, TURNS), Unavailable)
    store.down = False

    with pytest.raises(RetrievalError, match="unavailable"):
        await log.turns(SCOPE, 10)
    with pytest.raises(RetrievalError, match="unavailable"):
        await GuardedSource(source, breaker).reach(SCOPE)
    with pytest.raises(Unavailable) as told:
        await answers.get(SCOPE, "a")
    with pytest.raises(Unavailable):
        await answers.asked(SCOPE, "a")
    await down(1, lambda: answers.keep(SCOPE, ANSWER), Unavailable)
    assert (told.value.retry_after, source.asked, store.rows) == (5, 0, [])

    hands.now += 5.0
    await answers.keep(SCOPE, ANSWER, TURNS)
    assert [turn.content for turn in await log.turns(SCOPE, 10)] == ["question"]
    assert await answers.get(SCOPE, "a") == ANSWER
    assert await GuardedSource(source, breaker).reach(SCOPE) is source.reached


@pytest.mark.parametrize(
    "error",
    [
        RetrievalError("overloaded"),
        RetrievalError("embedding"),
        RetrievalError("unavailable", rejected=True),
        NoRoom("full"),
        Damaged("a page"),
        Rejected("a missing right"),
    ],
    ids=["our own pool", "not the store's", "a refused read", "a full disk", "a page", "a refused write"],
)
async def test_what_does_not_mean_down(hands: Hands, error: IbidError) -> None:
    """Too much of our own at once, or a disk that still reads: the store is asked again every time."""
    source = FakeReaching(error)
    guarded = GuardedSource(source, hands.breaker())
    await down(5, lambda: guarded.reach(SCOPE), type(error))
    assert source.asked == 5


async def test_the_name_is_the_sources() -> None:
    """`Passage.source` of all it finds."""
    assert GuardedSource(FakeReaching(), Hands().breaker()).name == "documents"


async def test_a_deadline_counts_and_a_departure_does_not(hands: Hands) -> None:
    """A history that was given up after its two seconds, three times: down. After a moment: somebody left."""
    store = FakeLog(hang=30)
    log = GuardedLog(store, hands.breaker())
    for _ in range(5):
        await given_up(hands, log.turns(SCOPE, 10), 0.3)
    store.hang = 0
    assert await log.turns(SCOPE, 10) == []
    store.hang = 30
    for _ in range(3):
        await given_up(hands, log.turns(SCOPE, 10), 2.0)
    with pytest.raises(RetrievalError):
        await log.turns(SCOPE, 10)


async def test_short_deadlines_count_too(hands: Hands) -> None:
    """With RAG_TIMEOUT_SECONDS of 1 nobody waits for longer than that: a hung Postgres is down all the same,
    by the history of a follow-up (a third) as by the reach of a search."""
    breaker, short = hands.breaker(), patience(1.0)
    log = GuardedLog(FakeLog(hang=30), breaker, short)
    source = GuardedSource(FakeReaching(hang=30), breaker, short)
    await given_up(hands, log.turns(SCOPE, 10), HISTORY_SHARE)
    await given_up(hands, source.reach(SCOPE), 1 - HISTORY_SHARE)
    assert breaker.closed
    await given_up(hands, log.turns(SCOPE, 10), HISTORY_SHARE)
    assert breaker.refuses
    assert patience(6.0) == PATIENCE


async def given_up(hands: Hands, call: Coroutine[Any, Any, object], seconds: float) -> None:
    """A call that its caller ends after so long."""
    reading = asyncio.create_task(call)
    await asyncio.sleep(0)
    hands.now += seconds
    reading.cancel()
    await asyncio.wait({reading})


@dataclass
class FakeSignals:
    """Votes and activity that fail as told."""

    error: IbidError | None = None
    asked: int = 0

    async def cast(
        self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None, told: Told | None = None
    ) -> bool:
        """Taken."""
        await self._fault()
        return True

    async def judge(
        self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str, told: Told | None = None
    ) -> list[str]:
        """Taken."""
        await self._fault()
        return list(ids)

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        """None."""
        await self._fault()
        return Tallies()

    async def last(self, scope: Scope) -> Moment:
        """Never."""
        await self._fault()
        return Moment("new")

    async def _fault(self) -> None:
        self.asked += 1
        if self.error:
            raise self.error


async def test_votes_and_activity_are_postgres_too(hands: Hands) -> None:
    """Three reads find it down; then nobody asks, reads and votes alike, until it may be back."""
    breaker, store = hands.breaker(), FakeSignals(RetrievalError("timeout"))
    votes, temporal = GuardedVotes(store, breaker), GuardedTemporal(store, breaker)
    await down(2, lambda: votes.tallies(SCOPE, ["m1"]), RetrievalError)
    await down(1, lambda: temporal.last(SCOPE), RetrievalError)
    store.error = None
    await down(1, lambda: votes.tallies(SCOPE, ["m1"]), RetrievalError)
    await down(1, lambda: temporal.last(SCOPE), RetrievalError)
    await down(1, lambda: votes.cast(SCOPE, "m1", 1, answer_id=None), Unavailable)
    await down(1, lambda: votes.judge(SCOPE, ["m1"], 1, answer_id="a"), Unavailable)
    assert store.asked == 3

    hands.now += 5.0
    assert await temporal.last(SCOPE) == Moment("new")
    assert await votes.tallies(SCOPE, ["m1"]) == {}
    assert await votes.cast(SCOPE, "m1", 1, answer_id=None)
    assert await votes.judge(SCOPE, ["m1"], 1, answer_id="a") == ["m1"]


async def test_votes_close_nothing(hands: Hands) -> None:
    """What is slow or refuses then may be the outside service."""
    breaker, store = hands.breaker(), FakeSignals(Unavailable())
    votes = GuardedVotes(store, breaker)
    await down(5, lambda: votes.cast(SCOPE, "m1", 1, answer_id=None), Unavailable)
    await down(5, lambda: votes.judge(SCOPE, ["m1"], 1, answer_id="a"), Unavailable)
    assert (store.asked, breaker.closed) == (10, True)


async def test_cards_wait_for_nobody_and_count_for_nobody(hands: Hands) -> None:
    """They ask Qdrant too, so their faults say nothing of Postgres; while it is down they are refused."""
    breaker, held = hands.breaker(), FakeCards([card("persona")], error=RetrievalError("timeout"))
    cards = GuardedCards(held, breaker)
    await down(5, lambda: cards.cards(SCOPE, ["persona"]), RetrievalError)
    assert (len(held.asked), breaker.closed) == (5, True)
    held.error = None
    assert await cards.cards(SCOPE, ["persona"]) == held.held

    store = FakeSignals(RetrievalError("timeout"))
    await down(3, lambda: GuardedTemporal(store, breaker).last(SCOPE), RetrievalError)
    await down(1, lambda: cards.cards(SCOPE, ["persona"]), RetrievalError)
    assert len(held.asked) == 6
