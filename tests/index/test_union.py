"""Several collections as one pair of legs. Over the real engine: tests/sources/test_corpus.py."""

from dataclasses import replace
from typing import Any

import pytest

from app.clients.points import Point
from app.domain.passage import Hit, Legs
from app.index import union
from app.index.seen import Seen, assembled
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


def test_of_a_collection_no_more_is_looked_at_than_a_leg_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its best by words, and the nearest: a hundred of each of twenty collections would hold up everybody."""
    hits = [Hit(f"{n:03}", 1.0 + n, 0.5) for n in range(100)]
    one = searched("one", *hits)
    one = replace(one, seen=replace(one.seen, nearest=("000", "001")))
    seen: list[str] = []

    def noted(name: str, whole: Seen, *given: Any, **named: Any) -> Legs:
        seen.extend(whole.hits)
        return assembled(name, whole, *given, **named)

    monkeypatch.setattr(union, "assembled", noted)
    found = merged("corpus", [one], 3)
    assert [hit.key for hit in found.words] == ["one/099", "one/098", "one/097"]
    assert seen == ["one/099", "one/098", "one/097", "one/000", "one/001"]
    assert found.beside.keys() == {"one/000", "one/001"}


def test_nothing_searched_is_nothing_found() -> None:
    """No collections, and those where nothing was found."""
    for found in (merged("corpus", [], 9), merged("corpus", [Searched("empty")], 9)):
        assert (found.words, found.meaning, found.passages) == ((), (), {})
