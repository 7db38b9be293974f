"""Rows, labels and tables, told from prose by shape."""

import pytest

from app.ingest.tables import (
    are_columns_of,
    describes_columns,
    has_only_dates,
    is_column_header,
    is_over_figures,
    is_row,
    table_rows,
    tables,
)
from tests.fakes.lines import line, page_of


@pytest.mark.parametrize(
    "text",
    [
        "Net revenue $ 4,207 $ 3,180 $ 2,950",
        "Repairs of the pier — 118 —",
        "2022 2021 2020",
        "(512) 640 (2,031)",
        "Umsatz 1.234,5 987,6",
        "صافي الدخل 1,234 2,345",
        "Margin 12.5% n/a 3%",
        "What was owed and paid for boats and their crews, net of fares given back 793.9 (7.5)",
    ],
)
def test_rows_of_figures_are_rows(text: str) -> None:
    """In any language, with signs, dashes and brackets."""
    assert is_row(text)


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


def test_a_row_of_years_heads_columns() -> None:
    """A row of other figures does not."""
    assert is_column_header("2022 2021 2020")
    assert is_column_header("Fiscal year")
    assert not is_column_header("Sales 2,022 2,021")


@pytest.mark.parametrize(
    ("text", "dated"),
    [
        pytest.param("Years ended June 30, 2022 2021 2020", True, id="one day for all"),
        pytest.param("June 30, 2022 and July 1, 2021", True, id="several days"),
        pytest.param("31. Dezember 2022 (in Tausend)", True, id="the day before the month"),
        pytest.param("30/06/2022 30/06/2021", True, id="in figures alone"),
        pytest.param("Tons carried 2022 17", False, id="a small figure is no day"),
        pytest.param("2023 4,120 3,977", False, id="a year that labels a row"),
        pytest.param("June 30", False, id="no year"),
        pytest.param("Fares", False, id="no figure"),
    ],
)
def test_lines_of_dates_are_known(text: str, dated: bool) -> None:
    """Years, dates, and days beside the name of a month, in any language; nothing else may be among them."""
    assert has_only_dates(text) is dated


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
