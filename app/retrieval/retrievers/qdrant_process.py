"""The embedded Qdrant in a child process (`qdrant_engine.py`): a crash of the engine never ends the service.

When the child dies, calls in flight are lost and the next call starts another. A
collection that was asked for whenever it crashed or hung (`process.CrashBlame`) is put aside. Raises
`RetrievalError`, and `NoRoom` before a write that the disk might not hold. Times are seconds.
"""

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import structlog

from app.errors import NoRoom, RetrievalError
from app.process import Child, ChildProcess, CrashBlame, Died, Fault, Full, Program, Reply, python
from app.retrieval.retrievers.points import DENSE, Collection, Point, Where, from_frame, to_frame
from app.retrieval.retrievers.qdrant import Qdrant, probe, read, unlimited, write
from app.types import Embedding

PROGRAM = Program("qdrant", python("app.retrieval.retrievers.qdrant_engine"))
ANSWER_SECONDS = 60.0
"""A child that takes longer for a call counts as hung and is killed."""
COMPACT_SECONDS = 1_800.0
"""The same for a compaction, which copies a whole collection."""

log = structlog.get_logger(__name__)


class QdrantProcess(Qdrant):
    """See the module. `read_only`: nothing in the folder is moved."""

    embedded = True

    def __init__(self, folder: Path, *, read_only: bool = False, program: Program = PROGRAM) -> None:
        super().__init__()
        self._folder = folder
        self._read_only = read_only
        self._program = program
        self._blame = CrashBlame()
        self._last: Child | None = None
        self._set_aside: list[str] = []
        """Collections that nobody was told of yet."""
        self._on_set_aside: Callable[[str], None] | None = None
        self.process = ChildProcess(self._start)

    def on_set_aside(self, callback: Callable[[str], None]) -> None:
        """Also those that were put aside earlier."""
        self._on_set_aside = callback
        self._report([])

    @read
    async def collections(self) -> list[Collection]:
        # Each is opened by a call of its own, so that a crash names the one to blame.
        found = []
        for name, dim in (await self._ask("shapes")).payload["shapes"]:
            try:
                found.append(Collection(name, dim, DENSE, await self._count(name, Where())))
            except RetrievalError as error:
                if not error.rejected:
                    raise
        return found

    @write
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

    @write
    async def drop(self, name: str) -> None:
        await self._ask("drop", name)

    @write
    async def put(self, name: str, points: Sequence[Point]) -> None:
        rows, vectors = to_frame(points)
        await self._ask("put", name, rows, vectors)

    @write
    async def remove(self, name: str, where: Where) -> None:
        await self._ask("remove", name, {"where": asdict(where)})

    @read
    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        asked = {"where": asdict(where), "limit": limit, "payload": payload}
        return points_of(await self._ask("search", name, asked, dense))

    @read
    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        asked = {"where": asdict(where), "limit": limit, "after": after, "vectors": vectors}
        return points_of(await self._ask("scroll", name, asked))

    @read
    async def count(self, name: str, where: Where) -> int:
        return await self._count(name, where)

    async def _count(self, name: str, where: Where) -> int:
        return int((await self._ask("count", name, {"where": asdict(where)})).payload["count"])

    @unlimited
    async def compact(self, name: str) -> None:
        await self._ask("compact", name, seconds=COMPACT_SECONDS)

    @probe
    async def check(self) -> Mapping[str, str | int | float]:
        return (await self._ask("check")).payload

    async def close(self) -> None:
        await self.process.close()

    async def _ask(
        self,
        do: str,
        name: str | None = None,
        payload: Mapping[str, Any] | None = None,
        data: bytes = b"",
        *,
        seconds: float | None = None,
    ) -> Reply:
        asked = dict(payload or {}) if name is None else {"name": name, **(payload or {})}
        hangs_after = seconds or ANSWER_SECONDS
        with self._faults():
            reply = await self.process.call(do, asked, data, hangs_after=hangs_after, about=name or "")
        self._report(reply.payload.pop("set_aside", []))
        return reply

    @contextmanager
    def _faults(self) -> Iterator[None]:
        try:
            yield
        except Fault as fault:
            kind, detail = fault.payload["fault"], fault.payload.get("detail", "")
            self._report(fault.payload.get("set_aside", []))
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

    def _report(self, set_aside: Sequence[str]) -> None:
        """Name collections that were put aside, now or when there is a callback."""
        self._set_aside += set_aside
        while self._on_set_aside and self._set_aside:
            self._on_set_aside(self._set_aside.pop(0))

    async def _start(self) -> Child:
        last, self._last = self._last, None
        await self._blame.note(last)
        suspects = [] if self._read_only else self._blame.suspects()
        mode = ("read-only" if self._read_only else "", *map(json.dumps, suspects))
        child = self._last = await Child.start(self._program, str(self._folder.absolute()), *mode)
        if suspects:
            log.error("qdrant's engine crashed; collections are put aside", count=len(suspects))
            self._blame.forget()
        return child


def points_of(reply: Reply) -> list[Point]:
    """The points of an answer."""
    return from_frame(reply.payload["points"], bytes(reply.data))


@asynccontextmanager
async def open_qdrant_process(folder: Path, *, read_only: bool = False) -> AsyncIterator[QdrantProcess]:
    """The engine on a folder, started at its first call and ended with the block."""
    engine = QdrantProcess(folder, read_only=read_only)
    try:
        yield engine
    finally:
        await engine.close()
