"""What an answer shows of itself."""

from dataclasses import asdict

import pytest

from app.answer import Citation, Usage
from app.answering.meta import Explanation, explained, figures, ledger, plainly, recalled
from app.db.memories import Moment, Tally
from app.retrieval.tags import Gravity
from app.types import Entry, Reason, Trace, Verdict
from tests.fakes.answering import NOW
from tests.fakes.remembering import memory


def test_a_value_is_shown_field_by_field() -> None:
    """As the standard library would, quicker."""
    citation = Citation("a.pdf#1", "documents", "d:1", "A", 1, 2, None)
    assert plainly(citation) == asdict(citation)
    assert plainly(Usage(1, 2)) == {"prompt_tokens": 1, "completion_tokens": 2}


def test_the_figures_are_the_contracts() -> None:
    """`rag`, by docs/contract.md."""
    shown = figures(Trace(Reason.OK, cached=True, tokens=7, budget=9, took_ms=3), 2)
    assert shown == {
        "used": True,
        "reason": "ok",
        "cached": True,
        "passages": 2,
        "tokens": 7,
        "budget": 9,
        "took_ms": 3,
    }


def test_the_ledger_tells_every_candidate() -> None:
    """With its verdict, and without what only the record needs."""
    entry = Entry("documents", "d:1", "a.pdf#1", 0.5, 0.7, Verdict.DUPLICATE, sha256="ff")
    assert ledger(Trace(Reason.NO_MATCH, (entry,))) == [
        {"id": "d:1", "label": "a.pdf#1", "similarity": 0.5, "score": 0.7, "verdict": "duplicate"}
    ]


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


@pytest.mark.parametrize(
    ("moment", "shown"),
    [
        (None, None),
        (Moment("new"), {"bucket": "new", "last_message_at": None, "seconds_since": None}),
        (
            Moment("hours", NOW, 5_000.0),
            {"bucket": "hours", "last_message_at": "2026-11-21T12:00:00Z", "seconds_since": 5_000.0},
        ),
    ],
    ids=["not known", "never", "some hours"],
)
def test_an_explanation_is_shown_as_json(moment: Moment | None, shown: object) -> None:
    """The contract's names; a time in RFC 3339."""
    told = explained(Explanation(("vb:rest",), Tally(3, 1), 0.5, Gravity(0.25, "aligned"), moment))
    assert told == {
        "query_tags": ["vb:rest"],
        "feedback": {"positive": 3, "negative": 1, "net": 2},
        "format_consistency": 0.5,
        "gravity": {"misalignment": 0.25, "label": "aligned"},
        "temporal": shown,
    }
