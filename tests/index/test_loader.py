"""The loader's small rules; what it does with stores that lost something is tested in tests/sources."""

from datetime import UTC, datetime

import numpy as np
import pytest

from app.index.loader import filled, readable, whole
from app.index.place import Listed
from app.index.posting import build

ITEM = Listed("d", "d.pdf", "d.pdf", "", 2, datetime(2026, 11, 21, tzinfo=UTC))
ROW = np.ones(3, np.float32)


def test_a_document_is_whole_with_a_vector_for_every_passage() -> None:
    """One less, or another document's, is not."""
    assert whole(ITEM, {("d", 1): ROW, ("d", 2): ROW})
    assert not whole(ITEM, {("d", 1): ROW, ("e", 2): ROW})


def test_a_vector_that_is_nowhere_is_zero() -> None:
    """The other rows keep their places."""
    assert filled(ITEM, {("d", 2): ROW}, 3).tolist() == [[0, 0, 0], [1, 1, 1]]


@pytest.mark.parametrize("data", [pytest.param(None, id="none"), pytest.param(b"IBW1...", id="damaged")])
def test_postings_that_cannot_be_read_are_none(data: bytes | None) -> None:
    """To be made anew, not an error."""
    assert readable(data) is None


def test_postings_are_read() -> None:
    """What was stored."""
    segment = readable(build(["sea sand"]).to_bytes())
    assert segment is not None
    assert segment.lengths.tolist() == [2]
