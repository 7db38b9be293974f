"""Texts found lately."""

from app.domain.text import Text
from app.index.texts import Row, Texts, weight


def row(ordinal: int = 1, text: str = "text") -> Row:
    """A passage."""
    return Row(ordinal, Text(text), 1, 1, "", 1)


def test_what_was_kept_is_known() -> None:
    """The very same, with its memory; the rest is left out."""
    texts: Texts[Row] = Texts()
    one = row()
    texts.keep({("d", 1): one})
    known = texts.known([("d", 1), ("d", 2)])
    assert list(known) == [("d", 1)]
    assert known["d", 1] is one


def test_the_least_recently_found_goes_first() -> None:
    """So that memory is bounded."""
    texts: Texts[Row] = Texts(2 * weight(row()))
    texts.keep({("d", 1): row(1), ("d", 2): row(2)})
    texts.known([("d", 1)])
    texts.keep({("d", 3): row(3)})
    assert len(texts) == 2
    assert set(texts.known([("d", 1), ("d", 2), ("d", 3)])) == {("d", 1), ("d", 3)}


def test_a_document_that_is_gone_is_forgotten() -> None:
    """All of it, and nothing else."""
    texts: Texts[Row] = Texts()
    texts.keep({("d", 1): row(), ("d", 2): row(2), ("e", 1): row()})
    texts.forget({"d"})
    assert set(texts.known([("d", 1), ("d", 2), ("e", 1)])) == {("e", 1)}
    assert texts.nbytes == weight(row())


def test_long_texts_make_more_room_than_short_ones() -> None:
    """The bound is memory, not a count: one long text takes the place of many, and none stays counted."""
    texts: Texts[Row] = Texts(10 * weight(row()))
    texts.keep({("d", n): row(n) for n in range(1, 11)})
    assert len(texts) == 10
    texts.keep({("e", 1): row(text="long" * 1_000)})
    assert len(texts) < 5
    texts.keep({("e", 2): row(2, "long" * 9_000)})
    assert texts.nbytes <= 10 * weight(row())


def test_the_same_passage_counts_once() -> None:
    """Two searches that fetch it at once."""
    texts: Texts[Row] = Texts()
    for _ in range(2):
        texts.keep({("d", 1): row()})
    assert (len(texts), texts.nbytes) == (1, weight(row()))


def test_a_fetch_that_ends_after_its_document_was_forgotten_brings_nothing_back() -> None:
    """The text of a removed document does not stay."""
    texts: Texts[Row] = Texts()
    texts.forget({"d"})
    texts.keep({("d", 1): row(), ("e", 1): row()})
    assert set(texts.known([("d", 1), ("e", 1)])) == {("e", 1)}
