"""Cleaning: what is taken out, what is joined, and what is left alone."""

import pytest

from app.intake.line import BREAK
from app.intake.pages import clean, legible
from tests.fakes.lines import line, page_of


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
    assert legible(written) == read


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
    lines = clean([found for n, texts in enumerate(pages, 1) for found in page_of(texts, n)])
    assert not {"The Report", "F-1", "F-2"} & {found.text for found in lines}
    assert sum("Body of page" in found.text for found in lines) == 4


def test_numbers_that_count_the_pages_go_from_the_second_on() -> None:
    """Other numbers at the edge of two pages are text."""
    pages = [["Some text", "and more", "17"], ["Other text", "still more", "18"]]
    lines = clean([found for n, texts in enumerate(pages, 4) for found in page_of(texts, n)])
    assert len(lines) == 4
    assert len(clean([*page_of(["Net sales", "17"], 1), *page_of(["Net loss", "99"], 2)])) == 4


def document(*pages: list[str]) -> list[str]:
    """What is left of pages of lines."""
    return [
        found.text for found in clean([each for n, page in enumerate(pages, 1) for each in page_of(page, n)])
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
    lines = clean([found for n, page in enumerate(pages, 1) for found in page_of(page, n)])
    assert sum(found.text == "The same." for found in lines) == 5


def test_two_pages_prove_no_running_head() -> None:
    """What stands on two pages may be text."""
    assert len(clean([*page_of(["Same", "Other one"], 1), *page_of(["Same", "Other two"], 2)])) == 4


def test_a_page_never_loses_all_its_text() -> None:
    """Pages that say the same are still pages that say it."""
    assert len(clean([line("Always this.", page) for page in range(1, 6)])) == 5
