"""What is a heading, how deep it stands, and what the outline adds."""

import pytest

from app.intake.heading import Headings, is_titled, plain, stands_out
from app.intake.line import Bookmark, Line, Style
from tests.fakes.lines import BODY, BOLD, TITLE, line

TEXT = "An ordinary line of text that is long enough to be most of what is on the page."


@pytest.mark.parametrize(
    "text", ["Methods", "Item 7. Discussion", "2.1 Results", "Fiscal Year 2022", "NOTE 5", "Über uns", "方法"]
)
def test_titles_may_be_headings(text: str) -> None:
    """Words, a number in front, a year at the end."""
    assert is_titled(text)


@pytest.mark.parametrize(
    "text",
    [
        "and so on",
        "Results 17",
        "Total (0.1)",
        "a",
        "2022",
        "Assets:",
        "Contents ........ 3",
        "• Point",
        "x " * 60,
    ],
)
def test_rows_entries_and_fragments_are_no_headings(text: str) -> None:
    """However they are set."""
    assert not is_titled(text.strip())


@pytest.mark.parametrize(
    ("found", "heads"),
    [
        (line("Larger Type", style=TITLE), True),
        (line("Bold Type", style=BOLD), True),
        (line("Slanted Type", style=Style(10.0, italic=True)), True),
        (line("ALL IN CAPITALS"), True),
        (line("Item 1. Business"), True),
        (line("Plain words"), False),
        (line("Item 1 says that everybody has to file the form in time."), False),
        (line("THIS IS A WHOLE SENTENCE IN CAPITALS THAT NOBODY WOULD HEAD ANYTHING WITH"), False),
    ],
    ids=["larger", "bold", "italic", "capitals", "named", "plain", "prose", "shouted"],
)
def test_type_or_words_make_a_heading(found: Line, heads: bool) -> None:
    """Relative to the size of the text."""
    assert stands_out(found, BODY) is heads


def walk(lines: list[Line], outline: list[Bookmark] | None = None) -> list[tuple[str, ...]]:
    """The path above each line of text."""
    heads = Headings(lines, outline or [])
    paths, page = [], 0
    for found in lines:
        if found.page != page:
            page = found.page
            heads.turn(page, [each for each in lines if each.page == page])
        level = heads.level(found)
        if level is not None:
            heads.enter(level, found.text)
        else:
            paths.append(tuple(said for _, said in heads.path))
    return paths


def test_larger_type_stands_higher() -> None:
    """A heading ends those as deep as itself, and stands under the larger ones."""
    lines = [
        *[line(text, 2, style=style) for text, style in (("One", TITLE), ("Sub a", BOLD), (TEXT, BODY))],
        *[line(text, 2, style=style) for text, style in (("Sub b", BOLD), (TEXT, BODY))],
        *[line(text, 3, style=style) for text, style in (("Two", TITLE), (TEXT, BODY))],
    ]
    assert walk(lines) == [("One", "Sub a"), ("One", "Sub b"), ("Two",)]


def test_parts_stand_above_items_of_the_same_type() -> None:
    """Names and numbers tell depth where type does not."""
    said = ["Part I", "Item 1. Business", "Products", TEXT, "Item 2. Properties", TEXT, "Part II", TEXT]
    lines = [line(text, 2, style=BODY if text == TEXT else BOLD) for text in said]
    assert walk(lines) == [
        ("Part I", "Item 1. Business", "Products"),
        ("Part I", "Item 2. Properties"),
        ("Part II",),
    ]


def test_numbers_tell_depth() -> None:
    """2.1 stands under 2."""
    said = ["2 Methods", "2.1 Data", TEXT, "2.2 Models", TEXT, "3 Results", TEXT]
    lines = [line(text, 2, style=BODY if text == TEXT else BOLD) for text in said]
    assert walk(lines) == [("2 Methods", "2.1 Data"), ("2 Methods", "2.2 Models"), ("3 Results",)]


def test_the_title_page_heads_nothing_beyond_itself() -> None:
    """Type that never comes back is the title's."""
    lines = [line("The Report", 1, style=TITLE), line(TEXT, 1), line("One", 2, style=BOLD), line(TEXT, 2)]
    assert walk(lines) == [("The Report",), ("One",)]


def test_a_running_head_heads_once() -> None:
    """A part's title at the top of each of its pages ends nothing from the second on."""
    pages = [(line("Part I", page, style=BOLD), line(TEXT, page, 2)) for page in range(2, 6)]
    lines = [found for page in pages for found in page]
    lines.insert(1, line("Item 1. Business", 2, 1, style=BOLD))
    # Said again it is text like any other, under what it headed the first time.
    assert set(walk(lines)) == {("Part I", "Item 1. Business")}


def test_the_outline_is_believed() -> None:
    """Its entries are headings whatever their type, and stand above all others."""
    marks = [Bookmark("Beginning", 0, 1, None), Bookmark("Middle", 1, 1, None), Bookmark("End", 0, 2, None)]
    lines = [line(text) for text in ("1 Beginning", "Middle", TEXT)]
    lines += [line("Bold", style=BOLD), line(TEXT), line("End", 2), line(TEXT, 2)]
    assert walk(lines, marks) == [("1 Beginning", "Middle"), ("1 Beginning", "Middle", "Bold"), ("End",)]


def test_a_bookmark_that_names_no_line_holds_from_the_top_of_its_page() -> None:
    """Scanned titles, and titles that were shortened."""
    marks = [Bookmark("Elsewhere", 0, 1, None), Bookmark("Other", 0, 2, None)]
    assert walk([line(TEXT), line(TEXT, 2)], marks) == [("Elsewhere",), ("Other",)]


def test_a_single_root_of_the_outline_heads_nothing() -> None:
    """It says what the document is called, which is said already."""
    marks = [Bookmark("The Book", 0, 1, None), Bookmark("One", 1, 1, None)]
    assert walk([line("One"), line(TEXT)], marks) == [("One",)]


def test_titles_are_compared_without_numbers_and_marks() -> None:
    """`1. Foo — Bar` and `Foo: bar` are the same title."""
    assert plain("1.2 Foo — Bar") == plain("Foo: bar")
    assert plain("2022") == "2022"
