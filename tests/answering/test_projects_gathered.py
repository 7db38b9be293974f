"""Sections joined to a context, whole and with items left out."""

from app.answering.projects import Gathered, Item, Part, profile_of, row_of
from app.types import Candidate, Passage, Reason

THN = profile_of("THN")


def item(source: str, name: str) -> Item:
    """One entry."""
    return Item(Candidate(Passage(source, name, name, 1, f"{source}#{name}")), f"entry {name}")


def gathered(*, code: int) -> Gathered:
    """Two conversations and so many chunks."""
    talk, snippets = THN.sections
    return Gathered(
        THN,
        (
            Part(talk, (item("conversations", "1"), item("conversations", "2"))),
            Part(snippets, tuple(item("code", str(n)) for n in range(code))),
        ),
        Reason.OK,
    )


def test_sections_stand_one_blank_line_apart() -> None:
    """And so do headings and entries; no words around them."""
    assert gathered(code=1).context == (
        "### History & Context: Last 5 Conversations\n\nentry 1\n\nentry 2\n\n"
        "### Relevant Code Snippets\n\nentry 0"
    )


def test_an_empty_section_is_left_out() -> None:
    """Its heading too; where all are empty there is no text."""
    talk, snippets = gathered(code=0).parts

    assert gathered(code=0).context == talk.text
    assert snippets.text == ""
    assert Gathered(THN, (snippets,), Reason.EMPTY).context == ""


def test_what_does_not_fit_is_left_out() -> None:
    """Each item in its place; equal ids of two sources are two items."""
    whole = gathered(code=3)
    first, *_, last = whole.items

    assert whole.keeping(whole.items).context == whole.context
    assert [each.text for each in whole.keeping([last, first]).items] == ["entry 1", "entry 2"]
    assert whole.keeping([]).context == ""


def test_a_chunk_s_text_is_its_row_s() -> None:
    """Its columns beside it."""
    passage = Passage("code", "1", "x = 1", 3, "a.py#L1-1", fields={"file_path": "a.py"})

    assert row_of(passage) == {"chunk_text": "x = 1", "file_path": "a.py"}
