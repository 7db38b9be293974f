"""The embedded Qdrant in a child process (`qdrant_child.py`): a crash of the engine never ends the service.

Keeps `points.Points`. When the child dies, calls in flight are lost and the next call starts another. A
collection in use when it crashed twice within SUSPECT_SECONDS is put aside. Raises `RetrievalError`, and
`NoRoom` before a write that the disk might not hold. Times are seconds.
"""

import json
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog

from app.clients.points import DENSE, Collection, Point, Where
from app.clients.qdrant_child import packed, unpacked
from app.errors import NoRoom, RetrievalError
from app.process import Child, ChildProcess, Died, Fault, Full, Program, Reply, python
from app.types import Embedding

PROGRAM = Program("qdrant", python("app.clients.qdrant_child"))
ANSWER_SECONDS = 60.0
"""A child that takes longer for a call counts as hung and is killed."""
COMPACT_SECONDS = 1_800.0
"""The same for a compaction, which copies a whole collection."""
SUSPECT_SECONDS = 60.0
SUSPICIONS = 2
"""Crashes within SUSPECT_SECONDS after which a collection is put aside: Postgres has all of its content."""
CRASHES = frozenset(
    -number for number in (signal.SIGSEGV, signal.SIGABRT, signal.SIGBUS, signal.SIGILL, signal.SIGFPE)
)
"""Exit codes that suggest damaged files; SIGKILL does not."""

log = structlog.get_logger(__name__)


class QdrantProcess:
    """See the module. `look`: nothing in the folder is moved."""

    def __init__(self, folder: Path, *, look: bool = False, program: Program = PROGRAM) -> None:
        self._folder = folder
        self._look = look
        self._program = program
        self._using: Counter[str] = Counter()
        """Collections of the calls in flight."""
        self._crashes: list[tuple[float, frozenset[str]]] = []
        """When the child crashed, and which collections were in use."""
        self._last: Child | None = None
        self._lost: list[str] = []
        self._renewed: Callable[[str], None] | None = None
        self.process = ChildProcess(self._start)

    def on_renewal(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the name of each collection that was put aside, also earlier."""
        self._renewed = tell
        self._tell([])

    async def collections(self) -> list[Collection]:
        """All, by name. Each is opened by a call of its own, so that a crash names the one to blame."""
        found = []
        for name, dim in (await self._ask("shapes")).payload["shapes"]:
            try:
                found.append(Collection(name, dim, DENSE, await self.count(name, Where())))
            except RetrievalError as error:
                if not error.rejected:
                    raise
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
        fields = {"keys": list(keys), "tenants": list(tenants), "times": list(times)}
        await self._ask("create", name, {"dim": dim, **fields})

    async def drop(self, name: str) -> None:
        await self._ask("drop", name)

    async def put(self, name: str, points: Sequence[Point]) -> None:
        told, data = packed(list(points))
        await self._ask("put", name, told, data)

    async def remove(self, name: str, where: Where) -> None:
        await self._ask("remove", name, {"where": asdict(where)})

    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        told = {"where": asdict(where), "limit": limit, "payload": payload}
        return points_of(await self._ask("search", name, told, dense))

    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        told = {"where": asdict(where), "limit": limit, "after": after, "vectors": vectors}
        return points_of(await self._ask("scroll", name, told))

    async def count(self, name: str, where: Where) -> int:
        return int((await self._ask("count", name, {"where": asdict(where)})).payload["count"])

    async def compact(self, name: str) -> None:
        await self._ask("compact", name, seconds=COMPACT_SECONDS)

    async def check(self) -> Mapping[str, str | int | float]:
        return (await self._ask("check")).payload

    async def close(self) -> None:
        """End the child."""
        await self.process.close()

    async def _ask(
        self,
        do: str,
        name: str | None = None,
        payload: Mapping[str, Any] | None = None,
        data: bytes = b"",
        *,
        seconds: float = ANSWER_SECONDS,
    ) -> Reply:
        """Call the child."""
        asked = dict(payload or {}) if name is None else {"name": name, **(payload or {})}
        with self._faults(), self._in_use(name):
            reply = await self.process.call(do, asked, data, hangs_after=seconds)
        self._tell(reply.payload.pop("lost", []))
        return reply

    @contextmanager
    def _in_use(self, name: str | None) -> Iterator[None]:
        """Count a call on the collection as in flight."""
        if name is None:
            yield
            return
        self._using[name] += 1
        try:
            yield
        except Died as error:
            if error.code in CRASHES:
                self._suspect()
            raise
        finally:
            self._using -= Counter([name])

    def _suspect(self) -> None:
        """Note the collections in use at a crash, once for each child: its first caller finds them all."""
        if self._last is not None:
            self._crashes.append((time.monotonic(), frozenset(self._using)))
            self._last = None

    @contextmanager
    def _faults(self) -> Iterator[None]:
        """Translate errors."""
        try:
            yield
        except Fault as fault:
            told = fault.payload
            self._tell(told.get("lost", []))
            if told["fault"] == "full":
                raise NoRoom(told["detail"]) from None
            if told["fault"] == "unavailable":
                log.warning("qdrant's engine failed", fault=told["detail"])
            fault = told["fault"]
            raise RetrievalError(
                "unavailable", rejected=fault == "rejected", missing=fault == "missing"
            ) from None
        except Full as error:
            raise RetrievalError("overloaded") from error
        except Died as error:
            raise RetrievalError("unavailable") from error

    def _tell(self, names: Sequence[str]) -> None:
        """Name collections that were put aside, now or when somebody wants to know."""
        self._lost += names
        while self._renewed and self._lost:
            self._renewed(self._lost.pop(0))

    async def _start(self) -> Child:
        now = time.monotonic()
        self._crashes = [crash for crash in self._crashes if now - crash[0] < SUSPECT_SECONDS]
        counts = Counter(name for _, names in self._crashes for name in names)
        suspects = [name for name, count in counts.items() if count >= SUSPICIONS and not self._look]
        mode = ("look" if self._look else "", *map(json.dumps, suspects))
        child = self._last = await Child.start(self._program, str(self._folder.absolute()), *mode)
        if suspects:
            log.error("qdrant's engine crashed; collections are put aside", count=len(suspects))
            self._crashes.clear()
        return child


def points_of(reply: Reply) -> list[Point]:
    """The points of an answer."""
    return unpacked(reply.payload["points"], bytes(reply.data))


@asynccontextmanager
async def open_qdrant_process(folder: Path, *, look: bool = False) -> AsyncIterator[QdrantProcess]:
    """The engine on a folder, started at its first call and ended with the block."""
    engine = QdrantProcess(folder, look=look)
    try:
        yield engine
    finally:
        await engine.close()
