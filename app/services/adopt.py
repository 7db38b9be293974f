"""`ibid adopt`: what older tools wrote, taken over table by table and collection by collection.

First a sample is embedded and compared: vectors of our own model stay as they are, of another one, and where
there is none, the texts are embedded anew, beside theirs. What has a space is done, so an interrupted run
goes on and a second one finds nothing; what another tool writes meanwhile is tried again. Raises
`RetrievalError` if the embedder or Qdrant fails, `Unavailable`.
"""

from collections.abc import AsyncIterator, Awaitable, Sequence
from dataclasses import replace

from app.domain.adoption import SAMPLE, Foreign, Report, Rows, Shelf, Shelves, Taken, same
from app.domain.passage import Embedding
from app.domain.ports import Embedder
from app.domain.space import Space

BATCH = 64
"""Texts embedded and kept at a time: what an interruption can lose."""
ROUNDS = 3
"""Over a table that another tool keeps writing."""


class Adopt:
    """One run."""

    def __init__(self, rows: Rows, shelves: Shelves, embedder: Embedder, space: Space) -> None:
        self._rows = rows
        self._shelves = shelves
        self._embedder = embedder
        self._space = space
        self.report = Report(space.name)
        """What it came to, or (of a plan) would."""

    async def plan(self) -> Report:
        """What a run would do now; a sample of each table and collection is embedded, nothing is written."""
        report = Report(self._space.name, older=await self._rows.older())
        for table in self._rows.tables:
            stands = await self._rows.stands(table, self._space)
            kept = stands.fitting if await self._same(self._rows.sample(table, self._space, SAMPLE)) else 0
            taken = Taken(table, kept, stands.open - kept, stands.silent)
            report.tables.append(taken)
        for shelf in await self._shelves.found():
            report.collections.append(await self._planned(shelf))
        return report

    async def total(self) -> int:
        """Rows and points without a space of ours."""
        stands = [await self._rows.stands(table, self._space) for table in self._rows.tables]
        shelves = [await self._shelves.missing(shelf) for shelf in await self._shelves.found()]
        return sum(each.open for each in stands) + sum(shelves)

    async def run(self) -> AsyncIterator[int]:
        """Take everything over; yields how many rows or points each step took."""
        self.report = Report(self._space.name, older=await self._rows.older())
        for table in self._rows.tables:
            async for taken in self._table(table):
                yield taken
        carried = 0
        for shelf in await self._shelves.found():
            async for taken in self._shelf(shelf):
                carried += taken
                yield taken
        if carried:
            await self._shelves.settle()

    async def _table(self, table: str) -> AsyncIterator[int]:
        """One table, as often as another tool's writing makes it worth."""
        silent = (await self._rows.stands(table, self._space)).silent
        ours = await self._same(self._rows.sample(table, self._space, SAMPLE))
        taken = Taken(table, silent=silent)
        for _ in range(ROUNDS):
            taken = replace(taken, left=0)
            async for page in self._rows.open(table, self._space):
                async for done in self._page(table, page, ours=ours):
                    taken = together(taken, done)
                    yield done.kept + done.embedded
            if not taken.left:
                break
        self.report.tables.append(taken)

    async def _page(self, table: str, page: Sequence[Foreign], *, ours: bool) -> AsyncIterator[Taken]:
        """Some of its rows, step by step. `ours`: those whose vectors fit keep them."""
        said = [row for row in page if row.text]
        stay = [row for row in said if ours and row.fits]
        if stay:
            done = await self._rows.take(table, self._space, stay, [None] * len(stay))
            yield Taken(table, kept=done, left=len(stay) - done)
        async for batch, made in self._embedded([row for row in said if not (ours and row.fits)]):
            done = await self._rows.take(table, self._space, batch, made)
            yield Taken(table, embedded=done, left=len(batch) - done)

    async def _embedded(
        self, rows: Sequence[Foreign]
    ) -> AsyncIterator[tuple[Sequence[Foreign], list[Embedding]]]:
        """Some at a time."""
        for start in range(0, len(rows), BATCH):
            batch = rows[start : start + BATCH]
            yield batch, await self._embedder.passages([row.text for row in batch])

    async def _shelf(self, shelf: Shelf) -> AsyncIterator[int]:
        """One collection; nothing to do where its vectors are ours already."""
        taken = await self._stays(shelf)
        if taken is None:
            taken = Taken(shelf.name, silent=shelf.silent, home=self._shelves.home(shelf))
            async for done in self._shelves.carry(shelf):
                taken = replace(taken, embedded=taken.embedded + done)
                yield done
        self.report.collections.append(taken)

    async def _planned(self, shelf: Shelf) -> Taken:
        """What a run would do with it."""
        if stays := await self._stays(shelf):
            return stays
        missing = await self._shelves.missing(shelf)
        return Taken(shelf.name, embedded=missing, silent=shelf.silent, home=self._shelves.home(shelf))

    async def _stays(self, shelf: Shelf) -> Taken | None:
        """One whose vectors are of our space; None: it is to be carried."""
        if shelf.fits and not shelf.home and await self._same(self._shelves.sample(shelf, SAMPLE)):
            return Taken(shelf.name, kept=shelf.points, silent=shelf.silent)
        return None

    async def _same(self, sample: Awaitable[Sequence[tuple[str, Embedding]]]) -> bool:
        """Whether another tool's vectors are of our space."""
        pairs = await sample
        made = await self._embedder.passages([text for text, _ in pairs]) if pairs else []
        return same(list(zip(made, [vector for _, vector in pairs], strict=True)), self._space.floor)


def together(taken: Taken, more: Taken) -> Taken:
    """With what a step has done."""
    return replace(
        taken,
        kept=taken.kept + more.kept,
        embedded=taken.embedded + more.embedded,
        left=taken.left + more.left,
    )
