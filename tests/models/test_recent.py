"""Vectors of the newest queries."""

from app.models.recent import Recent


def test_the_least_recently_used_goes_first() -> None:
    """Over the limit, what was not asked for longest is forgotten."""
    recent = Recent(limit=2)
    for text in ("a", "b"):
        recent.keep(text, text.encode())
    recent.get("a")
    recent.keep("c", b"c")
    assert (recent.get("a"), recent.get("b"), recent.get("c")) == (b"a", None, b"c")


def test_hands_on_what_it_keeps() -> None:
    """Keeping gives the vector back, so that a caller can return it."""
    assert Recent().keep("a", b"1") == b"1"
