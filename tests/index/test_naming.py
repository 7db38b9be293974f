"""Names of documents over the shelves of a query."""

from datetime import UTC, datetime

from app.domain.document import Part
from app.index import naming
from app.index.naming import Naming
from app.index.place import Listed
from app.index.shelf import Shelf

NOW = datetime(2026, 11, 21, tzinfo=UTC)


def shelf(part: Part, version: int, **names: str) -> Shelf[Part, Listed]:
    """A shelf of documents by id."""
    return Shelf(part, version, {key: Listed(key, name, name, "", 1, NOW) for key, name in names.items()})


def test_names_are_unique_in_reach_and_the_sessions_own_come_first() -> None:
    """Whatever the order of the shelves."""
    own, shared = shelf(Part("t", "", "s"), 1, b="r.pdf"), shelf(Part("t"), 1, a="r.pdf", c="q.pdf")
    expected = {"b": "r.pdf", "a": "r-2.pdf", "c": "q.pdf"}
    assert Naming().names([own, shared]) == Naming().names([shared, own]) == expected


def test_a_change_is_seen() -> None:
    """Names are kept for a version, not for ever."""
    known = Naming()
    part = Part("t")
    assert known.names([shelf(part, 1, a="r.pdf")]) == {"a": "r.pdf"}
    assert known.names([shelf(part, 2, b="r.pdf")]) == {"b": "r.pdf"}


def test_only_so_many_reaches_are_kept() -> None:
    """Memory does not grow with the number of sessions."""
    known = Naming()
    for n in range(naming.MOST + 10):
        known.names([shelf(Part("t", "", str(n)), 1, a="r.pdf")])
    assert len(known._known) == naming.MOST
