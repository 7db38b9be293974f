"""The reads of one open collection of the embedded engine. Everything here blocks; safe in threads.

The engine ranks, and gives ids and scores; points that were read before, and counts, are at hand until
somebody writes (`hand.py`, `tally.py`). Raises `RetrievalError` and `Broken` (`broken.py`).
"""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

import qdrant_edge as engine

from app.clients import phrase, rounds, ties, weights
from app.clients.broken import engine_faults
from app.clients.hand import Hand, Identity, Kept, kept
from app.clients.points import Ask, Point, Where
from app.clients.tally import Tally

EVERY = Where()
"""All points of a collection."""


class Reader:
    """See the module. Whoever writes says so (`_changing`)."""

    def __init__(self, vendor: engine.EdgeShard, hand: Hand | None = None) -> None:
        self._vendor = vendor
        self._hand = hand or Hand()
        self._mark = object()
        """What is at hand of this collection's: of nobody else's, nor of what stood here before."""
        self._counts = Tally[Where, int]()
        self._rarities = Tally[weights.Word, float]()
        self._written = 0
        """Writes that were made."""
        self._busy = False
        """One is being made."""

    def ranked(self, asks: Sequence[Ask]) -> list[list[Point]]:
        """One list an ask: scores are the asker's alone (`weights.py`), equal ones by id (`ties.py`)."""
        found, before, spares = list[list[Point]](), None, ties.spares(asks)
        while spares != before:
            found = self._weighed(ties.widened(asks, spares))
            before, spares = spares, ties.grown(asks, found, spares)
        return ties.settled(asks, found)

    def _weighed(self, asks: Sequence[Ask]) -> list[list[Point]]:
        """As the engine has them, the scores made here."""
        return rounds.weighed(asks, self.search, self._rarities, self._current())

    def search(self, asks: Sequence[Ask]) -> list[list[Point]]:
        """One list an ask, as the engine has it. Beside a write nothing is at hand: points are ranked and
        read at once, lest what is read is another state than what was ranked."""
        current, vendor = self._current(), self._vendor
        with engine_faults:
            if current() and (found := self._at_hand(vendor, asks, current)):
                return found
            batch = engine.QueryBatchRequest([phrase.question(ask, whole=True) for ask in asks])
            return [[phrase.told(found) for found in row] for row in vendor.query_batch(batch)]

    def _at_hand(
        self, vendor: engine.EdgeShard, asks: Sequence[Ask], current: Callable[[], bool]
    ) -> list[list[Point]] | None:
        """Ranked by the engine, read before; None: somebody writes."""
        batch = engine.QueryBatchRequest([phrase.question(self._eased(ask), whole=False) for ask in asks])
        rows = [[(found.id, found.score) for found in row] for row in vendor.query_batch(batch)]
        shown = {key for ask, row in zip(asks, rows, strict=True) if shows(ask) for key, _ in row}
        held = self._read(vendor, shown, current)
        return [answered(ask, row, held) for ask, row in zip(asks, rows, strict=True)] if current() else None

    def _eased(self, ask: Ask) -> Ask:
        """Without the conditions that leave all points, as they were counted since the last write: the engine
        looks at each point for each of them, which takes longer than ranking them all."""
        every = self._counts.known(EVERY)
        if every is None or ask.among or self._counts.known(replace(ask.where, ids=None)) != every:
            return ask
        return replace(ask, where=Where(ids=ask.where.ids))

    def _read(
        self, vendor: engine.EdgeShard, ids: Collection[Identity], current: Callable[[], bool]
    ) -> Mapping[Identity, Kept]:
        """These points."""
        held = self._hand.known(self._mark, ids)
        if missing := [key for key in ids if key not in held]:
            found = vendor.retrieve(missing, True, [phrase.WORDS])
            read = {record.id: kept(phrase.told(record)) for record in found}
            self._hand.keep(self._mark, read, current)
            held |= read
        return held

    def _current(self) -> Callable[[], bool]:
        """Whether nobody writes, or has written since now."""
        written, calm = self._written, not self._busy
        return lambda: calm and not self._busy and self._written == written

    def scroll(self, where: Where, limit: int, after: str | None, *, vectors: bool) -> list[Point]:
        """Points by id, those after `after`."""
        with engine_faults:
            rows, _ = self._vendor.scroll(
                engine.ScrollRequest(
                    offset=None if after is None else phrase.identity(after),
                    limit=limit + (after is not None),
                    filter=phrase.condition(where),
                    with_payload=True,
                    with_vector=vectors,
                )
            )
        return [point for point in map(phrase.told, rows) if point.id != after][:limit]

    def count(self, where: Where) -> int:
        """How many."""
        current, known = self._current(), self._counts.known(where)
        if known is not None:
            return known
        with engine_faults:
            found = self._vendor.count(engine.CountRequest(exact=True, filter=phrase.condition(where)))
        if where.ids is None:  # names are of one question, and may be many
            self._counts.keep(where, found, current)
            if where != EVERY and current():
                self.count(EVERY)  # whether it leaves all of them
        return found

    @contextmanager
    def _changing(self, ids: Collection[Identity] | None = None) -> Iterator[None]:
        """Around a write of these points, or of any: what was read and counted before is not given again. One
        writer at a time."""
        self._busy = True
        try:
            yield
        finally:  # half of it may be done
            self._written += 1
            self._hand.forget(self._mark, ids)
            self._counts.forget()
            self._rarities.forget()
            self._busy = False


def shows(ask: Ask) -> bool:
    """Whether an ask wants more of its points than their names."""
    return ask.payload or ask.vectors


def answered(ask: Ask, row: Sequence[tuple[Identity, float]], held: Mapping[Identity, Kept]) -> list[Point]:
    """An ask's points with what it wants of them, words as they are at hand (`rounds.py` unpacks them)."""
    if not shows(ask):
        return [Point(str(key), score=score) for key, score in row]
    return [
        Point(one.id, one.payload if ask.payload else {}, None, one.words if ask.vectors else None, score)
        for key, score in row
        if (one := held.get(key))
    ]
