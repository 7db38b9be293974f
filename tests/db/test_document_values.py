"""Documents: scope, part, and the text that is embedded."""

from datetime import UTC, datetime

import pytest

from app.db.documents import HEADING_CHARS, TITLE_CHARS, Document, Part, State, embedded_text


def document(session_id: str | None) -> Document:
    """A ready document of a session, or a global one."""
    return Document("id", "a.pdf", "a.pdf", session_id, State.READY, 1, 1, 1, "00", datetime.now(UTC))


@pytest.mark.parametrize(("session_id", "scope"), [("s1", "session"), (None, "global")])
def test_a_document_says_who_reaches_it(session_id: str | None, scope: str) -> None:
    """Its session, or everyone of the tenant."""
    assert document(session_id).scope == scope


def test_a_part_without_session_is_the_tenants() -> None:
    """And one with a session is not."""
    assert Part("t").is_global
    assert not Part("t", "", "s1").is_global


@pytest.mark.parametrize(
    ("title", "heading", "embedded"),
    [
        pytest.param("Title", "A › B", "Title\nA › B\ntext", id="both in front"),
        pytest.param("", "", "text", id="neither"),
        pytest.param("  ", "A", "A\ntext", id="a blank title"),
        pytest.param("x" * 500, "", "x" * TITLE_CHARS + "\ntext", id="a long title keeps its start"),
        pytest.param(
            "", "x" * 500 + "end", "x" * (HEADING_CHARS - 3) + "end\ntext", id="a long heading its end"
        ),
    ],
)
def test_title_and_heading_are_embedded_in_front(title: str, heading: str, embedded: str) -> None:
    """A line each, empty ones left out, long ones cut."""
    assert embedded_text(title, heading, "text") == embedded
