"""Lines put together: paragraphs, lists, tables, headings and their pages."""

from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from app.intake.block import Block, Kind, blocks
from app.intake.line import Line, Style
from tests.fakes.lines import line, page_of

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
