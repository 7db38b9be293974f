"""Several collections as one pair of legs. Over the real engine: tests/sources/test_corpus.py."""

from app.clients.points import Point
from app.domain.passage import Hit
from app.index.legs import Seen
from app.index.union import Searched, merged


def searched(name: str, *hits: Hit, near: float = 0.5) -> Searched:
    """A collection with these word hits, all equally near."""
    points = {hit.key: Point(hit.key, {"text": f"{hit.key} of {name}"}) for hit in hits}
    seen = Seen(points, {hit.key: hit for hit in hits}, dict.fromkeys(points, near), tuple(points))
    return Searched(name, seen, len(points))


def test_scores_are_shares_of_the_best_by_what_it_covers() -> None:
    """A collection whose best hit covers half of the question counts half, whatever its BM25 says."""
    whole = searched("whole", Hit("a", 2.0, 0.8), Hit("b", 1.0, 0.4))
    half = searched("half", Hit("a", 40.0, 0.4))
    found = merged("corpus", [half, whole], 9)
    assert {hit.key: hit.score for hit in found.words} == {"whole/a": 1.0, "half/a": 0.5, "whole/b": 0.5}
    assert [hit.key for hit in found.words] == ["whole/a", "half/a", "whole/b"]


def test_ids_and_labels_are_a_collections_own() -> None:
    """Two points of one id are two passages."""
    found = merged("corpus", [searched("one", Hit("a", 1.0, 1.0)), searched("two", Hit("a", 1.0, 1.0))], 9)
    assert {key: passage.text for key, passage in found.passages.items()} == {
        "one/a": "a of one",
        "two/a": "a of two",
    }
    assert len({passage.label for passage in found.passages.values()}) == 2


def test_nothing_searched_is_nothing_found() -> None:
    """No collections, and those where nothing was found."""
    for found in (merged("corpus", [], 9), merged("corpus", [Searched("empty")], 9)):
        assert (found.words, found.meaning, found.passages) == ((), (), {})
