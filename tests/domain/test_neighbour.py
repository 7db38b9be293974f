"""What was said around a memory speaks for it, and nothing else does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.domain.neighbour import REACH, Spot, spread

KEYS = "abcdefgh"
SCORES = st.dictionaries(st.sampled_from(KEYS), st.floats(0, 50), max_size=8)
SPOTS = st.dictionaries(
    st.sampled_from(KEYS), st.tuples(st.sampled_from("xy"), st.integers(1, 6)), max_size=8
)
MOST = 1 + 2 * sum(REACH.values())


@given(SCORES, SPOTS)
def test_nobody_loses_and_nobody_gains_without_bound(
    scores: dict[str, float], spots: dict[str, Spot]
) -> None:
    """A neighbour only ever adds, and all of them together a bounded share of the best."""
    found = spread(scores, spots)
    best = max(scores.values(), default=0.0)
    assert found.keys() == scores.keys() | spots.keys()
    assert all(found[key] >= score for key, score in scores.items())
    assert all(score <= MOST * best + 1e-9 for score in found.values())


@given(SCORES, SPOTS)
def test_a_memory_without_a_thread_stands_alone(scores: dict[str, float], spots: dict[str, Spot]) -> None:
    """Its score is its own, to the last bit."""
    found = spread(scores, spots)
    assert all(found[key] == score for key, score in scores.items() if key not in spots)


@given(SCORES, SPOTS, SCORES)
def test_another_thread_changes_nothing(
    scores: dict[str, float], spots: dict[str, Spot], others: dict[str, float]
) -> None:
    """What is said elsewhere adds nothing here, to the last bit."""
    elsewhere = {key.upper(): score for key, score in others.items()}
    there: dict[str, Spot] = {key: ("elsewhere", place) for place, key in enumerate(elsewhere)}
    alone, beside = spread(scores, spots), spread(scores | elsewhere, spots | there)
    assert {key: beside[key] for key in alone} == alone


@given(SCORES, SPOTS, st.randoms(use_true_random=False))
def test_the_order_of_what_was_found_does_not_matter(
    scores: dict[str, float], spots: dict[str, Spot], chance: st.DataObject
) -> None:
    """Equal findings come to equal bits."""
    mixed = list(spots.items())
    chance.shuffle(mixed)  # type: ignore[attr-defined]
    assert spread(dict(reversed(scores.items())), dict(mixed)) == spread(scores, spots)


@pytest.mark.parametrize(("distance", "share"), [(1, 0.5), (2, 0.25), (3, 0.0)])
@pytest.mark.parametrize("side", [-1, 1], ids=["before", "after"])
def test_the_nearer_the_louder(distance: int, share: float, side: int) -> None:
    """Half of the next one's, a quarter of the one after it, on both sides; no farther."""
    found = spread({"a": 8.0}, {"a": ("x", 10), "b": ("x", 10 + side * distance)})
    assert found == {"a": 8.0, "b": 8.0 * share}


def test_two_in_one_place_do_not_shout_twice() -> None:
    """Of memories with one place the loudest speaks."""
    found = spread({"a": 8.0, "b": 4.0}, {"a": ("x", 1), "b": ("x", 1), "c": ("x", 2)})
    assert found["c"] == 4.0
