"""The vendor's side of Chroma: its synchronous clients, opened when first used; everything here blocks.

For an embedded folder and for a server alike: the vendor's async client does not verify TLS certificates
unless told to. No embedding function, no telemetry, nothing downloaded. Raises `Lost`, whatever the vendor
raised; `clients/chroma.py` turns that into errors others know.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeVar
from urllib.parse import urlsplit

import httpx

from app.domain.errors import IbidError

ANSWER_SECONDS = 60.0
"""What a server may take; a thread that waits longer would be lost."""

Result = TypeVar("Result")


class Lost(IbidError):
    """The vendor failed, whatever it raised. Never leaves `app/clients`."""


def guarded(work: Callable[[], Result]) -> Result:
    """In the thread: one kind of error for all of the vendor's. A missing server is a `ValueError` of its
    client, one that is not Chroma answers with what ends in a `KeyError` or `TypeError`."""
    from chromadb.errors import ChromaError  # noqa: PLC0415 - heavy vendor, opened late

    try:
        return work()
    except (ChromaError, httpx.HTTPError, OSError, ValueError, RuntimeError, LookupError, TypeError) as error:
        raise Lost(f"{type(error).__name__}: {error}") from error


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

    def close(self) -> None:
        """Give back what it holds."""


class Client:
    """The vendor's client, opened when first used; every method blocks. Safe in several threads."""

    def __init__(self, connect: Callable[[], VendorClient]) -> None:
        self._connect = connect
        self._lock = threading.Lock()
        self._client: VendorClient | None = None
        self._collections: dict[str, VendorCollection] = {}

    def open(self) -> VendorClient:
        """The vendor's object."""
        with self._lock:
            if self._client is None:
                self._client = self._connect()
            return self._client

    def collection(self, name: str) -> VendorCollection:
        """A collection, made if it is missing."""
        if name not in self._collections:
            self._collections[name] = self.open().get_or_create_collection(
                name, embedding_function=None, configuration={"hnsw": {"space": "cosine"}}
            )
        return self._collections[name]

    def use(self, name: str, work: Callable[[VendorCollection], Result]) -> Result:
        """Work on a collection. One that was dropped behind our back is made anew, once."""
        from chromadb.errors import NotFoundError  # noqa: PLC0415 - heavy vendor, opened late

        try:
            return work(self.collection(name))
        except NotFoundError:
            self._collections.pop(name, None)
            return work(self.collection(name))

    def close(self) -> None:
        """Give back what the client holds."""
        if self._client is not None:
            self._client.close()


class Remote:
    """A server's client that gives its connections back; the vendor's own forgets to."""

    def __init__(self, client: VendorClient, sessions: Sequence[httpx.Client]) -> None:
        self._client = client
        self._sessions = sessions
        self.heartbeat = client.heartbeat
        self.get_or_create_collection = client.get_or_create_collection
        for session in sessions:
            # The vendor waits for ever; without a deadline a dead server would keep every thread.
            session.timeout = httpx.Timeout(ANSWER_SECONDS)

    def close(self) -> None:
        """The client and its connections."""
        self._client.close()
        for session in self._sessions:
            session.close()


def embedded(folder: Path) -> VendorClient:
    """The vendor's client on a folder of ours. Blocks; about a second with its import."""
    import chromadb  # noqa: PLC0415 - heavy vendor, opened late

    folder.mkdir(parents=True, exist_ok=True)
    # Without _env_file=None the vendor would take settings of its own from our .env.
    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    client: VendorClient = chromadb.PersistentClient(folder, settings)
    return client


def remote(url: str) -> VendorClient:
    """The vendor's client of a server. Blocks; raises if the server does not answer."""
    import chromadb  # noqa: PLC0415 - heavy vendor, opened late

    parts = urlsplit(url)
    secure = parts.scheme == "https"
    settings = chromadb.Settings(_env_file=None, anonymized_telemetry=False)
    port = parts.port or (443 if secure else 8000)
    client = chromadb.HttpClient(parts.hostname or "", port, ssl=secure, settings=settings)
    both = (client, client._admin_client)  # noqa: SLF001 - there is no public way
    return Remote(client, [each._server._session for each in both])  # noqa: SLF001 - nor to these
