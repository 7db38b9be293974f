"""The HTTP client of model servers (chat, embeddings, reranker, moderation): connections, deadlines, faults.

Uses aiohttp: the openai client costs six times as much CPU per streamed answer (docs/adr/0020). Raises
`Refused` for a status other than 2xx, `TimeoutError` for silence and `ConnectionError` for everything else.
Redirects are not followed: the prompt would go to an unconfigured host. A server's messages never reach a
detail or a log, because they may repeat the prompt or a key. Times are in seconds.
"""

import asyncio
import email.utils
import math
import re
import time
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import orjson
import structlog

from app.errors import ModelBusy, ModelError, ModelRefused, ModelTimeout, RetrievalError, StartError
from app.settings import Chat, Embed, OpenAI
from app.tracing import outgoing

if TYPE_CHECKING:
    from types import SimpleNamespace

    from aiohttp import ClientResponse, ClientSession, TraceConfig

log = structlog.get_logger(__name__)

VENDOR = "https://api.openai.com/v1"
NO_KEY = "no-key"
"""Sent if no key is set: servers without keys accept any."""
CODE = re.compile(r"^[a-z][a-z0-9_.-]{2,59}$", re.IGNORECASE)
CONNECT_SECONDS = 10.0
CONNECTIONS = 512
IDLE_SECONDS = 4.0
"""Idle seconds of a connection; uvicorn, and so vLLM, closes it after 5."""
HEAD_BYTES, HEAD_LINES = 64 << 10, 1024
"""Most bytes of a line of a response head, and its lines: gateways add more than aiohttp accepts by
default."""
REFUSAL_BYTES, REFUSAL_SECONDS = 64 << 10, 1.0
"""Most bytes read of a refusal's body, and seconds."""
LIST_BYTES = 1 << 20
"""Most bytes of a list of models; the longest known one has a third of that."""


@dataclass(frozen=True, slots=True)
class Server:
    url: str
    key: str = field(repr=False)

    @property
    def vendor(self) -> bool:
        """True for OpenAI's own server, which knows newer fields and has dropped older ones."""
        return self.url.startswith("https://api.openai.com")


def server(own: Chat | Embed, shared: OpenAI) -> Server | None:
    """The server of a group of settings, each part falling back to OPENAI's; None: neither URL nor key."""
    url = own.base_url or shared.base_url
    key = own.api_key or shared.api_key
    if url is None and key is None:
        return None
    return Server(url or VENDOR, key.get_secret_value() if key else NO_KEY)


class Refused(Exception):
    """A status other than 2xx. Its text is the body."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(body.decode("utf-8", "replace"))
        self.status = status
        self.headers = headers
        self.code = error_code(body)


FAULTS = (Refused, TimeoutError, ConnectionError)
"""Errors of the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelClient:
    """An open pool of connections to one address."""

    server: Server
    address: str
    session: "ClientSession" = field(repr=False)
    errors: type[Exception]
    """aiohttp's base class, known once it is imported."""
    unknown: set[str] = field(default_factory=set)
    """Body fields that the server has refused; they are not sent again."""

    @asynccontextmanager
    async def post(self, body: bytes, patience: float) -> AsyncIterator["ResponseBody"]:
        """Entered at the response head, for which it waits `patience` seconds. On leaving, the connection is
        closed unless the answer was read to its end."""
        with self.faults():
            async with asyncio.timeout(patience):
                response = await self._send(body)
        try:
            if not 200 <= response.status < 300:
                raise await self._refusal(response)
            content = ResponseBody(self, response, patience)
            with content.watched(response):
                yield content
        finally:
            response.close()

    async def ask(self, body: bytes, patience: float, most: int) -> bytes:
        """The whole reply; `ValueError` if it has more than `most` bytes."""
        async with self.post(body, patience) as content:
            found = await content.whole(most + 1)
        if len(found) > most:
            raise ValueError("too long")
        return found

    async def get(self, patience: float) -> bytes:
        """The first LIST_BYTES of the reply to a GET."""
        with self.faults():
            async with (
                asyncio.timeout(patience),
                self.session.get(self.address, allow_redirects=False) as response,
            ):
                if not 200 <= response.status < 300:
                    raise await self._refusal(response)
                content = ResponseBody(self, response, patience)
                with content.watched(response):
                    return await content.whole(LIST_BYTES)

    async def ping(self, patience: float) -> None:
        """Raise `RetrievalError` unless the server answers a GET with a status below 500."""
        try:
            await self.get(patience)
        except TimeoutError as error:
            raise RetrievalError("timeout") from error
        except ConnectionError as error:
            raise RetrievalError("unavailable") from error
        except Refused as refused:
            if refused.status >= 500:
                raise RetrievalError("unavailable") from refused

    def learn(self, error: Exception, fields: Iterable[str]) -> bool:
        """True if the server refused one of the optional `fields` by name: retry without it."""
        if not isinstance(error, Refused) or error.status not in (400, 422):
            return False
        words = set(re.findall(r"\w+", str(error)))
        named = {name for name in fields if name in words} - self.unknown
        self.unknown.update(named)
        return bool(named)

    @contextmanager
    def faults(self) -> Iterator[None]:
        """Turn aiohttp's errors into `ConnectionError`; its timeouts are `TimeoutError` already."""
        try:
            yield
        except TimeoutError:
            raise
        except self.errors as error:
            raise ConnectionError(type(error).__name__) from error

    async def _send(self, body: bytes) -> "ClientResponse":
        """Send; once more only if the server closed an idle connection just as it was reused."""
        seen: dict[str, bool] = {}
        headers = outgoing()
        try:
            return await self.session.post(
                self.address, data=body, allow_redirects=False, headers=headers, trace_request_ctx=seen
            )
        except self.errors as error:
            dropped = isinstance(error, OSError) or type(error).__name__ == "ServerDisconnectedError"
            if not (seen and dropped) or isinstance(error, TimeoutError):
                raise
            return await self.session.post(self.address, data=body, allow_redirects=False, headers=headers)

    async def _refusal(self, response: "ClientResponse") -> Refused:
        content, said = ResponseBody(self, response, REFUSAL_SECONDS), bytearray()
        with suppress(*FAULTS):
            while len(said) < REFUSAL_BYTES and (piece := await content.next()):
                said += piece
        return Refused(response.status, response.headers, bytes(said))


class ResponseBody:
    """The body of a reply, piece by piece."""

    def __init__(self, client: ModelClient, response: "ClientResponse", patience: float) -> None:
        self.content_type = response.headers.get("content-type", "")
        self.patience = patience
        """Longest silence in seconds before the next piece (`reset`)."""
        self._errors = client.errors
        self._content = response.content
        self._waited = 0.0
        """Seconds waited since the last piece."""
        self._loop = asyncio.get_running_loop()
        self._due: float | None = None
        """When the wait for the next piece ends; None: nobody waits."""
        self._timer: asyncio.TimerHandle | None = None
        self._rings = 0.0
        """When the timer does."""

    async def next(self) -> bytes:
        """The next piece, b"" at the end. Data that arrived before a fault comes first."""
        began = self._loop.time()
        self._due = began + max(0.0, self.patience - self._waited)
        if self._timer is None or self._rings > self._due:
            self._wind(self._due)
        try:
            return self._before_fault() or await self._content.readany()
        except TimeoutError:
            raise
        except (self._errors, RuntimeError) as error:  # the latter if it is read after the connection's end
            raise ConnectionError(type(error).__name__) from error
        finally:
            self._due = None
            self._waited += self._loop.time() - began

    def _wind(self, when: float) -> None:
        """One timer for many pieces: one for each would take 4 of 80 µs a token."""
        if self._timer:
            self._timer.cancel()
        self._rings, self._timer = when, self._loop.call_at(when, self._ring)

    def _ring(self) -> None:
        self._timer = None
        if self._due is None:
            return
        if self._due > self._loop.time():
            self._wind(self._due)
        else:
            self._content.set_exception(TimeoutError())

    async def whole(self, most: int) -> bytes:
        found = bytearray()
        while len(found) < most and (piece := await self.next()):
            found += piece
        return bytes(found[:most])

    def reset(self, patience: float | None = None) -> None:
        self._waited = 0.0
        self.patience = patience or self.patience

    @contextmanager
    def watched(self, response: "ClientResponse") -> Iterator[None]:
        """End a wait when the connection closes: after a broken chunk aiohttp does not notify the reader."""
        protocol = response.connection.protocol if response.connection else None
        closed = None if protocol is None else protocol.closed
        if closed is not None:
            closed.add_done_callback(self._end)
        try:
            yield
        finally:
            if closed is not None:
                closed.remove_done_callback(self._end)
            if self._timer:
                self._timer.cancel()

    def _end(self, closed: "asyncio.Future[None]") -> None:
        if not closed.cancelled():
            closed.exception()  # retrieved, or asyncio would log that nobody did
        if not self._content.is_eof() and self._content.exception() is None:
            self._content.set_exception(ConnectionError())

    def _before_fault(self) -> bytes:
        """Data that arrived before a fault: aiohttp raises the fault first and drops the data."""
        fault = self._content.exception()
        if fault is None:
            return b""
        self._content.set_exception(None)  # type: ignore[arg-type]  # what read_nowait() looks at
        rest = self._content.read_nowait()
        self._content.set_exception(fault)
        return rest


def model_error(error: Exception) -> ModelError:
    """The problem for a fault of a model's server."""
    status = error.status if isinstance(error, Refused) else None
    log.warning("model failed", **logged(error))
    if isinstance(error, TimeoutError) or status == 408:
        return ModelTimeout(down=True)
    if not isinstance(error, Refused) or status is None:
        return ModelError("The model's server cannot be reached, or its answer cannot be read.", down=True)
    if 300 <= status < 400:
        return ModelError(f"The model's server answered {status}, a redirect; set its final base URL.")
    why = f"The model's server answered {status}" + (f" ({error.code})." if error.code else ".")
    if status in (401, 403, 404):
        return ModelRefused(f"{why} Check the key, the base URL and the model's name.")
    if status == 429:
        return ModelBusy(why, retry_after=max(1, min(3_600, math.ceil(retry_after(error) or 1))))
    return ModelError(why, down=status >= 500)


def retrieval_error(error: Exception, name: str) -> RetrievalError:
    """The problem for a fault of a server that an answer can do without. `name`: the reason of a refusal."""
    log.warning("model server failed", server=name, **logged(error))
    if isinstance(error, TimeoutError):
        return RetrievalError("timeout")
    refused = isinstance(error, Refused) and error.status < 500
    return RetrievalError(name if refused else "unavailable", rejected=refused)


def logged(error: Exception) -> dict[str, object]:
    status, code = (error.status, error.code) if isinstance(error, Refused) else (None, None)
    return {"fault": type(error).__name__, "status": status, "code": code}


def error_code(body: bytes) -> str | None:
    """The error code in a refusal's body, if it is a plain word such as `context_length_exceeded`."""
    try:
        said: Any = orjson.loads(body)
    except ValueError:
        return None
    error = said.get("error") if isinstance(said, dict) else None
    code = error.get("code") if isinstance(error, dict) else None
    return code if isinstance(code, str) and CODE.match(code) else None


def retry_after(refused: Refused) -> float | None:
    """Seconds of the Retry-After header (number or HTTP date); None if missing or invalid."""
    value = refused.headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = email.utils.parsedate_to_datetime(value).timestamp() - time.time()
        except (ValueError, OverflowError):
            return None
    return seconds if math.isfinite(seconds) else None


def proxy(address: str) -> str | None:
    """The proxy for an address, from the system or the environment. `StartError` for a proxy other than HTTP:
    bypassing it could send prompts where they must not go."""
    parts = urlsplit(address)
    if proxy_bypass(parts.netloc):
        return None
    known = getproxies()
    name = parts.scheme if known.get(parts.scheme) else "all"
    found = known.get(name)
    if not found:
        return None
    found = found if "://" in found else f"http://{found}"
    if urlsplit(found).scheme not in ("http", "https"):
        raise StartError(f"{name.upper()}_PROXY: only http:// and https:// proxies can be used.")
    return found


def reuse() -> "TraceConfig":
    """Marks a request (`trace_request_ctx`) that used an existing connection."""
    import aiohttp  # noqa: PLC0415 - heavy vendor, opened late

    async def note(_session: object, request: "SimpleNamespace", _what: object) -> None:
        if request.trace_request_ctx is not None:
            request.trace_request_ctx["reused"] = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(note)
    return trace


@asynccontextmanager
async def open_client(
    at: Server, address: str, *, accept: str = "application/json"
) -> AsyncIterator[ModelClient]:
    """A pool of kept-alive connections. An address that begins with `/` is a path of the server."""
    import aiohttp  # noqa: PLC0415 - heavy vendor, opened late
    import httpx  # noqa: PLC0415 - heavy vendor, opened late

    secure = at.url.startswith("https:")
    verified: Any = httpx.create_ssl_context() if secure else True  # honours SSL_CERT_FILE, else certifi's
    async with aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=CONNECTIONS, ssl=verified, keepalive_timeout=IDLE_SECONDS),
        timeout=aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS),
        headers={
            "Authorization": f"Bearer {at.key}",
            "Content-Type": "application/json",
            "Accept": accept,
        },
        cookie_jar=aiohttp.DummyCookieJar(),
        proxy=proxy(at.url),
        trace_configs=[reuse()],
        max_line_size=HEAD_BYTES,
        max_field_size=HEAD_BYTES,
        max_headers=HEAD_LINES,
    ) as session:
        where = f"{at.url.rstrip('/')}{address}" if address.startswith("/") else address
        yield ModelClient(server=at, address=where, session=session, errors=aiohttp.ClientError)
