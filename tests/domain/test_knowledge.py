"""A project's knowledge as the model is told it."""

import pytest

from app.domain.knowledge import knowledge_text, notes_text
from app.domain.project import Knowledge, KnowledgeNote

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
