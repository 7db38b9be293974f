"""Short forms of ids: stable, and no two alike."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.retrieval import source
from app.retrieval.source import label_suffixes


@given(st.sets(st.text(max_size=8), max_size=30))
def test_short_forms_are_stable_and_different(keys: set[str]) -> None:
    """Eight letters and digits, the same whatever stands beside them; another source's are others."""
    found = label_suffixes("s", keys)
    assert len(set(found.values())) == len(keys)
    assert all(re.fullmatch("[0-9a-v]{8}", mark) for mark in found.values())
    assert all(label_suffixes("s", [key])[key] == mark for key, mark in found.items())
    assert not set(label_suffixes("t", keys).values()) & set(found.values())


def test_those_that_would_look_alike_are_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        source, "digest", lambda text: (b"x" if text[-1] in "ab" else b"y") * 5 + text[-1].encode() * 5
    )
    found = label_suffixes("s", "abc")
    assert found["a"][:8] == found["b"][:8] != found["c"]
    assert list(map(len, found.values())) == [16, 16, 8]
