"""What an answer shows of itself."""

from dataclasses import asdict

from app.domain.answer import Citation, Usage
from app.domain.trace import Entry, Reason, Trace, Verdict
from app.services.shown import figures, ledger, plainly


def test_a_value_is_shown_field_by_field() -> None:
    """As the standard library would, quicker."""
    citation = Citation("a.pdf#1", "documents", "d:1", "A", 1, 2, None)
    assert plainly(citation) == asdict(citation)
    assert plainly(Usage(1, 2)) == {"prompt_tokens": 1, "completion_tokens": 2}


def test_the_figures_are_the_contracts() -> None:
    """`rag`, by CONTRACT §1."""
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
