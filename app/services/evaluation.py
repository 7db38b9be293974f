"""A benchmark put through the service's own write side and retrieval: what was found for each question.

Four ways (`benchmark.ABLATIONS`). Nothing is cut off: every candidate counts, best first, down to LIMIT a
leg. A source that fails in a search is counted in `degraded`. The first questions are asked one after the
other, as one client does, and timed stage by stage. Raises what the write side raises.
Why so: docs/adr/0020, docs/adr/0004.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from app.domain.benchmark import ABLATIONS, SERVED, Benchmark, Question, Text
from app.retrieval.search import Retrieval
from app.services.shelf import Shelf, side_by_side
from app.stopwatch import Took, stage, watched
from app.types import Hit, Passage, Query

LIMIT = 50
"""Passages a leg: recall is measured to 20."""
BATCH = 64
"""Texts written at a time: a model's batch."""
AT_ONCE = 2
"""Batches written, and questions asked, at the same time: one computes while the other stores."""
WARM, TIMED = 20, 200
"""Questions asked alone: first some, while what is loaded at first use is loaded, then those timed."""
SOME = 5
"""The first of so many are WARM at most, where there are few."""
TOTAL = "total"

RANK = 60
"""Of the plain fusion: 1 / (RANK + place) a leg (Cormack, Clarke, Büttcher 2009)."""

Run = Mapping[str, Mapping[str, float]]
"""By question, by text: a score that falls from rank to rank."""
Step = Callable[[int], None]


@dataclass(slots=True)
class Found:
    """What came of it."""

    runs: Mapping[str, dict[str, dict[str, float]]] = field(
        default_factory=lambda: {name: {} for name in ABLATIONS}
    )
    """By ablation."""
    stored: int = 0
    degraded: Counter[str] = field(default_factory=Counter)
    """Questions by the source that failed them, `source: reason`."""
    took: list[Took] = field(default_factory=list)
    """Of each timed question, its stages and TOTAL. Nothing of it belongs into figures that repeat."""


class Evaluation:
    """One benchmark, one source."""

    def __init__(self, retrieval: Retrieval, shelf: Shelf, benchmark: Benchmark) -> None:
        self._retrieval = retrieval
        self._shelf = shelf
        self._benchmark = benchmark
        self.found = Found()

    async def file(self, step: Step) -> None:
        """Write all texts; `step` is told how many were taken."""
        whose: defaultdict[str | None, list[Text]] = defaultdict(list)
        for text in self._benchmark.texts:
            whose[text.scope].append(text)

        async def batch(name: str | None, at: int) -> None:
            some = whose[name][at : at + BATCH]
            stored = await self._shelf.put(name, some)
            self.found.stored += stored  # not before the wait: another batch adds meanwhile
            step(len(some))

        async def scope(name: str | None) -> None:
            starts = range(0, len(whose[name]), BATCH)
            await batch(name, 0)  # by itself: it makes what the others are put into
            hands = 1 if self._shelf.ordered else AT_ONCE
            await side_by_side(partial(batch, name), starts[1:], hands)

        await side_by_side(scope, whose, AT_ONCE)

    async def ask(self, step: Step) -> None:
        """Ask all questions."""
        every = self._benchmark.questions
        warm = min(WARM, len(every) // SOME)
        for place, question in enumerate(every[: warm + TIMED]):
            took = await self._asked(question, step)
            self.found.took += [took] if place >= warm else []

        async def one(question: Question) -> None:
            await self._asked(question, step)

        await side_by_side(one, every[warm + TIMED :], AT_ONCE)

    async def _asked(self, question: Question, step: Step) -> Took:
        """One question; how long its search took."""
        with watched() as took:
            ways = await self._ranked(question)
        for name, found in ways.items():
            self.found.runs[name][question.id] = found
        step(1)
        return took

    async def _ranked(self, question: Question) -> dict[str, dict[str, float]]:
        """By ablation: its texts, best first."""
        query = Query(question.text, self._shelf.scope(question.scope), limit=LIMIT, threshold=-1.0)
        with stage(TOTAL):
            found, every = await self._retrieval.apart(query, [self._shelf.source])
        self.found.degraded.update(f"{lost.source}: {lost.reason}" for lost in found.degraded)
        ways = {SERVED: [candidate.passage for candidate in found.candidates]}
        for legs in every:
            ways["words"] = [legs.passages[hit.key] for hit in legs.words]
            ways["meaning"] = [legs.passages[hit.key] for hit in legs.meaning]
            ways["fused"] = [legs.passages[key] for key in by_ranks(legs.words, legs.meaning)]
        return {way: self._told(question, ways.get(way, ())) for way in ABLATIONS}

    def _told(self, question: Question, passages: Iterable[Passage]) -> dict[str, float]:
        """The texts that passages are."""
        return ranks(name for passage in passages for name in self._shelf.names(question.scope, passage))


def by_ranks(*legs: Sequence[Hit]) -> list[str]:
    """Fusion the plain way, that the service's own must not lose to; equal ones by id."""
    scores: defaultdict[str, float] = defaultdict(float)
    for leg in legs:
        for place, hit in enumerate(leg, 1):
            scores[hit.key] += 1 / (RANK + place)
    return sorted(scores, key=lambda key: (-scores[key], key))


def ranks(names: Iterable[str]) -> dict[str, float]:
    """A score for each, the first one's highest: measures sort by score, and break ties in their own way."""
    return {name: -float(rank) for rank, name in enumerate(dict.fromkeys(names))}
