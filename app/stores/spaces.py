"""The embedding spaces that vectors were written in; one is current (`ibid.space`).

A space's floor is measured when it is first used and kept with it (CONTRACT §0). Raises `Unavailable`.
"""

from app.clients.faults import postgres_faults
from app.clients.pool import Pool
from app.domain.errors import Missing
from app.domain.space import Space
from app.stores.transaction import transaction

CURRENT = "SELECT name, model, dim, floor FROM ibid.space WHERE current"
NAMED = "SELECT name, model, dim, floor FROM ibid.space WHERE name = $1"
KEEP = "INSERT INTO ibid.space (name, model, dim, floor) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
LEAVE = "UPDATE ibid.space SET current = false WHERE current AND name <> $1"
ENTER = "UPDATE ibid.space SET current = true WHERE name = $1 RETURNING name"
VECTORS = """
    SELECT (SELECT count(*) FROM ibid.chunk WHERE space = $1)
        + (SELECT count(*) FROM ibid.memory WHERE space = $1)
        + (SELECT count(*) FROM ibid.corpus_text WHERE space = $1)
        + (SELECT count(*) FROM public.conversation_index WHERE space = $1)
        + (SELECT count(*) FROM public.code_index WHERE space = $1)
"""


async def read_spaces(pool: Pool) -> list[str]:
    """Names of all spaces that were ever used."""
    with postgres_faults():
        return [row[0] for row in await pool.fetch("SELECT name FROM ibid.space")]


class SpaceStore:
    """The spaces."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def current(self) -> Space | None:
        """The space that the service's vectors belong to; None before the first start."""
        with postgres_faults():
            row = await self._pool.fetchrow(CURRENT)
        return Space(**row) if row else None

    async def named(self, name: str) -> Space | None:
        """A space that was used before, with its floor."""
        with postgres_faults():
            row = await self._pool.fetchrow(NAMED, name)
        return Space(**row) if row else None

    async def keep(self, space: Space) -> None:
        """Record a space; one that is there keeps its floor, which its thresholds were told by."""
        with postgres_faults():
            await self._pool.execute(KEEP, space.name, space.model, space.dim, space.floor)

    async def make_current(self, name: str) -> None:
        """From now on vectors are written in this space. `Missing`: it was not kept."""
        async with transaction(self._pool) as connection:
            await connection.execute(LEAVE, name)
            if not await connection.fetchval(ENTER, name):
                raise Missing("there is no such embedding space")

    async def vectors_in(self, name: str) -> int:
        """Texts whose vectors belong to it: chunks, memories, the corpus, rows of projects."""
        with postgres_faults():
            return int(await self._pool.fetchval(VECTORS, name))
