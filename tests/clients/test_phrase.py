"""Our words in the embedded engine's, where the engine alone would not tell."""

import struct
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients import phrase

float32 = st.floats(width=32, allow_nan=False, allow_infinity=False)


@given(st.lists(float32, min_size=1))
def test_embeddings_are_the_same_to_the_last_bit(numbers: list[float]) -> None:
    """There and back."""
    dense = struct.pack(f"<{len(numbers)}f", *numbers)
    assert phrase.packed(phrase.floats(dense)) == dense


def test_no_numbers_are_no_embedding() -> None:
    """What the engine gives where none was asked for."""
    assert phrase.packed(None) is None


@pytest.mark.parametrize(
    ("told", "found"),
    [("7", 7), ("00000000-0000-0000-0000-000000000007", UUID(int=7)), ("0" * 31 + "7", UUID(int=7))],
)
def test_ids_are_numbers_or_uuids(told: str, found: object) -> None:
    """As the engine knows them; digits alone are a number, unless they are too many."""
    assert phrase.identity(told) == found


def test_what_can_be_no_id_is_left_out() -> None:
    """No point can have it, so a filter by it holds for none."""
    assert phrase.identities(["x", "", "٣", "-1", "18446744073709551616", "5"]) == {5}
    with pytest.raises(ValueError, match="badly formed"):
        phrase.identity("x")
