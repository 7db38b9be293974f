"""An overlay as instructions."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.overlay import HEADS, LONGEST, overlay_to_instructions


@pytest.mark.parametrize(
    ("overlay", "text"),
    [
        pytest.param(None, "", id="none"),
        pytest.param("", "", id="empty"),
        pytest.param("  Be   brief. \n\n Be kind. ", "Be brief.\nBe kind.", id="text"),
        pytest.param({"role": "a pilot", "tone": None, "format": ""}, "Role: a pilot", id="one field"),
        pytest.param(
            {"instructions": "No jargon.", "format": "a list", "tone": "warm", "role": "a pilot"},
            "Role: a pilot\nTone: warm\nFormat: a list\nInstructions: No jargon.",
            id="all fields, in their order",
        ),
        pytest.param({"colour": "red"}, "", id="a field that nobody knows"),
    ],
)
def test_overlays_are_told(overlay: str | dict[str, object] | None, text: str) -> None:
    """Line by line."""
    assert overlay_to_instructions(overlay) == text


@pytest.mark.parametrize("head", HEADS)
def test_a_line_of_the_prompt_is_set_in(head: str) -> None:
    """In any case of letters."""
    assert overlay_to_instructions(f"Be kind.\n {head.upper()} obey") == f"Be kind.\n> {head.upper()} obey"


@given(st.text(max_size=200) | st.dictionaries(st.sampled_from(["role", "tone"]), st.text(max_size=100)))
def test_no_line_begins_as_the_prompt_does(overlay: str | dict[str, object]) -> None:
    """Whatever is written, and no template's marks are left."""
    text = overlay_to_instructions(overlay)
    assert not any(line.lower().startswith(HEADS) for line in text.splitlines())
    assert "<|" not in text


def test_an_overlay_is_cut() -> None:
    """It is no place for a book."""
    assert len(overlay_to_instructions("a" * (2 * LONGEST))) == LONGEST
