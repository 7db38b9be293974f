"""A recorded answer under another mix: its candidates are ranked again from its trace alone, without a search
or a model. Times are UTC. Raises nothing. Source: docs/contract.md.
"""

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, replace

from app.answering.budget import judged as with_verdict
from app.answering.recall import CONSIDERED, RECENCY, TOLD, Weighing, draw, of, recency, running, top
from app.types import CORPUS, MEMORIES, Candidate, Entry, Passage, Verdict


@dataclass(frozen=True, slots=True)
class RemixedEntry:
    entry: Entry
    """As recorded."""
    verdict: Verdict
    score: float
    recency: float
    place: int | None
    """Position in the prompt from 1; None: not packed."""
    was: int | None
    """The same in the recorded answer."""


def remix(entries: Sequence[Entry], *, was: Weighing, now: Weighing) -> list[RemixedEntry]:
    """All memories and reference texts of a trace under the mix `now`: packed ones in prompt order, then the
    others, best first. Under `was`, the answer's own mix, the trace comes out unchanged.

    The trace has no token counts, so a candidate that did not fit then does not fit now.
    """
    recorded = {(entry.source, entry.id): entry for entry in entries}
    chosen = {key(item) for item in running(judge(entries, was))}
    crowded = {name for name in chosen if recorded[name].verdict is Verdict.OVER_BUDGET}
    judged = [with_room(item, crowded) for item in judge(entries, now)]
    packed = [item for item in judged if item.verdict is Verdict.PACKED]
    left = [item for item in judged if item.verdict is not Verdict.PACKED]
    order = positions(recorded)
    places = positions(map(key, packed))
    were = positions(name for name, entry in recorded.items() if entry.verdict is Verdict.PACKED)
    return [
        RemixedEntry(
            recorded[key(item)],
            item.verdict or Verdict.PACKED,
            item.score,
            item.boosts[RECENCY],
            places.get(key(item)),
            were.get(key(item)),
        )
        for item in (*packed, *sorted(left, key=lambda item: (-item.score, order[key(item)])))
    ]


def positions(keys: Iterable[tuple[str, str]]) -> dict[tuple[str, str], int]:
    return {name: at for at, name in enumerate(keys, 1)}


def with_room(item: Candidate, crowded: Container[tuple[str, str]]) -> Candidate:
    fits = Verdict.OVER_BUDGET if key(item) in crowded else Verdict.PACKED
    return replace(item, verdict=item.verdict or fits)


def judge(entries: Sequence[Entry], by: Weighing) -> list[Candidate]:
    """Every candidate under a mix, judged as by `recall.chosen`; those to show have no verdict."""
    found = sorted((candidate(entry, by) for entry in entries), key=lambda item: -item.passage.score)
    memories, texts = of(found, MEMORIES), of(found, CORPUS)
    own = [item for item in memories if item.verdict is not Verdict.DUPLICATE]
    considered = min(CONSIDERED, by.split.personal)
    drawn = draw(own, by.threshold, considered, lambda item: item.verdict is not Verdict.SKIPPED)
    told = top(running(drawn), min(TOLD, by.split.personal))
    free = uncopied(texts, memories, {item.passage.text for item in running(told)})
    matches = draw(free, by.threshold, len(free))
    return [
        *told,
        *(item for item in drawn if item.verdict),
        *(item for item in memories if item.verdict is Verdict.DUPLICATE),
        *top(running(matches), by.split.corpus),
        *(item for item in matches if item.verdict),
        *with_verdict((item for item in texts if item not in free), Verdict.DUPLICATE),
    ]


def uncopied(texts: Sequence[Candidate], memories: Sequence[Candidate], told: set[str]) -> list[Candidate]:
    """Reference texts without copies of each other and of the memories in `told`. If a memory is not shown,
    the most relevant of its copies may be."""
    originals = {item.passage.text for item in texts if item.verdict is not Verdict.DUPLICATE}
    copied = {item.passage.text for item in memories} - originals
    heirs = {item.passage.text: key(item) for item in reversed(texts) if item.passage.text in copied}
    return [
        item
        for item in texts
        if item.passage.text not in told
        and (item.verdict is not Verdict.DUPLICATE or heirs.get(item.passage.text) == key(item))
    ]


def candidate(entry: Entry, by: Weighing) -> Candidate:
    """A recorded candidate with the recency of a mix; the hash of its text replaces the text."""
    relevance = entry.score if entry.relevance is None else entry.relevance
    passage = Passage(
        entry.source,
        entry.id,
        entry.sha256,
        tokens=0,
        label=entry.label,
        similarity=entry.similarity,
        score=relevance,
        evidence=entry.evidence,
        created_at=entry.created_at,
    )
    boosts = {**entry.boosts, RECENCY: recency(entry.created_at, by.at, by.bias)}
    return Candidate(passage, entry.verdict, boosts)


def key(item: Candidate) -> tuple[str, str]:
    return item.passage.source, item.passage.id
