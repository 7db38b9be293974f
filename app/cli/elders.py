"""What `ibid doctor` says of older tools' rows and collections: what is not adopted, or waits for a move.

Looks alone. Raises `Ailment`, and what the stores raise.
"""

from app.cli.checks import Ailment
from app.cli.store import open_store
from app.clients.qdrant import open_points
from app.db.collections import read_imported_collections, read_unimported
from app.db.memories import RAW
from app.db.pool import Pool
from app.db.postgres import Behind
from app.db.vectors import SpaceStore
from app.errors import RetrievalError
from app.retrieval.retrievers.qdrant import fits
from app.services.adopt import AdoptionStore, Table
from app.settings import Settings
from app.types import Space

ADOPT, MOVE = (
    "ibid adopt, with no service on the folder; --dry-run first tells how much it is",
    "ibid reembed",
)
AGAIN = "ibid adopt once more, with no service on the folder"


async def older(settings: Settings) -> str:
    """Rows of the projects' tables, and the collections of a Qdrant server (nobody else writes our own)."""
    try:
        async with open_store(settings, migrate=False) as pool:
            space = await SpaceStore(pool).current()
            if space is None:
                return "not looked at before the first start"
            store = AdoptionStore(pool)
            tables = [await store.stands(table, space) for table in store.tables]
            foreign = await strangers(settings, pool, space)
    except Behind:
        return "not looked at: see postgres"
    told(tables, foreign, space)
    return f"{sum(each.ours for each in tables):,} rows of projects in {space.name}"


async def strangers(settings: Settings, pool: Pool, space: Space) -> dict[str, str]:
    """Collections that something is to be done about, with what: their vectors are of another space, or an
    earlier version adopted them, which made no rows of their points."""
    if settings.qdrant.url is None:
        return {}
    imports = await read_imported_collections(pool)
    copies = imports.copies
    async with open_points(settings, dim=space.dim) as points:
        try:
            shapes = await points.collections()
        except RetrievalError:  # told by the check of Qdrant
            return {}
    odd = [each.name for each in shapes if not fits(each, space)]
    moved = {name: MOVE for name in odd if name in copies.values()}
    kept = {each.name for each in shapes if each.points}
    again = {name: AGAIN for name in await read_unimported(pool) if name in kept}
    return again | moved | ({RAW: ADOPT} if RAW in odd and not imports.is_imported(RAW) else {})


def told(tables: list[Table], foreign: dict[str, str], space: Space) -> None:
    """What is not well, the first advice that helps."""
    moving = [f"{each.elsewhere:,} rows of {each.table}" for each in tables if each.elsewhere]
    moving += [name for name, advice in foreign.items() if advice == MOVE]
    if moving:
        raise Ailment(f"in another space than {space.name}: {', '.join(moving)}", MOVE)
    left = [f"{each.open:,} rows of {each.table}" for each in tables if each.open]
    left += [name for name, advice in foreign.items() if advice == ADOPT]
    if left:
        raise Ailment(f"another tool's, with no vector of {space.name}: {', '.join(left)}", ADOPT)
    if again := [name for name, advice in foreign.items() if advice == AGAIN]:
        raise Ailment(
            f"adopted by an earlier version, and not listed or found by words: {', '.join(again)}", AGAIN
        )
