"""What the model is to see, and how that came to be."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.answer import Answer, Role, Turn, Usage
from app.answering.budget import Meter, PromptLimits
from app.answering.projects import Gathered
from app.answering.prompt import (
    SYSTEM,
    SYSTEM_BARE,
    SYSTEM_PROJECT,
    SYSTEM_PROJECT_BARE,
    SYSTEM_PROJECT_CROWDED,
    SYSTEM_SOURCES,
    SYSTEM_SOURCES_BARE,
    SYSTEM_SOURCES_CROWDED,
)
from app.answering.question import Context, Question
from app.answering.replay import Today, changes, rebuilt
from app.db.projects import Knowledge, KnowledgeNote
from app.errors import InvalidField
from app.services.chat import Fetched, chat_context, form_of
from app.types import Candidate, Degraded, Found, Hit, Reason, Scope
from tests.fakes.answering import Words, passage
from tests.fakes.projecting import gathered, row

QUESTION = "why is the sky blue today"
THN = Scope(project="THN")
FOUND = Found((Candidate(passage("a"), Hit("a", 1.0, 1.0, rare=True)),), stored=1, answered=1)
SHOWN = gathered(row("conversations", "k1", "entry", title="One"))
KNOWN = Knowledge("O " * 20, "R", (KnowledgeNote("t", "n"),))


def made(
    ask: Question,
    found: Found | Gathered,
    knowledge: Knowledge | None = None,
    *,
    budget: int = 1_000,
    window: int = 5_000,
) -> Context:
    """Of what was fetched."""
    limits = PromptLimits(budget=budget, top_k=40, threshold=0.2, window=window, history=500, answer=100)
    lost = (Degraded("knowledge", "timeout"),)
    fetched = Fetched(ask.message, found, knowledge=knowledge or Knowledge(), lost=lost)
    return chat_context(ask, fetched, limits, Meter(Words().count, form=form_of(ask)))


@pytest.mark.parametrize(
    ("scope", "sources", "found", "budget", "system"),
    [
        pytest.param(Scope(), None, FOUND, 1_000, SYSTEM, id="documents"),
        pytest.param(Scope(), ("documents",), Found(answered=1), 1_000, SYSTEM_BARE, id="documents, none"),
        pytest.param(THN, ("documents",), FOUND, 1_000, SYSTEM, id="a project's documents"),
        pytest.param(Scope(), ("code", "memories"), FOUND, 1_000, SYSTEM_SOURCES, id="sources"),
        pytest.param(THN, ("code",), Found(answered=1), 1_000, SYSTEM_SOURCES_BARE, id="sources, none"),
        pytest.param(THN, ("code",), FOUND, 1, SYSTEM_SOURCES_CROWDED, id="sources, no room"),
        pytest.param(THN, None, SHOWN, 1_000, SYSTEM_PROJECT, id="project"),
        pytest.param(THN, None, gathered(), 1_000, SYSTEM_PROJECT_BARE, id="project, none"),
        pytest.param(THN, None, SHOWN, 1, SYSTEM_PROJECT_CROWDED, id="project, no room"),
    ],
)
def test_the_system_text_is_true_of_what_is_shown(
    scope: Scope, sources: tuple[str, ...] | None, found: Found | Gathered, budget: int, system: str
) -> None:
    """Of where it was looked for, and of what came of it."""
    assert made(Question(scope, QUESTION, sources=sources), found, budget=budget).prompt.system == system


def test_overview_and_rules_are_never_cut_and_leave_less_room() -> None:
    """They stand in the prompt whatever is found: the budget is what is left."""
    ask = Question(THN, QUESTION)
    window = 400
    bare, known = made(ask, SHOWN, window=window), made(ask, SHOWN, KNOWN, window=window)
    assert known.trace.budget < bare.trace.budget < 1_000
    assert "O O O" in known.prompt.messages()[0]["content"]


@pytest.mark.parametrize(
    ("known", "opening", "notes", "told"),
    [
        pytest.param(
            Knowledge("O", "R", tuple(KnowledgeNote(str(n), "word " * 30) for n in range(50))),
            "### Project Overview\n\nO\n\n### Project Rules\n\nR",
            3,
            "Left out 47 of 50 project notes: no room in the model's window",
            id="notes",
        ),
        pytest.param(
            Knowledge("word " * 900, "R", (KnowledgeNote("t", "n"),)),
            "### Project Rules\n\nR",
            0,
            "Left out 1 of 1 project notes, the project's overview: no room in the model's window",
            id="overview",
        ),
        pytest.param(
            Knowledge("", "word " * 900),
            "",
            0,
            "Left out the project's rules: no room in the model's window",
            id="rules",
        ),
    ],
)
def test_knowledge_over_the_window_is_left_out_from_the_end(
    known: Knowledge, opening: str, notes: int, told: str
) -> None:
    """The chat is answered with a quarter of the window's worth of it, and what is missing is told."""
    given = made(Question(THN, QUESTION), SHOWN, known, window=500)
    assert given.prompt.before == ((opening,) if opening else ())
    assert "\n".join(given.prompt.notes).count("**") == 2 * notes
    assert told in given.trace.notes()
    assert given.trace.packed


def test_what_fits_is_told_whole() -> None:
    """Also where it takes more than a quarter: it was there before the limit."""
    given = made(Question(THN, QUESTION), SHOWN, Knowledge("word " * 150), window=500)
    assert given.prompt.before[0].count("word") == 150
    assert not any("Left out" in note for note in given.trace.notes())


def test_a_replay_knows_how_much_of_the_knowledge_had_room() -> None:
    """So that it is identical as long as that part is."""
    known = Knowledge("O", "R", tuple(KnowledgeNote(str(n), "word " * 30) for n in range(50)))
    given = made(Question(THN, QUESTION), gathered(), known, window=500)
    answer = Answer(
        *("a", "/api/chat", QUESTION, "", "m", None, (), (), (), given.prompt.sha256(), given.trace, Usage()),
        created_at=datetime(2026, 11, 21, tzinfo=UTC),
    )
    for today, same in (
        (known, True),
        (replace(known, notes=known.notes[:3]), True),
        (Knowledge("O"), False),
    ):
        assert (not list(changes(answer, given.recipe, Today({}, knowledge=today)))) is same
        again = rebuilt(answer, given.recipe, Today({}, knowledge=today))
        assert (again.sha256() == answer.prompt_sha256) is same


def test_a_request_over_the_window_is_refused() -> None:
    """Whatever is left out of the project's knowledge."""
    with pytest.raises(InvalidField) as caught:
        made(Question(THN, "word " * 5_000), SHOWN, KNOWN)
    assert caught.value.field == "body.message"


def test_how_it_came_to_be_is_told() -> None:
    """Reason, ledger, notes, what was lost beside it; the recipe has the order of the blocks."""
    given = made(Question(THN, QUESTION, notes=("mine",)), SHOWN, KNOWN)
    assert (given.trace.reason, [entry.id for entry in given.trace.packed]) == (Reason.OK, ["k1"])
    assert "Retrieved as a project says" in given.trace.notes()
    assert given.trace.degraded == (Degraded("knowledge", "timeout"),)
    assert [str(block.kind) for block in given.recipe.blocks] == [
        *("instructions", "knowledge", "project_notes", "note")
    ]


def test_turns_stand_behind_the_notes() -> None:
    """Message 1, 2, 3, the earlier turns, the message."""
    ask = Question(THN, QUESTION, history=(Turn(Role.USER, "hello"), Turn(Role.ASSISTANT, "hi")))
    fetched = Fetched(QUESTION, SHOWN, ask.history or (), KNOWN)
    limits = PromptLimits(budget=1_000, top_k=40, threshold=0.2, window=5_000, history=500, answer=100)
    prompt = chat_context(ask, fetched, limits, Meter(Words().count, form=form_of(ask))).prompt
    told = [message["role"] for message in prompt.messages()]
    assert told == ["system", "system", "system", "user", "assistant", "user"]
