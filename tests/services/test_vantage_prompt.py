"""What /vantage/query rests on and shows: turns, cards, blocks and their recipe; and its dry run."""

from dataclasses import replace
from typing import Any

import pytest

from app.answer import MEMORY_FORM, MEMORY_REF, Kind, Role, Turn, sha256
from app.answering.budget import Meter, Selection
from app.answering.budget import PromptLimits as Room
from app.answering.prompt import (
    GIVEN,
    SYSTEM_GREETING,
    SYSTEM_MEMORY,
    SYSTEM_MEMORY_BARE,
    SYSTEM_MEMORY_CROWDED,
    SYSTEM_POLICY,
    cards_block,
    thread_block,
)
from app.answering.question import Question
from app.answering.recall import Split, weighed
from app.answering.replay import instructions
from app.answering.ruling import read
from app.answering.stream import Reply
from app.api.schemas.vantage import VantageMeta
from app.db.cards import CardDraft, CardShape
from app.db.memories import Moment
from app.errors import InvalidField, RetrievalError
from app.services import vantage
from app.services.vantage import Decided, block_tokens, unsought_context
from app.types import Entry, Reason, Scope, Verdict
from app.vantage.terms import Mix, ResponseClass, Routing
from app.vantage.weigh import weigh
from tests.fakes.answering import NOW, FakeLog, as_json
from tests.fakes.noted import FakeCards, card
from tests.fakes.remembering import memory
from tests.services.test_vantage import SLEEP, House

ADA = Scope(user_id="ada", thread_id="t", vantage_id="clinic")
TALK = [Turn(role, f"{role} said {n}", NOW) for n in range(6) for role in (Role.USER, Role.ASSISTANT)]
SAID = "What helped me sleep?"


async def prepared(
    log: FakeLog | None = None,
    cards: FakeCards | None = None,
    *,
    scope: Scope = ADA,
    message: str = SAID,
    window: int = 10_000,
    **fields: Any,
) -> Reply:
    """Everything but the answer."""
    log = log or FakeLog([(ADA, turn) for turn in TALK])
    house = House(log=log, namespace=cards or FakeCards(), window=window)
    return await house.vantage.prepare(Question(scope, message, inspect_only=True, **fields))


def system(reply: Reply) -> str:
    """What the model would be told."""
    return reply.context.prompt.messages()[0]["content"]


def turns(reply: Reply) -> list[str]:
    """The turns that it would be shown."""
    return [turn.content for turn in TALK if turn.content in system(reply)]


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """What the policy was asked."""
    asked = list[tuple[Any, ...]]()

    def noting(*args: Any, **named: Any) -> Any:
        asked.append(args)
        return weigh(*args, **named)

    monkeypatch.setattr(vantage, "weigh", noting)
    return asked


@pytest.mark.parametrize("count", [0, 1, 4, 200])
async def test_so_many_turns_are_shown(count: int) -> None:
    """The newest; none unless they are asked for."""
    reply = await prepared(mix=Mix(conversation=count))
    assert turns(reply) == [turn.content for turn in (TALK[-count:] if count else ())]


async def test_the_features_see_the_askers_turns_of_those_shown(seen: list[tuple[Any, ...]]) -> None:
    """Not the answers, which may quote what somebody else wrote."""
    await prepared(mix=Mix(conversation=4), overlay="Be brief.")
    await prepared()
    assert [args[:3] for args in seen] == [
        (SAID, ("user said 4", "user said 5"), "Be brief."),
        (SAID, (), ""),
    ]


async def test_cards_of_the_namespace_are_shown() -> None:
    """And of no other."""
    cards = FakeCards()
    for namespace in ("clinic", "bakery"):
        await cards.put(ADA, CardDraft(CardShape.CARD, namespace, f"The {namespace} is closed."))
    told = system(await prepared(cards=cards))
    assert "The clinic is closed." in told
    assert "bakery" not in told
    assert "[Cards]\n" not in system(await prepared(cards=cards, scope=Scope(user_id="ada")))


async def test_in_a_small_window_they_give_way() -> None:
    """The message has what it needs."""
    cards = FakeCards()
    await cards.put(ADA, CardDraft(CardShape.CARD, "clinic", "word " * 400))
    reply = await prepared(cards=cards, window=460, mix=Mix(conversation=12))
    assert "word word" not in system(reply)
    assert len(turns(reply)) < 12


async def test_what_cannot_be_read_is_told() -> None:
    """The decision is taken without it."""
    reply = await prepared(cards=FakeCards(error=RetrievalError("unavailable")))
    told = as_json(VantageMeta, reply.meta)
    assert told["degraded"] == [{"source": "vantage_cards", "reason": "unavailable"}]
    assert told["response_class"] == "COMPLY"


@pytest.mark.parametrize(
    ("routing", "greets"),
    [(Routing(), True), (Routing(ResponseClass.REFUSE), False), (Routing(ResponseClass.CLARIFY), False)],
    ids=["answered", "refused", "asked back"],
)
async def test_for_a_greeting_that_is_answered_no_store_is_asked(routing: Routing, greets: bool) -> None:
    """One that routing gives another class is treated as any message."""
    cards = FakeCards()
    await cards.put(ADA, CardDraft(CardShape.CARD, "clinic", "Closed."))
    cards.scopes.clear()
    reply = await prepared(cards=cards, message="hey again!", routing=routing, mix=Mix(conversation=4))
    assert (reply.meta["bypass"] == "greeting", bool(cards.scopes)) == (greets, not greets)


async def test_a_lens_that_is_not_there_is_told_first(seen: list[tuple[Any, ...]]) -> None:
    """Nothing is asked before."""
    cards = FakeCards()
    with pytest.raises(InvalidField, match="lenses are"):
        await prepared(cards=cards, mix=Mix(lens_fm="rose"))
    assert (cards.scopes, seen) == ([], [])


async def inspected(house: House, *, debug: bool = False) -> Reply:
    """Prepared."""
    return await house.vantage.prepare(Question(ADA, SLEEP, inspect_only=True, debug=debug))


async def test_it_is_kept_when_it_is_told() -> None:
    """Marked, with its trace and recipe, and no turn."""
    house = House()
    reply = await inspected(house)
    assert house.log.answers == []
    told = await reply.whole()
    (kept,) = house.log.answers
    assert (kept.id, kept.endpoint, house.log.rows) == (told["answer_id"], "/vantage/query", [])
    assert read(kept.ruling or {}).inspect_only
    assert kept.trace.packed
    assert kept.recipe
    assert kept.usage.completion_tokens == 0 < kept.usage.prompt_tokens


async def test_a_store_that_is_down_fails_nothing() -> None:
    """It waits as answers do."""
    house = House()
    house.log.down = True
    reply = await inspected(house)
    assert (await reply.whole())["answer"] is None
    assert reply.recorder.waiting == 1


async def test_who_leaves_before_it_is_told_leaves_nothing() -> None:
    """Closing it writes nothing."""
    house = House()
    reply = await inspected(house)
    await reply.aclose()
    assert (house.log.answers, reply.recorder.waiting) == ([], 0)


@pytest.mark.parametrize("debug", [False, True])
async def test_candidates_are_for_who_debugs(debug: bool) -> None:
    """The system prompt is shown in any case."""
    meta = (await inspected(House(), debug=debug)).meta
    assert ("debug" in meta, "system_prompt" in meta) == (debug, True)


ROOM = Room(50_000, 40, 0.3, 10_000, 0, 100)
METER = Meter(lambda text: len(text.split()), form=MEMORY_FORM)
BACK = Moment("weeks")
WINTER = "What helped me sleep last winter?"


def given(
    kind: ResponseClass | None = None, *, mixed: Mix | None = None, overlay: str = "", **fields: Any
) -> Decided:
    """Of a class that is wanted."""
    wanted = mixed or Mix()
    return Decided(
        Question(Scope(user_id="ada"), WINTER, overlay=overlay, mix=wanted),
        weigh(WINTER, routing=Routing(kind)),
        weighed(wanted, 8, threshold=0.3, at=NOW),
        **fields,
    )


def full() -> Decided:
    """With all that there may be."""
    cards = cards_block([card(CardDraft(CardShape.FACT, "clinic", "Closed."))], METER)
    thread = thread_block([Turn(Role.USER, "I slept badly.", NOW, "7")], METER)
    return given(mixed=Mix(lens_fm="plain"), overlay="Be brief.", cards=cards, thread=thread)


@pytest.mark.parametrize("kind", [None, ResponseClass.REFUSE], ids=["a greeting", "a refusal"])
def test_nothing_retrieved_stands_in_a_bare_prompt(kind: ResponseClass | None) -> None:
    """Of lens, cards and thread nothing is in the prompt; the policy's block names the turns it weighed."""
    bare = replace(full(), weighed=given(kind).weighed, greets=kind is None)
    made = unsought_context(bare, BACK, ROOM, METER)
    system = made.prompt.messages()[0]["content"]
    assert [text in system for text in bare.blocks()[:2]] == [True, True]
    assert not any(mark in system for mark in ("\n[Lens]", "\n[Cards]", "\n[Thread]", "slept", "Closed"))
    assert [block.kind for block in made.recipe.before] == [Kind.REENTRY, Kind.OVERLAY, Kind.POLICY]
    assert [ref.id for ref in made.recipe.before[2].refs] == ["7"]
    assert not bare.sought


def test_the_recipe_names_every_block_in_the_prompts_order() -> None:
    """Kind and hash of each; the policy's text, a store's and a lens's are not kept, the asker's are."""
    told = full()
    recipe = told.recipe("back after")
    kinds = [Kind.REENTRY, Kind.OVERLAY, Kind.POLICY, Kind.LENS, Kind.CARDS, Kind.THREAD]
    assert [block.kind for block in recipe] == kinds
    assert [block.sha256 for block in recipe] == [sha256(text) for text in ("back after", *told.blocks())]
    assert [block.text for block in recipe] == ["back after", "Be brief.", "", "", "", ""]
    assert [block.name for block in recipe][3] == "plain"
    assert [[ref.source for ref in block.refs] for block in recipe[4:]] == [["vantage_fact"], ["chat_log"]]


def test_a_prompt_is_made_of_its_recipe() -> None:
    """Every block of the recipe stands in the prompt, and what is empty in neither."""
    made = unsought_context(full(), BACK, ROOM, METER)
    system = made.prompt.messages()[0]["content"]
    assert system.split("\n\n", 1)[0] == SYSTEM_POLICY
    assert [sha256(text) in {block.sha256 for block in made.recipe.before} for text in full().blocks()] == [
        True
    ] * 5
    assert all(text in system for text in full().blocks())
    bare = unsought_context(given(), None, ROOM, METER)
    assert [block.kind for block in bare.recipe.before] == [Kind.POLICY]


@pytest.mark.parametrize("kind", list(ResponseClass))
def test_only_who_only_asks_does_not_say_how_long_it_was(kind: ResponseClass) -> None:
    """The re-entry line stands in every class but CLARIFY."""
    system = unsought_context(given(kind), BACK, ROOM, METER).prompt.messages()[0]["content"]
    assert ("back after some weeks" in system) is (kind is not ResponseClass.CLARIFY)


def test_a_greeting_has_its_own_words() -> None:
    """And says so."""
    greeted = replace(given().question, message="hey again!")
    made = unsought_context(replace(given(greets=True), question=greeted), BACK, ROOM, METER)
    assert (made.bypass, made.trace.reason, made.prompt.system) == (
        "greeting",
        Reason.GREETING,
        SYSTEM_GREETING,
    )


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
    passages = (memory("m", "Paper"),) if found else ()
    assert given(kind).system(Selection(passages, (), short=False)) == system


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
    passage = memory("m", "Paper")
    entries = (Entry(MEMORY_REF, "m", "m#1", 0.9, 0.9, verdict),)
    text = told.system(Selection((passage,) if verdict is Verdict.PACKED else (), entries, short=False))
    assert text == GIVEN[system]
    assert instructions(text).name.endswith(".given")
    assert given(mixed=Mix(lens_fm="plain")).system(Selection((), (), short=False)) == SYSTEM_MEMORY_BARE


@pytest.mark.parametrize(
    ("kind", "shares", "sought"),
    [
        (ResponseClass.COMPLY, (8, 8), True),
        (ResponseClass.CLARIFY, (0, 1), True),
        (ResponseClass.COMPLY, (0, 0), False),
        (ResponseClass.REFUSE, (8, 8), False),
    ],
)
def test_what_is_looked_for(kind: ResponseClass, shares: tuple[int, int], sought: bool) -> None:
    """Nothing for a refusal, nor where the mix wants nothing."""
    told = given(kind)
    assert replace(told, by=replace(told.by, split=Split(*shares))).sought is sought


def test_what_must_stand_and_does_not_fit_is_refused() -> None:
    """The message is named."""
    with pytest.raises(InvalidField):
        unsought_context(given(), None, replace(ROOM, window=120), METER)


def test_cards_and_thread_have_a_part_of_what_is_free() -> None:
    """And nothing of what is not."""
    assert 0 < block_tokens(ROOM, METER, ("one two",)) < 2_500
    assert block_tokens(ROOM, METER, ("word " * 20_000,)) == 0
