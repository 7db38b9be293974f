"""A shelf follows its part's list."""

from datetime import UTC, datetime

from app.domain.document import Part
from app.index.block import single
from app.index.place import Listed
from app.index.posting import build
from app.index.shelf import Shelf

NOW = datetime(2026, 11, 21, tzinfo=UTC)
EMPTY: Shelf[Part, Listed] = Shelf(Part("t"), 0, {})


def listed(*names: str) -> dict[str, Listed]:
    """Documents of one passage each."""
    return {name: Listed(name, name, name, "", 1, NOW) for name in names}


def followed(shelf: Shelf[Part, Listed], *names: str) -> Shelf[Part, Listed]:
    """The shelf after the list has become `names`."""
    fresh = [single(item.id, build([item.id]), None) for item in shelf.missing(listed(*names))]
    return shelf.followed(shelf.version + 1, listed(*names), fresh)


def test_only_the_difference_is_missing() -> None:
    """What is there already is not loaded again."""
    assert [item.id for item in followed(EMPTY, "a", "b").missing(listed("b", "c"))] == ["c"]


def test_what_the_list_does_not_name_is_gone() -> None:
    """And what it names is there; the shelf it came from stays as it was."""
    before = followed(EMPTY, "a", "b", "c")
    after = followed(before, "b", "d")
    assert (before.size, after.size, after.version) == (3, 2, 2)
    assert after.located([("a", 1), ("b", 1), ("d", 1)]).keys() == {("b", 1), ("d", 1)}
    assert before.located([("a", 1)]).keys() == {("a", 1)}


def test_a_place_beyond_a_document_is_not_located() -> None:
    """Ordinals count from 1 to the document's last."""
    assert followed(EMPTY, "a", "b").located([("a", 0), ("a", 2), ("b", -1)]) == {}


def test_an_empty_shelf_has_a_size() -> None:
    """So that thousands of empty sessions are given up too."""
    assert EMPTY.size == 0
    assert EMPTY.nbytes > 0
