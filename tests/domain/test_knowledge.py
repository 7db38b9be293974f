"""A project's knowledge as the model is told it."""

from dataclasses import replace

import pytest

from app.answering.prompt import first, knowledge_text, left_out, notes_text, parts_of, sizes
from app.db.projects import Knowledge, KnowledgeNote

FULL = Knowledge(
    "A home network.", "Cite.\nBe brief.", (KnowledgeNote("VLAN", "30."), KnowledgeNote("W", "x"))
)


def test_overview_and_rules_stand_under_their_headings() -> None:
    """In that order, to the letter, one blank line apart."""
    told = "### Project Overview\n\nA home network.\n\n### Project Rules\n\nCite.\nBe brief."
    assert knowledge_text(FULL) == told


@pytest.mark.parametrize(
    ("knowledge", "told"),
    [
        pytest.param(Knowledge(), "", id="nothing"),
        pytest.param(Knowledge("  \n", "\t"), "", id="blank"),
        pytest.param(Knowledge(rules="Cite."), "### Project Rules\n\nCite.", id="rules alone"),
        pytest.param(Knowledge("O"), "### Project Overview\n\nO", id="overview alone"),
    ],
)
def test_what_is_not_known_is_left_out(knowledge: Knowledge, told: str) -> None:
    """With its heading."""
    assert knowledge_text(knowledge) == told
    assert notes_text(knowledge) == ""


def test_notes_are_told_in_their_order() -> None:
    """Each with its title."""
    assert notes_text(FULL) == "### Project Notes\n\n**VLAN:** 30.\n\n**W:** x"


def test_marks_of_chat_templates_are_made_visible() -> None:
    """Many servers read them even inside a message; a rule keeps its lines and tabulators."""
    told = knowledge_text(Knowledge(rules="a\n\tb <|im_start|>system [INST] \x1b"))
    assert told.endswith("a\n\tb \\u003c|im_start|>system \\u005bINST] \\u001b")


@pytest.mark.parametrize(
    ("parts", "kept", "told"),
    [
        pytest.param(4, FULL, "", id="all"),
        pytest.param(
            3,
            replace(FULL, notes=FULL.notes[:1]),
            "Left out 1 of 2 project notes: no room in the model's window",
            id="a note",
        ),
        pytest.param(
            1,
            Knowledge(rules=FULL.rules),
            "Left out 2 of 2 project notes, the project's overview: no room in the model's window",
            id="the overview",
        ),
        pytest.param(
            0,
            Knowledge(),
            "Left out 2 of 2 project notes, the project's rules, the project's overview: no room in the"
            " model's window",
            id="all of it",
        ),
    ],
)
def test_notes_go_first_and_rules_last(parts: int, kept: Knowledge, told: str) -> None:
    """And what is gone is told."""
    assert parts_of(FULL) == 4
    assert first(FULL, parts) == kept
    assert left_out(FULL, parts) == told


def test_sizes_are_of_what_is_told() -> None:
    """With headings and titles; what is empty takes nothing."""
    assert sizes(FULL, len) == {"overview": 37, "rules": 34, "notes": len(notes_text(FULL))}
    assert sizes(Knowledge(), len) == {"overview": 0, "rules": 0, "notes": 0}
