"""A recorded answer under another mix (`remix`), and the lens of a mix as a block of the prompt.

`remix` re-ranks the candidates of a recorded answer from its ledger alone: no search and no model. Times
are UTC. Raises `InvalidField` for an unknown lens. Source: docs/contract.md.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.answering.recall import CONSIDERED, RECENCY, TOLD, Weighing, recency
from app.errors import InvalidField
from app.types import CORPUS, MEMORIES, Entry, Verdict
from app.vantage.terms import FM, LENSES


def lens_name(lens: bool | str) -> str:
    """The name of a lens, "" for none. Raises `InvalidField`, listing the lenses."""
    if isinstance(lens, bool):
        return FM if lens else ""
    name = lens.casefold()
    if name not in LENSES:
        raise InvalidField(f"the lenses are {', '.join(LENSES)}", field="body.mix.lens_fm")
    return name


def lens_block(lens: bool | str) -> str:
    """The lens as a block of the prompt, "" for none. Raises `InvalidField`."""
    name = lens_name(lens)
    return f"[Lens]\nFor this answer, {name}: {LENSES[name]}" if name else ""


@dataclass(frozen=True, slots=True)
class Standing:
    """What becomes of a recorded candidate under another mix."""

    entry: Entry
    """As the answer's ledger has it."""
    verdict: Verdict
    score: float
    recency: float
    place: int | None
    """Position in the prompt from 1; None: not packed."""
    was: int | None
    """The same, in the recorded answer."""


Named = tuple[str, str]
"""Source and id of a candidate: ids are unique within a source."""


def remix(entries: Sequence[Entry], *, was: Weighing, now: Weighing) -> list[Standing]:
    """All memories and reference texts of a ledger under the mix `now`: the packed in prompt order, then the
    others, best first. Under `was`, the mix of the answer itself, the ledger comes out unchanged.

    The ledger does not say how many tokens a candidate takes, so what had no room then has none now."""
    before, judged = _Judgement(entries, was), _Judgement(entries, now)
    crowded = {_name(entry) for entry in before.packed if entry.verdict is Verdict.OVER_BUDGET}
    judged.verdicts |= dict.fromkeys(crowded.intersection(map(_name, judged.packed)), Verdict.OVER_BUDGET)
    packed = [entry for entry in judged.packed if _name(entry) not in crowded]
    places = _places(packed)
    were = _places(entry for entry in entries if entry.verdict is Verdict.PACKED)
    left = [entry for entry in entries if _name(entry) in judged.verdicts and _name(entry) not in places]
    return [
        Standing(
            entry,
            judged.verdicts[_name(entry)],
            judged.score(entry),
            recency(entry.created_at, now.at, now.bias),
            places.get(_name(entry)),
            were.get(_name(entry)),
        )
        for entry in (*packed, *sorted(left, key=lambda entry: -judged.score(entry)))
    ]


class _Judgement:
    """The verdict on each entry under a mix: threshold, boosts, recency and k, but not the token budget."""

    def __init__(self, entries: Sequence[Entry], by: Weighing) -> None:
        self.by = by
        self.verdicts: dict[Named, Verdict] = {}
        self.packed: list[Entry] = []
        memories = [entry for entry in entries if entry.source == MEMORIES]
        self._memories(memories)
        self._corpus([entry for entry in entries if entry.source == CORPUS], memories)

    def score(self, entry: Entry) -> float:
        """Relevance times the recorded boosts, with today's recency instead of the recorded one."""
        kept = [factor for name, factor in entry.boosts.items() if name != RECENCY]
        before = entry.score if entry.relevance is None else entry.relevance * math.prod(kept)
        return before * recency(entry.created_at, self.by.at, self.by.bias)

    def _memories(self, memories: Sequence[Entry]) -> None:
        """As `recall.retrieve_personal_memory` and `recall.rerank_personal`."""
        self._judge(memories, Verdict.DUPLICATE)
        found = self._matching([entry for entry in memories if entry.verdict is not Verdict.DUPLICATE])
        self._judge([entry for entry in found if entry.verdict is Verdict.SKIPPED], Verdict.SKIPPED)
        fit = [entry for entry in found if entry.verdict is not Verdict.SKIPPED]
        most = min(CONSIDERED, self.by.split.personal)
        self._judge(fit[most:], Verdict.OVER_LIMIT)
        self._pack(fit[:most], min(TOLD, self.by.split.personal))

    def _corpus(self, texts: Sequence[Entry], memories: Sequence[Entry]) -> None:
        """As `recall.unified_retrieve`: a copy of a memory is packed only where the memory is not."""
        told = {entry.sha256 for entry in self.packed}
        originals = [entry for entry in texts if entry.verdict is not Verdict.DUPLICATE]
        copied = {entry.sha256 for entry in memories} - {entry.sha256 for entry in originals}
        ranked = sorted(texts, key=lambda entry: -_relevance(entry))
        # Of several copies of a memory, the most relevant one stands for the others.
        heirs = {entry.sha256: _name(entry) for entry in reversed(ranked) if entry.sha256 in copied}
        self._judge(texts, Verdict.DUPLICATE)
        free = [
            entry
            for entry in texts
            if entry.sha256 not in told
            and (entry.verdict is not Verdict.DUPLICATE or heirs.get(entry.sha256) == _name(entry))
        ]
        self._pack(self._matching(free), self.by.split.corpus)

    def _matching(self, entries: Sequence[Entry]) -> list[Entry]:
        """Those above the threshold or vouched for, most relevant first."""
        self._judge(entries, Verdict.BELOW_THRESHOLD)
        above = [
            entry
            for entry in entries
            if entry.vouched or (entry.similarity is not None and entry.similarity > self.by.threshold)
        ]
        return sorted(above, key=lambda entry: -_relevance(entry))

    def _pack(self, entries: Sequence[Entry], keep: int) -> None:
        """The best are packed, the others are over the limit."""
        ranked = sorted(entries, key=lambda entry: -self.score(entry))
        self._judge(ranked[:keep], Verdict.PACKED)
        self._judge(ranked[keep:], Verdict.OVER_LIMIT)
        self.packed += ranked[:keep]

    def _judge(self, entries: Iterable[Entry], verdict: Verdict) -> None:
        self.verdicts |= {_name(entry): verdict for entry in entries}


def _places(entries: Iterable[Entry]) -> dict[Named, int]:
    return {_name(entry): place for place, entry in enumerate(entries, 1)}


def _relevance(entry: Entry) -> float:
    return entry.score if entry.relevance is None else entry.relevance


def _name(entry: Entry) -> Named:
    return entry.source, entry.id
