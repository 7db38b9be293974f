"""What is told of a project, changed part by part."""

import pytest

from app.db.projects import MOST_NOTES, Knowledge, KnowledgeChange, KnowledgeNote, merged
from app.errors import TooMany

A, B, C = (KnowledgeNote(title, "Text.") for title in "ABC")
BEFORE = Knowledge("Overview.", "Rules.", (A, B))


@pytest.mark.parametrize(
    ("change", "after"),
    [
        pytest.param(KnowledgeChange(), BEFORE, id="nothing"),
        pytest.param(
            KnowledgeChange(overview=""), Knowledge("", "Rules.", (A, B)), id="an empty text empties"
        ),
        pytest.param(KnowledgeChange(rules="New."), Knowledge("Overview.", "New.", (A, B)), id="a text"),
        pytest.param(
            KnowledgeChange(notes=(C,)), Knowledge("Overview.", "Rules.", (A, B, C)), id="a note more"
        ),
        pytest.param(
            KnowledgeChange(notes=(KnowledgeNote("A", "Other."),)),
            Knowledge("Overview.", "Rules.", (KnowledgeNote("A", "Other."), B)),
            id="a note of a title that is there",
        ),
    ],
)
def test_what_is_given_replaces_what_was_there(change: KnowledgeChange, after: Knowledge) -> None:
    """Notes keep their places; the rest stays."""
    assert merged(BEFORE, change) == after


def test_there_are_so_many_notes() -> None:
    """One more is refused; one of a title that is there is none more."""
    full = Knowledge(notes=tuple(KnowledgeNote(str(n), "x") for n in range(MOST_NOTES)))

    assert len(merged(full, KnowledgeChange(notes=(KnowledgeNote("0", "y"),))).notes) == MOST_NOTES
    with pytest.raises(TooMany):
        merged(full, KnowledgeChange(notes=(A,)))
