"""The services of one running Ibid, as `wiring` built them and the API uses them."""

from collections.abc import Callable
from dataclasses import dataclass

from app.domain.ports import Keys, Probe
from app.services.chat import ChatService
from app.services.documents import DocumentService


@dataclass(frozen=True, slots=True)
class Services:
    """Everything a request may need."""

    chat: ChatService
    documents: DocumentService
    keys: Keys
    probes: tuple[Probe, ...]
    """What `/readyz` asks, in order."""
    debug: bool | None
    """Whether replies carry `debug` (RAG_DEBUG_MODE); None: while the service is open on loopback."""
    token: str
    """The data folder's local token: acts as a tenant key of the tenant `default` on this machine."""
    publish: Callable[[str], None]
    """Tells commands on this machine the address to come through (the folder's lock file)."""
    hurry: Callable[[], None] = lambda: None
    """Ends the waits of uploads before the service stops: their bytes and jobs are durable."""
