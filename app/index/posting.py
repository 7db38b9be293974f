"""Texts into postings: a document's passages, and what they are found by."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from app.index.segment import MOST, Segment, inverted
from app.retrieval.terms import terms as terms_of


def build(texts: Sequence[str]) -> Segment:
    """Analyse passages; row i is `texts[i]`. CPU: about 0.5 ms a passage of 300 words."""
    bags = [Counter(terms_of(text)) for text in texts]
    flat = [(term, row, count) for row, bag in enumerate(bags) for term, count in bag.items()]
    terms = np.array([term for term, _, _ in flat], dtype=np.uint64)
    rows = np.array([row for _, row, _ in flat], dtype=np.uint32)
    counts = np.array([min(count, MOST) for _, _, count in flat], dtype=np.uint16)
    lengths = np.array([bag.total() for bag in bags], dtype=np.uint32)
    return inverted(terms, rows, counts, lengths)
