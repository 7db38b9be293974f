"""Texts found lately."""

from app.domain.text import Text
from app.index.texts import Row, Texts


def row(ordinal: int = 1) -> Row:
    """A passage."""
    return Row(ordinal, Text("text"), 1, 1, "", 1)


def test_what_was_kept_is_known() -> None:
    """The very same, with its memory; the rest is left out."""
    texts, one = Texts(), row()
    texts.keep({("d", 1): one})
    known = texts.known([("d", 1), ("d", 2)])
    assert list(known) == [("d", 1)]
    assert known["d", 1] is one


def test_the_least_recently_found_goes_first() -> None:
    """So that memory is bounded."""
    texts = Texts(2)
    texts.keep({("d", 1): row(1), ("d", 2): row(2)})
    texts.known([("d", 1)])
    texts.keep({("d", 3): row(3)})
    assert len(texts) == 2
    assert set(texts.known([("d", 1), ("d", 2), ("d", 3)])) == {("d", 1), ("d", 3)}


def test_a_document_that_is_gone_is_forgotten() -> None:
    """All of it, and nothing else."""
    texts = Texts()
    texts.keep({("d", 1): row(), ("d", 2): row(2), ("e", 1): row()})
    texts.forget("d")
    assert set(texts.known([("d", 1), ("d", 2), ("e", 1)])) == {("e", 1)}
