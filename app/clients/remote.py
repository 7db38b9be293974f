"""A Chroma server's client (`CHROMA_URL`): the vendor's own, with deadlines, and its connections given back.

Synchronous, in our threads: the vendor's async client does not verify TLS certificates unless told to.
Everything here blocks and raises whatever the vendor does; `collection.py` turns that into `Lost`.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from app.clients.collection import VendorClient

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
