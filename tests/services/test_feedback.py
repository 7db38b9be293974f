"""What a person said of an answer, as votes on the memories it used."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import pytest

from app.answer import Answer, Citation, new_id
from app.answering.recorder import Kept, Recorder
from app.db.answers import AnswerStore
from app.db.memories import Tally
from app.db.pool import Pool
from app.db.votes import VoteStore
from app.errors import Missing, Unavailable
from app.services.answers import AnswerService
from app.services.feedback import DecidedBy, Effect, FeedbackService, Judge, Remark, Sentiment, memories
from app.types import Scope
from tests.fakes.answering import FakeModel, FakeStream
from tests.fakes.kept import answered, remembered

ADA = Scope("acme", user_id="ada")
IDS = ["m1", "m2"]


@dataclass
class FakePersona:
    """Refreshes, or cannot."""

    refreshes: bool = True
    scopes: list[Scope] = field(default_factory=list)

    async def refresh(self, scope: Scope) -> bool:
        """As told."""
        self.scopes.append(scope)
        return self.refreshes


@dataclass
class World:
    """One replica: its services over the shared record."""

    pool: Pool
    model: FakeModel | None = None
    persona: FakePersona = field(default_factory=FakePersona)

    def __post_init__(self) -> None:
        store = AnswerStore(self.pool)
        self.recorder, self.votes = Recorder(store), VoteStore(self.pool)
        answers = AnswerService(store, self.recorder)
        self.feedback = FeedbackService(answers, Judge(self.model), self.votes, self.persona.refresh)

    async def asked(self, scope: Scope = ADA, ids: Sequence[str] = IDS, **fields: str) -> str:
        """The id of an answer that used these memories."""
        answer = answered(*ids, **fields)
        await AnswerStore(self.pool).keep(scope, answer)
        return answer.id

    async def said(self, message: str, scope: Scope = ADA, **fields: str) -> Effect:
        """What comes of it."""
        return await self.feedback.take(Remark(scope, message, **fields))

    async def net(self, *ids: str) -> list[int]:
        """Of each memory."""
        found = await self.votes.tallies(ADA, ids)
        return [found.get(key, Tally()).net for key in ids]


@pytest.fixture
async def world(pool: Pool) -> World:
    """Ada has three memories."""
    await remembered(pool, ADA, "m1", "m2", "m3")
    return World(pool)


async def test_praise_counts_for_each_memory_of_the_last_answer(world: World) -> None:
    """And for no other; the style card is refreshed."""
    await world.asked(ids=["m3"])
    answer = await world.asked()
    effect = await world.said("Thanks, as a short list it is perfect")
    assert effect == Effect(
        answer,
        Sentiment.POSITIVE,
        DecidedBy.MARKER,
        "format:skeleton",
        ("m1", "m2"),
        2,
        persona_refreshed=True,
    )
    assert await world.net("m1", "m2", "m3") == [1, 1, 0]
    assert world.persona.scopes == [ADA]


async def test_a_repeat_changes_nothing_and_a_change_of_mind_replaces(world: World) -> None:
    """However often; another answer's votes count beside them."""
    first = await world.asked()
    applied = [
        (await world.said(word, answer_id=first)).applied for word in ("Thanks!", "Thank you", "Wrong!")
    ]
    assert applied == [2, 0, 2]
    assert await world.net(*IDS) == [-1, -1]
    await world.asked(ids=["m1"])
    assert (await world.said("Great answer")).applied == 1
    assert await world.net(*IDS) == [0, -1]


async def test_a_rating_decides(world: World) -> None:
    """Whatever the words say."""
    await world.asked()
    effect = await world.said("Thanks!", rating="down")
    assert (effect.sentiment, effect.decided_by) == (Sentiment.NEGATIVE, DecidedBy.RATING)
    assert await world.net(*IDS) == [-1, -1]


async def test_neutral_neither_votes_nor_takes_back(world: World) -> None:
    """A next question says nothing of the answer; what was said before stands."""
    answer = await world.asked()
    await world.said("Thanks!")
    effect = await world.said("And what about Tuesday?")
    assert (effect.sentiment, effect.decided_by) == (Sentiment.NEUTRAL, DecidedBy.NONE)
    assert (effect.answer_id, effect.memory_ids, effect.applied) == (answer, ("m1", "m2"), 0)
    assert await world.net(*IDS) == [1, 1]


async def test_a_model_may_decide(world: World) -> None:
    """Where nobody else has."""
    await world.asked()
    asked = World(world.pool, FakeModel(FakeStream(["negative"])))
    effect = await asked.said("I had hoped for the one about swimming")
    assert (effect.sentiment, effect.decided_by) == (Sentiment.NEGATIVE, DecidedBy.MODEL)
    assert await world.net(*IDS) == [-1, -1]


async def test_a_style_card_that_stays_as_it_is_costs_nothing(world: World) -> None:
    """The votes stand."""
    world.persona.refreshes = False
    await world.asked()
    effect = await world.said("Thanks!")
    assert (effect.applied, effect.persona_refreshed) == (2, False)


async def test_only_the_persons_own_memories_are_voted_on() -> None:
    """Each once; not the reference texts beside them."""
    corpus = Citation("books#1", "corpus", "c1", "", None, None, None)
    answer = answered("m1", "m2", "m1")
    assert memories(replace(answer, citations=(corpus, *answer.citations))) == ("m1", "m2")


async def test_an_answer_without_memories_takes_feedback(world: World) -> None:
    """A greeting's: there is nothing to vote on."""
    answer = await world.asked(ids=[])
    effect = await world.said("Thanks!")
    assert (effect.answer_id, effect.memory_ids, effect.applied) == (answer, (), 0)


async def test_a_memory_that_is_gone_is_passed_over(world: World) -> None:
    """The others get their votes."""
    await world.asked(ids=["m1", "gone"])
    effect = await world.said("Thanks!")
    assert (effect.memory_ids, effect.applied) == (("m1", "gone"), 1)
    assert await world.net("m1", "gone") == [1, 0]


async def test_threads_are_told_apart(world: World) -> None:
    """The last answer is the last of the same conversation."""
    thread = replace(ADA, thread_id="t")
    here = await world.asked(thread, ids=["m1"])
    default = await world.asked(ids=["m2"])
    assert (await world.said("Thanks!", thread)).answer_id == here
    assert (await world.said("Thanks!")).answer_id == default
    with pytest.raises(Missing):
        await world.said("Thanks!", replace(ADA, thread_id="u"))


async def test_an_answer_that_said_nothing_takes_none(world: World) -> None:
    """Only inspected, or ended before a word, written or waiting: nobody can have judged it."""
    answer, late = await world.asked(text=""), answered("m1", text="")
    world.recorder.later(Kept(ADA, late, []))
    for key in (answer, late.id):
        with pytest.raises(Missing):
            await world.said("Thanks!", answer_id=key)
    assert await world.net(*IDS) == [0, 0]
    assert world.persona.scopes == []


OLDER = """
    INSERT INTO public.vantage_answer_trace (answer_id, tenant, user_id, memory_ids)
    VALUES ($1, $2, $3, '{m1,m3}')
"""


async def test_an_answer_of_an_older_tool_takes_feedback(world: World) -> None:
    """By its id, through the memories in the trace that it left; of its user alone."""
    answer = new_id()
    await world.pool.execute(OLDER, answer, ADA.tenant, ADA.user_id)
    effect = await world.said("Thanks!", answer_id=answer)
    assert (effect.answer_id, effect.memory_ids, effect.applied) == (answer, ("m1", "m3"), 2)
    assert await world.net("m1", "m2", "m3") == [1, 0, 1]
    for stranger in (replace(ADA, user_id="bob"), replace(ADA, tenant="other")):
        with pytest.raises(Missing):
            await world.said("Thanks!", stranger, answer_id=answer)


@pytest.mark.parametrize(
    "stranger",
    [replace(ADA, user_id="bob"), replace(ADA, tenant="other")],
    ids=["user", "tenant"],
)
async def test_another_s_answer_is_not_there(world: World, stranger: Scope) -> None:
    """By its id no more than as the last; nothing is voted on, no card touched."""
    answer = await world.asked()
    for fields in ({"answer_id": answer}, {}, {"answer_id": "none"}):
        with pytest.raises(Missing):
            await world.said("Thanks!", stranger, **fields)
    assert await world.net(*IDS) == [0, 0]
    assert world.persona.scopes == []


async def test_an_answer_is_its_user_s_whichever_key_asked(world: World) -> None:
    """By its id; the last one is a thread's, and threads are a key's own."""
    answer, own = await world.asked(), replace(ADA, owner="ada")
    assert (await world.said("Thanks!", own, answer_id=answer)).answer_id == answer
    with pytest.raises(Missing):
        await world.said("Thanks!", own)


async def test_an_answer_that_waits_to_be_written(world: World) -> None:
    """Is the last one all the same."""
    await world.asked(ids=["m3"])
    late = answered("m1")
    world.recorder.later(Kept(ADA, late, []))
    assert (await world.said("Thanks!")).answer_id == late.id
    assert await world.net("m1", "m3") == [1, 0]


async def test_another_replica_takes_it(world: World) -> None:
    """Nothing of it is in the process that gave the answer."""
    answer = await world.asked()
    other = World(world.pool)
    assert (await other.said("Thanks!")).answer_id == answer
    assert (await world.said("Thanks!")).applied == 0
    assert await other.net(*IDS) == [1, 1]


async def test_votes_that_cannot_be_kept_are_told(world: World) -> None:
    """Postgres is away: no shrug, and nothing is refreshed."""
    await world.asked()
    await world.pool.close()
    with pytest.raises(Unavailable):
        await world.said("Thanks!")
    assert world.persona.scopes == []


async def test_the_answer_is_its_users(world: World) -> None:
    """A tenant key speaks for whom it names."""
    other = replace(ADA, user_id="bob")
    bob: Answer = answered("b1")
    await AnswerStore(world.pool).keep(other, bob)
    with pytest.raises(Missing):
        await world.said("Thanks!", answer_id=bob.id)
