"""A search over shelves: order, ties, and that it does not matter how the shelves came to be."""

from datetime import UTC, datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.document import Part
from app.index.block import single
from app.index.meaning import INLINE
from app.index.place import Listed
from app.index.posting import build
from app.index.search import Search, best
from app.index.shelf import Shelf

NOW = datetime(2026, 11, 21, tzinfo=UTC)
WORDS = ["sea", "sand", "wave", "otter", "fish"]
TEXT = st.lists(st.sampled_from(WORDS), min_size=1, max_size=5).map(" ".join)
SESSION, SHARED = Part("t", "", "s"), Part("t")


def vectors(texts: list[str]) -> np.ndarray[tuple[int, int], np.dtype[np.float32]]:
    """One dimension a word, unit length."""
    matrix = np.array([[text.split().count(word) for word in WORDS] for text in texts], dtype=np.float32)
    lengths: np.ndarray[tuple[int, int], np.dtype[np.float32]] = np.linalg.norm(matrix, axis=1, keepdims=True)
    return (matrix / np.maximum(lengths, 1)).astype(np.float32)


def with_document(shelf: Shelf[Part, Listed], name: str, texts: list[str]) -> Shelf[Part, Listed]:
    """The shelf after one more document."""
    listed = Listed(name, name, name, "", len(texts), NOW)
    fresh = single(name, build(texts), vectors(texts))
    return shelf.followed(shelf.version + 1, {**shelf.documents, name: listed}, [fresh])


def without_document(shelf: Shelf[Part, Listed], name: str) -> Shelf[Part, Listed]:
    """The shelf after one left."""
    listed = {key: item for key, item in shelf.documents.items() if key != name}
    return shelf.followed(shelf.version + 1, listed, [])


def told(search: Search, query: str, limit: int = 3) -> tuple[object, ...]:
    """All that a search says, by place."""
    words = search.words(query, limit)
    meaning = search.meaning(vectors([query])[0], limit)
    hits = search.hits({*words, *(spot for spot, _ in meaning)})
    return (
        [search.place(spot) for spot in words],
        [(search.place(spot), value) for spot, value in meaning],
        sorted((hit.key, hit.score, hit.coverage, hit.rare) for hit in hits.values()),
        search.size,
    )


@given(
    st.lists(st.tuples(st.lists(TEXT, min_size=1, max_size=4), st.booleans()), min_size=1, max_size=7), TEXT
)
def test_a_shelf_that_followed_equals_one_made_anew(
    documents: list[tuple[list[str], bool]], query: str
) -> None:
    """Documents that came and went leave no trace in ids, order or scores."""
    followed: Shelf[Part, Listed] = Shelf(SESSION, 0, {})
    for n, (texts, _) in enumerate(documents):
        followed = with_document(followed, f"d{n}", texts)
    for n, (_, stays) in enumerate(documents):
        followed = followed if stays else without_document(followed, f"d{n}")
    anew: Shelf[Part, Listed] = Shelf(SESSION, 0, {})
    for n, (texts, stays) in enumerate(documents):
        anew = with_document(anew, f"d{n}", texts) if stays else anew
    assert told(Search([followed]), query) == told(Search([anew]), query)


@given(st.lists(TEXT, min_size=1, max_size=12), TEXT, st.integers(1, 4))
def test_both_legs_are_the_exact_best(texts: list[str], query: str, limit: int) -> None:
    """Against sorting everything: best first, equal ones by document and ordinal, no more than asked."""
    search = Search([with_document(Shelf(SESSION, 0, {}), "d", texts)])
    cosines = [float(np.vecdot(row, vectors([query])[0])) for row in vectors(texts)]
    meaning = search.meaning(vectors([query])[0], limit)
    expected = sorted(range(len(texts)), key=lambda n: (-cosines[n], n))[:limit]
    assert [search.place(spot) for spot, _ in meaning] == [("d", n + 1) for n in expected]
    found = search.words(query, len(texts))
    assert search.words(query, limit) == found[:limit]
    scores = [hit.score for hit in (search.hits(found)[spot] for spot in found)]
    assert scores == sorted(scores, reverse=True)


@given(st.lists(TEXT, min_size=1, max_size=12), TEXT)
def test_a_few_cosines_have_the_bits_of_all(texts: list[str], query: str) -> None:
    """Whether a passage is looked at by itself or with its whole block, its cosine is the same."""
    own = with_document(Shelf(SESSION, 0, {}), "d", texts)
    search = Search([own, with_document(Shelf(SHARED, 0, {}), "e", texts[::-1])])
    every = dict(search.meaning(vectors([query])[0], 2 * len(texts)))
    some = list(every)[::3]
    assert search.cosines(vectors([query])[0], some) == {spot: every[spot] for spot in some}


def test_equal_passages_come_in_the_order_of_their_documents() -> None:
    """Ties are broken by document and ordinal, wherever the passages lie."""
    own = with_document(with_document(Shelf(SESSION, 0, {}), "c", ["sea", "sea"]), "a", ["sea"])
    shared = with_document(Shelf(SHARED, 0, {}), "b", ["sea"])
    search = Search([own, shared])
    assert [search.place(spot) for spot in search.words("sea", 3)] == [("a", 1), ("b", 1), ("c", 1)]
    assert [search.place(spot) for spot, _ in search.meaning(vectors(["sea"])[0], 3)] == [
        ("a", 1),
        ("b", 1),
        ("c", 1),
    ]


def test_statistics_are_of_the_whole_reach() -> None:
    """A word that is common in what is shared weighs little in the session too."""
    own = with_document(Shelf(SESSION, 0, {}), "a", ["sea otter"])
    shared = with_document(Shelf(SHARED, 0, {}), "b", ["sea"] * 5)
    alone, together = Search([own]), Search([own, shared])
    [spot] = alone.words("sea", 1)
    before = alone.hits([spot])[spot].score
    [spot] = together.words("sea otter", 1)
    together.words("sea", 1)
    assert together.hits([spot])[spot].score < before


def test_places_are_found_again() -> None:
    """From ids to spots: the living only, and only this shelf's."""
    own = without_document(
        with_document(with_document(Shelf(SESSION, 0, {}), "a", ["sea"]), "b", ["sand", "sea"]), "a"
    )
    shared = with_document(Shelf(SHARED, 0, {}), "c", ["sea"])
    search = Search([own, shared])
    spots = search.spots(own, [("a", 1), ("b", 2), ("b", 3), ("b", 0), ("c", 1)])
    assert [search.place(spot) for spot in spots.values()] == [("b", 2)]
    assert search.holds(own, spots["b", 2])
    assert not search.holds(shared, spots["b", 2])


@pytest.mark.parametrize(
    ("passages", "letters", "inline"),
    [
        pytest.param(10_000, 100, True, id="a question to many"),
        pytest.param(10_000, 200, False, id="a long one to many"),
        pytest.param(2_000, 200, True, id="a long one to few"),
        pytest.param(2_000, 32_000, False, id="a page to few"),
        pytest.param(1, 32_000, False, id="a page to one: cutting it takes long"),
        pytest.param(12_001, 1, False, id="a word to very many"),
    ],
)
def test_what_a_text_costs(passages: int, letters: int, inline: bool) -> None:
    """Passages times words, and the cutting: by these it is decided what may run on the loop."""
    search = Search([])
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Search, "size", passages)
        assert (search.effort("a" * letters) <= INLINE) is inline


def test_no_blocks_no_spots() -> None:
    """An empty reach has no best."""
    assert best([], 3, 0.0) == []
    assert told(Search([Shelf(SESSION, 0, {})]), "sea") == ([], [], [], 0)
