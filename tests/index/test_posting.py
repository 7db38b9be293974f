"""Texts into postings."""

from app.domain.document import Chunk
from app.index.posting import build, spoken


def test_a_passage_is_found_by_its_names_and_heading_too() -> None:
    """File name, title and heading stand before the text."""
    [text] = spoken("r-2022.pdf", "Annual report", [Chunk(1, "Sales rose.", 1, 1, "Results", 3)])
    assert text.split("\n") == ["r-2022.pdf", "Annual report", "Results", "Sales rose."]


def test_a_count_beyond_16_bits_stays_at_the_most() -> None:
    """It must not start again from nothing."""
    assert build(["sea " * 70_000]).counts.tolist() == [65_535]


def test_no_passages_make_an_empty_segment() -> None:
    """And a passage without words has no postings."""
    assert build([]).nbytes == 4
    assert build(["", "!"]).lengths.tolist() == [0, 0]
