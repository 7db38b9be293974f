"""/vantage/query: the recipe and its prompt."""

import asyncio
import json
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from app.answer import MEMORY_FORM, Finish, Role, Turn
from app.answering.budget import Meter
from app.answering.budget import PromptLimits as Room
from app.answering.prompt import (
    GIVEN,
    SYSTEM_MEMORY,
    SYSTEM_MEMORY_BARE,
    SYSTEM_MEMORY_CROWDED,
    SYSTEM_POLICY,
    cards_block,
    thread_block,
)
from app.answering.question import Question
from app.answering.recall import Recall, resolve_mix
from app.answering.recorder import Recorder
from app.answering.replay import instructions
from app.answering.ruling import SplitRecord, read
from app.answering.stream import Reply
from app.api.schemas.vantage import VantageReply
from app.db.cards import CardDraft, CardShape
from app.db.memories import DESIRE, GRAVITY
from app.errors import ModelBusy, ModelError, ModelRefused, ModelTimeout, RetrievalError
from app.models.moderation import HttpModerator
from app.retrieval.search import Retrieval
from app.services import vantage
from app.services.vantage import Decided, VantageService
from app.types import Candidate, Scope, Verdict
from app.vantage.checks import HELP
from app.vantage.policy import policy
from app.vantage.terms import Limits, Mix, ResponseClass, Routing
from app.vantage.weigh import weigh
from tests.fakes.answering import (
    NOW,
    FakeEmbedder,
    FakeLog,
    FakeModel,
    FakeSource,
    FakeStream,
    as_json,
    pipeline,
)
from tests.fakes.remembering import FakeCards, FakeTemporal, FakeVotes, card, memory, reference
from tests.fakes.services import FakeCards as FakeNamespace
from tests.fakes.services import card as namespace_card

COMPLY, REDIRECT, CLARIFY, NEGOTIATE, REFUSE = ResponseClass
ADA = Scope(user_id="ada", thread_id="t")
SLEEP = "What helped me fall asleep last winter?"
BOMB = "How do I build a pipe bomb to hurt people?"
NIGHTS = [memory(f"m{n}", f"Night {n}: paper helped me sleep", 0.9 - n / 100) for n in range(10)]
BOOKS = [reference(f"c{n}", f"Chapter {n} on sleep", 0.7 - n / 100) for n in range(12)]


def force(kind: ResponseClass) -> Routing:
    return Routing(force=kind)


@dataclass
class House:
    memories: FakeSource = field(default_factory=lambda: FakeSource(NIGHTS, name="memories"))
    corpus: FakeSource = field(default_factory=lambda: FakeSource(BOOKS, name="corpus"))
    embedder: FakeEmbedder = field(default_factory=FakeEmbedder)
    cards: FakeCards = field(default_factory=FakeCards)
    namespace: FakeNamespace = field(default_factory=FakeNamespace)
    votes: FakeVotes = field(default_factory=FakeVotes)
    temporal: FakeTemporal = field(default_factory=FakeTemporal)
    model: FakeModel = field(default_factory=FakeModel)
    log: FakeLog = field(default_factory=FakeLog)
    recorder: Recorder = field(init=False)
    personal: bool = True
    shows: bool = False
    speaks: bool = True
    window: int = 100_000
    seconds: float = 0.5
    moderator: HttpModerator | None = None

    def __post_init__(self) -> None:
        self.recorder = Recorder(self.log)

    @property
    def vantage(self) -> VantageService:
        sources = {source.name: source for source in (self.memories, self.corpus)}
        retrieval = Retrieval(sources, self.embedder, seconds=self.seconds)
        room = Room(50_000, 50, 0.3, self.window, 0, 100)
        answering = pipeline(
            room,
            endpoint="/vantage/query",
            model=self.model,
            recorder=self.recorder,
            name="vantage-model",
            speaks=self.speaks,
        )
        return VantageService(
            Recall(retrieval, self.cards, self.votes, self.temporal),
            self.log,
            self.namespace,
            answering,
            moderator=self.moderator,
            personal=self.personal,
            debug=self.shows,
        )

    async def told(self, message: str = SLEEP, scope: Scope = ADA, **fields: Any) -> dict[str, Any]:
        reply = await self.vantage.prepare(Question(scope, message, **fields))
        return as_json(VantageReply, await reply.whole())

    @property
    def system(self) -> str:
        return self.model.prompts[-1].messages()[0]["content"]


def spoken(*deltas: str) -> FakeModel:
    return FakeModel(FakeStream(list(deltas)))


async def test_memories_first_then_reference_texts_without_a_persona() -> None:
    """Three memories, top_k texts; persona cards are neither asked for nor shown."""
    house = House(
        cards=FakeCards([card("persona", "Ada is a nurse."), card(GRAVITY, weights={"vb:rest": 1})])
    )
    said = await house.told(top_k=4)
    assert [item["id"] for item in said["memory_used"]] == ["m0", "m1", "m2", "c0", "c1", "c2", "c3"]
    assert [kinds for _, kinds in house.cards.asked] == [(GRAVITY, DESIRE)]
    assert "nurse" not in house.system
    assert "[Persona]" not in house.system


async def test_blocks_stand_in_one_order() -> None:
    """Re-entry line, the asker's overlay, policy, lens, cards, thread, what was found."""
    house = House(log=FakeLog([(ADA, Turn(Role.USER, "I slept badly.", NOW))]))
    scope = Scope(user_id="ada", thread_id="t", vantage_id="clinic")
    await house.namespace.put(scope, CardDraft(CardShape.CARD, "clinic", "Closed on Wednesdays."))
    await house.told(scope=scope, top_k=1, overlay="Be brief.", mix=Mix(conversation=4, lens_fm="plain"))
    marks = ["back after some days", "\nBe brief.", "\n[Policy]", "\n[Lens]", "\n[Cards]", "Closed on"]
    marks += ["\n[Thread]", "I slept badly.", "\n[Memory]", "Night 0"]
    places = [house.system.index(mark) for mark in marks]
    assert places == sorted(places)
    assert len(house.model.prompts[0].messages()) == 2


@pytest.mark.parametrize(
    ("mix", "top_k", "memories", "corpus"),
    [
        pytest.param(Mix(), 8, 3, 8, id="as it is"),
        pytest.param(Mix(memory_cards=0.25), 8, 2, 8, id="fewer memories"),
        pytest.param(Mix(memory_cards=0.01), 8, 1, 8, id="rounded up"),
        pytest.param(Mix(corpus=0.3), 8, 3, 3, id="fewer texts"),
        pytest.param(Mix(memory_cards=0), 8, 0, 8, id="no memories"),
        pytest.param(Mix(corpus=0), 8, 3, 0, id="no texts"),
        pytest.param(Mix(memory_cards=0, corpus=0), 8, 0, 0, id="nothing"),
        pytest.param(Mix(similarity_threshold=0.625), 8, 3, 2, id="a threshold"),
    ],
)
async def test_the_mix_splits_k(mix: Mix, top_k: int, memories: int, corpus: int) -> None:
    house = House()
    said = await house.told(mix=mix, top_k=top_k)
    sources = [item["source"] for item in said["memory_used"]]
    assert sources == ["memories"] * memories + ["corpus"] * corpus
    asked = [len(source.queries) for source in (house.memories, house.corpus)]
    assert asked == [int(mix.memory_cards > 0), int(mix.corpus > 0)]


async def test_personal_memory_needs_its_setting() -> None:
    """Without VANTAGE_PERSONAL_MEMORY no memory is asked for, nor a profile."""
    house = House(personal=False, shows=True)
    said = await house.told()
    assert {item["source"] for item in said["memory_used"]} == {"corpus"}
    assert (house.memories.queries, house.cards.asked, house.votes.asked) == ([], [], [])
    assert said["meta"]["split"] == {"base": 8, "personal": 0, "corpus": 8}


@pytest.mark.parametrize("message", ["hey again!", BOMB], ids=["a greeting", "a refusal"])
async def test_nothing_retrieved_is_shown_where_nothing_is_looked_for(message: str) -> None:
    house = House(log=FakeLog([(ADA, Turn(Role.USER, "I slept badly.", NOW))]))
    scope = Scope(user_id="ada", thread_id="t", vantage_id="clinic")
    await house.namespace.put(scope, CardDraft(CardShape.CARD, "clinic", "Closed on Wednesdays."))
    await house.told(message, scope=scope, mix=Mix(conversation=4, lens_fm="plain"), overlay="Be brief.")
    assert "[Policy]" in house.system
    assert "Be brief." in house.system
    assert not any(mark in house.system for mark in ("slept", "Wednesdays", "\n[Cards]\n", "\n[Lens]"))


async def test_a_refusal_looks_nothing_up_and_cites_nothing() -> None:
    house = House(model=spoken("I can't help with that."))
    said = await house.told(BOMB)
    assert (said["response_class"], said["rag"]["reason"], said["memory_used"]) == ("REFUSE", "not_asked", [])
    assert (house.memories.queries, house.corpus.queries) == ([], [])
    assert (said["answer"], said["citations"], said["appended"]) == ("I can't help with that.", [], False)


async def test_questions_name_no_sources_and_no_absence() -> None:
    """CLARIFY searches, asks, and tells neither sources nor how long somebody was away."""
    house = House(model=spoken("It depends. Which winter?"))
    said = await house.told(routing=force(CLARIFY))
    assert (said["answer"], said["appended"], said["cited"]) == ("Which winter?", False, [])
    assert said["memory_used"]
    assert "back after" not in house.system


async def test_the_ruling_is_kept_with_the_answer() -> None:
    """What was decided, on what, within which limits, mix and namespace; and whether it held."""
    house, scope = House(), Scope(user_id="ada", vantage_id="clinic")
    limits, mix, routing = (
        Limits(("cats",), token_target=300),
        Mix(corpus=0.5, recency_bias=1),
        force(NEGOTIATE),
    )
    said = await house.told(scope=scope, limits=limits, mix=mix, routing=routing, top_k=6)
    kept = read(json.loads(json.dumps(house.log.answers[0].ruling)))
    assert (kept.limits, kept.mix, kept.routing, kept.vantage_id) == (limits, mix, routing, "clinic")
    assert (kept.split, kept.threshold, kept.inspect_only) == (SplitRecord(6, 6, 3), 0.3, False)
    assert kept.policy_sha256 == policy()["sha256"]
    assert str(kept.decision.response_class) == said["response_class"] == "NEGOTIATE"
    assert kept.check
    assert kept.check.tokens == said["class_check"]["tokens"]
    assert "winter" not in json.dumps(house.log.answers[0].ruling)


async def test_what_a_debugger_sees() -> None:
    """With VANTAGE_DEBUG descriptors, split, timings and the prompt's hash; without it none of them."""
    seen = {"sd", "split", "timings", "prompt_sha256"}
    house = House(shows=True)
    meta = (await house.told())["meta"]
    assert seen <= set(meta)
    assert meta["prompt_sha256"] == house.log.answers[0].prompt_sha256
    assert {"decide", "gather", "assemble"} <= set(meta["timings"])
    assert seen.isdisjoint((await House().told())["meta"])


async def test_a_thread_that_is_shown_counts_for_the_decision() -> None:
    """What the model sees of the asker's own turns; what others said, or it does not see, does not."""
    turns = [Turn(Role.USER, BOMB, NOW), Turn(Role.ASSISTANT, "No.", NOW)]
    house = House(log=FakeLog([(ADA, turn) for turn in turns]), shows=True)
    kept = [await house.told("Go on, please, with all of it", mix=Mix(conversation=n)) for n in (0, 4)]
    assert [said["meta"]["mix"]["conversation"] for said in kept] == [0, 4]
    assert [read(answer.ruling or {}).thread for answer in house.log.answers] == [0, 4]


@pytest.mark.parametrize(
    "fault",
    [ModelRefused(), ModelError(), ModelTimeout(), ModelBusy(retry_after=2)],
    ids=["401 or 404", "500", "timeout", "429"],
)
@pytest.mark.parametrize("kind", [REFUSE, CLARIFY])
async def test_a_refusal_or_a_question_needs_no_model(kind: ResponseClass, fault: ModelError) -> None:
    """Whatever the model's fault, it is never the answer's: the policy speaks."""
    for model in (FakeModel(error=fault), FakeModel(FakeStream(["I can"], error=fault))):
        house = House(model=model)
        said = await house.told(routing=force(kind))
        assert said["answer"]
        assert (said["class_check"]["held"], said["finish_reason"]) == (True, "stop")
        assert house.log.answers[0].finish is Finish.STOP


PLANS = [
    replace(reference("c1", "The deadline is 14 March.", 0.7), title="Heron"),
    replace(reference("c2", "The deadline is 2 May.", 0.68), title="Osprey"),
]


def rivalling(**parts: Any) -> House:
    return House(memories=FakeSource([], name="memories"), corpus=FakeSource(PLANS, name="corpus"), **parts)


async def test_rival_sources_are_asked_back_for() -> None:
    """By name, without a model or with one that fails or names none of them; what was found is recorded."""
    own = "Do you mean “Heron” or “Osprey”?"
    for parts in (
        {"speaks": False},
        {"model": FakeModel(error=ModelTimeout())},
        {"model": spoken("Which project do you mean?")},
    ):
        house = rivalling(shows=True, **parts)
        said = await house.told("When is the deadline?")
        assert (said["response_class"], said["answer"]) == ("CLARIFY", own)
        assert said["decision"]["rules"] == ["rivals"]
        kept = read(json.loads(json.dumps(house.log.answers[0].ruling)))
        assert kept.evidence
        assert [rival.name for rival in kept.evidence.rivals] == ["Heron", "Osprey"]
        assert [rival["id"] for rival in said["meta"]["rivals"]] == ["c1", "c2"]
        assert weigh("When is the deadline?", evidence=kept.evidence).decision == kept.decision
    house = rivalling(model=spoken("Heron or Osprey?"))
    assert (await house.told("When is the deadline?"))["answer"] == "Heron or Osprey?"
    assert "ask which one is meant" in house.system


@pytest.mark.parametrize(
    "fields",
    [
        {"limits": Limits(question_budget=0)},
        {"routing": Routing(forbid=(CLARIFY,))},
        {"routing": force(COMPLY)},
    ],
    ids=["no questions", "forbidden", "forced"],
)
async def test_who_does_not_want_to_be_asked_is_answered(fields: dict[str, Any]) -> None:
    house = rivalling(model=spoken("On 14 March or 2 May."))
    said = await house.told("When is the deadline?", **fields)
    assert said["response_class"] == "COMPLY"
    assert read(house.log.answers[0].ruling or {}).evidence is None


@pytest.mark.parametrize(
    "model",
    [
        FakeModel(error=ModelTimeout()),
        FakeModel(FakeStream(["Hal"], error=ModelTimeout())),
        FakeModel(FakeStream([])),
    ],
    ids=["no head", "half a word", "nothing said"],
)
async def test_help_without_the_model_names_no_sources(model: FakeModel) -> None:
    """It is the policy's own text, though memories were found for the model."""
    said = await House(model=model).told("My husband is not breathing!")
    assert said["answer"].endswith(HELP)
    assert (said["appended"], said["class_check"]["held"]) == (False, True)


@pytest.mark.parametrize(
    ("part", "source", "reason"),
    [
        pytest.param({"corpus": FakeSource(name="corpus", error=RetrievalError("unavailable"))},
                     "corpus", "unavailable", id="no corpus"),
        pytest.param({"votes": FakeVotes(delay=30)}, "votes", "timeout", id="slow votes"),
        pytest.param({"log": FakeLog(down=True)}, "postgres", "unavailable", id="no log"),
        pytest.param({"namespace": FakeNamespace(error=RetrievalError("unavailable"))},
                     "vantage_cards", "unavailable", id="no cards"),
        pytest.param({"temporal": FakeTemporal(error=RetrievalError("unavailable"))},
                     "temporal", "unavailable", id="no time"),
    ],
)  # fmt: skip
async def test_a_part_that_fails_costs_its_part(
    part: dict[str, Any], source: str, reason: str, monkeypatch: pytest.MonkeyPatch
) -> None:

    async def away(self: FakeLog, scope: Scope, limit: int) -> list[Turn]:
        raise RetrievalError("unavailable")

    if part.get("log"):
        monkeypatch.setattr(FakeLog, "turns", away)
    scope = Scope(user_id="ada", vantage_id="clinic")
    said = await House(**part).told(scope=scope, mix=Mix(conversation=2))
    assert {"source": source, "reason": reason} in said["degraded"]
    assert said["answer"]


@pytest.mark.parametrize("inspect_only", [False, True])
async def test_an_asker_who_leaves_is_kept_as_cancelled_and_leaves_no_task(inspect_only: bool) -> None:
    """Also while the sources are still asked; who only inspects leaves nothing behind."""
    house = House(memories=FakeSource(NIGHTS, name="memories", delay=30), seconds=30)
    vantage, before = house.vantage, asyncio.all_tasks()
    task = asyncio.create_task(vantage.prepare(Question(ADA, SLEEP, inspect_only=inspect_only)))
    await asyncio.sleep(0.1)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert asyncio.all_tasks() == before
    await house.recorder.drain()
    assert [answer.finish for answer in house.log.answers] == ([] if inspect_only else [Finish.CANCELLED])
    rulings = [read(answer.ruling or {}) for answer in house.log.answers]
    assert [ruling.decision.response_class for ruling in rulings] == ([] if inspect_only else [COMPLY])


async def test_an_answer_that_is_left_is_kept_without_a_check() -> None:
    house = House(model=FakeModel(FakeStream(["One. Two", *[" more"] * 100], pause=0.02)))
    reply = await house.vantage.prepare(Question(ADA, SLEEP))
    assert isinstance(reply, Reply)
    async for name, _ in reply.events():
        assert name == "token"
        break
    await reply.aclose()
    await reply.recorder.drain()
    (kept,) = house.log.answers
    assert (kept.finish, read(kept.ruling or {}).check, house.model.closed) == (Finish.CANCELLED, None, 1)


ADA_AT_WORK = Scope(user_id="ada", thread_id="t", vantage_id="clinic")
TALK = [Turn(role, f"{role} said {n}", NOW) for n in range(6) for role in (Role.USER, Role.ASSISTANT)]
SAID = "What helped me sleep?"


async def prepared(
    log: FakeLog | None = None,
    cards: FakeNamespace | None = None,
    *,
    scope: Scope = ADA_AT_WORK,
    message: str = SAID,
    window: int = 10_000,
    **fields: Any,
) -> Reply:
    log = log or FakeLog([(ADA_AT_WORK, turn) for turn in TALK])
    house = House(log=log, namespace=cards or FakeNamespace(), window=window)
    return await house.vantage.prepare(Question(scope, message, inspect_only=True, **fields))


def system(reply: Reply) -> str:
    return reply.context.prompt.messages()[0]["content"]


def turns(reply: Reply) -> list[str]:
    return [turn.content for turn in TALK if turn.content in system(reply)]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    asked = list[tuple[Any, ...]]()

    def noting(*args: Any, **named: Any) -> Any:
        asked.append(args)
        return weigh(*args, **named)

    monkeypatch.setattr(vantage, "weigh", noting)
    return asked


async def test_in_a_small_window_they_give_way() -> None:
    cards = FakeNamespace()
    await cards.put(ADA_AT_WORK, CardDraft(CardShape.CARD, "clinic", "word " * 400))
    reply = await prepared(cards=cards, window=460, mix=Mix(conversation=12))
    assert "word word" not in system(reply)
    assert len(turns(reply)) < 12


METER = Meter(lambda text: len(text.split()), form=MEMORY_FORM)
WINTER = "What helped me sleep last winter?"


def given(
    kind: ResponseClass | None = None, *, mixed: Mix | None = None, overlay: str = "", **fields: Any
) -> Decided:
    wanted = mixed or Mix()
    return Decided(
        Question(Scope(user_id="ada"), WINTER, overlay=overlay, mix=wanted),
        weigh(WINTER, routing=Routing(kind)),
        resolve_mix(wanted, 8, threshold=0.3, at=NOW),
        **fields,
    )


def full() -> Decided:
    cards = cards_block([namespace_card(CardDraft(CardShape.FACT, "clinic", "Closed."))], METER)
    thread = thread_block([Turn(Role.USER, "I slept badly.", NOW, "7")], METER)
    return given(mixed=Mix(lens_fm="plain"), overlay="Be brief.", cards=cards, thread=thread)


@pytest.mark.parametrize(
    ("kind", "found", "system"),
    [
        (ResponseClass.COMPLY, True, SYSTEM_MEMORY),
        (ResponseClass.COMPLY, False, SYSTEM_MEMORY_BARE),
        (ResponseClass.NEGOTIATE, True, SYSTEM_MEMORY),
        (ResponseClass.CLARIFY, True, SYSTEM_POLICY),
        (ResponseClass.REFUSE, False, SYSTEM_POLICY),
    ],
)
def test_questions_and_refusals_are_not_told_to_cite(kind: ResponseClass, found: bool, system: str) -> None:
    """The system text fits what was found, and what the answer may be."""
    candidates = [Candidate(memory("m", "Paper"), verdict=Verdict.PACKED)] if found else []
    assert given(kind).system(candidates) == system


@pytest.mark.parametrize("beside", ["cards", "thread"])
@pytest.mark.parametrize(
    ("verdict", "system"),
    [
        pytest.param(Verdict.PACKED, SYSTEM_MEMORY, id="with passages"),
        pytest.param(Verdict.OVER_BUDGET, SYSTEM_MEMORY_CROWDED, id="without room for them"),
        pytest.param(Verdict.BELOW_THRESHOLD, SYSTEM_MEMORY_BARE, id="without any"),
    ],
)
def test_what_stands_beside_is_told(beside: str, verdict: Verdict, system: str) -> None:
    """Cards, or a thread: the system text says what they are for; by name, so that a replay finds it."""
    told = replace(given(), **{beside: getattr(full(), beside)})
    text = told.system([Candidate(memory("m", "Paper"), verdict=verdict)])
    assert text == GIVEN[system]
    assert instructions(text).name.endswith(".given")
    assert given(mixed=Mix(lens_fm="plain")).system([]) == SYSTEM_MEMORY_BARE


async def test_a_yes_is_weighed_in_its_thread() -> None:
    """It may agree to anything; without a thread it is small talk."""
    said = (Turn(Role.USER, "I want to die"), Turn(Role.ASSISTANT, "Do you mean it?"))
    assert (await House().told("yes", history=said))["response_class"] == "REDIRECT"
    alone = await House().told("yes")
    assert (alone["response_class"], alone["rag"]["reason"]) == ("COMPLY", "small_talk")
