"""A chunk as a passage: what stays with its text, and for whom."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.domain.passage import Passage
from app.domain.text import Text
from app.index.cited import NAME, passage
from app.index.place import Listed
from app.index.texts import Row

AT = datetime(2026, 1, 2, tzinfo=UTC)
ITEM = Listed("d1", "report.pdf", "report.pdf", "", 9, AT)


def row() -> Row:
    """A chunk that nobody has asked for."""
    return Row(3, Text("The sea."), 4, 5, "Waters", 2)


def test_a_passage_tells_all_of_its_chunk() -> None:
    """Id, label, title and fields are the chunk's and its document's, the similarity is the question's."""
    assert passage(row(), ITEM, "report-2.pdf", 0.5, "?session_id=s") == Passage(
        source=NAME,
        id="d1:3",
        text="The sea.",
        tokens=2,
        label="report-2.pdf#3",
        similarity=0.5,
        title="report.pdf",
        fields={
            "document": "d1",
            "filename": "report.pdf",
            "page": 4,
            "page_end": 5,
            "heading": "Waters",
            "url": "/api/documents/d1/chunks/3?session_id=s",
        },
        created_at=AT,
    )


def test_the_next_question_finds_it_made() -> None:
    """Its fields are made once, its similarity is each question's own."""
    chunk = row()
    first, second = (passage(chunk, ITEM, "report.pdf", found, "") for found in (0.1, None))
    assert first.fields is second.fields
    assert (first.similarity, second.similarity) == (0.1, None)


@pytest.mark.parametrize(
    ("item", "name", "seen"),
    [
        pytest.param(ITEM, "report.pdf", "?session_id=other", id="another session"),
        pytest.param(ITEM, "report-2.pdf", "", id="another name"),
        pytest.param(replace(ITEM, filename="notes.pdf"), "report.pdf", "", id="another file name"),
    ],
)
def test_another_asker_sees_it_as_his_own(item: Listed, name: str, seen: str) -> None:
    """What the last asker saw is told to nobody for whom the passage stands elsewhere."""
    chunk = row()
    passage(chunk, ITEM, "report.pdf", 0.1, "")
    assert passage(chunk, item, name, 0.1, seen) == passage(row(), item, name, 0.1, seen)
