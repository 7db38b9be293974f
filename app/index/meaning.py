"""Where a search is computed: on the loop, or in a thread."""

from app.retrieval.index import INLINE, computed

__all__ = ["INLINE", "computed"]
