"""What a document is called."""

import pytest

from app.intake.title import title_of
from tests.fakes.lines import BOLD, TITLE, line

BODY = [line("A line of text that is longer than any heading of this page.", row=row) for row in range(2, 9)]


@pytest.mark.parametrize(
    ("given", "called"),
    [
        ("Annual Report 2022", "Annual Report 2022"),
        ("Microsoft Word - Annual Report", "Annual Report"),
        ("Jahresbericht — Übersicht", "Jahresbericht — Übersicht"),
        ("年度报告", "年度报告"),
        ("x" * 500, "x" * 160),
    ],
)
def test_its_own_title_comes_first(given: str, called: str) -> None:
    """As the file says it, at most 160 characters."""
    assert title_of(given, [line("Larger", style=TITLE), *BODY], "a.pdf") == called


@pytest.mark.parametrize(
    "given",
    ["", "untitled", "Microsoft Word - F20_10K.docx", "0001193125-22-185257", "report.indd", "Document1"],
)
def test_titles_that_a_program_chose_are_not_taken(given: str) -> None:
    """Then the largest line of the first page says it."""
    lines = [line("10 K", style=TITLE), line("The Largest Line", row=1, style=TITLE), *BODY]
    assert title_of(given, lines, "a.pdf") == "The Largest Line"


def test_without_either_the_file_name_says_it() -> None:
    """A bold line of the same size is not a title."""
    assert title_of("", [line("Bold", style=BOLD), *BODY], "Annual_Report  2022.pdf") == "Annual Report 2022"
