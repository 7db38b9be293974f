"""A prompt put together again, and what has changed."""

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from app.answer import (
    CHAT_LOG_REF,
    KNOWLEDGE,
    MEMORY_FORM,
    NOTES,
    Answer,
    Block,
    Kind,
    Prompt,
    Recipe,
    Ref,
    Role,
    Turn,
    Usage,
    recipe_block,
    sha256,
)
from app.answering.prompt import (
    PROJECT_FORM,
    SYSTEM_MEMORY,
    SYSTEM_PROJECT,
    block_of,
    cards_text,
    knowledge_text,
    notes_text,
    thread_text,
)
from app.answering.prompt import ref as notice_ref
from app.answering.replay import (
    BROUGHT,
    NOT_KEPT,
    Difference,
    Replayed,
    Today,
    card_ref,
    changes,
    rebuilt,
    recipe_of,
    turn_blocks,
    unkept,
)
from app.db.cards import Card, CardShape
from app.db.memories import GRAVITY, Memory
from app.db.projects import Knowledge, KnowledgeNote
from app.retrieval.tags import card_weights, gravity, gravity_note, infer_query_tags
from app.types import SAID_ON, Entry, Passage, Reason, Trace, Verdict

NOW = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
QUESTION = "Rewrite this workout as a skeleton."
FIELDS = {"collection": "memory_raw", "kind": "note"}
PASSAGE = Passage("memories", "m1", "Squats first.", 2, "memory#k3v9q2ax", fields=FIELDS)
SAILS = Memory("c1", "ann", "Sails.", 2, NOW, kind="persona")
LISTS = Memory("c2", "ann", "Likes lists.", 3, NOW, kind="preference")
PROFILE = Memory("c3", "ann", "vb", 1, NOW, kind=GRAVITY, fields={"weights": {"topic:fm": 0.9}})
ASKED, SAID = Turn(Role.USER, "hello", id="7"), Turn(Role.ASSISTANT, "hi", id="8")
FACT = Card("f1", CardShape.FACT, "work", None, "At nine.", "ferry", 1.0, NOW, NOW)
WEIGHTS = card_weights(PROFILE)
NOTE = gravity_note(gravity(infer_query_tags(QUESTION), WEIGHTS), WEIGHTS)
PERSONA = block_of([SAILS, LISTS])
BLOCKS = (
    recipe_block(Kind.REENTRY, "Back after days.", keep=True),
    recipe_block(Kind.PERSONA, PERSONA, refs=(card_ref(SAILS), card_ref(LISTS))),
    recipe_block(Kind.OVERLAY, "Rhyme.", keep=True),
    recipe_block(Kind.POLICY, "[Policy] COMPLY"),
    recipe_block(Kind.LENS, "[Lens] plain", name="plain"),
    recipe_block(Kind.CARDS, cards_text([FACT]), refs=(notice_ref(FACT),)),
    recipe_block(
        Kind.THREAD,
        thread_text([ASKED, SAID]),
        refs=tuple(Ref(CHAT_LOG_REF, turn.id, sha256(turn.content)) for turn in (ASKED, SAID)),
    ),
)
BEFORE = (
    *("Back after days.", PERSONA, "Rhyme.", "[Policy] COMPLY", "[Lens] plain"),
    *(cards_text([FACT]), thread_text([ASKED, SAID])),
)
PROMPT = Prompt(
    *(str(SYSTEM_MEMORY), QUESTION, (PASSAGE,), (NOTE,), (ASKED, Turn(Role.ASSISTANT, "ok"))),
    *(BEFORE, MEMORY_FORM),
)
RECIPE = recipe_of(
    PROMPT,
    ranking=3,
    before=BLOCKS,
    notes=(recipe_block(Kind.GRAVITY, NOTE, refs=(card_ref(PROFILE),)),),
)
PACKED = Entry("memories", "m1", PASSAGE.label, 0.6, 0.9, Verdict.PACKED, sha256=sha256(PASSAGE.text))
UNSEEN = Entry("memories", "m2", "memory#x", 0.1, 0.2, Verdict.BELOW_THRESHOLD, sha256="00")
ANSWER = Answer(
    id="a",
    endpoint="/vantage/query",
    question=QUESTION,
    text="",
    model="m",
    finish=None,
    citations=(),
    cited=(),
    unknown=(),
    prompt_sha256=PROMPT.sha256(),
    trace=Trace(Reason.OK, (PACKED, UNSEEN)),
    usage=Usage(),
    created_at=NOW,
    recipe=RECIPE,
)
TODAY = Today(
    {("memories", "m1"): replace(PASSAGE, label="")},
    {card.id: card for card in (SAILS, LISTS, PROFILE)},
    {turn.id: turn for turn in (ASKED, SAID)},
    {FACT.id: FACT},
    {Kind.POLICY: "[Policy] COMPLY", Kind.LENS: "[Lens] plain"},
)


def found(today: Today = TODAY, recipe: Recipe = RECIPE) -> dict[str, tuple[Any, Any]]:
    return {change.what: (change.before, change.after) for change in changes(ANSWER, recipe, today)}


def test_of_the_same_things_comes_the_same_prompt() -> None:
    assert NOTE
    assert rebuilt(ANSWER, RECIPE, TODAY).sha256() == ANSWER.prompt_sha256
    assert found() == {}


def test_the_day_of_a_memory_is_the_one_that_was_shown() -> None:
    """Whenever it was changed since: that is the moment of its passage, not the day on which it was said."""
    said = replace(PASSAGE, created_at=NOW, fields={**FIELDS, SAID_ON: "2026-11-21"})
    shown = replace(PROMPT, passages=(said,))
    told = replace(ANSWER, trace=Trace(Reason.OK, (replace(PACKED, created_at=NOW),)))
    today = replace(TODAY, passages={("memories", "m1"): replace(said, created_at=NOW.replace(year=2027))})
    assert "Squats first.\n  said on 2026-11-21" in shown.context
    assert rebuilt(told, RECIPE, today).sha256() == shown.sha256()


EDITED = [
    pytest.param(
        {"passages": {("memories", "m1"): replace(PASSAGE, text="Rows first.")}},
        f"source {PASSAGE.label}",
        sha256(PASSAGE.text),
        sha256("Rows first."),
        id="source",
    ),
    pytest.param(
        {"cards": dict(TODAY.cards) | {"c1": replace(SAILS, text="Rows.")}},
        *("persona: memories c1", sha256("Sails."), sha256("Rows.")),
        id="persona",
    ),
    pytest.param(
        {"turns": dict(TODAY.turns) | {"7": replace(ASKED, content="bye")}},
        *("turn user: chat_log 7", sha256("hello"), sha256("bye")),
        id="turn",
    ),
    pytest.param(
        {"notices": {"f1": replace(FACT, text="At ten.")}},
        *("cards: vantage_fact f1", sha256("At nine."), sha256("At ten.")),
        id="fact",
    ),
    pytest.param(
        {"texts": dict(TODAY.texts) | {Kind.LENS: "[Lens] other"}},
        *("lens plain", sha256("[Lens] plain"), sha256("[Lens] other")),
        id="lens",
    ),
]


@pytest.mark.parametrize(("edit", "what", "before", "after"), EDITED)
def test_what_was_edited_is_told_by_its_hashes(
    edit: dict[str, Any], what: str, before: str, after: str
) -> None:
    today = replace(TODAY, **edit)
    assert found(today)[what] == (before, after)
    assert rebuilt(ANSWER, RECIPE, today).sha256() != ANSWER.prompt_sha256


def test_what_is_gone_has_no_after() -> None:
    """Of everything: only what the request and the service said themselves is left."""
    gone = found(Today())
    assert {what for what, (_, after) in gone.items() if after is None} == {
        *(f"source {PASSAGE.label}", "persona: memories c1", "persona: memories c2", "policy", "lens plain"),
        *("cards: vantage_fact f1", "thread: chat_log 7", "thread: chat_log 8", "turn user: chat_log 7"),
        "gravity: memories c3",
    }
    assert set(gone) == {what for what, (_, after) in gone.items() if after is None}
    left = rebuilt(ANSWER, RECIPE, Today())
    assert (left.passages, left.before, left.notes) == ((), ("Back after days.", "Rhyme."), ())
    assert [turn.content for turn in left.turns] == ["ok"]


def test_nothing_told_is_a_text() -> None:
    """A change shows hashes and ids; none of what was edited or erased."""
    for today in (Today(), replace(TODAY, cards=dict(TODAY.cards) | {"c1": replace(SAILS, text="Rows.")})):
        shown = str(list(changes(ANSWER, RECIPE, today)))
        texts = (*BEFORE, NOTE, PASSAGE.text, *(card.text for card in (SAILS, LISTS, FACT)), "Rows.")
        assert not any(text in shown for text in texts)


def test_made_otherwise_of_the_same_is_told() -> None:
    """Today's code writes a block another way: no reference changed, and the hash of the whole did."""
    older = replace(RECIPE, before=(replace(RECIPE.before[1], sha256="00"), *RECIPE.before[2:]))
    assert found(recipe=older) == {"persona": ("00", sha256(PERSONA))}


def test_what_was_never_kept_is_told_so() -> None:
    """It is not gone; where the thread has the same words, it is the same turn."""
    turns = (RECIPE.turns[0], replace(RECIPE.turns[1], text=""))
    part = replace(RECIPE, turns=turns)
    assert found(recipe=part) == {"turn assistant": (sha256("ok"), NOT_KEPT)}
    today = replace(TODAY, said={sha256("ok"): "ok"})
    assert found(today, part) == {}
    assert rebuilt(ANSWER, part, today).sha256() == ANSWER.prompt_sha256


def test_instructions_of_another_version_are_told() -> None:
    """By their name; those that are not there any more have no after."""
    for name, after in (("memories", sha256(str(SYSTEM_MEMORY))), ("of old", None)):
        older = replace(RECIPE, system=Block(Kind.INSTRUCTIONS, "00", name=name))
        assert found(recipe=older) == {f"instructions {name}": ("00", after)}


@pytest.mark.parametrize(
    ("replayed", "same"),
    [
        (Replayed("ab", "ab"), True),
        (Replayed("ab", "cd"), False),
        (Replayed("ab"), False),
        (Replayed("ab", "ab", (Difference("ranking", 2, 3),)), False),
    ],
    ids=["same", "other prompt", "none", "other ranking"],
)
def test_identical_is_both(replayed: Replayed, same: bool) -> None:
    assert replayed.identical is same


KNOWN = Knowledge("A quay.", "Be dry.", (KnowledgeNote("Tide", "High at nine."),))
TOLD_OF = (knowledge_text(KNOWN), notes_text(KNOWN))
OF_PROJECT = Recipe(
    "project",
    recipe_block(Kind.INSTRUCTIONS, SYSTEM_PROJECT, name="project"),
    before=(recipe_block(Kind.KNOWLEDGE, TOLD_OF[0], refs=(Ref(KNOWLEDGE, "THN", sha256(TOLD_OF[0])),)),),
    notes=(recipe_block(Kind.PROJECT_NOTES, TOLD_OF[1], refs=(Ref(NOTES, "THN", sha256(TOLD_OF[1])),)),),
    project="THN",
)


def test_a_project_s_prompt_is_put_together_again() -> None:
    """Knowledge in the first message, the rows in their section, notes behind them."""
    today = Today({("memories", "m1"): PASSAGE}, knowledge=KNOWN)
    told = [message["content"] for message in rebuilt(ANSWER, OF_PROJECT, today).messages()]
    assert told == [
        f"{SYSTEM_PROJECT}\n\n{TOLD_OF[0]}",
        f"Squats first.\n\n[{PASSAGE.label}]",
        TOLD_OF[1],
        QUESTION,
    ]


@pytest.mark.parametrize(
    ("knowledge", "changed"),
    [
        pytest.param(KNOWN, {}, id="the same"),
        pytest.param(
            replace(KNOWN, overview="A pier."), {"knowledge: project_knowledge THN": True}, id="edited"
        ),
        pytest.param(replace(KNOWN, notes=()), {"project_notes: project_notes THN": False}, id="a note gone"),
        pytest.param(
            Knowledge(),
            {"knowledge: project_knowledge THN": False, "project_notes: project_notes THN": False},
            id="gone",
        ),
    ],
)
def test_knowledge_that_changed_is_told(knowledge: Knowledge, changed: dict[str, bool]) -> None:
    today = Today({("memories", "m1"): PASSAGE}, knowledge=knowledge)
    told = found(today, OF_PROJECT)
    assert {what: after is not None for what, (_, after) in told.items()} == changed
    assert not any(word in str(told) for word in ("quay", "pier", "Tide"))


def test_of_a_long_history_the_newest_turns_are_kept() -> None:
    """Together BROUGHT characters, without a gap; of the older ones the hash. The log's own cost nothing."""
    third = BROUGHT // 3
    texts = [letter * third for letter in "abcd"]
    turns = [Turn(Role.USER, text) for text in texts]
    logged = Turn(Role.ASSISTANT, "l" * BROUGHT, id="7")
    made = turn_blocks([turns[0], Turn(Role.USER, ""), *turns[1:3], logged, turns[3]])
    assert [item.text for item in made] == ["", "", *texts[1:3], "", texts[3]]
    assert [unkept(item) for item in made] == [True, *[False] * 5]
    assert [item.sha256 for item in made] == [
        sha256(text) for text in (texts[0], "", *texts[1:3], logged.content, texts[3])
    ]


def test_a_project_s_form_has_its_name_and_its_project_is_told() -> None:
    made = recipe_of(Prompt("S", "m", form=PROJECT_FORM), ranking=1, project="THN")
    assert (made.form, made.project) == ("project", "THN")
    assert recipe_of(Prompt("S", "m"), ranking=1).project is None
