"""A benchmark put through the service's own write side and retrieval: what was found for each question.

Nothing is cut off: every candidate counts, best first, down to LIMIT a leg. A source that fails in a search
is counted in `degraded`. Raises what the write side raises. Why so: docs/decisions/0033-evaluation.md.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

from app.domain.benchmark import Benchmark, Question, Text
from app.domain.passage import Query
from app.services.retrieval import Retrieval
from app.services.shelf import Shelf, side_by_side

LIMIT = 50
"""Passages a leg: recall is measured to 20."""
BATCH = 64
"""Texts written at a time: a model's batch."""
AT_ONCE = 2
"""Scopes written, and questions asked, at the same time: one computes while the other stores."""

Run = Mapping[str, Mapping[str, float]]
"""By question, by text: a score that falls from rank to rank."""
Step = Callable[[int], None]


@dataclass(slots=True)
class Found:
    """What came of it."""

    run: dict[str, dict[str, float]] = field(default_factory=dict)
    stored: int = 0
    degraded: Counter[str] = field(default_factory=Counter)
    """Questions by the source that failed them, `source: reason`."""


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

        async def scope(name: str | None) -> None:
            for at in range(0, len(whose[name]), BATCH):
                some = whose[name][at : at + BATCH]
                stored = await self._shelf.put(name, some)
                self.found.stored += stored  # not before the wait: another scope adds meanwhile
                step(len(some))

        await side_by_side(scope, whose, AT_ONCE)

    async def ask(self, step: Step) -> None:
        """Ask all questions."""

        async def one(question: Question) -> None:
            self.found.run[question.id] = await self._ranked(question)
            step(1)

        await side_by_side(one, self._benchmark.questions, AT_ONCE)

    async def _ranked(self, question: Question) -> dict[str, float]:
        """Its texts, best first."""
        scope = self._shelf.scope(question.scope)
        query = Query(question.text, scope, limit=LIMIT, threshold=-1.0)
        found = await self._retrieval.gather(query, [self._shelf.source])
        self.found.degraded.update(f"{lost.source}: {lost.reason}" for lost in found.degraded)
        passages = [candidate.passage for candidate in found.candidates]
        return ranks(name for passage in passages for name in self._shelf.names(question.scope, passage))


def ranks(names: Iterable[str]) -> dict[str, float]:
    """A score for each, the first one's highest: measures sort by score, and break ties in their own way."""
    return {name: -float(rank) for rank, name in enumerate(dict.fromkeys(names))}
