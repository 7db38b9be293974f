"""A server that speaks the OpenAI protocol: the vendor's own, vLLM, Ollama, llama.cpp and others.

Where it is, the connection to it, and what its failures mean: 401/403/404 `ModelRefused`, 429 `ModelBusy`,
no answer in time `ModelTimeout`, all else `ModelError` (CONTRACT §0). The server's own words never reach
a detail or a log, because they may repeat the prompt or a key; only its status and error code do.
"""

import email.utils
import math
import re
import time
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import structlog

from app.config import Chat, Embed, OpenAI
from app.domain.errors import ModelBusy, ModelError, ModelRefused, ModelTimeout

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import AsyncOpenAI

log = structlog.get_logger(__name__)

VENDOR = "https://api.openai.com/v1"
NO_KEY = "no-key"
"""Sent where no key is set: servers without keys take any, the client takes none but a key."""

CODE = re.compile(r"^[a-z][a-z0-9_.-]{2,59}$", re.IGNORECASE)
CONNECT_SECONDS = 10.0
CONNECTIONS, IDLE_CONNECTIONS = 512, 64


@dataclass(frozen=True, slots=True)
class Server:
    """Where to ask, and with which key."""

    url: str
    key: str = field(repr=False)

    @property
    def vendor(self) -> bool:
        """Whether it is OpenAI's own, which knows fields that others do not and has dropped older ones."""
        return self.url.startswith("https://api.openai.com")


def server(own: Chat | Embed, shared: OpenAI) -> Server | None:
    """The server of a group of settings, each part falling back to OPENAI's; None: neither URL nor key."""
    url = own.base_url or shared.base_url
    key = own.api_key or shared.api_key
    if url is None and key is None:
        return None
    return Server(url or VENDOR, key.get_secret_value() if key else NO_KEY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Contact:
    """What is known about a server, however it is spoken to."""

    server: Server
    faults: tuple[type[Exception], ...]
    """All that a call or the reading of its answer may raise."""
    timeouts: tuple[type[Exception], ...] = (TimeoutError,)
    """Those of them that mean: not in time."""
    unknown: set[str] = field(default_factory=set)
    """Body fields the server has refused; they are not sent again."""

    def learn(self, error: Exception, fields: Iterable[str]) -> bool:
        """Whether the server refused one of the optional `fields` by name: without it, it may work."""
        if getattr(error, "status_code", None) not in (400, 422):
            return False
        words = set(re.findall(r"\w+", str(error)))
        named = {name for name in fields if name in words} - self.unknown
        self.unknown.update(named)
        return bool(named)


@dataclass(frozen=True, slots=True, kw_only=True)
class Peer(Contact):
    """An open connection pool to a server, spoken to by the vendor's client."""

    client: "AsyncOpenAI"
    whole: "type[Response]"
    """Asked for where the client's own reading of an answer would get in the way."""


@asynccontextmanager
async def open_peer(server: Server, *, timeout: float, retries: int) -> AsyncIterator[Peer]:  # noqa: ASYNC109 - the client's
    """A pool of kept-alive connections; `timeout` seconds of silence end a request."""
    import httpx2  # noqa: PLC0415 - heavy vendor, opened late
    import openai  # noqa: PLC0415 - heavy vendor, opened late

    limits = httpx2.Limits(max_connections=CONNECTIONS, max_keepalive_connections=IDLE_CONNECTIONS)
    patience = httpx2.Timeout(timeout, connect=min(timeout, CONNECT_SECONDS))
    async with (
        openai.DefaultAsyncHttpxClient(limits=limits, timeout=patience, follow_redirects=False) as http,
        openai.AsyncOpenAI(
            base_url=server.url, api_key=server.key, timeout=patience, max_retries=retries, http_client=http
        ) as client,
    ):
        faults = (openai.OpenAIError, httpx2.HTTPError, httpx2.StreamError, httpx2.InvalidURL)
        timeouts = (openai.APITimeoutError, httpx2.TimeoutException, TimeoutError)
        yield Peer(
            server=server,
            faults=(*faults, TimeoutError),
            timeouts=timeouts,
            client=client,
            whole=httpx2.Response,
        )


def told(error: Exception, peer: Contact) -> ModelError:
    """What a fault of a model's server is to the reader."""
    status, code = getattr(error, "status_code", None), error_code(error)
    log.warning("model failed", fault=type(error).__name__, status=status, code=code)
    if isinstance(error, peer.timeouts) or status == 408:
        return ModelTimeout(down=True)
    if status is None:
        return ModelError("The model's server cannot be reached, or its answer cannot be read.", down=True)
    if 300 <= status < 400:
        return ModelError(f"The model's server answered {status}, a redirect; set its final base URL.")
    why = f"The model's server answered {status}" + (f" ({code})." if code else ".")
    if status in (401, 403, 404):
        return ModelRefused(f"{why} Check the key, the base URL and the model's name.")
    if status == 429:
        return ModelBusy(why, retry_after=retry_after(getattr(error, "response", error)))
    return ModelError(why, down=status >= 500)


def error_code(error: Exception) -> str | None:
    """The server's error code, if it is a plain word such as `context_length_exceeded`."""
    code = getattr(error, "code", None)
    return code if isinstance(code, str) and CODE.match(code) else None


def retry_after(response: object) -> int:
    """Seconds of the Retry-After header (number or HTTP date), 1 to 3600; 1 where there is none."""
    headers = getattr(response, "headers", None)
    value = headers.get("retry-after", "") if isinstance(headers, Mapping) else ""
    try:
        seconds = float(value) if value else 1.0
    except ValueError:
        date = email.utils.parsedate_tz(value)
        seconds = email.utils.mktime_tz(date) - time.time() if date else 1.0
    return max(1, min(3_600, math.ceil(seconds))) if math.isfinite(seconds) else 1
