"""Collections of older tools that `ibid adopt` imported, and the collection in which Qdrant holds our copy.

An imported collection stays its tool's: Ibid never writes there, and keeps its copy of the rows in another
collection (`ibid.collection_home`). Points that the tool writes later are searched where they are, if their
vectors belong to the current space; those that were imported are left out. Raises `RetrievalError`.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from app.db.pool import Pool, retrieval_faults

IDS = "SELECT point, id FROM ibid.imported WHERE collection = $1 AND point = ANY($2)"
COUNT = "SELECT count(*) FROM ibid.imported WHERE collection = $1 AND tenant = $2 AND user_id = $3"


@dataclass(frozen=True, slots=True)
class Homes:
    """Where the copy of each collection is. For most collections: under its own name."""

    homes: Mapping[str, str] = field(default_factory=dict)
    """The name of our copy, by the name of the imported collection."""
    spaces: Mapping[str, str | None] = field(default_factory=dict)
    """The embedding space of its own vectors; None: another model's."""

    def copy_of(self, name: str) -> str:
        """The collection in Qdrant that holds our copy."""
        return self.homes.get(name, name)

    def name_of(self, physical: str) -> str | None:
        """The inverse of `copy_of`; None: an imported collection itself, which holds no copy of ours."""
        if physical in self.homes:
            return None
        return next((name for name, home in self.homes.items() if home == physical), physical)

    def has_others(self, physical: str, space: str) -> bool:
        """Whether points of other tools may be there that a search in this space should find."""
        if physical in self.homes:
            return self.spaces[physical] == space
        return physical not in self.homes.values()


NONE = Homes()


async def imported(pool: Pool, collection: str, points: Iterable[str]) -> dict[str, str]:
    """The row's id of each of these points that was imported, whether or not the row is still there."""
    with retrieval_faults():
        return {row[0]: row[1] for row in await pool.fetch(IDS, collection, list(points))}


async def imported_count(pool: Pool, collection: str, tenant: str, user_id: str = "") -> int:
    """How many points of an owner were imported."""
    with retrieval_faults():
        return int(await pool.fetchval(COUNT, collection, tenant, user_id))
