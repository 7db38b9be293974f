"""From what was found to what the model sees: matches only, best first, while they fit.

Source: CONTRACT §1 (rag.reason, skip rule, top_k, budget), seed 004 (when to skip, dynamic selection).
"""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

from app.domain.budget import Budget, Meter, fit
from app.domain.passage import Candidate, Passage
from app.domain.quick import quick
from app.domain.relevance import by_words, is_match, skipped
from app.domain.text import once
from app.domain.trace import Entry, Reason, Verdict

entry = quick(Entry)


@dataclass(frozen=True, slots=True)
class Selection:
    """The passages in prompt order, and the ledger of all candidates."""

    passages: tuple[Passage, ...]
    entries: tuple[Entry, ...]
    short: bool
    """The skip rule held: a short message, and nothing similar enough."""


def select(
    message: str,
    candidates: Sequence[Candidate],
    duplicates: Sequence[Candidate],
    *,
    threshold: float,
    budget: Budget,
    meter: Meter,
) -> Selection:
    """Pick what is packed. A passage costs its line in the context block."""
    short = skipped(message, candidates, threshold)
    matches = [item for item in candidates if is_match(item, threshold)]
    packed = [] if short else fit(matches, meter.line, budget, meter.head(), most=meter.most)[0]
    verdicts = dict.fromkeys(map(id, candidates), Verdict.BELOW_THRESHOLD)
    verdicts |= dict.fromkeys(map(id, duplicates), Verdict.DUPLICATE)
    verdicts |= dict.fromkeys(map(id, matches), Verdict.SKIPPED if short else Verdict.OVER_BUDGET)
    verdicts |= dict.fromkeys(map(id, packed), Verdict.PACKED)
    if packed and len(packed) == budget.passages:  # whatever follows the last of them was not even measured
        last = next(at for at in range(len(matches) - 1, -1, -1) if matches[at] is packed[-1])
        verdicts |= dict.fromkeys(map(id, matches[last + 1 :]), Verdict.OVER_LIMIT)
    entries = tuple(noted(item, verdicts[id(item)]) for item in (*candidates, *duplicates))
    return Selection(tuple(item.passage for item in packed), entries, short)


def why(selection: Selection, *, asked: int, answered: int, timed_out: bool, stored: int) -> Reason:
    """`rag.reason` in its precedence. `asked` and `answered` count sources."""
    if asked and not answered:
        return Reason.TIMEOUT if timed_out else Reason.UNAVAILABLE
    if not stored:
        return Reason.EMPTY
    if selection.short:
        return Reason.SKIPPED
    return Reason.OK if selection.passages else Reason.NO_MATCH


@once
def digest(text: str) -> str:
    """SHA-256, in hexadecimals."""
    return hashlib.sha256(text.encode()).hexdigest()


def noted(item: Candidate, verdict: Verdict) -> Entry:
    """A candidate's line in the ledger."""
    passage = item.passage
    return entry(
        passage.source,
        passage.id,
        passage.label,
        passage.similarity,
        passage.score,
        verdict,
        {},
        digest(passage.text),
        None,
        passage.created_at,
        by_words(item),
    )
