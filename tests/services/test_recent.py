"""Vectors of the newest queries."""

from app.retrieval.cache import Recent
from app.types import Scope


def test_the_least_recently_used_goes_first() -> None:
    """Over the limit, what was not asked for longest is forgotten."""
    recent, scope = Recent(limit=2), Scope()
    for text in ("a", "b"):
        assert recent.keep(scope, text, text.encode()) == text.encode()
    recent.get(scope, "a")
    recent.keep(scope, "c", b"c")
    assert [recent.get(scope, text) for text in ("a", "b", "c")] == [b"a", None, b"c"]
