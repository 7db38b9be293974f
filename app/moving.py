"""`ibid reembed`, `ibid adopt`: the stores opened for a move to another embedding space, and for what older
tools left in them (a part of `wiring.py`).

Both need the data folder for themselves. Raises `StartError`, and what the work raises.
"""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from app.clients.chroma import open_chroma
from app.clients.folder import hold
from app.clients.guarded import open_points
from app.clients.points import DENSE, Points
from app.clients.pool import Pool
from app.clients.postgres import open_postgres
from app.config import Settings
from app.domain.errors import Unavailable
from app.domain.memory import RAW
from app.index.adoption import Engine, ShelfAdoption
from app.index.resettle import Resettlement
from app.keeping import kept_in, named, open_kept
from app.models.patient import Patient
from app.models.spaces import open_embedder
from app.opened import open_space, open_vectors
from app.retrieval.index_cache import IndexCache
from app.services.adopt import Adopt
from app.services.reembed import Reembed
from app.stores.adoption import AdoptionStore
from app.stores.copies import FIELDS, KnownPoints
from app.stores.homes import HomeStore
from app.stores.outbox import Outbox
from app.stores.spaces import SpaceStore
from app.stores.vectors import VectorStore


ELSEWHERE_SECONDS = 10.0
"""For another process that drains an engine of several services to be done with it."""


@asynccontextmanager
async def open_reembed(settings: Settings) -> AsyncIterator[Reembed]:
    """The move to the configured space, on stores that no service uses meanwhile."""
    async with hold(settings.ibid.data_dir), open_postgres(settings) as pool:
        recorded = await SpaceStore(pool).current()
        async with (
            open_embedder(settings, recorded, stored=False) as (model, space),
            open_chroma(settings) as chroma,
            open_vectors(pool, chroma, space) as (_, outbox),
            open_kept(settings, pool, space, IndexCache(space.dim)) as kept,
        ):
            embedder = Patient(model)
            spaces = await SpaceStore(pool).names()
            move = Resettlement(kept.points, embedder, space, settings.ibid.data_dir, spaces)
            indexes = Indexes(pool, (outbox, kept.outbox), move, kept.points)
            yield Reembed(VectorStore(pool), embedder, indexes, space)


class Indexes:
    """Every index, filled anew for a space that the record has moved to (`services/reembed.Index`)."""

    def __init__(self, pool: Pool, outboxes: Sequence[Outbox], move: Resettlement, points: Points) -> None:
        self._known = KnownPoints(pool)
        self._homes = HomeStore(pool)
        self._outboxes = outboxes
        self._move = move
        self._points = points

    async def rebuild(self) -> None:
        """Points that others wrote are set aside, the engines filled, and those points given back."""
        stocks = await self._known.collections()
        # A collection that another tool made, and that holds nothing of ours, is left to `ibid adopt`.
        theirs = {each.name for each in await self._points.collections() if each.dense != DENSE}
        names = [*stocks, *await self._homes.all(), *({RAW} - theirs)]
        for name in names:
            await self._move.clear(name, self._known.known)
        for outbox in self._outboxes:
            await outbox.drain()
            if not await outbox.followed(ELSEWHERE_SECONDS):
                raise Unavailable("another process fills the engines; try again when it has ended")
        for name in names:
            await self._move.restore(name, FIELDS)


@asynccontextmanager
async def open_adopt(settings: Settings) -> AsyncIterator[Adopt]:
    """What older tools wrote, and what takes it over into the service's space."""
    async with (
        hold(settings.ibid.data_dir),
        open_postgres(settings) as pool,
        open_space(settings, pool) as (model, space),
        open_points(settings, dim=space.dim) as points,
    ):
        embedder = Patient(model)
        engine = Engine(points, embedder, space, lambda _: FIELDS, named(settings))

        async def settle() -> None:
            kept = await kept_in(settings, pool, space, IndexCache(space.dim), points)
            await kept.outbox.ask_refill()
            await kept.outbox.drain()

        shelves = ShelfAdoption(engine, KnownPoints(pool), HomeStore(pool), settle)
        yield Adopt(AdoptionStore(pool), shelves, embedder, space)
