"""Embeddings over the OpenAI protocol, and the patient embedder of batch work.

Vectors arrive as float or base64 and are returned as little-endian float32 of unit length. Raises
`RetrievalError`: timeout, unavailable (no answer or 5xx), overloaded (429), embedding (anything else, wrong
counts and dimensions included). Batch work has no deadline: a request that timed out is repeated in halves,
and a busy or absent server is asked again after growing pauses.
"""

import asyncio
import base64
import binascii
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import numpy as np
import orjson
import structlog

from app.breaker import LASTING, Breaker
from app.errors import RetrievalError
from app.models.base import Embedder
from app.models.client import FAULTS, ModelClient, Refused, Server, logged, open_client, retry_after
from app.text.vocabulary import o200k
from app.tracing import ModelCall
from app.types import Embedding, space_name

log = structlog.get_logger(__name__)

INPUTS = 128
"""Most texts per request, and bytes, to stay under OpenAI's 300,000 tokens."""
BYTES = 200_000
TOKENS = 6_000
"""o200k tokens read of one text: OpenAI refuses more than 8,192 of its own, older vocabulary."""
SECONDS = 60.0
"""Timeout for silence; requests with a waiting client have shorter deadlines."""
PATIENCE = 4.0
"""A query cancelled after this long had a deadline; an earlier one had a client that disconnected."""
OPTIONAL = ("encoding_format", "dimensions")
UNUSABLE = (ValueError, TypeError, KeyError, AttributeError, ArithmeticError, RecursionError)
"""Errors of reading a reply of any shape."""
RETRIES, QUERY_RETRIES = 4, 1
"""Retries of a request to store texts, and of one with a waiting client. Batch work waits longer
(`Patient`)."""
RETRY_SECONDS, MOST_RETRY_SECONDS = 0.5, 60.0
"""Pause before the first retry, doubled for each further one, unless the server names a time; and the longest
such time."""
ANSWER_BYTES = 64 << 20


class OpenAIEmbedder:
    """See the module. `dim` None: the model's own, fixed by the first reply."""

    def __init__(self, client: ModelClient, model: str, dim: int | None, patience: float = PATIENCE) -> None:
        self.client = client
        self.patience = patience
        self.breaker = Breaker(time.monotonic, lasting=LASTING)
        self.model = model
        self.dim = dim

    @property
    def space(self) -> str:
        return space_name(self.model, self.dim or 0)

    async def query(self, text: str) -> Embedding:
        if self.breaker.refuses:
            raise RetrievalError("unavailable")
        with self.breaker.attempt(down, patience=self.patience):
            [vector] = await self.request([text], QUERY_RETRIES)
        return vector

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        return [vector for batch in batches(texts) for vector in await self.request(batch, RETRIES)]

    async def request(self, texts: Sequence[str], retries: int) -> list[Embedding]:
        inputs = await asyncio.to_thread(lambda: [readable(text) for text in texts])
        call = ModelCall("embeddings", self.model, self.client.server.url)
        with call.current():
            raw = await self.post(inputs, retries)
        if call.traced:
            call.end(
                response__model=self.model, usage__input_tokens=await asyncio.to_thread(input_tokens, raw)
            )
        try:
            vectors = await asyncio.to_thread(unpack, raw, len(inputs), self.dim)
        except UNUSABLE as error:
            log.warning("embedding unusable", fault=type(error).__name__, model=self.model)
            raise RetrievalError("embedding") from error
        self.dim = len(vectors[0]) // 4
        return vectors

    async def post(self, inputs: list[str], retries: int, pause: float = RETRY_SECONDS) -> bytes:
        """The reply's body. Repeats the request without a field that the server refuses by name, and up to
        `retries` times, with growing pauses, after a temporary fault."""
        body = orjson.dumps({"model": self.model, "input": inputs, **self.options()})
        try:
            return await self.client.ask(body, SECONDS, ANSWER_BYTES)
        except FAULTS as error:
            if self.client.learn(error, OPTIONAL):
                return await self.post(inputs, retries)
            if not (retries and is_passing(error)):
                log.warning("embedding failed", **logged(error))
                raise RetrievalError(reason(error)) from error
            told = retry_after(error) if isinstance(error, Refused) else None
        except ValueError as error:
            raise RetrievalError("embedding") from error
        await asyncio.sleep(told if told and 0 < told <= MOST_RETRY_SECONDS else pause)
        return await self.post(inputs, retries - 1, 2 * pause)

    def options(self) -> dict[str, object]:
        """base64 is a third of the bytes; only OpenAI's third generation can be shortened."""
        options: dict[str, object] = {"encoding_format": "base64"}
        if self.model.rpartition("/")[2].startswith("text-embedding-3") and self.dim:
            options["dimensions"] = self.dim
        return {name: value for name, value in options.items() if name not in self.client.unknown}


def is_passing(error: Exception) -> bool:
    return not isinstance(error, Refused) or error.status in (408, 409, 429) or error.status >= 500


def reason(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "timeout"
    if not isinstance(error, Refused) or error.status >= 500:
        return "unavailable"
    return "overloaded" if error.status == 429 else "embedding"


def down(error: Exception) -> bool:
    return isinstance(error, RetrievalError) and error.reason in {"timeout", "unavailable"}


def batches(texts: Sequence[str]) -> Iterator[list[str]]:
    """The texts in order, in requests of accepted sizes."""
    batch: list[str] = []
    size = 0
    for text in texts:
        bytes_ = min(4 * TOKENS, len(text.encode("utf-8", "replace")))
        if batch and (len(batch) == INPUTS or size + bytes_ > BYTES):
            yield batch
            batch, size = [], 0
        batch.append(text)
        size += bytes_
    if batch:
        yield batch


def readable(text: str) -> str:
    """A text that servers accept: not blank, no lone surrogates, not over the model's length."""
    clean = text.encode("utf-8", "replace").decode()
    if len(clean.encode()) <= TOKENS:  # a token is a byte at least
        return clean if clean.strip() else "-"
    tokens = o200k().encode_ordinary(clean[: 16 * TOKENS])
    return o200k().decode(tokens[:TOKENS]) if len(tokens) > TOKENS else clean


def unpack(raw: bytes, count: int, dim: int | None) -> list[Embedding]:
    """The vectors of a reply, by their `index`. Raises `UNUSABLE`."""
    data = json.loads(raw)["data"]
    placed = sorted(data, key=lambda item: item.get("index", 0))
    vectors = [unit(item["embedding"]) for item in placed]
    sizes = {len(vector) // 4 for vector in vectors}
    if len(vectors) != count or len(sizes) != 1 or (dim and sizes != {dim}):
        raise ValueError(f"{len(vectors)} vectors of {sizes} for {count} of {dim}")
    return vectors


def input_tokens(raw: bytes) -> int | None:
    """What the server says that the texts were; None if it says nothing."""
    try:
        used = json.loads(raw)["usage"]["prompt_tokens"]
    except UNUSABLE:
        return None
    return used if isinstance(used, int) else None


def unit(value: Any) -> Embedding:  # noqa: ANN401 - JSON enters here
    """One vector, base64 or numbers, at unit length."""
    try:
        raw = (
            np.frombuffer(base64.b64decode(value, validate=True), "<f4") if isinstance(value, str) else value
        )
        vector = np.asarray(raw, np.float64)
    except binascii.Error as error:
        raise ValueError("not base64") from error
    norm = float(np.linalg.norm(vector))
    if vector.ndim != 1 or not np.isfinite(norm) or norm == 0:
        raise ValueError("not a vector with a direction")
    return (vector / norm).astype("<f4").tobytes()


@asynccontextmanager
async def open_embeddings(
    at: Server, model: str, dim: int | None, patience: float = PATIENCE
) -> AsyncIterator[OpenAIEmbedder]:
    """Sends no request yet."""
    async with open_client(at, "/embeddings") as client:
        yield OpenAIEmbedder(client, model, dim, patience)


PATIENT_SECONDS = 1_800.0
"""Give up after this many seconds without a vector."""
PAUSE, PAUSE_MOST = 1.0, 30.0
"""Seconds between retries: first and longest."""
PASSING = {"timeout", "unavailable", "overloaded"}
"""Temporary reasons."""

T = TypeVar("T")


class Patient:
    """Embedder that retries and halves batches. `seconds=0`: only halve batches on timeout."""

    def __init__(self, embedder: Embedder, seconds: float = PATIENT_SECONDS) -> None:
        self._embedder = embedder
        self._seconds = seconds
        self._most: int | None = None
        """Texts per request that this server answers in time; None: any number."""

    @property
    def space(self) -> str:
        return self._embedder.space

    async def query(self, text: str) -> Embedding:
        return await self._waited(partial(self._embedder.query, text))

    async def passages(self, texts: Sequence[str]) -> list[Embedding]:
        found: list[Embedding] = []
        at = 0
        while at < len(texts):
            some = texts[at:][: self._most]
            try:
                found += await self._waited(partial(self._embedder.passages, some), alone=len(some) == 1)
            except RetrievalError as error:
                if error.reason != "timeout" or len(some) == 1:
                    raise
                self._most = len(some) // 2
                log.info("embedding in smaller requests", texts=self._most)
            else:
                at += len(some)
        return found

    async def _waited(self, ask: Callable[[], Awaitable[T]], *, alone: bool = True) -> T:
        """Call `ask`, and retry temporary faults until the deadline. Unless it is `alone` (one text, which
        cannot be halved), a timeout is raised at once."""
        loop = asyncio.get_running_loop()
        until, pause = loop.time() + self._seconds, PAUSE
        while True:
            try:
                return await ask()
            except RetrievalError as error:
                halved = error.reason == "timeout" and not alone
                if error.reason not in PASSING or halved or loop.time() >= until:
                    raise
                log.info("waiting for the embedding model", reason=error.reason, seconds=pause)
            await asyncio.sleep(pause)
            pause = min(PAUSE_MOST, 2 * pause)
