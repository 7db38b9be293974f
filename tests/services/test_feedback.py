"""Feedback: sentiment, votes, the style card; votes and activity."""

import asyncio
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Citation, new_id
from app.answering.recorder import AnswerRecord, Recorder
from app.db.answers import AnswerStore
from app.db.memories import Moment, Rating, Tallies, Tally
from app.db.pool import Pool
from app.db.votes import VoteStore
from app.errors import IbidError, Missing, ModelError, Rejected, RetrievalError, Unavailable
from app.services import sentiment
from app.services.answers import AnswerService
from app.services.feedback import (
    Effect,
    FeedbackService,
    Remark,
    SignalService,
    memories,
)
from app.services.sentiment import ASKED, DecidedBy, Judge, Sentiment, marked_sentiment, sentiment_named
from app.types import Scope
from tests.fakes.answering import FakeModel, FakeStream
from tests.fakes.records import answered, remembered

ADA = Scope("acme", user_id="ada")
IDS = ["m1", "m2"]


@dataclass
class FakePersona:
    refreshes: bool = True
    scopes: list[Scope] = field(default_factory=list)

    async def refresh(self, scope: Scope) -> bool:
        self.scopes.append(scope)
        return self.refreshes


@dataclass
class World:
    pool: Pool
    model: FakeModel | None = None
    persona: FakePersona = field(default_factory=FakePersona)

    def __post_init__(self) -> None:
        store = AnswerStore(self.pool)
        self.recorder, self.votes = Recorder(store), VoteStore(self.pool)
        answers = AnswerService(store, self.recorder)
        self.feedback = FeedbackService(answers, Judge(self.model), self.votes, self.persona.refresh)

    async def asked(self, scope: Scope = ADA, ids: Sequence[str] = IDS, **fields: str) -> str:
        answer = answered(*ids, **fields)
        await AnswerStore(self.pool).keep(scope, answer)
        return answer.id

    async def said(self, message: str, scope: Scope = ADA, **fields: str) -> Effect:
        return await self.feedback.take(Remark(scope, message, **fields))

    async def net(self, *ids: str) -> list[int]:
        found = await self.votes.tallies(ADA, ids)
        return [found.get(key, Tally()).net for key in ids]


@pytest.fixture
async def world(pool: Pool) -> World:
    await remembered(pool, ADA, "m1", "m2", "m3")
    return World(pool)


async def test_praise_counts_for_each_memory_of_the_last_answer(world: World) -> None:
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


async def test_neutral_neither_votes_nor_takes_back(world: World) -> None:
    """A next question says nothing of the answer; what was said before stands."""
    answer = await world.asked()
    await world.said("Thanks!")
    effect = await world.said("And what about Tuesday?")
    assert (effect.sentiment, effect.decided_by) == (Sentiment.NEUTRAL, DecidedBy.NONE)
    assert (effect.answer_id, effect.memory_ids, effect.applied) == (answer, ("m1", "m2"), 0)
    assert await world.net(*IDS) == [1, 1]


@pytest.mark.parametrize("ids", [IDS, []], ids=["of memories", "of none"])
async def test_ratings_at_the_same_time_agree_with_their_votes(world: World, ids: list[str]) -> None:
    """The rating that stays is the one whose votes stay."""
    answer = await world.asked(ids=ids)
    both = ("up", "down", "none")
    for _ in range(3):
        await asyncio.gather(*(world.feedback.rate(ADA, answer, both[n % 3]) for n in range(20)))
        kept = await AnswerStore(world.pool).get(ADA, answer)
        assert kept
        net = {"up": 1, "down": -1, None: 0}[kept.rating] if ids else 0
        assert await world.net(*IDS) == [net, net]


async def test_a_rating_of_an_answer_that_is_not_stored_leaves_no_votes(world: World) -> None:
    rating = Rating(ADA, "up")
    with pytest.raises(Unavailable):
        await world.votes.judge(ADA, IDS, 1, answer_id=new_id(), rating=rating)
    assert await world.net(*IDS) == [0, 0]


async def test_only_the_persons_own_memories_are_voted_on() -> None:
    corpus = Citation("books#1", "corpus", "c1", "", None, None, None)
    answer = answered("m1", "m2", "m1")
    assert memories(replace(answer, citations=(corpus, *answer.citations))) == ("m1", "m2")


async def test_threads_are_told_apart(world: World) -> None:
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
    world.recorder.later(AnswerRecord(ADA, late, []))
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
    await world.asked(ids=["m3"])
    late = answered("m1")
    world.recorder.later(AnswerRecord(ADA, late, []))
    assert (await world.said("Thanks!")).answer_id == late.id
    assert await world.net("m1", "m3") == [1, 0]


UNMARKED = "I had hoped for the one about swimming"


@pytest.mark.parametrize(
    ("message", "rating", "said"),
    [
        ("Thanks!", None, ("positive", "marker")),
        ("That's wrong", None, ("negative", "marker")),
        ("Thanks!", "down", ("negative", "rating")),
        ("That's wrong", "up", ("positive", "rating")),
        (UNMARKED, "up", ("positive", "rating")),
    ],
)
async def test_a_rating_comes_first_then_markers(
    message: str, rating: str | None, said: tuple[str, str]
) -> None:
    model = FakeModel()
    assert await Judge(model).sentiment(message, rating) == said
    assert model.prompts == []


@pytest.mark.parametrize(
    ("word", "sentiment"),
    [
        ("positive", "positive"),
        (" Negative", "negative"),
        ("neg", "negative"),
        ("**neutral**", "neutral"),
        ("pos", "positive"),
        ("Positive. The person thanks.", "positive"),
        ("'negative' is my answer", "negative"),
    ],
)
async def test_a_model_decides_the_rest(word: str, sentiment: str) -> None:
    model = FakeModel(FakeStream([word]))
    assert await Judge(model).sentiment(UNMARKED, None) == (sentiment, "model")
    assert (model.prompts[0].system, model.prompts[0].message) == (ASKED, UNMARKED)
    assert model.closed == 1


FAULTS: dict[str, Callable[[], FakeModel | None]] = {
    "none": lambda: None,
    "another word": lambda: FakeModel(FakeStream(["Sure"])),
    "silence": lambda: FakeModel(FakeStream([])),
    "too short": lambda: FakeModel(FakeStream(["ne"])),
    "a denial": lambda: FakeModel(FakeStream(["not negative"])),
    "refused": lambda: FakeModel(error=ModelError("404")),
    "broken off": lambda: FakeModel(FakeStream(["pos"], error=ModelError("closed"))),
    "slow head": lambda: FakeModel(head=30),
    "slow words": lambda: FakeModel(FakeStream(["positive"], pause=30)),
}


@pytest.mark.parametrize("model", FAULTS.values(), ids=FAULTS)
async def test_without_a_word_it_is_neutral(
    monkeypatch: pytest.MonkeyPatch, model: Callable[[], FakeModel | None]
) -> None:
    monkeypatch.setattr(sentiment, "MODEL_SECONDS", 0.05)
    assert await Judge(model()).sentiment(UNMARKED, None) == (Sentiment.NEUTRAL, DecidedBy.NONE)


@given(st.text())
def test_law_a_word_names_one_or_none(text: str) -> None:
    """Whatever a model says: its first word, or the beginning of one that was cut."""
    found = sentiment_named(text)
    letters = re.findall(r"[^\W\d_]+", text)
    assert found is None or found.startswith(letters[0].lower())


CONTENT = (
    "thanks!",
    "Thank you so much",
    "Perfect, exactly what I needed",
    "great",
    "Great answer",
    "that's great",
    "That is exactly right",
    "yes, that's right",
    "not bad",
    "that's not bad",
    "exactly!",
    "great, now the second one",
    "It's not wrong",
    "can't thank you enough",
    "no problem, thanks",
    "very helpful",
    "ok great",
    "thanks. And where is the kayak?",
    "👍",
    "👍🏽",
    "danke dir",
    "merci beaucoup",
    "sí, perfecto",
    "спасибо",
    "谢谢",
    "ありがとう",
)
DISCONTENT = (
    "no, that's not what I meant",
    "No.",
    "No, I meant the second one",
    "that isn't helpful",
    "hmm, nope",
    "wrong",
    "You are wrong",
    "That's incorrect",
    "that's not right",
    "useless",
    "not helpful",
    "that was not very helpful",
    "it isn't good",
    "not great",
    "this is terrible",
    "this doesn't help",
    "👎",
    "👎🏽",
    "das ist falsch",
    "c'est faux",
    "no es correcto",
    "неправильно",
    "错了",
)
UNDECIDED = (
    "thanks, but that's wrong",
    "👍👎",
    "My great aunt wrote a book",
    "what is the right way to knead?",
    "no idea what to do",
    "no thanks",
    "thanks to my friend the boat floats",
    "How bad is it?",
    "a good recipe for bread?",
    "what's wrong with my bike",
    "the right hand",
    "is there no other way",
    "tell me more",
    "nice try",
    "yes please",
    "",
)


@pytest.mark.parametrize("text", CONTENT)
def test_content_is_told(text: str) -> None:
    assert marked_sentiment(text) is Sentiment.POSITIVE


@pytest.mark.parametrize("text", DISCONTENT)
def test_discontent_is_told(text: str) -> None:
    assert marked_sentiment(text) is Sentiment.NEGATIVE


@pytest.mark.parametrize("text", UNDECIDED)
def test_what_does_not_judge_is_left_undecided(text: str) -> None:
    """Markers of both kinds, words that describe something else, or none."""
    assert marked_sentiment(text) is None


DEFAULT_ADA = Scope(user_id="ada")


@dataclass
class Store:
    error: IbidError | None = None

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        self._fault()
        return answer_id is None

    async def judge(
        self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str, rating: Rating | None = None
    ) -> list[str]:
        return list(ids)

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        self._fault()
        return Tallies({"m1": Tally(1, 2)})

    async def last(self, scope: Scope) -> Moment:
        self._fault()
        return Moment("days")

    def _fault(self) -> None:
        if self.error:
            raise self.error


@pytest.mark.parametrize(
    ("error", "kind"),
    [(RetrievalError("timeout"), Unavailable), (RetrievalError("unavailable", rejected=True), Rejected)],
    ids=["away", "refused"],
)
async def test_faults_of_reading_are_told(error: IbidError, kind: type[IbidError]) -> None:
    service = SignalService(Store(error), Store(error))
    with pytest.raises(kind):
        await service.tallies(DEFAULT_ADA, ["m1"])
    with pytest.raises(kind):
        await service.last(DEFAULT_ADA)
