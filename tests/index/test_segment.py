"""Postings: made, merged, stored and read again."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.index.posting import build
from app.index.segment import Segment, from_bytes, merge
from app.retrieval.terms import terms

TEXTS = st.lists(
    st.lists(st.sampled_from(["sea", "sand", "wave", "otter", "fish"]), max_size=6).map(" ".join), max_size=8
)


def bags(segment: Segment) -> list[Counter[int]]:
    """The terms of each passage, read back from the postings."""
    found: list[Counter[int]] = [Counter() for _ in segment.lengths]
    for at, term in enumerate(segment.terms):
        for n in range(segment.starts[at], segment.starts[at + 1]):
            found[segment.rows[n]][int(term)] += int(segment.counts[n])
    return found


def same(one: Segment, other: Segment) -> bool:
    """Whether two segments hold the same arrays."""
    return all(np.array_equal(a, b) for a, b in zip(one.arrays(), other.arrays(), strict=True))


@given(TEXTS)
def test_postings_hold_every_term_of_every_passage(texts: list[str]) -> None:
    """Nothing is lost or added, and lengths are the terms of a passage."""
    segment = build(texts)
    assert bags(segment) == [Counter(terms(text)) for text in texts]
    assert segment.lengths.tolist() == [len(terms(text)) for text in texts]


@given(TEXTS)
def test_what_is_stored_is_read_again(texts: list[str]) -> None:
    """Bytes and back: the same arrays."""
    segment = build(texts)
    assert same(from_bytes(segment.to_bytes()), segment)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.data())
def test_merging_equals_building_at_once(parts: list[list[str]], data: st.DataObject) -> None:
    """A merge that drops rows is what would have been built of the rows that stay."""
    masks = [
        np.array(data.draw(st.lists(st.booleans(), min_size=len(part), max_size=len(part))), bool)
        for part in parts
    ]
    left = [
        text
        for part, mask in zip(parts, masks, strict=True)
        for text, stays in zip(part, mask, strict=True)
        if stays
    ]
    merged = merge([build(part) for part in parts], masks)
    assert bags(merged) == bags(build(left))
    assert same(
        merge([build(part) for part in parts], [None] * len(parts)),
        build([text for part in parts for text in part]),
    )


@given(TEXTS, st.sampled_from(["sea", "otter", "absent"]))
def test_a_span_is_where_a_term_stands(texts: list[str], word: str) -> None:
    """The rows of a term's span are the passages that hold it, ascending."""
    segment = build(texts)
    [(first, end)] = segment.spans(np.array(terms(word), dtype=np.uint64))
    assert segment.rows[first:end].tolist() == [n for n, text in enumerate(texts) if word in text.split()]


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"", id="nothing"),
        pytest.param(b"IBW1", id="magic alone"),
        pytest.param(b"PKL!" + build(["sea"]).to_bytes()[4:], id="another kind"),
        pytest.param(build(["sea"]).to_bytes()[:-1], id="cut short"),
        pytest.param(build(["sea"]).to_bytes() + b"\0", id="too long"),
    ],
)
def test_what_is_not_postings_is_refused(data: bytes) -> None:
    """Damaged bytes are told, not searched."""
    with pytest.raises(ValueError, match="postings"):
        from_bytes(data)


def test_memory_is_counted() -> None:
    """`nbytes` is what the arrays hold."""
    segment = build(["sea sand", "sea"])
    assert segment.nbytes == len(segment.to_bytes()) - 16
