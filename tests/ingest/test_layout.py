"""Lines of pages into blocks: readable text, headings, running heads, tables."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.ingest.layout import BlockKind, blocks, merge_headings, printed_numbers, remove_running_heads
from app.ingest.lines import BREAK, Bookmark, Line, Style, clean
from app.ingest.tables import (
    are_columns_of,
    describes_columns,
    is_over_figures,
    is_row,
    table_rows,
    tables,
)
from tests.fakes.lines import BODY, BOLD, TITLE, line, page_of


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("a\x00b\x07c\x1bd", "abcd"),
        ("so\u00adft\u200b\ufeff", "soft"),
        ("safe\u202etxt.exe\u202c \u2066x\u2069", "safetxt.exe x"),
        ("tag\U000e0041\U000e0042ged", "tagged"),
        ("glyph \ue000\uf8ff\U000f0000 gone", "glyph gone"),
        ("\uf0b7 point", "• point"),
        ("\u00a0wide\u2003\u3000 space\t", "wide space"),
        ("e\u0301tude", "étude"),
        ("nu\ufb03cient \ufb01re", "nufficient fire"),
        ("\ufee3\ufeae\ufea3\ufe92\ufe8e", "مرحبا"),
        ("\u2f00\u2f08", "一人"),
        ("m² x³ 10⁻⁶ ½ ™ ① Ａ", "m² x³ 10⁻⁶ ½ ™ ① Ａ"),
        ("می\u200cخواهم क्\u200dष", "می\u200cخواهم क्\u200dष"),
        ("lone \ud83d half", "lone half"),
    ],
    ids=[
        "controls", "invisible", "directions", "tags", "private", "bullet", "spaces", "composed",
        "ligatures", "arabic-forms", "radicals", "meaning-kept", "joiners-kept", "surrogate",
    ],
)  # fmt: skip
def test_characters_that_cannot_be_read_go(written: str, read: str) -> None:
    """Letters written in other forms are folded; marks that mean something stay."""
    assert [found.text for found in clean([line(written)])] == [read]


@pytest.mark.parametrize(
    ("texts", "joined"),
    [
        ([f"an exam{BREAK}ple of it"], ["an example of it"]),
        ([f"a well{BREAK}known fact", "Well-known indeed."], ["a well-known fact", "Well-known indeed."]),
        ([f"state{BREAK}of-the-art"], ["state-of-the-art"]),
        ([f"the co{BREAK}operation", "the cooperation"], ["the cooperation", "the cooperation"]),
        ([f"fiscal 2020{BREAK}2021"], ["fiscal 2020-2021"]),
        ([f"the Anglo{BREAK}Saxon"], ["the Anglo-Saxon"]),
        (["it was an exam-", "ple of it"], ["it was an example", "of it"]),
        (["a range 10-", "20 of it"], ["a range 10-", "20 of it"]),
        (["a dash -", "then more"], ["a dash -", "then more"]),
        ([f"at the end{BREAK}"], ["at the end"]),
    ],
    ids=[
        "joined", "known-compound", "compound", "known-word", "digits", "capital", "over-lines",
        "range", "dash", "nothing-behind",
    ],
)  # fmt: skip
def test_words_broken_at_a_line_end_are_whole(texts: list[str], joined: list[str]) -> None:
    """A hyphen stays where it belongs to the word: as the document writes it elsewhere, else by its looks."""
    lines = [line(text, row=row) for row, text in enumerate(texts)]
    assert [found.text for found in clean(lines)] == joined


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


def test_printed_page_numbers_are_known() -> None:
    """Where three pages prove them, with the prefix that is theirs."""
    text = ["Text", "about", "ships", "and", "boats"]
    texts = [[*text, f"F-{n - 2}" if n > 4 else "iv"] for n in range(1, 9)]
    lines = [found for n, page in enumerate(texts, 1) for found in page_of(page, n)]
    assert printed_numbers(lines) == {5: "F-3", 6: "F-4", 7: "F-5", 8: "F-6"}
    assert printed_numbers(page_of(["Text", "17"], 3)) == {}
    between = [each for each in lines if each.page != 6]
    shown = printed_numbers([*between, *page_of(["Ferry", "Text"], 6), *page_of(["Text"], 9)])
    assert shown == {5: "F-3", 6: "F-4", 7: "F-5", 8: "F-6"}


def test_a_table_of_contents_heads_nothing() -> None:
    contents = ["# PART I", "Business 3", "Risks 9", "# PART II", "Markets 12", "Taxes 20", "Signatures 31"]
    lines = [*page_of(contents), *page_of(["# Outlook", "Text about ships."], 31)]
    assert walk(lines)[-1] == ("Outlook",)


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
    return first.kind is BlockKind.HEADING


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
    return [block.path for block in blocks(lines, outline) if block.kind is BlockKind.PROSE]


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


LONG = "This is a line of prose that is as wide as the page and does not end here but"


def texts(lines: Sequence[Line], kind: BlockKind = BlockKind.PROSE) -> list[str]:
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
    assert texts(page_of(["Prose before it.", *rows]), BlockKind.TABLE) == ["\n".join(rows)]


def test_a_row_is_a_line() -> None:
    """Its label wrapped, its signs apart: as it is read."""
    rows = ["2022 2021", "Fares paid in advance and not", "given back $ 10 $ 20", "Profit 9 % 18 %"]
    [table] = texts(page_of(rows), BlockKind.TABLE)
    assert table.split("\n")[1:] == ["Fares paid in advance and not given back $10 $20", "Profit 9% 18%"]


def test_the_heading_above_a_table_is_a_heading() -> None:
    """And stands in the path of the table."""
    *_, heading, table = blocks(page_of(["Prose before it.", "# Results", "Sales 10 20", "Profit 9 18"]))
    assert (heading.kind, heading.text) == (BlockKind.HEADING, "Results")
    assert (table.kind, table.path) == (BlockKind.TABLE, ("Results",))


def test_a_paragraph_stands_under_the_heading_before_it() -> None:
    """Not under the one that ends it."""
    found = blocks(page_of(["# One", LONG, "# Two", "More."]))
    assert [(block.text, block.path) for block in found if block.kind is BlockKind.PROSE] == [
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


@pytest.mark.parametrize(
    "text",
    [
        "In 2011, 2012 and 2013 the ferry ran twice a day, but for the winters.",
        "— — —",
        "Total assets",
        "On March 3, 2021 the board met.",
        "All of this was agreed upon by the board of the ferry company at its meeting on March 3, 2021",
        "The fares that were given back to those who had paid them came to no more than about 3 %",
        "",
    ],
)
def test_prose_about_figures_is_no_row(text: str) -> None:
    """Figures among many words are told about, not listed."""
    assert not is_row(text)


@pytest.mark.parametrize(
    ("dates", "row", "columns"),
    [
        pytest.param(["2022 2021"], "Fares $ 12 $ 11", True, id="one a figure"),
        pytest.param(["May 1, 2022", "May 2, 2021"], "Fares 12 11", True, id="below each other"),
        pytest.param(["2022 2021"], "Boats 3 $ 12 4 $ 11", True, id="two figures a year"),
        pytest.param(["Three years ended May 1, 2022"], "Fares 3 12 4", False, id="a period alone"),
    ],
)
def test_dates_are_columns_where_each_figure_has_one(dates: list[str], row: str, columns: bool) -> None:
    """Else the names of the columns stand elsewhere."""
    assert are_columns_of(dates, row) is columns


def test_what_repeats_below_the_dates_is_of_the_columns() -> None:
    """And what they count; a label of rows is not."""
    assert describes_columns("Boats Amount Boats Amount")
    assert describes_columns("(in thousands)")
    assert not describes_columns("Operating activities")


@pytest.mark.parametrize(
    ("lines", "rows"),
    [
        pytest.param(
            ["Fares paid in advance, net of what was", "given back 12 14"],
            ["Fares paid in advance, net of what was given back 12 14"],
            id="goes on in small letters",
        ),
        pytest.param(
            ["Shares (of 0.10 each; 4,000 allowed;", "1,200 and 1,100 issued) 12 14"],
            ["Shares (of 0.10 each; 4,000 allowed; 1,200 and 1,100 issued) 12 14"],
            id="a bracket is open",
        ),
        pytest.param(["Fares:", "paid 12 14"], ["Fares:", "paid 12 14"], id="a colon ends a label"),
        pytest.param(["Fares 9 8", "paid 12 14"], ["Fares 9 8", "paid 12 14"], id="a row is a row"),
        pytest.param(["Fares", "Freight 12 14"], ["Fares", "Freight 12 14"], id="a label of its own"),
        pytest.param(
            ["Cost of boats, crews, piers and", "of all that is", "bought for", "them 12 14"],
            ["Cost of boats, crews, piers and of all that is bought for", "them 12 14"],
            id="three lines at most",
        ),
    ],
)
def test_a_label_that_wraps_stands_with_its_figures(lines: list[str], rows: list[str]) -> None:
    """In one line; other lines stay apart."""
    assert table_rows(page_of(lines)) == rows


@pytest.mark.parametrize(
    "lines",
    [
        pytest.param(
            ["Loss $(512 $(601", "Boats worn 5 6", "Piers worn 7 8"], id="a figure's bracket is open"
        ),
        pytest.param(["Loss (net", "Boats worn 5 6"], id="no bracket is closed in the row"),
        pytest.param(["Fares (Level 1)", "Freight"], id="a figure closes the bracket"),
        pytest.param(["Q1 Q2 Q3", "iShip 12 13 14"], id="quarters"),
        pytest.param(["FY22 FY21", "fares 512 601"], id="years"),
        pytest.param(["Net Gross", "fares 512 601"], id="as many words as columns"),
        pytest.param(["Ferry", "iShip 4 5"], id="a name that begins small"),
        pytest.param(["Boats", "fares 4 5", "freight 4 6"], id="small rows"),
        pytest.param(["Boats", "owned by others than the company 4 5"], id="the word would have fitted in"),
    ],
)
def test_a_row_of_its_own_stays_apart(lines: list[str]) -> None:
    """From heads of columns, labels and rows above it."""
    assert table_rows(page_of(lines)) == lines


@pytest.mark.parametrize(
    ("row", "read"),
    [
        ("Umsatz 512 € 601 €", "Umsatz 512€ 601€"),
        ("100 $ 200 $", "100$ 200$"),
        ("Verlust (512) € — €", "Verlust (512)€ —€"),
        ("Fares $ 512 $ 601", "Fares $512 $601"),
        ("Fares 2 $ 512 4 $ 601", "Fares 2 $512 4 $601"),
    ],
)
def test_signs_stand_where_the_country_writes_them(row: str, read: str) -> None:
    """Behind the figures if the line ends in one; and it is still a row."""
    assert table_rows([line(row)]) == [read]
    assert is_row(read)


def test_figures_stand_with_their_signs() -> None:
    """A lone sign belongs to nobody. Prose is left alone."""
    assert table_rows(page_of(["Fares $ (12) $ 14 9 %", "Up to $ 5 is given back"])) == [
        "Fares $(12) $14 9%",
        "Up to $ 5 is given back",
    ]


def test_a_long_label_between_rows_does_not_end_a_table() -> None:
    """If a colon ends it, or the next line goes on with it; the years above hold below it."""
    label = "Changes in what is owed and owned, net of what was bought and sold with whole lines of boats:"
    table = ["2022 2021", "Fares 12 14", "Freight 3 4", label, "Paid 5 6", "Owed 7 8"]
    assert found(["A sentence before it.", *table]) == [table]


def found(texts: list[str]) -> list[list[str]]:
    """The tables of a page, as their lines."""
    lines = page_of(texts)
    return [[line.text for line in lines[start:end]] for start, end in tables(lines)]


def test_a_table_has_its_column_heads_and_wrapped_labels() -> None:
    """Short lines above the first row and between rows belong to it; sentences around it do not."""
    table = ["Year ended", "2022 2021", "Sales 10 20", "Cost of goods", "sold 1 2", "Profit 9 18"]
    assert found(["A sentence before it.", *table, "A sentence after it."]) == [table]


def test_a_sentence_ends_a_table() -> None:
    """Two tables with prose between them are two."""
    first, second = ["a 1 2", "b 3 4"], ["c 5 6", "d 7 8"]
    assert found([*first, "And now something else.", *second]) == [first, second]


def test_the_tail_of_a_sentence_is_no_column_head() -> None:
    """A short last line of a paragraph stays with it."""
    prose = "This long line of ordinary prose goes on and on and so introduces the table that is"
    assert found([prose, "shown here:", "a 1 2", "b 3 4"]) == [["a 1 2", "b 3 4"]]


def test_one_row_is_no_table() -> None:
    """Neither is a pair of entries."""
    assert found(["Text.", "a 1 2", "Text."]) == []
    assert found(["Text.", "In the year 2020", "in the year 2021", "Text."]) == []


def test_a_table_of_contents_is_a_table() -> None:
    """So that its entries stay lines and are not taken for headings."""
    entries = ["Item 1. Business 5", "Item 2. Properties 17", "Item 3. Legal Proceedings 18"]
    assert found(entries) == [entries]


def test_heads_over_the_figures_alone_are_no_caption() -> None:
    """A caption is centred on the table or begins where its labels do."""
    rows = [line("a 1 2", row=1, left=70, right=540)]
    assert is_over_figures(line("2022 2021", left=400, right=540), rows)
    assert not is_over_figures(line("Balance Sheet", left=250, right=360), rows)
    assert not is_over_figures(line("Balance Sheet", left=70, right=160), rows)
