"""`ibid doctor`: checks every part; reports the result and, for a part that fails, what to do.

Exit 0 if all is well, 1 if one part is not. Each check is independent, so that one broken part does not hide
the next: it returns a description or raises `Ailment`. Nothing is changed, except that a missing data folder
is created: a start of the service migrates, moves and tidies. Two options repair damage of Postgres.
"""

import asyncio
import os
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, nullcontext
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, TypeVar

import asyncpg
import orjson
import typer

from app.cli.client import client, holder
from app.cli.store import held_dsn, open_store
from app.cli.terminal import DataDir, Json, as_json, run, settings, tell
from app.db import damage
from app.db.damage import Damage
from app.db.folder import hold, read_lock
from app.db.memories import RAW
from app.db.memory_service import open_outside
from app.db.outbox import Copy, EngineState, Outbox, state
from app.db.pool import Pool, postgres_faults
from app.db.postgres import Behind, identity, open_server, superuser
from app.db.vectors import SpaceStore
from app.errors import IbidError, RetrievalError, StartError
from app.models.chat import chat_name, chat_server
from app.models.client import FAULTS, Refused, model_error, open_client
from app.models.moderation import open_moderator
from app.models.rerank import open_reranker
from app.models.spaces import open_embedder
from app.retrieval.copies import ChromaCopy, QdrantCopy, read_imported_collections, read_unimported
from app.retrieval.redis import open_cache
from app.retrieval.retrievers.chroma import ChromaDamaged, open_chroma
from app.retrieval.retrievers.qdrant import CollectionCache, fits, open_points, too_old
from app.services.adopt import AdoptionStore, TableState
from app.settings import OURS, Settings
from app.types import Space

DISK = 1 << 30
"""Free bytes below which an ingest may fill the disk."""
SERVER_SECONDS = 10
"""Deadline of an outside server's reply."""
DAMAGES_SHOWN = 10
SENTENCE = "Where does a statement come from?"
PATIENCE_SECONDS = 60.0
"""Deadline of one part: a first start measures an outside model's floor with some thirty texts."""
ADOPT, MOVE = (
    "ibid adopt, with no service on the folder; --dry-run first says how much it is",
    "ibid reembed",
)
AGAIN = "ibid adopt once more, with no service on the folder"
MENDED = "start the service: what is damaged is set aside and made anew from Postgres"
REFILLED = "start the service: it is filled anew from Postgres, beside the searches"
PAUSES = (0.5, 2.0, 5.0)
"""Seconds before a part that did not answer is asked again: longer than its breaker stays open."""
RUNNING = "embedded, open in the running service"
T = TypeVar("T")


class Ailment(IbidError):
    """A failing part, and what to do."""

    slug, title = "ailment", "Not well"

    def __init__(self, said: str, advice: str) -> None:
        super().__init__(said)
        self.advice = advice


@dataclass(frozen=True, slots=True)
class CheckResult:
    part: str
    ok: bool
    found: str
    advice: str = ""
    """What to do; "" if nothing."""

    def line(self) -> str:
        """`ok      postgres         18.6, pgvector 0.8.6 (embedded)`."""
        line = f"{'ok' if self.ok else 'FAILED':<8}{self.part:<{WIDTH}}{self.found}"
        return f"{line}\n{'':<{8 + WIDTH}}-> {self.advice}" if self.advice else line


async def asked(question: Awaitable[T], server: str, advice: str) -> T:
    """The answer of a server. Raises `Ailment` if it fails or takes too long."""
    try:
        async with asyncio.timeout(SERVER_SECONDS):
            return await question
    except (IbidError, TimeoutError) as error:
        reason = getattr(error, "reason", None) or getattr(error, "detail", "timeout")
        raise Ailment(f"{server} does not answer ({reason})", advice) from error


async def folder(settings: Settings) -> str:
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
    """The superuser's DSN of the embedded Postgres: of the running service, or started here."""
    folder = settings.ibid.data_dir
    if lock := read_lock(folder):
        yield superuser(held_dsn(folder / "postgres", lock.url))
        return
    async with hold(folder), open_server(settings) as dsn:
        yield superuser(dsn)


async def files(settings: Settings) -> str:
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
    """Advice: an index can be rebuilt, lost rows of a table cannot."""
    if all(each.is_index for each in damages):
        return "ibid doctor --rebuild-indexes makes them anew from their tables; nothing is lost"
    return (
        f"Stop the service and restore {folder.absolute()} from a backup. If there is none, copy the folder,"
        " then run `ibid doctor --give-up-pages --rebuild-indexes`. It deletes the rows on damaged pages, and"
        " all rows of a table whose file is missing."
    )


async def embedder(settings: Settings) -> str:
    recorded, stored = await recorded_space(settings)
    async with open_embedder(settings, recorded, stored=stored) as (model, space):
        advice = "check EMBED_BASE_URL, EMBED_MODEL and the key"
        vector = await asked(model.query(SENTENCE), space.name, advice)
    return f"{space.name}, {len(vector) // 4} dimensions, floor {space.floor:.2f}"


async def recorded_space(settings: Settings) -> tuple[Space | None, bool]:
    """(the stores' embedding space, True if they hold vectors of it); (None, False) if they do not answer."""
    try:
        async with open_store(settings, migrate=False) as pool:
            store = SpaceStore(pool)
            space = await store.current()
            return space, bool(space and await store.vectors_in(space.name))
    except IbidError:
        return None, False  # reported by the check of Postgres


async def chat(settings: Settings) -> str:
    """Checks that the server answers. Requests no completion: it may cost money."""
    at = chat_server(settings)
    if at is None:
        return "none configured: answers quote the sentences that fit best"
    name = chat_name(settings)
    async with open_client(at, "/models") as client:
        try:
            listed = names(await client.get(SERVER_SECONDS))
        except FAULTS as error:
            if isinstance(error, Refused) and error.status in (404, 405):
                return f"{name} at {at.url}, which does not list its models"
            advice = "check CHAT_BASE_URL (with /v1), CHAT_API_KEY or OPENAI_API_KEY"
            raise Ailment(f"{at.url}: {model_error(error).detail}", advice) from error
    shown = "" if name in listed else f"; its list has only {', '.join(listed[:5]) or 'none'}: see CHAT_MODEL"
    return f"{name} at {at.url}{shown}"


def names(said: bytes) -> list[str]:
    try:
        return [str(model["id"]) for model in orjson.loads(said)["data"]]
    except (ValueError, TypeError, KeyError):
        return []


async def cache(settings: Settings) -> str:
    async with open_cache(settings) as redis:
        if redis is None:
            return "in this process"
        server = await asked(redis.ping(), "CACHE_URL", "check CACHE_URL, with its password")
    return f"{server['server']} {server['version']} (CACHE_URL)"


async def memory(settings: Settings) -> str:
    async with open_outside(settings) as outside:
        if outside is None:
            return "built in"
        await asked(outside.check(), str(settings.memory.service_url), "check MEMORY_SERVICE_URL")
    return f"{settings.memory.service_url} answers"


async def rerank(settings: Settings) -> str:
    """Has the server score two texts."""
    async with open_reranker(settings) as reranker:
        if reranker is None:
            return "none: candidates stay in the first stage's order"
        advice = "check RERANK_URL, RERANK_MODEL and RERANK_API_KEY"
        await asked(reranker.scores(SENTENCE, [SENTENCE, "-"]), reranker.name, advice)
    return f"{reranker.name} answers"


async def moderation(settings: Settings) -> str:
    """Has the server score a message."""
    async with open_moderator(settings) as moderator:
        if moderator is None:
            return "none: the policy decides by the text alone"
        advice = "check VANTAGE_RISK_URL, VANTAGE_RISK_MODEL and VANTAGE_RISK_API_KEY"
        await asked(moderator.scores(SENTENCE), moderator.client.address, advice)
    return f"{moderator.client.address} answers"


async def chroma(settings: Settings) -> str:
    """The configured server, the folder's own through the service that holds it, or opened here."""
    if settings.chroma.url:
        async with open_chroma(settings) as opened:
            await asked(opened.beat(), settings.chroma.url, "check CHROMA_URL")
        return f"answers at {settings.chroma.url}"
    return RUNNING if await usable(settings, "chroma") else await embedded_chroma(settings)


async def embedded_chroma(settings: Settings) -> str:
    place = settings.ibid.data_dir / "chroma"
    async with hold(settings.ibid.data_dir):
        with TemporaryDirectory(dir=settings.scratch, prefix=OURS) as empty:
            # Without a folder the engine is tried in a temporary one, so that the first start finds nothing.
            there = place.exists() and not (place.is_dir() and not any(place.iterdir()))
            async with open_chroma(settings, place if there else Path(empty), read_only=there) as opened:
                try:
                    if not await opened.ready():
                        raise Ailment(
                            "it takes more than a minute to open", "wait; the service starts without it"
                        )
                except StartError as error:
                    damaged = isinstance(error.__cause__, ChromaDamaged)
                    advice = MENDED if damaged else "see that there is room, and the right to write there"
                    raise Ailment(error.detail, advice) from error
    return "embedded"


async def qdrant(settings: Settings) -> str:
    """The configured server, the folder's own through the service that holds it, or opened here."""
    if settings.qdrant.url is None:
        if await usable(settings, "qdrant"):
            return RUNNING
        return await embedded_qdrant(settings)
    async with open_points(settings) as points:
        advice = "check QDRANT_URL and QDRANT_API_KEY"
        server = await asked(points.check(), settings.qdrant.url, advice)
        found = await asked(points.collections(), settings.qdrant.url, advice)
    old = too_old(str(server["version"]))
    if old:
        raise Ailment(old, "run Qdrant 1.19 or newer")
    return f"{server['version']} at {settings.qdrant.url}, {len(found)} collections"


async def embedded_qdrant(settings: Settings) -> str:
    """Damaged files stay where they are."""
    lost: list[str] = []
    async with hold(settings.ibid.data_dir), open_points(settings, read_only=True) as points:
        points.on_files_lost(lost.append)
        try:
            found = await points.collections()
        except RetrievalError as error:
            raise Ailment(f"its folder cannot be read ({error.reason})", MENDED) from error
    if lost:
        raise Ailment(f"damaged: {', '.join(sorted(lost))}", MENDED)
    return f"embedded, {len(found)} collections"


async def outbox(settings: Settings) -> str:
    """Compares Qdrant and Chroma with Postgres, but not an engine that a running service has open: that
    service compares it."""
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
                lost = [reason async for reason in losses(settings, pool, space, free=free) if reason]
    except Behind:
        return "not looked at: see postgres"
    if lost:
        raise Ailment("; ".join(lost), REFILLED)
    return "; ".join(found)


async def losses(settings: Settings, pool: Pool, space: Space, *, free: bool) -> AsyncIterator[str]:
    """The result of `compare` for each engine that can be opened; `free`: no process holds the folder."""
    folder = settings.ibid.data_dir
    if settings.qdrant.url or (free and (folder / "qdrant").exists()):
        async with open_points(settings, dim=space.dim, read_only=True) as points:
            yield await compare(pool, QdrantCopy(pool, points, CollectionCache(points), space))
    if settings.chroma.url or (free and (folder / "chroma").exists()):
        async with open_chroma(settings, read_only=True) as chroma:
            yield await compare(pool, ChromaCopy(pool, chroma, space))


async def compare(pool: Pool, copy: Copy) -> str:
    """Why an engine has to be refilled; "" if it has what Postgres has."""
    try:
        outbox = Outbox(pool, copy, await identity(pool))
        reason = await outbox.refill_reason() or await outbox.differs()
    except RetrievalError:
        return ""  # the engine's own check says so
    return f"{copy.name} has to be refilled: {reason}" if reason else ""


def waiting(state: EngineState) -> str:
    if state.refill:
        return "is being filled anew"
    return f"has {state.backlog} changes to take" if state.waiting else "has all changes"


async def usable(settings: Settings, name: str) -> bool:
    """True if a running service holds the folder and can use this part of it; `Ailment` if it cannot. Asks
    repeatedly: under load a store may miss its two seconds."""
    lock = await holder(settings.ibid.data_dir)
    if lock is None:
        return False
    async with client(lock.url, lock.token) as service:
        for pause in (*PAUSES, None):
            response = await service.get("/readyz")
            try:  # a 503 has a body, too
                checks = response.json()["checks"]
            except (ValueError, KeyError, TypeError):
                said = f"{lock.url}/readyz answers {response.status_code} with what is no report"
                raise Ailment(said, "see the service's log; restart it") from None
            if any(check["ok"] for check in checks if check["name"] == name):
                return True
            if pause is not None:
                await asyncio.sleep(pause)
    raise Ailment("the running service cannot use it", "see the service's log; restart it")


async def older(settings: Settings) -> str:
    """Rows of older tools that are not adopted, in the projects' tables and a Qdrant server's collections."""
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
    raise_ailments(tables, foreign, space)
    return f"{sum(each.ours for each in tables):,} rows of projects in {space.name}"


async def strangers(settings: Settings, pool: Pool, space: Space) -> dict[str, str]:
    """Advice by collection: vectors of another space, or adopted by an earlier version without rows."""
    if settings.qdrant.url is None:
        return {}
    imports = await read_imported_collections(pool)
    async with open_points(settings, dim=space.dim) as points:
        try:
            shapes = await points.collections()
        except RetrievalError:  # reported by the check of Qdrant
            return {}
    odd = [each.name for each in shapes if not fits(each, space)]
    moved = {name: MOVE for name in odd if name in imports.copies.values()}
    kept = {each.name for each in shapes if each.points}
    again = {name: AGAIN for name in await read_unimported(pool) if name in kept}
    return again | moved | ({RAW: ADOPT} if RAW in odd and not imports.is_imported(RAW) else {})


def raise_ailments(tables: list[TableState], foreign: dict[str, str], space: Space) -> None:
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


Check = Callable[[Settings], Awaitable[str]]

PARTS: Mapping[str, Check] = {
    "data folder": folder,
    "postgres": postgres,
    "postgres files": files,
    "chroma": chroma,
    "embeddings": embedder,
    "chat model": chat,
    "qdrant": qdrant,
    "outbox": outbox,
    "older tools": older,
    "cache": cache,
    "memory services": memory,
    "reranker": rerank,
    "moderation": moderation,
}
WIDTH = max(map(len, PARTS)) + 2


def doctor(
    json: Json = False,
    data_dir: DataDir = None,
    rebuild_indexes: Annotated[
        bool, typer.Option("--rebuild-indexes", help="First rebuild damaged indexes of Postgres.")
    ] = False,
    give_up_pages: Annotated[
        bool,
        typer.Option(
            "--give-up-pages",
            help="Delete the rows on damaged Postgres pages, and all rows of tables whose file is missing."
            " They cannot be restored: back up the data folder first.",
        ),
    ] = False,
) -> None:
    """Check every part, and say what to do where one is not well."""
    if give_up_pages:
        run(repair(data_dir, damage.give_up))
    if rebuild_indexes:
        run(repair(data_dir, damage.rebuild))
    findings = run(examined(data_dir))
    for finding in findings:
        if json:
            as_json(asdict(finding))
        else:
            tell(finding.line())
    if not all(finding.ok for finding in findings):
        raise typer.Exit(1)


async def repair(data_dir: Path | None, mend: Callable[[str, Sequence[Damage]], Awaitable[None]]) -> None:
    """Repair the embedded Postgres. Raises `StartError` if another server is configured."""
    config, _ = settings(data_dir)
    if config.postgres.dsn:
        raise StartError("doctor repairs only the embedded Postgres; POSTGRES_DSN names another server")
    with postgres_faults():
        async with embedded(config) as dsn:
            await mend(dsn, (await damage.look(dsn)).damages)


async def examined(data_dir: Path | None) -> list[CheckResult]:
    """A result for the settings and, if they can be read, for each part."""
    try:
        config, warnings = settings(data_dir)
    except StartError as error:
        return [CheckResult("settings", ok=False, found=error.detail, advice="see .env.example")]
    odd = f"; perhaps misspelt: {', '.join(warnings)}" if warnings else ""
    read = CheckResult("settings", ok=True, found=f"read{odd}")
    # One after another: they open the same folder.
    return [read, *[await finding(part, check, config) for part, check in PARTS.items()]]


async def finding(
    part: str, check: Check, config: Settings, *, patience: float = PATIENCE_SECONDS
) -> CheckResult:
    try:
        async with asyncio.timeout(patience):
            return CheckResult(part, ok=True, found=await check(config))
    except TimeoutError:
        return CheckResult(part, ok=False, found=f"no answer in {patience:.0f} seconds")
    except Ailment as error:
        return CheckResult(part, ok=False, found=error.detail, advice=error.advice)
    except IbidError as error:
        return CheckResult(part, ok=False, found=error.detail)
