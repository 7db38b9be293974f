"""Passages have one name, here and in Chroma."""

from hypothesis import given
from hypothesis import strategies as st

from app.index.place import key, place_of


@given(st.text(), st.integers(1, 10**6))
def test_a_key_names_its_place(document: str, ordinal: int) -> None:
    """And back."""
    assert place_of(key((document, ordinal))) == (document, ordinal)
