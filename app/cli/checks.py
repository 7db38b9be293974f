"""What `ibid doctor` looks at, one function a part: it returns what it found or raises `Ailment`.

Each looks for itself, so that one broken part does not hide the next. Sizes are bytes, times seconds.
"""

import asyncio
import os
import shutil
import sys
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path

import asyncpg
import orjson
from packaging.requirements import Requirement

from app.cli.store import held_dsn, open_store
from app.clients import damage
from app.clients.memory import open_outside
from app.clients.redis import open_cache
from app.db.embedded import hold, read_lock
from app.db.pool import postgres_faults
from app.db.postgres import Behind, open_server, superuser
from app.db.vectors import SpaceStore
from app.errors import IbidError, RetrievalError
from app.models.chat import chat_name, chat_server, open_line, told
from app.models.moderation import open_moderator
from app.models.rerank import open_reranker
from app.models.spaces import open_embedder
from app.retrieval.vocabulary import count
from app.settings import Settings
from app.types import Space

PYTHON = (3, 11)
DISK = 1 << 30
"""Free bytes below which an ingest of some filings may fill the disk."""
PATIENCE = 10
"""What an outside server has to answer."""
DAMAGES_SHOWN = 10
SENTENCE, TOKENS = "Where does a statement come from?", 7
"""o200k tokens of a sentence: a wrong vocabulary would count others."""


class Ailment(IbidError):
    """A part that is not well, and what to do."""

    slug, title = "ailment", "Not well"

    def __init__(self, said: str, advice: str) -> None:
        super().__init__(said)
        self.advice = advice


async def python(_settings: Settings) -> str:
    """The interpreter."""
    found = ".".join(map(str, sys.version_info[:3]))
    if sys.version_info < PYTHON:
        raise Ailment(found, "install Python 3.11 or newer, then: make install PYTHON=python3.12")
    return found


async def packages(_settings: Settings) -> str:
    """What pyproject.toml asks for, against what is installed."""
    wanted = [Requirement(line) for line in requires("ibid") or []]
    needed = [want for want in wanted if want.marker is None or want.marker.evaluate({"extra": ""})]
    if wrong := [told for want in needed if (told := unmet(want))]:
        raise Ailment(", ".join(wrong), "make install")
    return f"{len(needed)} as wanted"


def unmet(want: Requirement) -> str | None:
    """`chromadb 1.0.3 is not >=1.5.9`; None: as wanted."""
    try:
        found = version(want.name)
    except PackageNotFoundError:
        return f"{want.name} is missing"
    fits = want.specifier.contains(found, prereleases=True)
    return None if fits else f"{want.name} {found} is not {want.specifier}"


async def folder(settings: Settings) -> str:
    """The data folder: writable, with room, and who holds it."""
    place = settings.ibid.data_dir.absolute()
    existing = next(path for path in (place, *place.parents) if path.exists())
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise Ailment(f"{existing} cannot be written", "set IBID_DATA_DIR to a folder of yours")
    free = shutil.disk_usage(existing).free
    if free < DISK:
        raise Ailment(f"{free >> 20:,} MiB free at {existing}", "make room, or set IBID_DATA_DIR elsewhere")
    lock = read_lock(place)
    held = f", held by process {lock.pid} {lock.url}".rstrip() if lock else ""
    return f"{place}, {free >> 30:,} GiB free{held}"


async def postgres(settings: Settings) -> str:
    """PostgreSQL and pgvector."""
    where = "POSTGRES_DSN" if settings.postgres.dsn else "embedded"
    try:
        async with open_store(settings, migrate=False) as pool:
            with postgres_faults():
                server = await pool.fetchval("SHOW server_version")
                vector = await pool.fetchval("SELECT extversion FROM pg_extension WHERE extname = 'vector'")
    except Behind as error:
        raise Ailment(error.detail, "ibid migrate, once no service of an older version runs on it") from error
    except (asyncpg.PostgresError, asyncpg.InterfaceError) as error:
        raise Ailment(str(error), "see the server's log") from error
    return f"{server}, pgvector {vector} ({where})"


@asynccontextmanager
async def embedded(settings: Settings) -> AsyncIterator[str]:
    """The superuser's DSN of the embedded PostgreSQL: the running service's, or started here."""
    folder = settings.ibid.data_dir
    if lock := read_lock(folder):
        yield superuser(held_dsn(folder / "postgres", lock.url))
        return
    async with hold(folder), open_server(settings) as dsn:
        yield superuser(dsn)


async def files(settings: Settings) -> str:
    """Every table and index of the embedded PostgreSQL, read once."""
    if settings.postgres.dsn:
        return "not checked: POSTGRES_DSN is set; run pg_amcheck there"
    if not (settings.ibid.data_dir / "postgres" / "data").exists():
        return "none yet"
    with postgres_faults():
        async with embedded(settings) as dsn:
            found = await damage.look(dsn)
    if found.damages:
        listed = "; ".join(map(str, found.damages[:DAMAGES_SHOWN]))
        more = f" and {len(found.damages) - DAMAGES_SHOWN} more" if len(found.damages) > DAMAGES_SHOWN else ""
        raise Ailment(f"damaged: {listed}{more}", mending(found.damages, settings.ibid.data_dir))
    rest = "" if found.read == found.there else f" of {found.there:,} in {damage.SECONDS:.0f} seconds"
    return f"{found.read:,} tables and indexes read{rest}"


def mending(damages: Sequence[damage.Damage], folder: Path) -> str:
    """What to do about them: an index can be made anew, what is lost of a table cannot."""
    if all(each.is_index for each in damages):
        return "ibid doctor --rebuild-indexes makes them anew from their tables; nothing is lost"
    return (
        f"Stop the service and restore {folder.absolute()} from a backup. If there is none, copy the folder,"
        " then run `ibid doctor --give-up-pages --rebuild-indexes`. It deletes the rows on damaged pages, and"
        " all rows of a table whose file is missing."
    )


async def embedder(settings: Settings) -> str:
    """The embedding model: its space, its floor, and one text embedded."""
    recorded, stored = await recorded_space(settings)
    async with open_embedder(settings, recorded, stored=stored) as (model, space):
        try:
            vector = await model.query(SENTENCE)
        except RetrievalError as error:
            advice = "check EMBED_BASE_URL, EMBED_MODEL and the key"
            raise Ailment(f"{space.name} does not answer ({error.reason})", advice) from error
    return f"{space.name}, {len(vector) // 4} dimensions, floor {space.floor:.2f}"


async def recorded_space(settings: Settings) -> tuple[Space | None, bool]:
    """The stores' space, and whether they hold vectors of it; nothing where they cannot be asked."""
    try:
        async with open_store(settings, migrate=False) as pool:
            store = SpaceStore(pool)
            space = await store.current()
            return space, bool(space and await store.vectors_in(space.name))
    except IbidError:
        return None, False  # told by the check of Postgres


async def tokenizer(_settings: Settings) -> str:
    """The vocabulary that budgets are counted with."""
    found = count(SENTENCE)
    if found != TOKENS:
        raise Ailment(f"counts {found} tokens where o200k has {TOKENS}", "make install")
    return "o200k"


async def chat(settings: Settings) -> str:
    """The chat model: whether its server answers. No answer is asked for: it may cost money."""
    at = chat_server(settings)
    if at is None:
        return "none configured: answers quote the sentences that fit best"
    name = chat_name(settings)
    async with open_line(at, f"{at.url.rstrip('/')}/models", accept="application/json") as line:
        try:
            listed = names(await line.get(PATIENCE))
        except line.faults as error:
            if getattr(error, "status_code", None) in (404, 405):
                return f"{name} at {at.url}, which does not list its models"
            advice = "check CHAT_BASE_URL (with /v1), CHAT_API_KEY or OPENAI_API_KEY"
            raise Ailment(f"{at.url}: {told(error, line).detail}", advice) from error
    shown = "" if name in listed else f"; its list has only {', '.join(listed[:5]) or 'none'}: see CHAT_MODEL"
    return f"{name} at {at.url}{shown}"


def names(said: bytes) -> list[str]:
    """Of the models in a server's list; none where it is no list."""
    try:
        return [str(model["id"]) for model in orjson.loads(said)["data"]]
    except (ValueError, TypeError, KeyError):
        return []


async def cache(settings: Settings) -> str:
    """The cache that replicas share, where it is configured."""
    async with open_cache(settings) as redis:
        if redis is None:
            return "in this process"
        try:
            told = await redis.ping()
        except IbidError as error:
            raise Ailment(error.detail, "check CACHE_URL, with its password") from error
    return f"{told['server']} {told['version']} (CACHE_URL)"


async def memory(settings: Settings) -> str:
    """The memory services: built in, unless there is an outside one."""
    async with open_outside(settings) as outside:
        if outside is None:
            return "built in"
        try:
            await outside.check()
        except RetrievalError as error:
            said = f"{settings.memory.service_url} does not answer ({error.reason})"
            raise Ailment(said, "check MEMORY_SERVICE_URL") from error
    return f"{settings.memory.service_url} answers"


async def rerank(settings: Settings) -> str:
    """The second stage: whether its server scores two texts as it should."""
    async with open_reranker(settings) as reranker:
        if reranker is None:
            return "none: candidates stay in the first stage's order"
        try:
            async with asyncio.timeout(PATIENCE):
                await reranker.scores(SENTENCE, [SENTENCE, "-"])
        except (RetrievalError, TimeoutError) as error:
            said = f"{reranker.name} gives no scores ({getattr(error, 'reason', 'timeout')})"
            raise Ailment(said, "check RERANK_URL, RERANK_MODEL and RERANK_API_KEY") from error
    return f"{reranker.name} answers"


async def moderation(settings: Settings) -> str:
    """The outside judge of messages: whether it gives scores for one."""
    async with open_moderator(settings) as moderator:
        if moderator is None:
            return "none: the policy decides by the text alone"
        try:
            async with asyncio.timeout(PATIENCE):
                await moderator.scores(SENTENCE)
        except (RetrievalError, TimeoutError) as error:
            said = f"{moderator.line.address} gives no scores ({getattr(error, 'reason', 'timeout')})"
            advice = "check VANTAGE_RISK_URL, VANTAGE_RISK_MODEL and VANTAGE_RISK_API_KEY"
            raise Ailment(said, advice) from error
    return f"{moderator.line.address} answers"
