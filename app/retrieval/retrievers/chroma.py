"""ChromaDB (documents): embedded in a child process (`chroma_child.py`) or a server (`CHROMA_URL`).

Vectors are rows of a float32 matrix of unit length; collections use cosine and are created at first use.
Every call has a deadline, behind one breaker. When the child dies, its calls fail and the next call starts
another. If it cannot open its folder, or keeps crashing or hanging (`process.CrashBlame`), the next child
moves the folder aside and begins an empty one. Reads raise `RetrievalError` (unavailable, timeout,
overloaded), writes `Unavailable`; opening `StartError`. Times are seconds.
"""

import asyncio
import re
import shutil
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from hashlib import blake2b
from http import HTTPStatus
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from urllib.parse import quote, urlsplit

import numpy as np
import orjson
import structlog

from app.breaker import LASTING, Breaker
from app.child import INTERNAL
from app.errors import Overloaded, RetrievalError, StartError, Unavailable
from app.process import (
    CRASHES,
    Child,
    ChildProcess,
    CrashBlame,
    Died,
    Fault,
    Full,
    NotStarted,
    Program,
    python,
)
from app.retrieval.index import PassageKey
from app.retrieval.index_cache import EXACT_BYTES
from app.retrieval.retrievers.chroma_child import (
    BROKEN,
    CONFIGURATION,
    DATABASE,
    LOST,
    PAGE,
    REMADE,
    UNFILLED,
    ChromaFault,
    Json,
    Matrix,
    Where,
)
from app.settings import Settings
from app.types import Embedding

if TYPE_CHECKING:
    from aiohttp import ClientSession

PROGRAM = Program("chroma", python("app.retrieval.retrievers.chroma_child"), calls=72, start_seconds=600.0)
"""A large folder on a slow disk takes long to open. A starting service does not wait for all of it."""
ANSWER_SECONDS = 60.0
"""A child that takes longer for a call counts as hung and is killed."""
READ_SECONDS = 4.0
"""Less than the 6 s of all retrieval, so that Postgres can still search instead."""
START_SECONDS = 60.0
"""A starting service waits this long for the embedded one, then continues without it."""
WRITE_SECONDS = 60.0
"""Deadline of a batch, with its wait for other writers. A batch takes some hundredths of a second."""
BATCH = 128
"""Vectors per write or delete: a read waits for one of them, and larger ones are no faster."""
CONNECTIONS = 16
"""Connections to a server."""
OURS = re.compile(r"ibid-(global|sessions)-.*[0-9a-f]{8}$")
"""Names made by `collection`."""

log = structlog.get_logger(__name__)


class ChromaDamaged(ChromaFault):
    """The folder cannot be used, and `read_only` forbids replacing it."""


class Chroma(ABC):
    """Calls, deadlines and errors of both kinds; subclasses implement `_ask`."""

    embedded: ClassVar[bool]
    """True if the engine belongs to this service alone."""

    def __init__(self, *, breaker: Breaker | None = None) -> None:
        self.breaker = breaker or Breaker(time.monotonic, lasting=LASTING)
        self._writing = asyncio.Lock()
        self._opening: asyncio.Task[None] | None = None
        self._lost = ""
        """Why it began without vectors that it had; "" once that is reported."""
        self._on_files_lost: Callable[[str], None] | None = None

    def on_files_lost(self, callback: Callable[[str], None] | None) -> None:
        self._on_files_lost = callback

    @abstractmethod
    async def _ask(self, do: str, matrix: Matrix | None = None, **arguments: Json) -> Json:
        """Call a method of `EmbeddedChroma`, or of the server. Raises `ChromaFault` and `Overloaded`."""

    @abstractmethod
    async def _open(self) -> None:
        """Open the engine, so that the first question need not wait for it."""

    def begin(self) -> None:
        self._opening = asyncio.create_task(self._open(), name="chroma")

    async def ready(self, seconds: float = START_SECONDS) -> bool:
        """Wait until the embedded one is open. False: it is still opening, and answers later. `StartError` if
        its folder cannot be used."""
        if self._opening and self.embedded:
            await asyncio.wait({self._opening}, timeout=seconds)
            if not self._opening.done():
                log.warning("chroma still opens its folder; the service starts without it", waited=seconds)
                return False
            self._opening.result()
        return True

    async def close(self) -> None:
        if self._opening:
            self._opening.cancel()
            await asyncio.gather(self._opening, return_exceptions=True)

    async def beat(self) -> None:
        await self._read("beat")

    async def names(self) -> list[str]:
        return list(await self._read("names"))

    async def count(self, collection: str) -> int:
        return int(await self._read("count", collection=collection))

    async def ids(self, collection: str, where: Where) -> list[str]:
        return list((await self._read("get", collection=collection, where=where))["ids"])

    async def page(self, collection: str, start: int, limit: int) -> list[str]:
        return list((await self._read("get", collection=collection, offset=start, limit=limit))["ids"])

    async def payloads(self, collection: str, where: Where) -> list[Mapping[str, object]]:
        found = await self._read("get", collection=collection, where=where, include=["metadatas"])
        return [each or {} for each in found["metadatas"]]

    async def vectors(self, collection: str, start: int, limit: int) -> list[tuple[str, Embedding]]:
        found = await self._read(
            "get", collection=collection, offset=start, limit=limit, include=["embeddings"]
        )
        try:
            rows = np.asarray(found["embeddings"], dtype="<f4")
            return [(id_, row.tobytes()) for id_, row in zip(found["ids"], rows, strict=True)]
        except (TypeError, ValueError) as error:
            raise RetrievalError("unavailable") from error

    async def nearest(
        self, collection: str, vector: Embedding, equal: Mapping[str, str], limit: int
    ) -> list[tuple[str, float]]:
        """Ids and cosines of approximately the nearest vectors with these metadata values, best first."""
        fields = [{name: value} for name, value in equal.items()]
        where = {"$and": fields} if len(fields) > 1 else equal or None
        row = np.frombuffer(vector, dtype="<f4")[None]
        found = await self._read("query", row, collection=collection, where=where, limit=limit)
        near = zip(found["ids"], found["distances"], strict=True)
        return sorted(((id_, 1 - distance) for id_, distance in near), key=lambda each: (-each[1], each[0]))

    async def upsert(
        self, collection: str, ids: Sequence[str], matrix: Matrix, metadata: Sequence[Mapping[str, object]]
    ) -> None:
        for at in range(0, len(ids), BATCH):
            some, rows = list(ids[at : at + BATCH]), matrix[at : at + BATCH]
            facts = [dict(each) or None for each in metadata[at : at + BATCH]]  # it takes no empty ones
            await self._write("upsert", rows, collection=collection, ids=some, metadatas=facts)

    async def delete(self, collection: str, where: Where) -> None:
        """Delete vectors with this metadata, in batches: the vendor's own delete is one long call."""
        found = await self._write("get", collection=collection, where=where)
        await self.drop(collection, found["ids"])

    async def drop(self, collection: str, ids: Sequence[str]) -> None:
        for at in range(0, len(ids), BATCH):
            await self._write("delete", collection=collection, ids=list(ids[at : at + BATCH]))

    async def forget(self, collection: str) -> None:
        """Delete a collection, if it exists. May take long; writes continue meanwhile."""
        with writing():
            async with self._call(WRITE_SECONDS):
                await self._ask("forget", collection=collection)

    async def renew(self) -> None:  # noqa: B027 - nothing to do
        """Rebuild the embedded one's folder without deleted data. Does nothing for a server."""

    async def filled(self) -> None:  # noqa: B027 - nothing to do
        """Call after a refill: the embedded one is complete again, unless it lost vectors meanwhile."""

    async def _read(self, do: str, matrix: Matrix | None = None, **arguments: Json) -> Json:
        with reading():
            async with self._call(READ_SECONDS):
                return await self._ask(do, matrix, **arguments)

    async def _write(self, do: str, matrix: Matrix | None = None, **arguments: Json) -> Json:
        """Change a collection. One write at a time leaves room for reads."""
        with writing():
            async with asyncio.timeout(WRITE_SECONDS), self._writing, self._call(WRITE_SECONDS):
                return await self._ask(do, matrix, **arguments)

    @asynccontextmanager
    async def _call(self, seconds: float) -> AsyncIterator[None]:
        """A deadline that the breaker counts; reports lost files."""
        if self.breaker.refuses:
            raise ChromaFault("it has just failed several times in a row")
        with self.breaker.attempt(is_down):
            async with asyncio.timeout(seconds):
                yield
        if self._lost and self._on_files_lost:
            reason, self._lost = self._lost, ""
            self._on_files_lost(reason)

    def on_recovery(self, callback: Callable[[], None] | None) -> None:
        self.breaker.on_recovery = callback


def is_down(error: Exception) -> bool | None:
    """For `Breaker`: a full pool of our own does not mean that Chroma is down."""
    return error.down if isinstance(error, ChromaFault) else isinstance(error, TimeoutError) or None


@contextmanager
def reading() -> Iterator[None]:
    try:
        yield
    except TimeoutError as error:
        raise RetrievalError("timeout") from error
    except Overloaded as error:
        raise RetrievalError("overloaded") from error
    except ChromaFault as error:
        raise RetrievalError("unavailable") from error


@contextmanager
def writing() -> Iterator[None]:
    try:
        yield
    except (TimeoutError, Overloaded, ChromaFault) as error:
        raise Unavailable("Chroma does not answer", retry_after=5) from error


class ChromaProcess(Chroma):
    """The embedded engine in a child process, since it holds the GIL for whole calls."""

    embedded = True

    def __init__(
        self,
        folder: Path,
        *,
        read_only: bool = False,
        exact_bytes: int = EXACT_BYTES,
        program: Program = PROGRAM,
    ) -> None:
        """`read_only`: change nothing in the folder; damage raises `ChromaDamaged`. `exact_bytes`: scopes
        up to this size are searched without Chroma (EXACT_MAX_MB)."""
        super().__init__()
        self._exact_bytes = exact_bytes
        self._cleared = False
        """True if its files were removed on purpose."""
        self._folder = folder
        self._read_only = read_only
        self._program = program
        self._last: Child | None = None
        self._blame = CrashBlame({INTERNAL, *CRASHES})
        self.process = ChildProcess(self._start)

    async def _ask(self, do: str, matrix: Matrix | None = None, **arguments: Json) -> Json:
        data = b"" if matrix is None else np.ascontiguousarray(matrix, dtype="<f4").tobytes()
        with child_faults():
            reply = await self.process.call(do, arguments, data, hangs_after=ANSWER_SECONDS)
        return reply.payload["result"]

    async def _open(self) -> None:
        try:
            await self._ask("beat")
        except ChromaFault as error:
            raise StartError(f"Chroma's folder cannot be opened: {error}") from error

    async def renew(self) -> None:
        with writing():
            async with self._writing, self._call(WRITE_SECONDS):
                with child_faults():
                    await self.process.restart(lambda: asyncio.to_thread(self._clear))

    async def filled(self) -> None:
        """If the mark cannot be removed, it is filled once more."""
        if not self._lost:
            with suppress(OSError):
                await asyncio.to_thread((self._folder / UNFILLED).unlink)

    async def close(self) -> None:
        await super().close()
        await self.process.close()

    def _clear(self) -> None:
        for folder in (self._folder, *self._folder.parent.glob(f"{self._folder.name}.broken-*")):
            shutil.rmtree(folder, ignore_errors=True)
        self._cleared = True

    async def _start(self) -> Child:
        """Start a child; a folder that it cannot use is moved aside, once."""
        last, self._last = self._last, None
        await self._blame.note(last, str(self._folder))
        try:
            child = await self._begin(aside=bool(self._blame.suspects()) and not self._read_only)
        except NotStarted as error:
            if error.code not in {BROKEN, *CRASHES}:
                raise
            if self._read_only:
                raise ChromaDamaged("its files are damaged") from error
            log.error("chroma's folder cannot be used; it is moved aside and filled anew from postgres")
            child = await self._begin(aside=True)
        self._last = child
        cleared, self._cleared = self._cleared, False
        self._lost = self._lost or (REMADE if cleared else child.hello["lost"])
        if last:
            self.breaker.note(True)  # for `on_recovery`: its files may be different
        return child

    async def _begin(self, *, aside: bool) -> Child:
        if aside:
            self._blame.forget()
        mode = [str(self._exact_bytes), *["aside"] * aside, *["read-only"] * self._read_only]
        return await Child.start(self._program, str(self._folder.absolute()), *mode)


@contextmanager
def child_faults() -> Iterator[None]:
    """Translate errors. A child's death says nothing about the next one (`down` is None)."""
    try:
        yield
    except Fault as fault:
        raise ChromaFault(fault.payload["error"], down=fault.payload["down"]) from None
    except Full as error:
        raise Overloaded(str(error)) from error
    except NotStarted as error:
        raise ChromaFault(str(error)) from error
    except Died as error:
        raise ChromaFault(str(error), down=True if error.hung else None) from error


class ChromaServer(Chroma):
    """A server, called through its REST interface (v2): the vendor's client takes two seconds and 100 MB to
    import, blocks, and waits without a deadline."""

    embedded = False

    def __init__(self, url: str) -> None:
        super().__init__()
        parts = urlsplit(url)
        port = parts.port or (443 if parts.scheme == "https" else 8000)
        name = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
        self._api = f"{parts.scheme}://{name}:{port}/api/v2"
        self._collections = f"{self._api}/tenants/{DATABASE[0]}/databases/{DATABASE[1]}/collections"
        self._ids: dict[str, str] = {}
        self._session: ClientSession | None = None

    async def _open(self) -> None:
        try:
            async with asyncio.timeout(READ_SECONDS):
                await self._ask("beat")
        except (ChromaFault, TimeoutError) as error:
            log.warning("chroma's server does not answer yet", detail=str(error))

    async def close(self) -> None:
        await super().close()
        if self._session:
            await self._session.close()

    async def _ask(
        self, do: str, matrix: Matrix | None = None, *, collection: str = "", **arguments: Json
    ) -> Json:
        try:
            found = await self._asked(do, matrix, collection, arguments)
            if do == "count":
                return int(found)
            if do == "get" and not isinstance(found[[*arguments.get("include", ()), "ids"][0]], list):
                raise TypeError(do)
        except (LookupError, TypeError, ValueError) as error:
            raise ChromaFault(f"not an answer of Chroma's: {type(error).__name__}") from error
        return found

    async def _asked(
        self, do: str, matrix: Matrix | None, collection: str, arguments: Mapping[str, Json]
    ) -> Json:
        match do:
            case "beat":
                return await self._request("GET", f"{self._api}/heartbeat")
            case "names":
                return await self._names()
            case "forget":
                self._ids.pop(collection, None)
                path = f"{self._collections}/{quote(collection, safe='')}"
                return await self._request("DELETE", path, missing_ok=True)
        if known := self._ids.get(collection):
            try:
                return await self._ask_collection(do, known, matrix, arguments)
            except MissingCollection:  # it was deleted: created again, once for all concurrent calls
                if self._ids.get(collection) == known:
                    del self._ids[collection]
                self._lost = LOST
        made = {"name": collection, "configuration": CONFIGURATION, "get_or_create": True}
        id_ = self._ids[collection] = (await self._request("POST", self._collections, made))["id"]
        return await self._ask_collection(do, id_, matrix, arguments)

    async def _ask_collection(
        self, do: str, id_: str, matrix: Matrix | None, arguments: Mapping[str, Json]
    ) -> Json:
        path = f"{self._collections}/{id_}"
        if do == "count":
            return await self._request("GET", f"{path}/count")
        body = {"include": [], **arguments}
        if do == "upsert":
            body["embeddings"] = matrix
        if do == "query":
            body |= {"query_embeddings": matrix, "n_results": body.pop("limit"), "include": ["distances"]}
        found = await self._request("POST", f"{path}/{do}", body)
        if do == "query":
            return {"ids": found["ids"][0], "distances": found["distances"][0]}
        return found

    async def _names(self) -> list[str]:
        names: list[str] = []
        while page := await self._request("GET", f"{self._collections}?limit={PAGE}&offset={len(names)}"):
            names += [each["name"] for each in page]
        return names

    async def _request(self, method: str, url: str, body: object = None, *, missing_ok: bool = False) -> Json:
        import aiohttp  # noqa: PLC0415 - heavy vendor, opened late

        if self._session is None:
            self._session = aiohttp.ClientSession(
                connector=aiohttp.TCPConnector(limit=CONNECTIONS),
                timeout=aiohttp.ClientTimeout(total=None),
                headers={"Content-Type": "application/json"},
                trust_env=True,  # HTTP_PROXY, HTTPS_PROXY, NO_PROXY
            )
        data = None if body is None else orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY)
        try:
            async with self._session.request(method, url, data=data, allow_redirects=False) as response:
                said = await response.read()
                if response.status < HTTPStatus.MULTIPLE_CHOICES:
                    return orjson.loads(said)
        except (aiohttp.ClientError, OSError, ValueError) as error:
            raise ChromaFault(f"{type(error).__name__}: {error}") from error
        if response.status == HTTPStatus.NOT_FOUND:
            if missing_ok:
                return None
            raise MissingCollection(f"{method} {url} is not found", down=False)
        down = response.status >= HTTPStatus.INTERNAL_SERVER_ERROR
        raise ChromaFault(f"{response.status}: {said[:200].decode(errors='replace')}", down=down)


class MissingCollection(ChromaFault):
    pass


@asynccontextmanager
async def open_chroma(
    settings: Settings, folder: Path | None = None, *, read_only: bool = False
) -> AsyncIterator[Chroma]:
    """Chroma as configured. The embedded one opens in the background; wait with `ready`. `folder`: instead of
    the configured one; `read_only`: nothing in it is moved or tidied."""
    folder = folder or settings.ibid.data_dir / "chroma"
    url = settings.chroma.url
    exact_bytes = settings.exact.max_mb << 20
    chroma: Chroma = (
        ChromaServer(url) if url else ChromaProcess(folder, read_only=read_only, exact_bytes=exact_bytes)
    )
    try:
        chroma.begin()
        yield chroma
    finally:
        await chroma.close()


def collection(space: str, *, is_global: bool) -> str:
    """The collection of a space's documents. Chroma allows letters, digits, `.`, `_` and `-`, so a digest
    keeps spaces apart."""
    slug = re.sub(r"[^a-z0-9]+", "-", space.lower()).strip("-")[:64]
    digest = blake2b(space.encode(), digest_size=4).hexdigest()
    return f"ibid-{'global' if is_global else 'sessions'}-{slug}-{digest}"


def passage_id(key: PassageKey) -> str:
    return f"{key[0]}:{key[1]}"


def key_of(passage_id: str) -> PassageKey:
    document, _, ordinal = passage_id.rpartition(":")
    return document, int(ordinal)
