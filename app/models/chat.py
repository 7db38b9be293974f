"""Chat models that speak the OpenAI protocol: connection, streaming, errors.

aiohttp instead of the vendor's client, which costs ten times as much a request and a token (docs/adr/0020). A
stream is open once the response head has arrived. 401/403/404 raise `ModelRefused`, 429 `ModelBusy`, silence
`ModelTimeout`, all else `ModelError`; the server's own words never reach a detail or a log, because they may
repeat the prompt or a key. A model that fails several times in a row is not asked for some seconds
(`breaker.py`). OpenAI's reasoning models refuse `max_tokens`, Ollama ignores `max_completion_tokens`: a
server that refuses one is sent the other. Seconds.
"""

import asyncio
import email.utils
import json
import math
import re
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import orjson
import structlog

from app.answer import Finish, Message, Prompt, Usage
from app.breaker import Breaker
from app.errors import ModelBusy, ModelError, ModelRefused, ModelTimeout, RetrievalError, StartError
from app.models.base import Delta, ModelStream
from app.settings import Chat, Embed, Feedback, OpenAI, Rag, Settings, Vantage

if TYPE_CHECKING:
    from httpx2 import Response
    from openai import AsyncOpenAI

if TYPE_CHECKING:
    from types import SimpleNamespace

    from aiohttp import ClientResponse, ClientSession, TraceConfig

if TYPE_CHECKING:
    from aiohttp import ClientResponse

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
        """True if it is OpenAI's own, which knows fields that others do not and has dropped older ones."""
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
        """True if the server refused one of the optional `fields` by name: without it, it may work."""
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


REFUSAL_BYTES, REFUSAL_SECONDS = 64 << 10, 1.0
"""Read of what a server says with a refusal, and how long it may take to say it."""
LIST_BYTES = 1 << 20
"""Of a list of models; the longest known one has a third of that."""
IDLE_SECONDS = 4.0
"""A connection is kept for the next request; uvicorn, and so vLLM, closes it after 5."""
LOOK_SECONDS = 0.5
"""Between two looks at a connection that may have been closed without a word to its reader."""
HEAD_BYTES, HEAD_LINES = 64 << 10, 1024
"""Of a line of a response head, and its lines: gateways add more than aiohttp takes by itself."""


class Refused(Exception):
    """A status other than 2xx, with what `openai.told` and `Contact.learn` look at."""

    def __init__(self, status: int, headers: Mapping[str, str], body: bytes) -> None:
        super().__init__(body.decode("utf-8", "replace"))
        self.status_code = status
        self.headers = headers
        self.code = code(body)


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Contact):
    """An open pool of connections to a chat server."""

    session: "ClientSession"
    address: str = field(repr=False)
    dropped: tuple[type[Exception], ...]
    """Those of the faults that mean: the connection was closed before an answer."""

    @asynccontextmanager
    async def post(self, body: bytes, patience: float) -> AsyncIterator["ClientResponse"]:
        """Entered when the response head is there; left, the connection is closed unless the answer was
        read out. Raises `faults`; no head within `patience` is a `TimeoutError`."""
        async with asyncio.timeout(patience):
            response = await self.head(body)
        try:
            if not 200 <= response.status < 300:
                raise Refused(response.status, response.headers, await self.refusal(response))
            yield response
        finally:
            response.close()

    async def get(self, patience: float) -> bytes:
        """The body of a GET, at most LIST_BYTES of it. Raises `faults`, as `post`."""
        async with (
            asyncio.timeout(patience),
            self.session.get(self.address, allow_redirects=False) as response,
        ):
            if not 200 <= response.status < 300:
                raise Refused(response.status, response.headers, await self.refusal(response))
            said = bytearray()
            async for piece in response.content.iter_any():
                said += piece
                if len(said) >= LIST_BYTES:
                    break
            return bytes(said[:LIST_BYTES])

    async def knock(self, patience: float) -> None:
        """Whether anybody answers a GET there, if only to refuse. Raises `RetrievalError`."""
        try:
            async with (
                asyncio.timeout(patience),
                self.session.get(self.address, allow_redirects=False) as response,
            ):
                status = response.status
        except self.timeouts as error:
            raise RetrievalError("timeout") from error
        except self.faults as error:
            raise RetrievalError("unavailable") from error
        if status >= 500:
            raise RetrievalError("unavailable")

    async def head(self, body: bytes) -> "ClientResponse":
        """Ask; once more only where the server closed an idle connection just as it was used again.
        Redirects are not followed: the prompt would go to a host that nobody has set."""
        seen: dict[str, bool] = {}
        try:
            return await self.session.post(
                self.address, data=body, allow_redirects=False, trace_request_ctx=seen
            )
        except self.dropped:
            if not seen:
                raise
            return await self.session.post(self.address, data=body, allow_redirects=False)

    async def refusal(self, response: "ClientResponse") -> bytes:
        """What a server says with a refusal, as far as it can be read: the status counts without it."""
        pieces, said = Bytes(response, REFUSAL_SECONDS), b""
        try:
            with suppress(*self.faults):
                while len(said) < REFUSAL_BYTES and (piece := await pieces.next()):
                    said += piece
        finally:
            pieces.close()
        return said[:REFUSAL_BYTES]


class Bytes:
    """An answer's body, piece by piece. One timer watches over all of it: a deadline a piece would cost more
    than the piece."""

    def __init__(self, response: "ClientResponse", patience: float) -> None:
        self.content = response.content
        self.connection = response.connection
        self.patience = patience
        """Seconds waited, all together, until the next word that counts."""
        self.loop = asyncio.get_running_loop()
        self.since: float | None = None
        """When somebody began to wait."""
        self.waited = 0.0
        """Waited before that, in vain."""
        self.timer = self.loop.call_later(min(patience, LOOK_SECONDS), self.look)

    async def next(self) -> bytes:
        """The next piece, b"" at the end. `TimeoutError` after `patience` of silence, `ConnectionError` where
        the connection was closed; what had arrived before a fault comes first."""
        self.since = self.loop.time()
        try:
            return self.rest() or await self.content.readany()
        except RuntimeError as error:  # aiohttp's for a reader who comes after the connection's end
            raise ConnectionError from error
        finally:
            self.waited += self.loop.time() - self.since
            self.since = None

    def rest(self) -> bytes:
        """What arrived before a fault: aiohttp tells the fault first, and would not give it any more."""
        fault = self.content.exception()
        if fault is None:
            return b""
        self.content.set_exception(None)  # type: ignore[arg-type]  # sets what read_nowait() looks at
        rest = self.content.read_nowait()
        self.content.set_exception(fault)
        return rest

    def heard(self) -> None:
        """The last piece had words that count; the silence begins anew."""
        self.waited = 0.0

    def look(self) -> None:
        """Whether it has been silent for too long, or will be for ever."""
        waited = self.waited
        if self.since is not None:
            waited += self.loop.time() - self.since
            if waited >= self.patience:
                return self.content.set_exception(TimeoutError())
            if self.lost():
                return self.content.set_exception(ConnectionError())
        left = max(self.patience - waited, 0.01)
        self.timer = self.loop.call_later(min(left, LOOK_SECONDS), self.look)
        return None

    def lost(self) -> bool:
        """True if no more can come: after a broken chunk aiohttp hangs up and tells its reader nothing."""
        gone = self.connection is not None and self.connection.closed
        return gone and not self.content.is_eof()

    def hurry(self, patience: float) -> None:
        """Wait less from now on."""
        self.patience = patience
        self.waited = 0.0
        self.timer.cancel()
        self.timer = self.loop.call_later(min(patience, LOOK_SECONDS), self.look)

    def close(self) -> None:
        self.timer.cancel()


def code(body: bytes) -> object:
    """The server's error code of a refusal's body."""
    try:
        said: Any = orjson.loads(body)
    except ValueError:
        return None
    error = said.get("error") if isinstance(said, dict) else None
    return error.get("code") if isinstance(error, dict) else None


def proxy(address: str) -> str | None:
    """The proxy on the way there, as the system or the environment tells; found once, not at each request.
    `StartError` for one that cannot be spoken to: passing it by would send prompts where they must not go."""
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
    """Notes in a request's `trace_request_ctx` that it went out on a connection used before."""
    import aiohttp  # noqa: PLC0415 - heavy vendor, opened late

    async def note(_session: object, request: "SimpleNamespace", _what: object) -> None:
        if request.trace_request_ctx is not None:
            request.trace_request_ctx["reused"] = True

    trace = aiohttp.TraceConfig()
    trace.on_connection_reuseconn.append(note)
    return trace


@asynccontextmanager
async def open_line(
    server: Server, address: str | None = None, *, accept: str = "text/event-stream"
) -> AsyncIterator[Line]:
    """A pool of kept-alive connections, with proxies and certificates as the vendor's client has them.
    `address`: another than that of the server's chat."""
    import aiohttp  # noqa: PLC0415 - heavy vendor, opened late
    import httpx2  # noqa: PLC0415 - heavy vendor, opened late

    way = proxy(server.url)
    secure = server.url.startswith("https:")
    verified: Any = httpx2.create_ssl_context() if secure else True
    timeout = aiohttp.ClientTimeout(total=None, sock_connect=CONNECT_SECONDS)
    connector = aiohttp.TCPConnector(limit=CONNECTIONS, ssl=verified, keepalive_timeout=IDLE_SECONDS)
    headers = {
        "Authorization": f"Bearer {server.key}",
        "Content-Type": "application/json",
        "Accept": accept,
    }
    jar = aiohttp.DummyCookieJar()
    async with aiohttp.ClientSession(
        connector=connector,
        timeout=timeout,
        headers=headers,
        cookie_jar=jar,
        proxy=way,
        trace_configs=[reuse()],
        max_line_size=HEAD_BYTES,
        max_field_size=HEAD_BYTES,
        max_headers=HEAD_LINES,
    ) as session:
        faults = (Refused, aiohttp.ClientError, TimeoutError, ConnectionError)
        yield Line(
            server=server,
            faults=faults,
            session=session,
            address=address or f"{server.url.rstrip('/')}/chat/completions",
            dropped=(aiohttp.ServerDisconnectedError, aiohttp.ClientOSError),
        )


async def whole(response: "ClientResponse", patience: float, most: int) -> bytes:
    """An answer's body, read out; `ValueError` where it has more than `most` bytes."""
    pieces, said = Bytes(response, patience), bytearray()
    try:
        while piece := await pieces.next():
            said += piece
            if len(said) > most:
                raise ValueError("too long")
    finally:
        pieces.close()
    return bytes(said)


USAGE_SECONDS = 2.0
"""Waited for the usage after the answer has ended."""
DRAIN_SECONDS = 0.1
"""Waited for the end of the body after [DONE], so that the connection can be used again."""
LINE_BYTES = 4 * 2**20
SPREAD_BYTES = 16 << 10
"""Of an event over several lines, which is read again with each of them."""
BOM = b"\xef\xbb\xbf"
EARLY = "The model's server closed early, in the middle of the answer."
REPORTED = "The model's server reported an error in the middle of the answer."
UNREADABLE = "The model's server sent what is not JSON."


class OpenAIStream:
    """An answer under way. Keeps `base.ModelStream`; read once."""

    def __init__(self, pieces: Bytes, faults: tuple[type[Exception], ...], model: str) -> None:
        self.pieces = pieces
        self.faults = faults
        self.model = model
        self.finish: Finish | None = None
        self.usage: Usage | None = None
        self.done = False
        """Whether [DONE] was said."""
        self.half = b""
        """The beginning of an event that goes on in its next `data:` line."""

    def __aiter__(self) -> AsyncIterator[Delta]:
        """Deltas in order; the last has `finish`."""
        return self.deltas()

    async def deltas(self) -> AsyncIterator[Delta]:
        """What the model says, then how it ended."""
        rest = b""
        while piece := await self.piece():
            *lines, rest = (rest + piece).split(b"\n")
            texts, fault = self.heard(lines)
            for left, text in enumerate(texts, 1 - len(texts)):
                yield Delta(text, more=left < 0)
            if fault:
                raise fault
            if len(rest) > LINE_BYTES:
                raise ModelError("The model's server sent a line without an end.")
        if text := self.said(rest) or self.said(b""):
            yield Delta(text)
        if self.finish is None:
            raise ModelError(EARLY)
        yield Delta(finish=self.finish, usage=self.usage)

    def heard(self, lines: Sequence[bytes]) -> tuple[list[str], ModelError | None]:
        """The texts of some lines, up to a fault if there is one."""
        texts: list[str] = []
        try:
            texts.extend(text for line in lines if (text := self.said(line)))
        except ModelError as error:
            return texts, error
        return texts, None

    def said(self, line: bytes) -> str:
        """A line's text, if it has any. The stream may begin with a byte order mark."""
        if line[:5] == b"data:":
            return self.take(line[5:].strip())
        if line[:3] == BOM:
            return self.said(line[3:])
        if line[:6] == b"event:" and line[6:].strip() == b"error":
            raise ModelError(REPORTED)
        if self.half and not line.strip():
            raise NotJson(UNREADABLE)
        return ""

    async def piece(self) -> bytes:
        """The next bytes, b"" at the end; once the answer has ended, silence and faults are an end too."""
        try:
            return await self.pieces.next()
        except self.faults as error:
            if self.finish is not None or self.done:
                return b""
            if isinstance(error, TimeoutError):
                raise ModelTimeout("The model fell silent in the middle of the answer.") from error
            log.warning("model stream failed", fault=type(error).__name__)
            raise ModelError(EARLY) from error

    def take(self, data: bytes) -> str:
        """One event: its text; what else it tells is kept."""
        self.pieces.heard()
        if data == b"[DONE]":
            self.done = True
            self.pieces.hurry(DRAIN_SECONDS)
            return ""
        event = self.event(data)
        self.usage = usage(event.get("usage")) or self.usage
        self.model = str(event.get("model") or self.model)
        choice = first(event.get("choices"))
        if ended := choice.get("finish_reason"):
            self.finish = Finish.LENGTH if ended == "length" else Finish.STOP
            self.pieces.hurry(USAGE_SECONDS)
        text = first([choice.get("delta")]).get("content")
        return text if isinstance(text, str) else ""

    def event(self, data: bytes) -> dict[str, Any]:
        """An event's JSON; {} where it goes on in the next line. Taken at once where it can be: servers that
        leave out the empty line between two events are understood too."""
        data = self.half + data
        try:
            event = read(data)
        except NotJson:
            if len(data) > SPREAD_BYTES:
                raise
            self.half = data + b"\n"
            return {}
        self.half = b""
        return event


class NotJson(ModelError):
    """An event cannot be read, or not yet."""


def read(data: bytes) -> dict[str, Any]:
    try:
        event = orjson.loads(data)
    except ValueError:
        event = lenient(data)
    if not isinstance(event, dict) or event.get("error"):
        raise ModelError(REPORTED)
    return event


def lenient(data: bytes) -> object:
    """What is JSON to Python alone: some servers cut an emoji's two halves between two deltas."""
    try:
        return json.loads(data)
    except (ValueError, RecursionError) as error:
        raise NotJson(UNREADABLE) from error


def first(items: object) -> dict[str, Any]:
    """The first of a list if it is an object; servers differ in what they leave out or send as null."""
    found = items[0] if isinstance(items, list) and items else None
    return found if isinstance(found, dict) else {}


def usage(told: object) -> Usage | None:
    """Tokens as the server counted them; None: it did not say."""
    if not isinstance(told, dict):
        return None
    counts = [told.get(name) for name in ("prompt_tokens", "completion_tokens")]
    return Usage(*(count if isinstance(count, int) else 0 for count in counts))


RAG_MODEL, FEEDBACK_MODEL = "gpt-5.2", "gpt-4o-mini"
"""Where they are unset. Not in the settings, so that a copy of `.env.example` sets neither."""
LIMITS = ("max_completion_tokens", "max_tokens")
OPTIONAL = (*LIMITS, "stream_options", "include_usage")
LASTING = 3.0
"""Failures within less (seconds) open no breaker: the server may be restarting (docs/adr/0013)."""
MODELS = 64
"""Models asked by name that have a breaker of their own; the one least lately asked is forgotten first."""


class OpenAIChat:
    def __init__(self, line: Line, name: str, *, silence: float, answer_tokens: int) -> None:
        self.line = line
        self.name = name
        self.silence = silence
        """Seconds the model may be silent, before its head and between two deltas."""
        self.answer_tokens = answer_tokens
        self.breaker = Breaker(time.monotonic, lasting=LASTING)
        """The default model's."""
        self.others: OrderedDict[str, Breaker] = OrderedDict()
        """Those of other models: who asks for one that fails must not close the default to everybody."""

    @asynccontextmanager
    async def open(self, prompt: Prompt, *, model: str | None = None) -> AsyncIterator[ModelStream]:
        """Entered at the response head, which decides for the breaker; left, the connection is closed unless
        the answer was read out."""
        asked = model or self.name
        breaker = self.breaker_of(asked)
        if breaker.refuses:
            raise refusal(breaker)
        async with AsyncExitStack() as held:
            with breaker.attempt(is_down):
                response = await self.head(held, prompt, asked)
            pieces = Bytes(response, self.silence)
            held.callback(pieces.close)
            yield OpenAIStream(pieces, self.line.faults, asked)

    def breaker_of(self, model: str) -> Breaker:
        if model == self.name:
            return self.breaker
        if model not in self.others:
            self.others[model] = Breaker(time.monotonic, lasting=LASTING)
        self.others.move_to_end(model)
        if len(self.others) > MODELS:
            self.others.popitem(last=False)
        return self.others[model]

    async def head(self, held: AsyncExitStack, prompt: Prompt, model: str) -> "ClientResponse":
        """Ask, again without the optional fields that the server refuses by name."""
        body = self.body(prompt, model)
        try:
            response = await held.enter_async_context(self.line.post(body, self.silence))
        except self.line.faults as error:
            if self.line.learn(error, OPTIONAL):
                return await self.head(held, prompt, model)
            raise told(error, self.line) from error
        kind = response.headers.get("content-type", "")
        if "html" in kind or "json" in kind:
            raise ModelError("The model's server did not answer with a stream of events.")
        return response

    def body(self, prompt: Prompt, model: str) -> bytes:
        asked = {"model": model, "messages": prompt.messages(), "stream": True, **self.options()}
        try:
            return orjson.dumps(asked)
        except TypeError:
            return orjson.dumps(asked | {"messages": [printable(turn) for turn in prompt.messages()]})

    def options(self) -> dict[str, object]:
        """The fields that not every server knows, less those that this one refused."""
        names = LIMITS if self.line.server.vendor else tuple(reversed(LIMITS))
        known = [name for name in names if name not in self.line.unknown][:1]
        options: dict[str, object] = dict.fromkeys(known, self.answer_tokens)
        if not self.line.unknown & {"stream_options", "include_usage"}:
            options["stream_options"] = {"include_usage": True}
        return options


def is_down(error: Exception) -> bool:
    """True if an error is about the server, not about this request."""
    return isinstance(error, ModelError) and error.down


def refusal(breaker: Breaker) -> ModelError:
    """What is told to those who are not let through: 504 after silence, else 502, and when to ask again."""
    kind = ModelTimeout if isinstance(breaker.last, ModelTimeout) else ModelError
    detail = "The model's server has failed several times in a row, and is left alone for a moment."
    return kind(detail, retry_after=breaker.retry_after)


def printable(turn: Message) -> Message:
    """Lone surrogates, which no JSON body can carry, as `?`."""
    return {**turn, "content": turn["content"].encode("utf-8", "replace").decode()}


def chat_server(settings: Settings) -> Server | None:
    """The chat model's server; None: there is none, and the extractive answerer stands in."""
    return server(settings.chat, settings.openai)


def chat_name(settings: Settings) -> str:
    """CHAT_MODEL; else Jinx-gpt-oss-20b where CHAT_BASE_URL is set; else RAG_MODEL."""
    own = "Jinx-gpt-oss-20b" if settings.chat.base_url else settings.rag.model or RAG_MODEL
    return settings.chat.model or own


def model_at(settings: Settings, group: Rag | Feedback | Vantage) -> str:
    """RAG_MODEL, FEEDBACK_MODEL or VANTAGE_MODEL. A server of its own hardly has the vendor's models: there,
    one that is not set gives way to the chat model, which is."""
    vendors = FEEDBACK_MODEL if isinstance(group, Feedback) else RAG_MODEL
    return group.model or (chat_name(settings) if settings.chat.base_url else vendors)


@asynccontextmanager
async def open_chat(settings: Settings, at: Server) -> AsyncIterator[OpenAIChat]:
    """The chat model at a server. No retries: whoever asked is waiting, and may ask again."""
    chat = settings.chat
    async with open_line(at) as line:
        yield OpenAIChat(
            line, chat_name(settings), silence=chat.timeout_seconds, answer_tokens=chat.answer_reserve
        )


@asynccontextmanager
async def open_token(settings: Settings, at: Server | None) -> AsyncIterator[OpenAIChat | None]:
    """FEEDBACK_MODEL at the chat model's server, which says one token of its answer; None: there is none."""
    if at is None:
        yield None
        return
    async with open_line(at) as line:
        silence = settings.chat.timeout_seconds
        yield OpenAIChat(line, model_at(settings, settings.feedback), silence=silence, answer_tokens=1)
