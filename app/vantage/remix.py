"""An answer's candidates under another mix, from its ledger alone: no search, no model, no text.

What the ledger does not hold is left as it was: a candidate that fell out for want of room falls out again,
one that was not boosted then counts its relevance alone, what was not looked for cannot be told now. Under
the mix it was given with, an answer's ledger comes out as it is. Nothing here raises. Source: CONTRACT §3
(POST /vantage/mix).
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from app.domain.recall import CONSIDERED, CORPUS, MEMORIES, TOLD
from app.domain.trace import Entry, Verdict
from app.vantage.mix import RECENCY, Weighing, recency

Named = tuple[str, str]
"""Source and id of a candidate."""


@dataclass(frozen=True, slots=True)
class Standing:
    """A candidate under a mix."""

    entry: Entry
    """As the answer's ledger has it."""
    verdict: Verdict
    score: float
    recency: float
    place: int | None
    """Among those packed, from 1."""
    was: int | None
    """The same, when the answer was given."""


@dataclass(slots=True)
class _Ledger:
    """A ledger under judgement."""

    by: Weighing
    entries: Sequence[Entry]
    verdicts: dict[Named, Verdict] = field(default_factory=dict)
    packed: list[Entry] = field(default_factory=list)

    def score(self, entry: Entry) -> float:
        """Relevance times the boosts of then, recency aside, times the recency of now."""
        kept = [factor for name, factor in entry.boosts.items() if name != RECENCY]
        before = entry.score if entry.relevance is None else entry.relevance * math.prod(kept)
        return before * self.recency(entry)

    def recency(self, entry: Entry) -> float:
        """Of now."""
        return recency(entry.created_at, self.by.at, self.by.bias)

    def judge(self, entries: Sequence[Entry], verdict: Verdict) -> None:
        """They are that."""
        self.verdicts |= {name(entry): verdict for entry in entries}

    def matching(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those above the threshold, most relevant first; the others are judged."""
        self.judge([entry for entry in entries if not self._matches(entry)], Verdict.BELOW_THRESHOLD)
        return sorted(filter(self._matches, entries), key=lambda entry: -relevance(entry))

    def _matches(self, entry: Entry) -> bool:
        """Whether it would be told, were there room."""
        return entry.vouched or (entry.similarity is not None and entry.similarity > self.by.threshold)

    def tell(self, entries: Sequence[Entry], keep: int) -> None:
        """The best of them are packed."""
        ranked = sorted(entries, key=lambda entry: -self.score(entry))
        self.judge(ranked[:keep], Verdict.PACKED)
        self.judge(ranked[keep:], Verdict.OVER_LIMIT)
        self.packed += ranked[:keep]

    def crowd(self, entries: Sequence[Entry]) -> None:
        """There was no room for them: how many tokens they take, the ledger does not say."""
        names = {name(entry) for entry in entries}
        over = [entry for entry in self.packed if name(entry) in names]
        self.judge(over, Verdict.OVER_BUDGET)
        self.packed = [entry for entry in self.packed if name(entry) not in names]


def remix(entries: Sequence[Entry], *, was: Weighing, now: Weighing) -> list[Standing]:
    """Every memory and reference text: those packed as in the prompt, then the others, best first."""
    crowded = [entry for entry in judged(entries, was).packed if entry.verdict is Verdict.OVER_BUDGET]
    ledger = judged(entries, now)
    ledger.crowd(crowded)
    places, were = places_of(ledger.packed), places_of(filter(packed, entries))
    left = [entry for entry in entries if name(entry) in ledger.verdicts and name(entry) not in places]
    return [
        Standing(
            entry,
            ledger.verdicts[name(entry)],
            ledger.score(entry),
            ledger.recency(entry),
            places.get(name(entry)),
            were.get(name(entry)),
        )
        for entry in (*ledger.packed, *sorted(left, key=lambda entry: -ledger.score(entry)))
    ]


def judged(entries: Sequence[Entry], by: Weighing) -> _Ledger:
    """What becomes of each, by relevance, threshold, boosts, recency and k; tokens aside."""
    ledger = _Ledger(by, entries)
    memories(ledger)
    corpus(ledger)
    return ledger


def memories(ledger: _Ledger) -> None:
    """As `recall.retrieve_personal_memory` and `recall.rerank_personal`."""
    ours = [entry for entry in ledger.entries if entry.source == MEMORIES]
    ledger.judge(ours, Verdict.DUPLICATE)
    found = ledger.matching(list(filter(of_its_own, ours)))
    # Only what was looked at was found to be a probe, or the question itself.
    ledger.judge([entry for entry in found if entry.verdict is Verdict.SKIPPED], Verdict.SKIPPED)
    fit = [entry for entry in found if entry.verdict is not Verdict.SKIPPED]
    most = min(CONSIDERED, ledger.by.split.personal)
    ledger.judge(fit[most:], Verdict.OVER_LIMIT)
    ledger.tell(fit[:most], min(TOLD, ledger.by.split.personal))


def corpus(ledger: _Ledger) -> None:
    """As `recall.unified_retrieve`: a copy of a memory is told only where the memory is not."""
    texts = [entry for entry in ledger.entries if entry.source == CORPUS]
    told = {entry.sha256 for entry in ledger.packed}
    remembered = {entry.sha256 for entry in ledger.entries if entry.source == MEMORIES}
    own = {entry.sha256 for entry in texts if of_its_own(entry)}
    ledger.judge(texts, Verdict.DUPLICATE)
    # Of the copies of a memory the first stands for the others, as it does where no memory is told.
    ranked = sorted(texts, key=lambda entry: -relevance(entry))
    heirs = {entry.sha256: name(entry) for entry in reversed(ranked) if entry.sha256 in remembered - own}
    free = [
        entry
        for entry in texts
        if entry.sha256 not in told and (of_its_own(entry) or heirs.get(entry.sha256) == name(entry))
    ]
    ledger.tell(ledger.matching(free), ledger.by.split.corpus)


def of_its_own(entry: Entry) -> bool:
    """Whether it was no copy of another."""
    return entry.verdict is not Verdict.DUPLICATE


def packed(entry: Entry) -> bool:
    """Whether the model saw it."""
    return entry.verdict is Verdict.PACKED


def places_of(entries: Iterable[Entry]) -> dict[Named, int]:
    """From 1, in the order given."""
    return {name(entry): place for place, entry in enumerate(entries, 1)}


def relevance(entry: Entry) -> float:
    """Before boosts."""
    return entry.score if entry.relevance is None else entry.relevance


def name(entry: Entry) -> Named:
    """Which one it is: ids are a source's own."""
    return entry.source, entry.id
