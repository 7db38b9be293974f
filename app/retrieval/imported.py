"""Collections of other tools, and the collection in which Qdrant holds our copy instead.

A collection that `ibid adopt` imported stays its tool's: Ibid never writes there, and keeps its copy of the
rows in another collection (`ibid.collection_home`). Points that the tool writes later are searched where they
are, if their vectors belong to the current space; those that were imported are left out. The same holds for a
collection that has the name of one of ours and cannot hold our vectors. Raises `RetrievalError`.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from app.db.pool import Pool, retrieval_faults

IDS = "SELECT point, id FROM ibid.imported WHERE collection = $1 AND point = ANY($2)"
COUNT = "SELECT count(*) FROM ibid.imported WHERE collection = $1 AND tenant = $2 AND user_id = $3"


HOME = "{}_ibid"
NOT_IMPORTED = ""
"""In place of a space: the collection was not imported, another tool only uses the same name."""


@dataclass(slots=True)
class Homes:
    """Where the copy of each collection is. For most collections: under its own name. The copy keeps it up to
    date for the sources."""

    homes: dict[str, str] = field(default_factory=dict)
    """The name of our copy, by the name of the other tool's collection."""
    spaces: dict[str, str | None] = field(default_factory=dict)
    """The embedding space of its own vectors; None: another model's; NOT_IMPORTED."""

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
            return self.spaces[physical] in {space, NOT_IMPORTED}
        return physical not in self.homes.values()

    def is_imported(self, name: str) -> bool:
        """Whether `ibid adopt` imported the collection."""
        return self.spaces.get(name, NOT_IMPORTED) != NOT_IMPORTED


def free(name: str, taken: Collection[str]) -> str:
    """A name for our copy of a collection that no other has."""
    home = HOME.format(name)
    while home in taken:
        home = HOME.format(home)
    return home


async def imported(pool: Pool, collection: str, points: Iterable[str]) -> dict[str, str]:
    """The row's id of each of these points that was imported, whether or not the row is still there."""
    with retrieval_faults():
        return {row[0]: row[1] for row in await pool.fetch(IDS, collection, list(points))}


async def imported_count(pool: Pool, collection: str, tenant: str, user_id: str = "") -> int:
    """How many points of an owner were imported."""
    with retrieval_faults():
        return int(await pool.fetchval(COUNT, collection, tenant, user_id))
