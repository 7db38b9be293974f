"""Qdrant: an embedded engine (IBID_DATA_DIR/qdrant) or a server (QDRANT_URL), with deadlines and a breaker.

`Qdrant` is what both share; the embedded one runs in a child process (`qdrant_process.py`), a server is asked
through the vendor's client (`qdrant_server.py`). After several failures in a row Qdrant is not asked for some
seconds (`breaker.py`); a refusal (no such collection, another shape) and a full pool of ours are no
failures. Times are seconds.
"""

import asyncio
import re
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from functools import wraps
from typing import Any, ClassVar, Concatenate, ParamSpec, TypeVar

import structlog

from app.breaker import Breaker
from app.clients.points import Collection, Point, Where
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
Self = TypeVar("Self", bound="Qdrant")
Arguments = ParamSpec("Arguments")
Method = Callable[Concatenate[Self, Arguments], Coroutine[Any, Any, Result]]

log = structlog.get_logger(__name__)


class Qdrant(ABC):
    """The points of an engine; one contract test for both kinds. Also the probe for /readyz (`types.Probe`).

    Writes are searchable when they return, and durable as the engine makes them. Every call raises
    `RetrievalError`; with `rejected` nothing is down: there is no such collection (`missing`), or it has
    another shape. Writes of the embedded engine raise `NoRoom`, too.
    """

    name: ClassVar[str] = "qdrant"
    embedded: ClassVar[bool]
    """Whether nobody else uses it."""

    def __init__(self) -> None:
        self.breaker = Breaker(time.monotonic, lasting=LASTING)

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
        """A collection with the dense vector DENSE (cosine); `keys` are indexed keyword fields, `tenants`
        those that tell users apart, `times` datetimes. A collection that exists stays as it is, but for
        fields that are not indexed yet."""

    @abstractmethod
    async def drop(self, name: str) -> None:
        """Delete a collection with its files; nothing there is no error."""

    @abstractmethod
    async def put(self, name: str, points: Sequence[Point]) -> None:
        """Write; each id again replaces."""

    @abstractmethod
    async def remove(self, name: str, where: Where) -> None:
        """Delete points; no such collection is no error."""

    @abstractmethod
    async def search(
        self, name: str, where: Where, dense: Embedding, limit: int, *, payload: bool = True
    ) -> list[Point]:
        """The nearest points, best first (equal scores by id), without their vectors."""

    @abstractmethod
    async def scroll(
        self, name: str, where: Where, *, limit: int, after: str | None = None, vectors: bool = False
    ) -> list[Point]:
        """Points by id, those after `after`; `vectors` gives their dense vectors."""

    @abstractmethod
    async def count(self, name: str, where: Where) -> int:
        """How many, exactly."""

    @abstractmethod
    async def compact(self, name: str) -> None:
        """Rewrite the files so that what was removed is in none of them (a server: as far as it lets us)."""

    @abstractmethod
    async def check(self) -> Mapping[str, str | int | float]:
        """Facts about the engine; raises if it does not answer. Asks whatever the breaker says."""

    @abstractmethod
    async def close(self) -> None:
        """End the process, or the connections."""

    def on_set_aside(self, callback: Callable[[str], None]) -> None:  # noqa: B027 - nothing to do
        """Call `callback` with the name of each collection whose files could not be read: it is missing from
        then on, until the outbox writes it anew. A server looks after its own."""

    async def guarded(self, seconds: float | None, call: Callable[[], Awaitable[Result]]) -> Result:
        """A call with a deadline that the breaker counts."""
        with self.breaker.attempt(is_down):
            try:
                async with asyncio.timeout(seconds):
                    return await call()
            except TimeoutError as error:
                raise RetrievalError("timeout") from error


def deadline(
    seconds: Callable[[], float | None], *, always: bool = False
) -> Callable[[Method[Self, Arguments, Result]], Method[Self, Arguments, Result]]:
    """Decorator of an engine's method: a deadline, and refused at once while the breaker is open (`always`:
    asked even then). A decorated method must not call another."""

    def decorated(method: Method[Self, Arguments, Result]) -> Method[Self, Arguments, Result]:
        @wraps(method)
        async def call(self: Self, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            if self.breaker.refuses and not always:
                raise RetrievalError("unavailable")
            return await self.guarded(seconds(), lambda: method(self, *args, **kwargs))

        return call

    return decorated


def read(method: Method[Self, Arguments, Result]) -> Method[Self, Arguments, Result]:
    return deadline(lambda: READ_SECONDS)(method)


def write(method: Method[Self, Arguments, Result]) -> Method[Self, Arguments, Result]:
    return deadline(lambda: WRITE_SECONDS)(method)


def unlimited(method: Method[Self, Arguments, Result]) -> Method[Self, Arguments, Result]:
    return deadline(lambda: None)(method)


def probe(method: Method[Self, Arguments, Result]) -> Method[Self, Arguments, Result]:
    return deadline(lambda: READ_SECONDS, always=True)(method)


def is_down(error: Exception) -> bool | None:
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


async def greet(qdrant: Qdrant) -> None:
    """Warn of a server that is too old, if it is there."""
    with suppress(RetrievalError):
        facts = await qdrant.check()
        if not qdrant.embedded and (old := too_old(str(facts["version"]))):
            log.warning("qdrant is too old", detail=old)


@asynccontextmanager
async def open_points(settings: Settings, *, dim: int = 0, read_only: bool = False) -> AsyncIterator[Qdrant]:
    """Qdrant as the settings say, for vectors of `dim`; a server need not be there yet. `read_only`: nothing
    embedded is moved."""
    url, key = settings.qdrant.url, settings.qdrant.api_key
    qdrant: Qdrant
    if url is None:
        from app.clients.qdrant_process import QdrantProcess  # noqa: PLC0415 - only the one that is used

        qdrant = QdrantProcess(settings.ibid.data_dir / "qdrant", read_only=read_only)
    else:
        # Two seconds and 100 MB that an embedded engine does without.
        from app.clients.qdrant_server import connected  # noqa: PLC0415 - heavy vendor, opened late

        try:
            qdrant = connected(url, key.get_secret_value() if key else None, dim)
        except ValueError:
            raise StartError("QDRANT_URL is not of the form http://host:6333") from None
    try:
        yield qdrant
    finally:
        await qdrant.close()
