"""Qdrant (memories, corpora): an embedded engine in a child process (`qdrant_engine.py`), or a server
(`qdrant_server.py`).

After several failures in a row Qdrant is not asked for some seconds (`breaker.py`); refusals and a full pool
of ours are no failures. Our points have the payload field `ibid`. Ibid never writes into a collection
imported by `ibid adopt`, nor into another tool's that has one of our names and cannot hold our vectors: its
copy is then in another collection (`ibid.collection_home`). Reads raise `RetrievalError`, writes
`Unavailable`. Times are in seconds.
"""

import asyncio
import json
import math
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Self

import structlog

from app.breaker import LASTING, Breaker
from app.db.pool import Pool, retrieval_faults
from app.errors import NoRoom, RetrievalError, StartError, Unavailable, required
from app.process import Child, ChildProcess, ChildReply, CrashBlame, Died, Fault, Full, Program, python
from app.retrieval.retrievers.points import DENSE, Collection, Point, Where, from_frame, to_frame
from app.settings import Settings
from app.types import Embedding, Space

READ_SECONDS = 4.0
"""Less than the 6 s of all retrieval."""
WRITE_SECONDS = 60.0
"""For some hundred points; a request that waits for one memory has a shorter deadline of its own."""
OLDEST = (1, 19)
"""Oldest supported server: the vendor's client (1.20) supports servers one minor version older than
itself."""
PROGRAM = Program("qdrant", python("app.retrieval.retrievers.qdrant_engine"))
ANSWER_SECONDS = 60.0
"""A child that takes longer for a call counts as hung and is killed."""
COMPACT_SECONDS = 1_800.0
"""The same for a compaction, which copies a whole collection."""

log = structlog.get_logger(__name__)


class Qdrant(ABC):
    """The points of an engine; one contract test for both kinds. Also a probe for /readyz (`types.Probe`).

    Writes are searchable on return, and as durable as the engine makes them. Reads of a missing collection
    find nothing, writes fail. Every call raises `RetrievalError`; `rejected` means that nothing is down: the
    collection is `missing`, or has another shape. Writes of the embedded engine also raise `NoRoom`.
    """

    name: ClassVar[str] = "qdrant"
    embedded: ClassVar[bool]
    """True if the engine belongs to this service alone."""

    def __init__(self) -> None:
        self.breaker = Breaker(time.monotonic, lasting=LASTING)
        self._lost: list[str] = []
        """Lost collections that were not reported yet."""
        self._on_files_lost: Callable[[str], None] | None = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    @abstractmethod
    async def collections(self) -> list[Collection]:
        """All collections, by name."""

    @abstractmethod
    async def create(
        self,
        name: str,
        dim: int,
        *,
        keys: Sequence[str] = (),
        tenants: Sequence[str] = (),
        times: Sequence[str] = (),
    ) -> None:
        """Create a collection with the dense vector DENSE (cosine); `keys` are indexed keyword fields,
        `tenants` those that separate users, `times` datetimes. An existing collection only gets missing
        indexes."""

    @abstractmethod
    async def drop(self, name: str) -> None:
        """Delete a collection with its files, if it exists."""

    @abstractmethod
    async def put(self, name: str, points: Sequence[Point]) -> None:
        """Write points; an id again replaces."""

    @abstractmethod
    async def remove(self, name: str, where: Where) -> None: ...
    @abstractmethod
    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        """The nearest points, best first (equal scores by id), without their vectors."""

    @abstractmethod
    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        """Points in order of id, after the id `after`; `vectors` includes their dense vectors."""

    @abstractmethod
    async def count(self, name: str, where: Where) -> int: ...

    @abstractmethod
    async def compact(self, name: str) -> None:
        """Rewrite the files without deleted points (a server: when it decides to)."""

    @abstractmethod
    async def check(self) -> Mapping[str, str | int | float]:
        """Facts about the engine, regardless of the breaker; raises if it does not answer."""

    @abstractmethod
    async def close(self) -> None:
        """End the process, or the connections."""

    def on_files_lost(self, callback: Callable[[str], None]) -> None:
        """Call `callback` with the name of each lost collection, earlier ones included: it lacks its points
        until the outbox writes them again."""
        self._on_files_lost = callback
        self.report_lost([])

    def report_lost(self, names: Sequence[str]) -> None:
        self._lost += names
        while self._on_files_lost and self._lost:
            self._on_files_lost(self._lost.pop(0))

    @asynccontextmanager
    async def deadline(self, seconds: float | None, *, always: bool = False) -> AsyncIterator[None]:
        """For calls of the engine: a deadline that the breaker counts. Raises at once while the breaker is
        open, unless `always`."""
        if self.breaker.refuses and not always:
            raise RetrievalError("unavailable")
        with self.breaker.attempt(is_down):
            try:
                async with asyncio.timeout(seconds):
                    yield
            except TimeoutError as error:
                raise RetrievalError("timeout") from error


def is_down(error: Exception) -> bool | None:
    """For `Breaker`: a full pool of our own does not mean that Qdrant is down."""
    if not isinstance(error, RetrievalError):
        return None
    return None if error.reason == "overloaded" else not error.rejected


class QdrantProcess(Qdrant):
    """The embedded engine, started at the first call. When the child dies, its calls fail and the next call
    starts another. A collection that was in use at each crash or hang (`process.CrashBlame`) is put aside.
    `read_only`: nothing in the folder is moved."""

    embedded = True

    def __init__(self, folder: Path, *, read_only: bool = False, program: Program = PROGRAM) -> None:
        super().__init__()
        self._folder = folder
        self._read_only = read_only
        self._program = program
        self._blame = CrashBlame()
        self._last: Child | None = None
        self.process = ChildProcess(self._start)

    async def collections(self) -> list[Collection]:
        async with self.deadline(READ_SECONDS):
            found = []
            for name, dim in (await self._ask("shapes")).payload["result"]:
                # Each is opened by a call of its own, so that a crash names the one to blame.
                counted = await self._ask("count", name, {"where": asdict(Where())})
                if (points := counted.payload["result"]) is not None:
                    found.append(Collection(name, dim, DENSE, points))
            return found

    async def create(
        self,
        name: str,
        dim: int,
        *,
        keys: Sequence[str] = (),
        tenants: Sequence[str] = (),
        times: Sequence[str] = (),
    ) -> None:
        async with self.deadline(WRITE_SECONDS):
            fields = {"keys": list(keys), "tenants": list(tenants), "times": list(times)}
            await self._ask("create", name, {"dim": dim, **fields})

    async def drop(self, name: str) -> None:
        async with self.deadline(WRITE_SECONDS):
            await self._ask("drop", name)

    async def put(self, name: str, points: Sequence[Point]) -> None:
        async with self.deadline(WRITE_SECONDS):
            rows, vectors = to_frame(points)
            await self._ask("put", name, rows, vectors)

    async def remove(self, name: str, where: Where) -> None:
        async with self.deadline(WRITE_SECONDS):
            await self._ask("remove", name, {"where": asdict(where)})

    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        async with self.deadline(READ_SECONDS):
            asked = {"where": asdict(where), "limit": limit, "payload": payload}
            reply = await self._ask("search", name, asked, dense)
            return from_frame(reply.payload["points"], bytes(reply.data))

    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        async with self.deadline(READ_SECONDS):
            asked = {"where": asdict(where), "limit": limit, "after": after, "vectors": vectors}
            reply = await self._ask("scroll", name, asked)
            return from_frame(reply.payload["points"], bytes(reply.data))

    async def count(self, name: str, where: Where) -> int:
        async with self.deadline(READ_SECONDS):
            return (await self._ask("count", name, {"where": asdict(where)})).payload["result"] or 0

    async def compact(self, name: str) -> None:
        async with self.deadline(None):
            await self._ask("compact", name, seconds=COMPACT_SECONDS)

    async def check(self) -> Mapping[str, str | int | float]:
        async with self.deadline(READ_SECONDS, always=True):
            facts: Mapping[str, str | int | float] = (await self._ask("check")).payload["result"]
            return facts

    async def close(self) -> None:
        await self.process.close()

    async def _ask(
        self,
        do: str,
        name: str = "",
        arguments: Mapping[str, Any] | None = None,
        data: bytes = b"",
        *,
        seconds: float = 0.0,
    ) -> ChildReply:
        asked = {**({"name": name} if name else {}), **(arguments or {})}
        with self._faults():
            reply = await self.process.call(
                do, asked, data, hangs_after=seconds or ANSWER_SECONDS, about=name
            )
        self.report_lost(reply.payload.get("set_aside", []))
        return reply

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except Fault as fault:
            kind, detail = fault.payload["fault"], fault.payload.get("detail", "")
            self.report_lost(fault.payload.get("set_aside", []))
            if kind == "full":
                raise NoRoom(detail) from None
            if kind == "unavailable":
                log.warning("qdrant's engine failed", fault=detail)
            rejected, missing = kind == "rejected", kind == "missing"
            raise RetrievalError("unavailable", rejected=rejected, missing=missing) from None
        except Full as error:
            raise RetrievalError("overloaded") from error
        except Died as error:
            raise RetrievalError("unavailable") from error

    async def _start(self) -> Child:
        last, self._last = self._last, None
        await self._blame.note(last)
        suspects = [] if self._read_only else self._blame.suspects()
        mode = ("read-only" if self._read_only else "", *map(json.dumps, suspects))
        child = self._last = await Child.start(self._program, str(self._folder.absolute()), *mode)
        if suspects:
            log.error("qdrant's engine crashed; collections are put aside", count=len(suspects))
            self._blame.forget()
        if last:
            self.breaker.note(True)  # for `on_recovery`: its files may be different
        return child


def too_old(version: str) -> str:
    """What is wrong with a server's version; "" if nothing or unknown."""
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    if numbers is None or tuple(map(int, numbers.groups())) >= OLDEST:
        return ""
    return f"Qdrant {version} is older than {OLDEST[0]}.{OLDEST[1]}, the oldest version that is supported"


async def greet(qdrant: Qdrant) -> None:
    with suppress(RetrievalError):
        facts = await qdrant.check()
        if not qdrant.embedded and (old := too_old(str(facts["version"]))):
            log.warning("qdrant is too old", detail=old)


@asynccontextmanager
async def open_points(settings: Settings, *, dim: int = 0, read_only: bool = False) -> AsyncIterator[Qdrant]:
    """Qdrant as configured, for vectors of `dim`; a server may be down now. `read_only`: nothing embedded is
    moved."""
    url, key = settings.qdrant.url, settings.qdrant.api_key
    qdrant: Qdrant
    if url is None:
        qdrant = QdrantProcess(settings.ibid.data_dir / "qdrant", read_only=read_only)
    else:
        # An embedded engine saves these two seconds and 100 MB.
        from app.retrieval.retrievers.qdrant_server import connected  # noqa: PLC0415 - heavy, opened late

        try:
            qdrant = connected(url, key.get_secret_value() if key else None, dim)
        except ValueError:
            raise StartError("QDRANT_URL is not of the form http://host:6333") from None
    async with qdrant:
        yield qdrant


MARK: Mapping[str, str] = {"ibid": "1"}
"""In the payload of every point that Ibid writes."""
NOT_OURS = (("ibid", ("1",)),)
"""`Where.lacks` for points of other tools."""
LEGACY = frozenset({"tenant", "text", "tokens", "space"})
"""In the payload of Ibid's points from before MARK."""


def is_ours(payload: Mapping[str, object], spaces: Container[str]) -> bool:
    """True for points that Ibid wrote; older versions left them unmarked, with these fields."""
    if MARK.items() <= payload.items():
        return True
    return payload.keys() >= LEGACY and payload["space"] in spaces


SECONDS = 30.0
"""A collection of another tool is noticed after this time at the latest."""
"""Retry-After while the engine is down."""


@dataclass(frozen=True, slots=True)
class PayloadIndexes:
    """Payload fields that searches filter by, by type of index."""

    keys: tuple[str, ...] = ()
    tenants: tuple[str, ...] = ()
    times: tuple[str, ...] = ()


def fits(shape: Collection, space: Space) -> bool:
    return shape.cosine and shape.dim == space.dim


class CollectionCache:
    """List of Qdrant's collections, refreshed after some seconds. For one event loop."""

    def __init__(
        self, points: Qdrant, *, seconds: float = SECONDS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._points = points
        self._seconds = seconds
        self._clock = clock
        self._listing = asyncio.Lock()
        self._listed: dict[str, Collection] = {}
        self._until = -math.inf
        self._turn = 0
        """Raised by `forget`."""
        self._known = -1
        """The turn at which the list was requested: it serves requests up to this turn."""

    async def all(self) -> Mapping[str, Collection]:
        """Collections by name, as of this call or later. Concurrent calls share one request."""
        turn = self._turn
        async with self._listing:
            if self._known < turn or self._clock() >= self._until:
                asked = self._turn  # a later `forget` counts for later requests
                self._listed = {each.name: each for each in await self._points.collections()}
                self._known, self._until = asked, self._clock() + self._seconds
            return self._listed

    async def get(self, name: str) -> Collection | None:
        return (await self.all()).get(name)

    async def put(self, name: str, space: Space, fields: PayloadIndexes, points: Sequence[Point]) -> bool:
        """Write points. True if the collection had to be created."""
        with required("Qdrant"):
            shape = await self.get(name)
            if shape and not fits(shape, space):
                said = f"the collection {name} holds vectors of another space than {space.name}"
                raise Unavailable(f"{said}: ibid doctor says what to do")
            try:
                if shape is None:
                    await self._make(name, space, fields)
                await self._points.put(name, points)
                return shape is None
            except RetrievalError as error:
                self.forget()
                if not error.rejected:
                    raise
                await self._make(name, space, fields)
                await self._points.put(name, points)
                return error.missing

    async def _make(self, name: str, space: Space, fields: PayloadIndexes) -> None:
        named = {"keys": fields.keys, "tenants": fields.tenants, "times": fields.times}
        await self._points.create(name, space.dim, **named)
        self.forget()

    def forget(self) -> None:
        self._turn += 1


IDS = "SELECT point, id FROM ibid.imported WHERE collection = $1 AND point = ANY($2)"
COUNT = "SELECT count(*) FROM ibid.imported WHERE collection = $1 AND tenant = $2 AND user_id = $3"


COPY_ENDING = "_ibid"
"""Suffix of our copy of another tool's collection."""
NOT_IMPORTED = ""
"""In place of a space: not imported, another tool only uses the same name."""


@dataclass(slots=True)
class ImportedCollections:
    """Names of our copies; by default a collection's own name."""

    copies: dict[str, str] = field(default_factory=dict)
    """Our copy's name by the name of the other tool's collection."""
    spaces: dict[str, str | None] = field(default_factory=dict)
    """Embedding space of its own vectors; None: another model's; NOT_IMPORTED."""

    def copy_of(self, name: str) -> str:
        return self.copies.get(name, name)

    def name_of(self, physical: str) -> str | None:
        """Inverse of `copy_of`; None for an imported collection, which holds no copy."""
        if physical in self.copies:
            return None
        return next((name for name, copy in self.copies.items() if copy == physical), physical)

    def has_others(self, physical: str, space: str) -> bool:
        """True if it may have points of other tools that a search in this space should find."""
        if physical in self.copies:
            return self.spaces[physical] in {space, NOT_IMPORTED}
        return physical not in self.copies.values()

    def is_imported(self, name: str) -> bool:
        return self.spaces.get(name, NOT_IMPORTED) != NOT_IMPORTED


def free(name: str, taken: Iterable[str]) -> str:
    taken, home = set(taken), name + COPY_ENDING
    while home in taken:
        home = home + COPY_ENDING
    return home


async def imported(pool: Pool, collection: str, points: Iterable[str]) -> dict[str, str]:
    with retrieval_faults():
        return {row[0]: row[1] for row in await pool.fetch(IDS, collection, list(points))}


async def imported_count(pool: Pool, collection: str, tenant: str, user_id: str = "") -> int:
    with retrieval_faults():
        return int(await pool.fetchval(COUNT, collection, tenant, user_id))
