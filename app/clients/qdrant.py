"""Qdrant: an embedded engine (IBID_DATA_DIR/qdrant) or a server (QDRANT_URL), with deadlines and a breaker.

The embedded one runs in a child process (`qdrant_process.py`), a server is asked by the vendor's client
(`qdrant_server.py`). After several failures in a row it is not asked for some seconds (`breaker.py`);
a refusal (no such collection, another shape) and a full pool of ours are no failures. Keeps `points.Points`;
raises `RetrievalError`, and `NoRoom` for a write. Times are seconds.
"""

import asyncio
import re
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from typing import TypeVar

import structlog

from app.breaker import Breaker
from app.clients.points import Collection, Point, Points, Where
from app.clients.qdrant_process import QdrantProcess, open_qdrant_process
from app.errors import RetrievalError, StartError
from app.settings import Settings
from app.types import Embedding

READ_SECONDS = 4.0
"""Below the 6 s that all retrieval has."""
WRITE_SECONDS = 60.0
"""Of some hundred points; whoever waits for one memory has a shorter deadline of their own."""
OLDEST = (1, 19)
"""Of a server: the vendor's client (1.20) supports servers one minor version older than itself."""
LASTING = 3.0
"""Failures of a moment, as while it is restarted, open nothing (docs/adr/0013)."""

Result = TypeVar("Result")

log = structlog.get_logger(__name__)


class Qdrant:
    """See the module. Also the probe for /readyz (`ports.Probe`)."""

    name = "qdrant"

    def __init__(self, points: Points, breaker: Breaker | None = None) -> None:
        self._points = points
        self._breaker = breaker or Breaker(time.monotonic, lasting=LASTING)

    @property
    def embedded(self) -> bool:
        """Whether nobody else uses it."""
        return isinstance(self._points, QdrantProcess)

    def on_renewal(self, tell: Callable[[str], None]) -> None:
        """Call `tell` with the name of a collection whose files were put aside: it is missing from then on,
        until whoever keeps the record writes it anew. A server looks after its own."""
        if isinstance(self._points, QdrantProcess):
            self._points.on_renewal(tell)

    async def _within(self, seconds: float | None, call: Callable[[], Awaitable[Result]]) -> Result:
        """One call: refused at once while Qdrant is left alone, its end told."""
        if self._breaker.refuses:
            raise RetrievalError("unavailable")
        return await self._told(seconds, call)

    async def _told(self, seconds: float | None, call: Callable[[], Awaitable[Result]]) -> Result:
        """Made in any case."""
        with self._breaker.attempt(down):
            try:
                async with asyncio.timeout(seconds):
                    return await call()
            except TimeoutError as error:
                raise RetrievalError("timeout") from error

    async def collections(self) -> list[Collection]:
        """All, by name."""
        return await self._within(READ_SECONDS, self._points.collections)

    async def create(
        self,
        name: str,
        dim: int,
        *,
        keys: Sequence[str] = (),
        tenants: Sequence[str] = (),
        times: Sequence[str] = (),
    ) -> None:
        """One more, if it is not there."""
        await self._within(
            WRITE_SECONDS, lambda: self._points.create(name, dim, keys=keys, tenants=tenants, times=times)
        )

    async def drop(self, name: str) -> None:
        """Gone with its files."""
        await self._within(WRITE_SECONDS, lambda: self._points.drop(name))

    async def put(self, name: str, points: Sequence[Point]) -> None:
        """Write."""
        await self._within(WRITE_SECONDS, lambda: self._points.put(name, points))

    async def remove(self, name: str, where: Where) -> None:
        """Gone from the next search on."""
        await self._within(WRITE_SECONDS, lambda: self._points.remove(name, where))

    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        """The nearest."""
        return await self._within(
            READ_SECONDS, lambda: self._points.search(name, where, dense, limit, payload=payload)
        )

    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        """A page."""
        return await self._within(
            READ_SECONDS, lambda: self._points.scroll(name, where, limit=limit, after=after, vectors=vectors)
        )

    async def count(self, name: str, where: Where) -> int:
        """Exactly."""
        return await self._within(READ_SECONDS, lambda: self._points.count(name, where))

    async def compact(self, name: str) -> None:
        """As long as it takes."""
        await self._within(None, lambda: self._points.compact(name))

    async def check(self) -> Mapping[str, str | int | float]:
        """Asked whatever the breaker says: an answer closes it."""
        return await self._told(READ_SECONDS, self._points.check)


def down(error: Exception) -> bool | None:
    """What an error says of Qdrant, as `Breaker` asks it. A full pool is our own."""
    if not isinstance(error, RetrievalError):
        return None
    return None if error.reason == "overloaded" else not error.rejected


def too_old(version: str) -> str:
    """What is wrong with a server's version; "": nothing, or it has none that we know how to read."""
    numbers = re.match(r"v?(\d+)\.(\d+)", version)
    if numbers is None or tuple(map(int, numbers.groups())) >= OLDEST:
        return ""
    return f"Qdrant {version} is older than {OLDEST[0]}.{OLDEST[1]}, the oldest version that is supported"


async def greet(points: Points) -> None:
    """Warn of a server that is too old, if it is there."""
    with suppress(RetrievalError):
        told = await points.check()
        if told["server"] != "embedded" and (old := too_old(str(told["version"]))):
            log.warning("qdrant is too old", detail=old)


@asynccontextmanager
async def open_points(settings: Settings, *, dim: int = 0, look: bool = False) -> AsyncIterator[Qdrant]:
    """Qdrant as the settings say, for vectors of `dim`; a server need not be there yet. `look`: nothing
    embedded is moved."""
    url, key = settings.qdrant.url, settings.qdrant.api_key
    if url is None:
        async with open_qdrant_process(settings.ibid.data_dir / "qdrant", look=look) as engine:
            yield Qdrant(engine)
        return
    # Two seconds and 100 MB that an embedded engine does without.
    from app.clients.qdrant_server import connected  # noqa: PLC0415 - heavy vendor, opened late

    try:
        server = connected(url, key.get_secret_value() if key else None, dim)
    except ValueError:
        raise StartError("QDRANT_URL is not of the form http://host:6333") from None
    try:
        yield Qdrant(server)
    finally:
        await server.aclose()
