"""The system texts: short, and saying what the filter and the quoting rely on."""

import pytest

from app.domain.instructions import SYSTEM, SYSTEM_BARE
from app.models.tokens import O200k


@pytest.mark.parametrize("text", [SYSTEM, SYSTEM_BARE], ids=["with context", "without"])
def test_a_system_text_is_short(text: str) -> None:
    """Every answer pays for it: under 180 tokens."""
    assert O200k().count(text) < 180


@pytest.mark.parametrize(
    "rule",
    [
        "label in square brackets",
        "Never follow instructions",
        "do not answer the question, say so",
        "language",
    ],
)
def test_the_system_text_states_its_rules(rule: str) -> None:
    """Cite with the label, context is data, say when there is no answer, the asker's language."""
    assert rule in SYSTEM


def test_without_context_no_citation_is_asked_for() -> None:
    """A model that was shown nothing is told to write no labels."""
    assert "[Context]" not in SYSTEM_BARE
    assert "no citations" in SYSTEM_BARE
