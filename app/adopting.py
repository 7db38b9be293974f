"""`ibid adopt`: what older tools wrote, taken over table by table and collection by collection.

Rows of the projects' tables get a space, points of Qdrant become rows of the record (`stores/imports.py`).
Qdrant follows by the outbox. Vectors are kept if a sample shows that they belong to our space, otherwise the
texts are embedded. An interrupted run goes on where it was, a second one finds nothing to do; what another
tool writes meanwhile is tried again. Raises `RetrievalError` if the embedder or Qdrant fails, `Unavailable`.
"""

import hashlib
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime

from app.clients.folder import hold
from app.clients.points import Point, Points, Where
from app.clients.postgres import open_postgres
from app.clients.qdrant import open_points
from app.config import Settings
from app.domain.adoption import SAMPLE, Foreign, Report, Taken, same
from app.domain.document import embedded_text
from app.domain.memory import RAW
from app.domain.passage import DEFAULT_TENANT, Embedding
from app.domain.ports import Embedder
from app.domain.space import Space
from app.index import payload, referred
from app.index.catalogue import Catalogue, fits
from app.keeping import kept_in, named
from app.models.patient import Patient
from app.models.tokens import O200k
from app.opened import open_space
from app.retrieval.index_cache import IndexCache
from app.retrieval.retrievers.qdrant import NOT_OURS, is_ours
from app.services.memories import counted
from app.stores.adoption import AdoptionStore
from app.stores.imports import Import, ImportStore

BATCH = 64
"""Texts embedded and kept, or points read, at a time: what an interruption can lose."""
ROUNDS = 3
"""Over a table that another tool keeps writing."""
HOME = "{}_ibid"


@dataclass(frozen=True, slots=True)
class Shelf:
    """A collection with points of older tools."""

    name: str
    missing: int
    """Points with a text and an owner that are not imported as they are now."""
    silent: int
    """Points without a text."""
    unowned: int
    fits: bool
    """Whether its vectors may belong to our space: width and distance agree."""
    home: str
    """Where Qdrant holds, or would hold, the copy of it."""
    imported: bool
    """Whether it was imported before."""


class Shelves:
    """The collections, and their import."""

    def __init__(
        self, points: Points, store: ImportStore, embedder: Embedder, space: Space, only: Collection[str] = ()
    ) -> None:
        """`only`: the collections to look at beside the memories; none named: all."""
        self._points = points
        self._catalogue = Catalogue(points)
        self._store = store
        self._embedder = embedder
        self._space = space
        self._only = only

    async def found(self, space: Space | None = None) -> list[Shelf]:
        """Those with points that older tools wrote. `space`: which their vectors may belong to; ours."""
        homes = (await self._store.homes()).homes
        shapes = await self._catalogue.all()
        taken, found = {*homes.values(), *shapes}, []
        for name, shape in shapes.items():
            if name in homes.values() or not (name == RAW or not self._only or name in self._only):
                continue
            home = homes.get(name) or free(name, taken)
            missing = silent = unowned = 0
            async for _, page in self._pages(name):
                told = [each for each in page if payload.text(each.payload)]
                owned = [each for each in told if owner(name, each.payload)]
                missing += len(await self._changed(name, owned))
                silent += len(page) - len(told)
                unowned += len(told) - len(owned)
            fit = fits(shape, space or self._space)
            found.append(Shelf(name, missing, silent, unowned, fit, home, name in homes))
            taken.add(home)
        return found

    async def is_same(self, shelf: Shelf) -> bool:
        """Whether its vectors belong to our space, by those of the first points."""
        pairs: list[tuple[str, Embedding]] = []
        if shelf.fits and shelf.missing:
            async for _, page in self._pages(shelf.name, vectors=True):
                texts = [(payload.text(each.payload), each.dense) for each in page]
                pairs += [(text, vector) for text, vector in texts if text and vector]
                if len(pairs) >= SAMPLE:
                    break
        return await self.same_space(pairs[:SAMPLE])

    async def same_space(self, pairs: Sequence[tuple[str, Embedding]]) -> bool:
        """Whether vectors of these texts belong to our space."""
        made = await self._embedder.passages([text for text, _ in pairs]) if pairs else []
        return same(list(zip(made, [vector for _, vector in pairs], strict=True)), self._space.floor)

    async def take(self, shelf: Shelf, space: Space | None) -> AsyncIterator[Taken]:
        """Import it, page by page. `space`: of its vectors; None: they are not kept."""
        await self._store.keep_home(shelf.name, shelf.home, space.name if space else None)
        async for since, page in self._pages(shelf.name, vectors=space is not None):
            owned = [each for each in page if payload.text(each.payload) and owner(shelf.name, each.payload)]
            changed = await self._changed(shelf.name, owned)
            points = [each for each in owned if each.id in changed]
            kept = [each for each in points if space and usable(each.dense, space)]
            if kept and space:
                vectors = [each.dense or b"" for each in kept]
                done = await self._write(shelf.name, kept, vectors, space, since)
                yield Taken(shelf.name, kept=done)
            if bare := [each for each in points if each not in kept]:
                vectors = await self._embedder.passages([input_of(shelf.name, each) for each in bare])
                done = await self._write(shelf.name, bare, vectors, self._space, since)
                yield Taken(shelf.name, embedded=done)

    async def _write(
        self, name: str, points: Sequence[Point], vectors: Sequence[Embedding], space: Space, since: datetime
    ) -> int:
        """Points as rows; how many."""
        tokens = await counted(O200k(), [payload.text(each.payload) for each in points])
        imports = []
        for each, vector, count in zip(points, vectors, tokens, strict=True):
            tenant, user = owner(name, each.payload) or ("", "")
            imports.append(Import(each, digest(each.payload), tenant, user, vector, count))
        return await self._store.take(name, imports, space.name, since=since)

    async def _changed(self, name: str, points: Sequence[Point]) -> set[str]:
        """Those that are not imported as they are now."""
        digests = {each.id: digest(each.payload) for each in points}
        return await self._store.changed(name, digests) if digests else set()

    async def _pages(
        self, name: str, *, vectors: bool = False
    ) -> AsyncIterator[tuple[datetime, list[Point]]]:
        """Older tools' points, and a time before they were read."""
        after, spaces = None, {self._space.name, *await self._store.spaces()}
        while True:
            since, others = await self._store.clock(), Where(lacks=NOT_OURS)
            page = await self._points.scroll(name, others, limit=BATCH, after=after, vectors=vectors)
            if not page:
                return
            after = page[-1].id
            yield since, [each for each in page if not is_ours(each.payload, spaces)]


class Adopt:
    """One run."""

    def __init__(
        self,
        rows: AdoptionStore,
        shelves: Shelves,
        embedder: Embedder,
        space: Space,
        fill: Callable[[], Awaitable[str]],
    ) -> None:
        """`fill`: lets Qdrant follow the record, and says what it has yet to take all the same."""
        self._rows = rows
        self._shelves = shelves
        self._embedder = embedder
        self._space = space
        self._fill = fill
        self.report = Report(space.name)
        """What it came to."""

    async def plan(self) -> Report:
        """What a run would do now; a sample of each table and collection is embedded, nothing is written."""
        report = Report(self._space.name, older=await self._rows.older())
        for table in self._rows.tables:
            stands = await self._rows.stands(table, self._space)
            kept = stands.fitting if await self._is_same(table) else 0
            report.tables.append(Taken(table, kept, stands.open - kept, stands.silent))
        for shelf in await self._found():
            kept = shelf.missing if await self._shelves.is_same(shelf) else 0
            report.collections.append(taken_of(shelf, kept=kept, embedded=shelf.missing - kept))
        return report

    async def total(self) -> int:
        """Rows and points to be taken over."""
        stands = [await self._rows.stands(table, self._space) for table in self._rows.tables]
        return sum(each.open for each in stands) + sum(shelf.missing for shelf in await self._found())

    async def run(self) -> AsyncIterator[int]:
        """Take everything over; yields how many rows or points each step took."""
        self.report = Report(self._space.name, older=await self._rows.older())
        for table in self._rows.tables:
            async for taken in self._table(table):
                yield taken
        for shelf in await self._found():
            taken_over = taken_of(shelf)
            if shelf.missing:
                space = self._space if await self._shelves.is_same(shelf) else None
                async for done in self._shelves.take(shelf, space):
                    taken_over = together(taken_over, done)
                    yield done.kept + done.embedded
            self.report.collections.append(taken_over)
        self.report.waiting = await self._fill()

    async def _found(self) -> list[Shelf]:
        """Collections with something to import, or of which something was imported."""
        return [shelf for shelf in await self._shelves.found() if shelf.missing or shelf.imported]

    async def _table(self, table: str) -> AsyncIterator[int]:
        """One table, as often as another tool's writing makes it worth."""
        ours = await self._is_same(table)
        taken = Taken(table, silent=(await self._rows.stands(table, self._space)).silent)
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
        others = [row for row in said if not (ours and row.fits)]
        for start in range(0, len(others), BATCH):
            batch = others[start : start + BATCH]
            made = await self._embedder.passages([row.text for row in batch])
            done = await self._rows.take(table, self._space, batch, made)
            yield Taken(table, embedded=done, left=len(batch) - done)

    async def _is_same(self, table: str) -> bool:
        """Whether a table's vectors belong to our space."""
        return await self._shelves.same_space(await self._rows.sample(table, self._space, SAMPLE))


def owner(name: str, facts: Mapping[str, object]) -> tuple[str, str] | None:
    """Tenant and user of a point; None: no question could reach it. Without a tenant it is the default one's;
    of a reference text the user is ""."""
    tenant, user = facts.get("tenant") or DEFAULT_TENANT, facts.get("user_id")
    if not isinstance(tenant, str) or "\0" in tenant:
        return None
    if name != RAW:
        return tenant, ""
    return (tenant, user) if isinstance(user, str) and user and "\0" not in user else None


def input_of(name: str, point: Point) -> str:
    """What is embedded of a point; of a reference text with its title, as of those that Ibid writes."""
    text = payload.text(point.payload)
    return text if name == RAW else embedded_text(referred.given(point).title, "", text)


def digest(facts: Mapping[str, object]) -> bytes:
    """Of a payload: equal ones say the same."""
    told = json.dumps(facts, sort_keys=True, default=str)
    return hashlib.blake2b(told.encode(), digest_size=16).digest()


def usable(vector: Embedding | None, space: Space) -> bool:
    """Whether a point's own vector can be kept: of the space's width, and not zero."""
    return vector is not None and len(vector) == 4 * space.dim and any(vector)


def free(name: str, taken: Collection[str]) -> str:
    """A name for our copy of a collection that no other has."""
    home = HOME.format(name)
    while home in taken:
        home = HOME.format(home)
    return home


def taken_of(shelf: Shelf, *, kept: int = 0, embedded: int = 0) -> Taken:
    """What is to be said of a collection."""
    return Taken(shelf.name, kept, embedded, shelf.silent, home=shelf.home, unowned=shelf.unowned)


def together(taken: Taken, more: Taken) -> Taken:
    """With what a step has done."""
    return replace(
        taken,
        kept=taken.kept + more.kept,
        embedded=taken.embedded + more.embedded,
        left=taken.left + more.left,
    )


@asynccontextmanager
async def open_adopt(settings: Settings) -> AsyncIterator[Adopt]:
    """The stores of the service's space, which no service uses meanwhile."""
    async with (
        hold(settings.ibid.data_dir),
        open_postgres(settings) as pool,
        open_space(settings, pool) as (model, space),
        open_points(settings, dim=space.dim) as points,
    ):

        async def fill() -> str:
            kept = await kept_in(settings, pool, space, IndexCache(space.dim), points)
            await kept.outbox.drain()
            return await kept.outbox.waits()

        embedder = Patient(model)
        shelves = Shelves(points, ImportStore(pool), embedder, space, named(settings))
        yield Adopt(AdoptionStore(pool), shelves, embedder, space, fill)
