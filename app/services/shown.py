"""What an answer shows of how it came to be: parts of `meta` as JSON objects, made by hand because a reply is
waited for (`asdict` copies each of forty citations field by field). Times are milliseconds."""

from dataclasses import fields

from app.domain.answer import Citation, Usage
from app.domain.trace import Degraded, Trace

LEDGER = ("id", "label", "similarity", "score", "verdict")
"""What `debug` tells of a candidate."""


def plainly(item: Citation | Degraded | Usage) -> dict[str, object]:
    """Its fields by name."""
    return {field.name: getattr(item, field.name) for field in fields(item)}


def figures(trace: Trace, passages: int) -> dict[str, object]:
    """`rag`: how retrieval went; `passages` were packed."""
    return {
        "used": trace.used,
        "reason": str(trace.reason),
        "cached": trace.cached,
        "passages": passages,
        "tokens": trace.tokens,
        "budget": trace.budget,
        "took_ms": trace.took_ms,
    }


def ledger(trace: Trace) -> list[dict[str, object]]:
    """`debug.chunks`: every candidate."""
    return [{name: getattr(entry, name) for name in LEDGER} for entry in trace.entries]
