"""What a person keeps asking for, as a bias."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.memories import DESIRE, GRAVITY, Memory
from app.retrieval.tags import load_latest_vb_desire_profile, vb_desire_bias_map

WHEN = datetime(2026, 1, 2, tzinfo=UTC)


def card(weights: dict[str, float], *, kind: str = DESIRE, at: datetime = WHEN) -> Memory:
    """A profile card."""
    return Memory("a", "u", "t", 1, at, kind=kind, fields={"weights": weights})


def test_the_greatest_weight_is_the_full_bias() -> None:
    """The others in proportion; tags that are no values are left out."""
    bias = vb_desire_bias_map(card({"vb:rest": 0.4, "vb:play": 0.1, "intent:explain": 0.9}))
    assert bias == {"vb:rest": 1.0, "vb:play": 0.25}


@pytest.mark.parametrize("weights", [{}, {"vb:rest": 0.0}, {"intent:explain": 1.0}])
def test_nothing_wanted_is_no_bias(weights: dict[str, float]) -> None:
    """An empty map."""
    assert vb_desire_bias_map(card(weights)) == {}


def test_no_card_is_no_bias() -> None:
    """Not an error."""
    assert vb_desire_bias_map(None) == {}


@given(
    st.dictionaries(
        st.sampled_from(["vb:rest", "vb:play", "vb:x"]), st.floats(allow_nan=False, allow_infinity=False)
    )
)
def test_a_bias_is_bounded(weights: dict[str, float]) -> None:
    """In [-1, 1], for any card that an older tool wrote."""
    assert all(-1 <= value <= 1 for value in vb_desire_bias_map(card(weights)).values())


def test_the_newest_card_counts() -> None:
    """Of its kind."""
    old, new = card({}, at=WHEN - timedelta(days=1)), card({"vb:rest": 1.0})
    assert load_latest_vb_desire_profile([old, new, card({}, kind=GRAVITY)]) is new
    assert load_latest_vb_desire_profile([]) is None
