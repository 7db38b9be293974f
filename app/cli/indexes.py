"""How `ibid doctor` looks at Chroma and Qdrant, the copies of Postgres: what is damaged is told, not moved.

A running service is asked instead where it holds the folder. Raises `Ailment`.
"""

import asyncio
from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

from app.cli.checks import Ailment
from app.cli.session import client, holder
from app.cli.store import open_store
from app.clients.chroma import open_chroma
from app.clients.chroma_process import Damaged
from app.clients.qdrant import open_points, too_old
from app.db.copies import ChromaCopy, Copy, QdrantCopy
from app.db.embedded import hold, read_lock
from app.db.outbox import DIFFERS, Outbox, State, state
from app.db.pool import Pool
from app.db.postgres import Behind, identity
from app.db.vectors import SpaceStore
from app.errors import RetrievalError, StartError
from app.retrieval.retrievers.qdrant import CollectionCache
from app.settings import OURS, Settings

MENDED = "start the service: what is damaged is set aside and made anew from Postgres"
REFILLED = "start the service: it is filled anew from Postgres, beside the searches"
PAUSES = (0.5, 2.0, 5.0)
"""Seconds before a part that did not answer is asked again: longer than its breaker leaves it alone."""
RUNNING = "embedded, open in the running service"


async def chroma(settings: Settings) -> str:
    """Chroma: the configured server, the folder's own through the service that holds it, or opened here."""
    if settings.chroma.url:
        async with open_chroma(settings) as opened:
            try:
                await opened.beat()
            except RetrievalError as error:
                said = f"{settings.chroma.url} does not answer ({error.reason})"
                raise Ailment(said, "check CHROMA_URL") from error
        return f"answers at {settings.chroma.url}"
    return RUNNING if await usable(settings, "chroma") else await embedded_chroma(settings)


async def embedded_chroma(settings: Settings) -> str:
    """The folder's own, opened here."""
    place = settings.ibid.data_dir / "chroma"
    async with hold(settings.ibid.data_dir):
        with TemporaryDirectory(dir=settings.scratch, prefix=OURS) as empty:
            # Where nothing is yet, the engine is tried elsewhere, and nothing is there for the first start.
            there = place.exists() and not (place.is_dir() and not any(place.iterdir()))
            async with open_chroma(settings, place if there else Path(empty), read_only=there) as opened:
                try:
                    if not await opened.ready():
                        raise Ailment(
                            "it takes more than a minute to open", "wait; the service starts without it"
                        )
                except StartError as error:
                    damaged = isinstance(error.__cause__, Damaged)
                    advice = MENDED if damaged else "see that there is room, and the right to write there"
                    raise Ailment(error.detail, advice) from error
    return "embedded"


async def qdrant(settings: Settings) -> str:
    """Qdrant: the configured server, the folder's own through the service that holds it, or opened here."""
    if settings.qdrant.url is None:
        if await usable(settings, "qdrant"):
            return RUNNING
        return await embedded_qdrant(settings)
    async with open_points(settings) as points:
        try:
            facts, found = await points.check(), await points.collections()
        except RetrievalError as error:
            advice = "check QDRANT_URL and QDRANT_API_KEY"
            raise Ailment(f"{settings.qdrant.url} does not answer ({error.reason})", advice) from error
    old = too_old(str(facts["version"]))
    if old:
        raise Ailment(old, "run Qdrant 1.19 or newer")
    return f"{facts['version']} at {settings.qdrant.url}, {len(found)} collections"


async def embedded_qdrant(settings: Settings) -> str:
    """The folder's own, opened here; nothing is put aside."""
    damaged: list[str] = []
    async with hold(settings.ibid.data_dir), open_points(settings, read_only=True) as points:
        points.on_set_aside(damaged.append)
        try:
            found = await points.collections()
        except RetrievalError as error:
            raise Ailment(f"its folder cannot be read ({error.reason})", MENDED) from error
    if damaged:
        raise Ailment(f"damaged: {', '.join(sorted(damaged))}", MENDED)
    return f"embedded, {len(found)} collections"


async def outbox(settings: Settings) -> str:
    """Whether the engines have what the record has. One that a running service has open is not opened: the
    service itself compares it with the record."""
    folder = settings.ibid.data_dir
    free = read_lock(folder) is None
    try:
        async with open_store(settings, migrate=False) as pool:
            space = await SpaceStore(pool).current()
            if space is None:
                return "not looked at before the first start"
            found = [f"{name} {waiting(await state(pool, name))}" for name in ("qdrant", "chroma")]
            # `open_store` holds the folder unless Postgres is elsewhere.
            async with hold(folder) if free and settings.postgres.dsn else nullcontext():
                if settings.qdrant.url or (free and (folder / "qdrant").exists()):
                    async with open_points(settings, dim=space.dim, read_only=True) as points:
                        await compare(pool, QdrantCopy(pool, points, CollectionCache(points), space))
                if settings.chroma.url or (free and (folder / "chroma").exists()):
                    async with open_chroma(settings, read_only=True) as chroma:
                        await compare(pool, ChromaCopy(pool, chroma, space))
    except Behind:
        return "not looked at: see postgres"
    return "; ".join(found)


async def compare(pool: Pool, copy: Copy) -> None:
    """`Ailment` if an engine has lost what it had taken from the record."""
    try:
        outbox = Outbox(pool, copy, await identity(pool))
        reason = await outbox.refill_reason() or (DIFFERS if await outbox.count_differs() else "")
    except RetrievalError:
        return  # told by the engine's own check
    if reason:
        raise Ailment(f"{copy.name} has to be filled anew: {reason}", REFILLED)


def waiting(state: State) -> str:
    """What an engine has yet to take."""
    if state.refill:
        return "is being filled anew"
    return f"has {state.backlog} changes to take" if state.waiting else "has all changes"


async def usable(settings: Settings, name: str) -> bool:
    """Whether a running service holds the folder, and uses this part of it; `Ailment` if it cannot. Under
    load a store may miss the two seconds that it is given: it is asked again before it is called ill."""
    lock = await holder(settings.ibid.data_dir)
    if lock is None:
        return False
    async with client(lock.url, lock.token) as service:
        for pause in (*PAUSES, None):
            response = await service.get("/readyz")
            try:  # a 503 has them too
                checks = response.json()["checks"]
            except (ValueError, KeyError, TypeError):
                said = f"{lock.url}/readyz answers {response.status_code} with what is no report"
                raise Ailment(said, "see the service's log; restart it") from None
            if any(check["ok"] for check in checks if check["name"] == name):
                return True
            if pause is not None:
                await asyncio.sleep(pause)
    raise Ailment("the running service cannot use it", "see the service's log; restart it")
