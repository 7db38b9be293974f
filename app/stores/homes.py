"""Which collection of ours stands for another tool's of points (`ibid.collection_home`, `clients/lodged.py`).

Written by `ibid adopt` before the first point is copied, read at each start. Raises `Unavailable`.
"""

from app.clients.faults import postgres_faults
from app.clients.pool import Pool

ALL = "SELECT name, home FROM ibid.collection_home"
KEEP = """
    INSERT INTO ibid.collection_home AS known (name, home) VALUES ($1, $2)
    ON CONFLICT (name) DO UPDATE SET home = known.home RETURNING home
"""


class HomeStore:
    """Keeps index/adoption.Homes."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def all(self) -> dict[str, str]:
        """Home by name; none before the first `ibid adopt`."""
        with postgres_faults():
            return {row[0]: row[1] for row in await self._pool.fetch(ALL)}

    async def keep(self, name: str, home: str) -> str:
        """Once for all, since what is written there is found there: the one that was kept first."""
        with postgres_faults():
            kept: str = await self._pool.fetchval(KEEP, name, home)
        return kept
