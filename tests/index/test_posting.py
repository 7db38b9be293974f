"""Texts into postings."""

from app.index.posting import build


def test_a_count_beyond_16_bits_stays_at_the_most() -> None:
    """It must not start again from nothing."""
    assert build(["sea " * 70_000]).counts.tolist() == [65_535]


def test_no_passages_make_an_empty_segment() -> None:
    """And a passage without words has no postings."""
    assert build([]).nbytes == 4
    assert build(["", "!"]).lengths.tolist() == [0, 0]
