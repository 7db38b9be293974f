"""What an answer shows of itself."""

from app.answering.meta import recalled
from app.types import Entry, Verdict
from tests.fakes.remembering import memory


def test_a_memory_used_is_shown_with_all_that_made_its_score() -> None:
    """Its facts from the passage, its figures from the ledger."""
    entry = Entry("memories", "m", "memory#m", 0.5, 0.66, Verdict.PACKED, {"feedback": 1.1}, relevance=0.6)
    assert recalled(memory("m", "I walk", 0.5), entry) == {
        "id": "m",
        "source": "memories",
        "collection": "memory_raw",
        "kind": "note",
        "origin": "api",
        "title": "",
        "metadata": {},
        "text": "I walk",
        "label": "memory#m",
        "similarity": 0.5,
        "relevance": 0.6,
        "score": 0.66,
        "boosts": {"feedback": 1.1},
    }
