"""What the model is told under a decision: its blocks and their recipe say the same, and all of it fits."""

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
from app.db.cards import CardDraft, Shape
from app.db.memories import Moment
from app.errors import InvalidField
from app.services.vantage import Decided, block_tokens, unsought_context
from app.types import Entry, Reason, Scope, Verdict
from app.vantage.terms import Mix, ResponseClass, Routing
from app.vantage.weigh import weigh
from tests.fakes.answering import NOW
from tests.fakes.noted import card
from tests.fakes.remembering import memory

ROOM = Room(50_000, 40, 0.3, 10_000, 0, 100)
METER = Meter(lambda text: len(text.split()), form=MEMORY_FORM)
BACK = Moment("weeks")
SAID = "What helped me sleep last winter?"


def given(
    kind: ResponseClass | None = None, *, mixed: Mix | None = None, overlay: str = "", **fields: Any
) -> Decided:
    """Of a class that is wanted."""
    wanted = mixed or Mix()
    return Decided(
        Question(Scope(user_id="ada"), SAID, overlay=overlay, mix=wanted),
        weigh(SAID, routing=Routing(kind)),
        weighed(wanted, 8, threshold=0.3, at=NOW),
        **fields,
    )


def full() -> Decided:
    """With all that there may be."""
    cards = cards_block([card(CardDraft(Shape.FACT, "clinic", "Closed."))], METER)
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
