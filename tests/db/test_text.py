"""Text as Postgres holds it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.pool import Pool
from app.db.rows import storable


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        pytest.param("plain", "plain", id="plain"),
        pytest.param("naïve 📈", "naïve 📈", id="unicode"),
        pytest.param("a\0b", "a\ufffdb", id="NUL"),
        pytest.param("é\0", "é\ufffd", id="NUL among others"),
        pytest.param("a\ud800b", "a\ufffdb", id="lone surrogate"),
        pytest.param("\ud83d\udcc8", "📈", id="halves of a pair"),
    ],
)
def test_storable(text: str, kept: str) -> None:
    """Only what cannot be stored changes."""
    assert storable(text) == kept


@given(st.text(st.characters(codec=None)))
def test_law_utf8_without_nul(text: str) -> None:
    """The result always encodes and has no NUL."""
    assert b"\0" not in storable(text).encode()


async def test_postgres_takes_it(pool: Pool) -> None:
    """What comes out of it comes back from Postgres unchanged."""
    text = storable("a\0\ud800\U0010ffff\uffff")
    assert await pool.fetchval("SELECT $1::text", text) == text
