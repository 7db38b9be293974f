"""Running heads, headings, paragraphs and tables."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest.layout import Block, Kind, blocks, merge_headings, remove_running_heads
from app.ingest.lines import Bookmark, Line, Style
from tests.fakes.lines import BODY, BOLD, TITLE, line, page_of


def test_running_heads_and_page_numbers_go() -> None:
    """Lines at the edge of most pages, but for their numbers, are not text."""
    words = ("one", "two", "three", "four")
    pages = [
        ["The Report", f"Body of page {word}.", "more", "more still", "and on", f"F-{n}"]
        for n, word in enumerate(words, 1)
    ]
    lines = remove_running_heads([found for n, texts in enumerate(pages, 1) for found in page_of(texts, n)])
    assert not {"The Report", "F-1", "F-2"} & {found.text for found in lines}
    assert sum("Body of page" in found.text for found in lines) == 4


def test_numbers_that_count_the_pages_go_from_the_second_on() -> None:
    """Other numbers at the edge of two pages are text."""
    pages = [["Some text", "and more", "17"], ["Other text", "still more", "18"]]
    lines = remove_running_heads([found for n, texts in enumerate(pages, 4) for found in page_of(texts, n)])
    assert len(lines) == 4
    assert len(remove_running_heads([*page_of(["Net sales", "17"], 1), *page_of(["Net loss", "99"], 2)])) == 4


def document(*pages: list[str]) -> list[str]:
    """What is left of pages of lines."""
    return [
        found.text
        for found in remove_running_heads(
            [each for n, page in enumerate(pages, 1) for each in page_of(page, n)]
        )
    ]


@pytest.mark.parametrize(("stretch", "left"), [(20, 1), (19, 19)])
def test_a_long_stretch_of_pages_proves_a_running_head(stretch: int, left: int) -> None:
    """However many pages of something else come behind it; its first stays."""
    pages = [["Contents" if n <= stretch else f"Page {n * 'x'}", f"Text {n * 'y'}."] for n in range(1, 101)]
    assert document(*pages).count("Contents") == left


def test_page_numbers_of_a_long_stretch_go() -> None:
    """All of them; beside words, too."""
    pages = [[f"Text {n * 'y'}.", f"Ferry 2022 {n}" if n <= 25 else f"End {n * 'x'}"] for n in range(1, 101)]
    assert not any("Ferry" in text for text in document(*pages))


@pytest.mark.parametrize("pages", [10, 300], ids=["all of a document", "a part of one"])
def test_rows_and_the_heads_of_their_columns_stay(pages: int) -> None:
    """Though they look alike, and the heads are the same, on page after page."""

    def page(n: int) -> list[str]:
        rows = [f"Item {1_000 + 37 * n + row} {n * n + row}.{50 - row}" for row in range(8)]
        figures = [f"{7 * n * n % 1_009}.{row}" for row in range(3)]
        table = ["Species Weight (kg) Length (cm)", *rows, *figures]
        return table if n <= 25 else [f"Text {n * 'y'}."]

    written = [page(n) for n in range(1, pages + 1)]
    assert document(*written) == [text for each in written for text in each]


@pytest.mark.parametrize("length", [40, 100])
def test_what_every_other_page_says_stays(length: int) -> None:
    """Unless the pages between have a running head of their own."""
    pages = [
        ["Advice: Buy" if n % 2 else f"Firm {n * 'z'}", f"Text {n * 'y'}."] for n in range(1, length + 1)
    ]
    assert document(*pages).count("Advice: Buy") == length // 2
    pages = [["The Report" if n % 2 else "The Ferry", f"Text {n * 'y'}."] for n in range(1, length + 1)]
    assert not {"The Report", "The Ferry"} & set(document(*pages))


def test_a_stretch_is_of_one_place() -> None:
    """What stands now here, now there is text."""
    below = [[f"Text {n * letter}." for letter in "abcd"] for n in range(1, 101)]
    above = [[f"A line {n * 'z'}"] * (n % 2) + ["Advice: Buy"] for n in range(1, 26)]
    pages = [[*head, *text] for head, text in zip(above, below, strict=False)]
    assert document(*pages, *below[25:]).count("Advice: Buy") == 25


def test_a_line_that_repeats_inside_pages_stays() -> None:
    """Only edges are looked at."""
    texts = ["One a.", "Two b.", "Three c.", "The same.", "Four d.", "Five e.", "Six f."]
    pages = [
        [f"{text}{page * 'x'}" if text != "The same." else text for text in texts] for page in range(1, 6)
    ]
    lines = remove_running_heads([found for n, page in enumerate(pages, 1) for found in page_of(page, n)])
    assert sum(found.text == "The same." for found in lines) == 5


def test_two_pages_prove_no_running_head() -> None:
    """What stands on two pages may be text."""
    assert (
        len(remove_running_heads([*page_of(["Same", "Other one"], 1), *page_of(["Same", "Other two"], 2)]))
        == 4
    )


def test_a_page_never_loses_all_its_text() -> None:
    """Pages that say the same are still pages that say it."""
    assert len(remove_running_heads([line("Always this.", page) for page in range(1, 6)])) == 5


SHORT_TEXT = "A line of the text itself."


def test_a_heading_over_two_lines_is_one() -> None:
    """A full line of emphasis goes on in the next."""
    lines = [
        line("A very long heading that fills its line and", style=BOLD),
        line("Goes On", row=1, style=BOLD, right=120),
        line(SHORT_TEXT, row=2),
    ]
    first, second = merge_headings(lines)
    assert first.text == "A very long heading that fills its line and Goes On"
    assert (first.top, first.bottom) == (lines[0].top, lines[1].bottom)
    assert second.text == SHORT_TEXT


def test_centred_lines_are_one_heading() -> None:
    """As on title pages."""
    above = line("UNITED STATES", style=BOLD, left=250, right=360)
    below = line("AND THE REST", row=1, style=BOLD, left=200, right=410)
    assert len(merge_headings([above, below, line(SHORT_TEXT, row=2)])) == 2


def test_headings_below_each_other_stay_apart() -> None:
    """Short lines that begin alike do not go on in each other."""
    lines = [line(text, row=row, style=BOLD, right=120) for row, text in enumerate(("Part One", "Chapter"))]
    assert len(merge_headings([*lines, line("Text as wide as the page.", row=2)])) == 3


def test_rows_in_bold_stay_rows() -> None:
    """Totals of a table are not joined to a heading."""
    assert len(merge_headings([line("Total 1 2", style=BOLD), line("Sum 3 4", row=1, style=BOLD)])) == 2


def test_a_paragraph_in_bold_is_text() -> None:
    """A longer run of emphasis heads nothing, and none of it is lost."""
    notice = [line(f"line {n} of a notice in bold", row=n, style=BOLD) for n in range(5)]
    lines = merge_headings([*notice, line(SHORT_TEXT, row=5), line(SHORT_TEXT, row=6)])
    assert len(lines) == 7
    assert not any(found.style.bold for found in lines)


TEXT = "An ordinary line of text that is long enough to be most of what is on the page."


def is_heading(found: Line) -> bool:
    """True if a line is a heading in a page of text."""
    first, *_ = blocks([found, *[line(TEXT, row=row) for row in range(2, 8)]])
    return first.kind is Kind.HEADING


@pytest.mark.parametrize(
    "text", ["Methods", "Item 7. Discussion", "2.1 Results", "Fiscal Year 2022", "NOTE 5", "Über uns", "方法"]
)
def test_titles_may_be_headings(text: str) -> None:
    """Words, a number in front, a year at the end."""
    assert is_heading(line(text, style=TITLE))


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
    assert not is_heading(line(text.strip(), style=TITLE))


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
    assert is_heading(found) is heads


def walk(lines: list[Line], outline: Sequence[Bookmark] = ()) -> list[tuple[str, ...]]:
    """The path above each paragraph."""
    return [block.path for block in blocks(lines, outline) if block.kind is Kind.PROSE]


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
    marks = [Bookmark("Beginning", 0, 1), Bookmark("Middle", 1, 1), Bookmark("End", 0, 2)]
    lines = [line(text) for text in ("1 Beginning", "Middle", TEXT)]
    lines += [line("Bold", style=BOLD), line(TEXT), line("End", 2), line(TEXT, 2)]
    assert walk(lines, marks) == [("1 Beginning", "Middle"), ("1 Beginning", "Middle", "Bold"), ("End",)]


def test_a_bookmark_that_names_no_line_holds_from_the_top_of_its_page() -> None:
    """Scanned titles, and titles that were shortened."""
    marks = [Bookmark("Elsewhere", 0, 1), Bookmark("Other", 0, 2)]
    assert walk([line(TEXT), line(TEXT, 2)], marks) == [("Elsewhere",), ("Other",)]


def test_a_single_root_of_the_outline_heads_nothing() -> None:
    """It says what the document is called, which is said already."""
    marks = [Bookmark("The Book", 0, 1), Bookmark("One", 1, 1)]
    assert walk([line("One"), line(TEXT)], marks) == [("One",)]


END = Bookmark("End", 0, 2)


def test_titles_are_compared_without_numbers_and_marks() -> None:
    """`1.2 Foo — Bar` and `Foo: bar` are the same title."""
    assert walk([line("1.2 Foo — Bar"), line(TEXT)], [Bookmark("Foo: bar", 0, 1), END]) == [
        ("1.2 Foo — Bar",)
    ]
    assert walk([line("2022"), line(TEXT)], [Bookmark("2022", 0, 1), END]) == [("2022",)]


LONG = "This is a line of prose that is as wide as the page and does not end here but"


def texts(lines: Sequence[Line], kind: Kind = Kind.PROSE) -> list[str]:
    """The text of the blocks of a kind."""
    return [block.text for block in blocks(lines) if block.kind is kind]


def test_lines_of_a_paragraph_are_joined_by_a_space() -> None:
    """White space is all that joining adds."""
    assert texts(page_of([LONG, "goes on."])) == [f"{LONG} goes on."]


def test_chinese_and_japanese_are_joined_without_one() -> None:
    """Scripts written without spaces get none, Korean does."""
    assert texts(page_of(["你好世界", "再见。"])) == ["你好世界再见。"]
    assert texts(page_of(["안녕하세요", "세계"])) == ["안녕하세요 세계"]


@pytest.mark.parametrize(
    "lines",
    [
        page_of([LONG, "ends here.", "", "A wider gap."]),
        page_of([LONG, "• A bullet"]),
        page_of([LONG, "(a) an item"]),
        page_of([LONG, "•", "a bullet of its own"]),
        [line(LONG), line("And ends.", row=1), line("Indented", row=2, left=90)],
        [line(LONG), line("Short end.", row=1, right=150), line("New one that is wide", row=2)],
        [line(LONG), line("Smaller type", row=1, style=Style(7.0))],
    ],
    ids=["gap", "bullet", "item", "lone-bullet", "indent", "short", "type"],
)
def test_what_ends_a_paragraph(lines: list[Line]) -> None:
    """Gap, bullet, indent, a short line that ends a sentence, other type."""
    assert len(texts(lines)) == 2


def test_a_sentence_goes_on_over_the_page() -> None:
    """The paragraph knows where its second page begins."""
    [block] = blocks([line(LONG, 3, row=50), line("goes on.", 4)])
    assert block.pages == ((0, 3), (len(LONG) + 1, 4))


def test_a_new_page_begins_a_paragraph_where_a_sentence_ended() -> None:
    """So does a column."""
    assert len(texts([line("It ends.", 1, row=50), line("another", 2)])) == 2
    assert len(texts([line("It ends.", row=50), line("another column", row=0, left=310)])) == 2
    assert len(texts([line(LONG, row=50), line("another column", row=0, left=310)])) == 1


def test_a_table_keeps_its_lines() -> None:
    """Rows can be read as rows."""
    rows = ["2022 2021", "Sales 10 20", "Profit 9 18"]
    assert texts(page_of(["Prose before it.", *rows]), Kind.TABLE) == ["\n".join(rows)]


def test_a_row_is_a_line() -> None:
    """Its label wrapped, its signs apart: as it is read."""
    rows = ["2022 2021", "Fares paid in advance and not", "given back $ 10 $ 20", "Profit 9 % 18 %"]
    [table] = texts(page_of(rows), Kind.TABLE)
    assert table.split("\n")[1:] == ["Fares paid in advance and not given back $10 $20", "Profit 9% 18%"]


def test_the_heading_above_a_table_is_a_heading() -> None:
    """And stands in the path of the table."""
    *_, heading, table = blocks(page_of(["Prose before it.", "# Results", "Sales 10 20", "Profit 9 18"]))
    assert (heading.kind, heading.text) == (Kind.HEADING, "Results")
    assert (table.kind, table.path) == (Kind.TABLE, ("Results",))


def test_a_paragraph_stands_under_the_heading_before_it() -> None:
    """Not under the one that ends it."""
    found = blocks(page_of(["# One", LONG, "# Two", "More."]))
    assert [(block.text, block.path) for block in found if block.kind is Kind.PROSE] == [
        (LONG, ("One",)),
        ("More.", ("Two",)),
    ]


def characters(text: str) -> str:
    """A text without white space."""
    return "".join(text.split())


@settings(deadline=None)
@given(st.lists(st.tuples(st.text("aA1.,• 你#", min_size=1), st.integers(1, 4), st.integers(0, 60))))
def test_no_character_is_lost_or_moved(drawn: list[tuple[str, int, int]]) -> None:
    """Whatever stands wherever, the blocks hold all of it in order."""
    drawn = sorted(((text, page, row) for text, page, row in drawn if text.strip()), key=lambda each: each[1])
    lines = [line(text.strip(), page, row) for text, page, row in drawn]
    found = "".join(block.text for block in blocks(lines))
    assert characters(found) == characters("".join(each.text for each in lines))


@settings(deadline=None)
@given(st.lists(st.sampled_from([LONG, "Short.", "# Head", "a 1 2", "b 3 4"]), max_size=40))
def test_pages_of_a_block_are_in_order(drawn: list[str]) -> None:
    """The first begins with the text, the others later on later pages."""
    lines = [found for page in (1, 2, 3) for found in page_of(drawn, page)]
    found: list[Block] = blocks(lines)
    assert all(block.pages[0][0] == 0 for block in found)
    assert all(list(block.pages) == sorted(set(block.pages)) for block in found)
