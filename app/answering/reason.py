"""Why an answer has the passages that it has, or none: `rag.reason`.

Of a project's sections: `services/projects.py`. Source: docs/contract.md.
"""

from collections.abc import Iterable

from app.types import ASIDE, STAGES, Candidate, Found, Reason, Verdict


def nobody_knows(found: Found) -> bool:
    """True if no source answered, or if a failed one may have passages and no other has any."""
    lost = any(item.source not in ASIDE and item.reason != "not_available" for item in found.degraded)
    return not found.answered or (lost and not found.stored)


def reason_of(found: Found, asked: int, candidates: Iterable[Candidate], *, short: bool = False) -> Reason:
    """`rag.reason`, by precedence; `asked` counts sources, `short`: the skip rule holds."""
    if found.unsought:
        return Reason.SMALL_TALK
    if asked and nobody_knows(found):
        timed_out = any(item.reason == "timeout" for item in found.degraded if item.source not in STAGES)
        return Reason.TIMEOUT if timed_out else Reason.UNAVAILABLE
    if not found.stored:
        return Reason.EMPTY
    if short:
        return Reason.SKIPPED
    packed = any(item.verdict is Verdict.PACKED for item in candidates)
    return Reason.OK if packed else Reason.NO_MATCH
