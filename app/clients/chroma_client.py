"""The vendor's side of Chroma: its synchronous client, opened when first used, and what is asked of it.

The same for a server (`remote`, CHROMA_URL) and, in the child process that has it, for a folder
(`chroma_child.py`). No embedding function, no telemetry, nothing downloaded. A server's calls have deadlines,
and its connections are given back; the vendor's async client does not verify TLS certificates unless told to.
Everything blocks. Raises `ChromaFault`, whatever the vendor raised; `clients/chroma.py` turns that into
errors that others know.
"""

import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar
from urllib.parse import urlsplit

import numpy as np
from numpy.typing import NDArray

from app.errors import IbidError

HNSW = {"space": "cosine", "batch_size": 100, "sync_threshold": 100}
"""Changes that wait to be written to the index's files: the first delete costs the square of their number,
1.8 s of 700 under the vendor's usual 1,000, and 0.1 s of these. As a collection was made, so it stays."""
PAGE = 500
"""Collections a list: a server of others' may hold many."""

PLAIN = (OSError, ValueError, RuntimeError, LookupError, TypeError)
"""Python's own errors that come out of the vendor's code."""

BROKEN = 4
"""Exit code of the child: the content of its folder cannot be used."""

Result = TypeVar("Result")
Matrix: TypeAlias = NDArray[np.float32]
Answer: TypeAlias = tuple[Mapping[str, Any], Matrix | None]
"""A result: JSON values, and a matrix or None."""


class ChromaFault(IbidError):
    """Chroma failed, whatever the vendor raised. Never leaves `app/clients`."""

    def __init__(self, detail: str, *, down: bool | None = True) -> None:
        super().__init__(detail)
        self.down = down
        """False: it answered, if only to refuse us; None: says nothing of the next call."""


class Guard:
    """In the thread, around any call of the vendor: one kind of error for all of the vendor's. A missing
    server is a `ValueError` of its client, one that is not Chroma answers with what ends in a `KeyError` or
    `TypeError`, and a proxy's page of an error is a bare `Exception`."""

    def __enter__(self) -> None:
        """Nothing to set up."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None:
            return
        if isinstance(error, loaded("chromadb.errors", "ChromaError")):
            raise ChromaFault(f"{type(error).__name__}: {error}", down=error.code() >= 500) from error
        if kind is Exception or isinstance(error, (*PLAIN, *loaded("httpx", "HTTPError"))):
            raise ChromaFault(f"{type(error).__name__}: {error}") from error


def loaded(module: str, name: str) -> tuple[type[Any], ...]:
    """A kind of a vendor's exceptions; none of one that is not loaded, since it has raised nothing."""
    kind = getattr(sys.modules.get(module), name, None)
    return (kind,) if kind else ()


class VendorCollection(Protocol):
    """What we call of the vendor's collection; every method blocks."""

    def count(self) -> int:
        """Vectors in it."""

    def get(self, **arguments: object) -> Mapping[str, Any]:
        """ids, where, include."""

    def query(self, **arguments: object) -> Mapping[str, Any]:
        """query_embeddings, where, n_results, include."""

    def upsert(self, **arguments: object) -> None:
        """ids, embeddings, metadatas."""

    def delete(self, **arguments: object) -> object:
        """ids or where."""


class VendorClient(Protocol):
    """What we call of the vendor's client."""

    def heartbeat(self) -> int:
        """Its clock, if it answers."""

    def get_or_create_collection(self, name: str, **arguments: object) -> VendorCollection:
        """A collection."""

    def list_collections(self, limit: int, offset: int) -> Sequence[Any]:
        """A page of them; each has a name."""

    def delete_collection(self, name: str) -> None:
        """Drop it with all that is in it."""

    def close(self) -> None:
        """Give back what it holds."""


class Vendor(Protocol):
    """What `Chroma` calls: a child process (`chroma_process.py`), or a server (`chroma.InThreads`)."""

    @property
    def renewals(self) -> int:
        """How often it was found, or made, without what had been written to it."""

    async def ask(
        self, do: str, of: str = "", arguments: Mapping[str, Any] | None = None, matrix: Matrix | None = None
    ) -> Answer:
        """See `perform`. Raises `ChromaFault` and `Overloaded`."""

    async def close(self) -> None:
        """Give back what it holds."""


class Client:
    """The vendor's client, opened when first used. Everything blocks, safe in several threads."""

    def __init__(self, connect: Callable[[], VendorClient]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._client: VendorClient | None = None
        self._collections: dict[str, VendorCollection] = {}
        self.renewals = 0

    def open(self) -> VendorClient:
        with self._lock, Guard():
            if self._client is None:
                self._client = self._connect()
            return self._client

    def beat(self) -> None:
        with Guard():
            self.open().heartbeat()

    def use(self, name: str, work: Callable[[VendorCollection], Result]) -> Result:
        """Work on a collection. One that was dropped behind our back is made anew, once."""
        with Guard():
            try:
                return work(self._collection(name))
            except loaded("chromadb.errors", "NotFoundError"):
                self._collections.pop(name, None)
                self.renewals += 1
                return work(self._collection(name))

    def _collection(self, name: str) -> VendorCollection:
        """A collection, made if it is missing."""
        if name not in self._collections:
            self._collections[name] = self.open().get_or_create_collection(
                name, embedding_function=None, configuration={"hnsw": HNSW}
            )
        return self._collections[name]

    def names(self) -> list[str]:
        """All collections, others' too."""
        names: list[str] = []
        with Guard():
            while page := self.open().list_collections(PAGE, len(names)):
                names += [each.name for each in page]
        return names

    def forget(self, name: str) -> None:
        """Drop a collection; none there is no error."""
        self._collections.pop(name, None)
        with Guard():
            try:
                self.open().delete_collection(name)
            except loaded("chromadb.errors", "NotFoundError"):
                return

    def close(self) -> None:
        """Give back what the client holds."""
        if self._client is not None:
            self._client.close()


def perform(
    client: Client,
    do: str,
    of: str = "",
    arguments: Mapping[str, Any] | None = None,
    matrix: Matrix | None = None,
) -> Answer:
    """Do one operation: `beat`, `names`, `forget`; or, on the collection named `of` (created if missing),
    `count`, `get`, `query` (near one row), `upsert` (rows), `delete` with the vendor's arguments. Blocks."""
    if do == "beat":
        client.beat()
        return {}, None
    if do == "names":
        return {"names": client.names()}, None
    if do == "forget":
        client.forget(of)
        return {}, None
    return client.use(of, lambda store: performed(store, do, arguments or {}, matrix))


def performed(
    store: VendorCollection, do: str, arguments: Mapping[str, Any], matrix: Matrix | None
) -> Answer:
    """One call of a collection."""
    match do:
        case "count":
            return {"count": store.count()}, None
        case "get":
            found = store.get(**arguments)
            return {"ids": found["ids"], "metadatas": found["metadatas"]}, rows(found["embeddings"])
        case "query":
            found = store.query(query_embeddings=matrix, **arguments)
            near, facts = found["embeddings"], found["metadatas"]
            reply = {"ids": found["ids"][0], "metadatas": facts[0] if facts else None}
            return reply, rows(None if near is None else near[0])
        case "upsert":
            store.upsert(embeddings=matrix, **arguments)
        case "delete":
            store.delete(**arguments)
        case _:
            raise ValueError(do)
    return {}, None


def rows(found: Sequence[Sequence[float]] | None) -> Matrix | None:
    """The vendor's rows as a matrix; of none, one without rows."""
    if found is None:
        return None
    matrix = np.asarray(found, dtype=np.float32)
    return matrix if matrix.ndim == 2 else matrix.reshape(0, 0)


def packed(matrix: Matrix | None) -> tuple[dict[str, Any], bytes]:
    """A matrix for a frame: its shape for the payload, and its bytes."""
    if matrix is None:
        return {}, b""
    return {"shape": matrix.shape}, np.ascontiguousarray(matrix, dtype=np.float32).tobytes()


def unpacked(payload: dict[str, Any], data: bytes | bytearray) -> tuple[dict[str, Any], Matrix | None]:
    """The payload without `shape`, and the matrix."""
    shape = payload.pop("shape", None)
    return payload, None if shape is None else np.frombuffer(data, dtype=np.float32).reshape(shape)


if TYPE_CHECKING:
    import httpx

ANSWER_SECONDS = 30.0
"""What a server may take; a thread that waits longer would be lost."""
GREET_SECONDS = 3.0
"""What it may take for its first word: below a read's deadline."""


class Remote:
    """A server's client that gives its connections back; the vendor's own forgets to."""

    def __init__(self, client: VendorClient, sessions: Sequence["httpx.Client"]) -> None:
        self._client = client
        self._sessions = sessions
        self.heartbeat = client.heartbeat
        self.get_or_create_collection = client.get_or_create_collection
        self.list_collections = client.list_collections
        self.delete_collection = client.delete_collection
        for session in sessions:
            # The vendor waits for ever; without a deadline a dead server would keep every thread.
            session.timeout = ANSWER_SECONDS

    def close(self) -> None:
        """The client and its connections."""
        self._client.close()
        for session in self._sessions:
            session.close()


def remote(url: str) -> VendorClient:
    """The vendor's client of a server. Raises if the server does not answer."""
    parts = urlsplit(url)
    secure = parts.scheme == "https"
    host, port = parts.hostname or "", parts.port or (443 if secure else 8000)
    greet(host, port, secure=secure)
    import chromadb  # noqa: PLC0415 - heavy vendor, opened late

    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    client = chromadb.HttpClient(host, port, ssl=secure, settings=settings)
    both = (client, client._admin_client)  # noqa: SLF001 - there is no public way
    return Remote(client, [each._server._session for each in both])  # noqa: SLF001 - nor to these


def greet(host: str, port: int, *, secure: bool) -> None:
    """A word before the vendor's client is made, which asks several times and waits for ever."""
    import httpx  # noqa: PLC0415 - heavy vendor, opened late

    name = f"[{host}]" if ":" in host else host
    address = f"http{'s' if secure else ''}://{name}:{port}/api/v2/heartbeat"
    httpx.get(address, timeout=GREET_SECONDS).raise_for_status()
