"""The record's files after an erasure (`domain/holding.Files`): the tables of a holding, rewritten.

The embedded server is ours to rewrite; of a configured one (POSTGRES_DSN) vacuum and log are its operator's.
Raises `Unavailable`.
"""

from collections.abc import Collection

from app.clients.pool import Pool
from app.clients.vacuum import compact
from app.stores.belongings import TABLES

MARKS = "ibid.memory_user"
"""Rewritten each time: it is small."""


class RecordFiles:
    """Those of Postgres."""

    name = "postgres"

    def __init__(self, pool: Pool) -> None:
        self._superuser = pool.superuser

    @property
    def external(self) -> bool:
        """Whether the server is another's."""
        return self._superuser is None

    async def compact(self, holdings: Collection[str]) -> Collection[str]:
        """The tables of these holdings, largest last, as TABLES names them; nothing is left."""
        tables = [table for name in TABLES if name in holdings for table in TABLES[name]]
        if self._superuser is not None and tables:
            await compact(self._superuser, [MARKS, *tables])
        return ()
