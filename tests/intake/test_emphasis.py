"""Headings over several lines, and emphasis that is no heading."""

from app.intake.emphasis import body_style, gathered
from app.intake.line import Style
from tests.fakes.lines import BODY, BOLD, TITLE, line

TEXT = "A line of the text itself."


def test_the_text_is_set_like_most_characters() -> None:
    """Not of most lines: headings are many and short."""
    lines = [*[line("Head", style=TITLE)] * 3, line("A line of the text itself.")]
    assert body_style(lines) == BODY
    assert body_style([line("Slanted", style=Style(9.0, italic=True))]).italic


def test_a_heading_over_two_lines_is_one() -> None:
    """A full line of emphasis goes on in the next."""
    lines = [
        line("A very long heading that fills its line and", style=BOLD),
        line("Goes On", row=1, style=BOLD, right=120),
        line(TEXT, row=2),
    ]
    first, second = gathered(lines)
    assert first.text == "A very long heading that fills its line and Goes On"
    assert (first.top, first.bottom) == (lines[0].top, lines[1].bottom)
    assert second.text == TEXT


def test_centred_lines_are_one_heading() -> None:
    """As on title pages."""
    above = line("UNITED STATES", style=BOLD, left=250, right=360)
    below = line("AND THE REST", row=1, style=BOLD, left=200, right=410)
    assert len(gathered([above, below, line(TEXT, row=2)])) == 2


def test_headings_below_each_other_stay_apart() -> None:
    """Short lines that begin alike do not go on in each other."""
    lines = [line(text, row=row, style=BOLD, right=120) for row, text in enumerate(("Part One", "Chapter"))]
    assert len(gathered([*lines, line("Text as wide as the page.", row=2)])) == 3


def test_rows_in_bold_stay_rows() -> None:
    """Totals of a table are not joined to a heading."""
    assert len(gathered([line("Total 1 2", style=BOLD), line("Sum 3 4", row=1, style=BOLD)])) == 2


def test_a_paragraph_in_bold_is_text() -> None:
    """A longer run of emphasis heads nothing, and none of it is lost."""
    notice = [line(f"line {n} of a notice in bold", row=n, style=BOLD) for n in range(5)]
    lines = gathered([*notice, line(TEXT, row=5), line(TEXT, row=6)])
    assert len(lines) == 7
    assert not any(found.style.bold for found in lines)
