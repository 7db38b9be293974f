"""File names as they are kept."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.text.labels import NAME_BYTES, clean

ANY = st.text(st.characters(codec=None), max_size=60)
"""Lone surrogates and controls too."""


@pytest.mark.parametrize(
    ("given_name", "kept"),
    [
        pytest.param("report.pdf", "report.pdf", id="as it is"),
        pytest.param("../../etc/passwd.pdf", "passwd.pdf", id="path"),
        pytest.param("C:\\Users\\me\\a.pdf", "a.pdf", id="windows path"),
        pytest.param("a/b/", "b", id="trailing slash"),
        pytest.param("a\0b\r\n.pdf", "ab.pdf", id="NUL and line break"),
        pytest.param("a\ud800.pdf", "a_.pdf", id="lone surrogate"),
        pytest.param("re\u0301sume\u0301.pdf", "r\u00e9sum\u00e9.pdf", id="decomposed"),
        pytest.param("Q1 [draft] #2 📈.pdf", "Q1 [draft] #2 📈.pdf", id="brackets and emoji"),
        pytest.param("", "document.pdf", id="empty"),
        pytest.param("..", "document.pdf", id="dots"),
        pytest.param(" \t ", "document.pdf", id="blank"),
        pytest.param("n" * 500 + ".pdf", "n" * 500 + ".pdf", id="500 characters"),
    ],
)
def test_cleans(given_name: str, kept: str) -> None:
    """A name keeps what can be kept and loses the rest."""
    assert clean(given_name) == kept


def test_a_very_long_name_is_cut_and_keeps_its_extension() -> None:
    """Names fit an index row, whatever the script."""
    name = clean("漢" * 2_000 + ".pdf")
    assert len(name.encode()) <= NAME_BYTES
    assert name.endswith("漢.pdf")


@given(ANY)
def test_law_storable(name: str) -> None:
    """Whatever comes in: not empty, UTF-8, no NUL, no path, short enough."""
    kept = clean(name)
    assert kept.encode()
    assert not set(kept) & set("/\\\0\n")
    assert len(kept.encode()) <= NAME_BYTES


@given(st.one_of(ANY, ANY.map(lambda name: name * 300)))
def test_law_idempotent(name: str) -> None:
    """A clean name stays as it is."""
    assert clean(clean(name)) == clean(name)
