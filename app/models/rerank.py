"""Client of a `/rerank` server: question and texts in, a score per text out. Implements `base.Reranker`.

Two forms are supported: `documents` in, `results` of {index, relevance_score} out (Cohere, Jina, vLLM,
llama.cpp; `data` at Voyage); and `texts` in, a list of {index, score} out (TEI), once a server asks for it.
Raises `RetrievalError`: timeout, unavailable (no answer, or 5xx), rerank for a refusal or for a reply without
exactly one score per text. Texts are never logged. Times are in seconds.
"""

import math
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import orjson
import structlog

from app.breaker import LASTING, Breaker, is_down
from app.errors import RetrievalError
from app.models.client import FAULTS, NO_KEY, ModelClient, Refused, Server, open_client, retrieval_error
from app.settings import Settings
from app.types import RERANK

PATIENCE_SHARE = 1 / 6
"""Share of RAG_TIMEOUT_SECONDS: half the second stage's time. A request that had less is no failure of the
server."""
SECONDS = 30.0
"""Timeout for silence; callers have shorter deadlines."""
ANSWER_BYTES = 2 << 20
"""Longer replies are rejected, even of servers that return the texts."""
BATCH = 32
"""TEI's default limit of texts per request."""
MISSING = re.compile(r"\btexts\b")
"""In a refusal: the server requires the other form."""
UNUSABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""Errors of reading a reply of any shape."""

log = structlog.get_logger(__name__)


class HttpReranker:
    """See the module. `model` None: the server has one; `patience`: seconds after which a cancelled request
    counts as a failure of the server."""

    def __init__(self, client: ModelClient, model: str | None, patience: float) -> None:
        self.client = client
        self.model = model
        self.patience = patience
        self.breaker = Breaker(time.monotonic, lasting=LASTING)
        self.tei = False
        """True if the server has asked for `texts`."""

    @property
    def name(self) -> str:
        return f"{self.client.address} {self.model or ''}".strip()

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One score per text, in order, on the server's own scale."""
        if self.breaker.refuses:
            raise RetrievalError("unavailable")
        with self.breaker.attempt(is_down, patience=self.patience):
            return await self._scores(query, texts)

    async def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        tei = self.tei  # another request may switch the form meanwhile: parse in the form that was sent
        size = BATCH if tei else len(texts)
        try:
            batches = [texts[at : at + size] for at in range(0, len(texts), size)]
            return [score for batch in batches for score in await self.request(query, batch, tei=tei)]
        except OtherForm:
            return await self.otherwise(query, texts)

    async def otherwise(self, query: str, texts: Sequence[str]) -> list[float]:
        """Try the other form, and keep it if it works."""
        self.tei = True
        try:
            return await self._scores(query, texts)
        except RetrievalError as error:
            self.tei = not error.rejected
            raise

    async def request(self, query: str, texts: Sequence[str], *, tei: bool) -> list[float]:
        said = await self.post(orjson.dumps(self.body(query, texts, tei=tei)), tei=tei)
        try:
            return read(said, len(texts))
        except UNUSABLE as error:
            log.warning("rerank unusable", fault=type(error).__name__)
            raise RetrievalError(RERANK) from error

    async def post(self, body: bytes, *, tei: bool) -> bytes:
        """The reply's body. Raises `OtherForm` if the server requires the other form."""
        try:
            return await self.client.ask(body, SECONDS, ANSWER_BYTES)
        except FAULTS as error:
            status = error.status if isinstance(error, Refused) else None
            if not tei and status in (400, 422) and MISSING.search(str(error)):
                raise OtherForm from error
            raise retrieval_error(error, RERANK) from error
        except ValueError as error:  # too long
            raise RetrievalError(RERANK) from error

    def body(self, query: str, texts: Sequence[str], *, tei: bool) -> dict[str, object]:
        if tei:
            return {"query": query, "texts": texts, "truncate": True}
        asked = {"query": query, "documents": texts, "top_n": len(texts)}
        return asked if self.model is None else {"model": self.model, **asked}


class OtherForm(Exception):
    """The server refuses this form of request; it is sent the other."""


def read(said: bytes, count: int) -> list[float]:
    """The scores of a reply in the texts' order; raises `UNUSABLE` unless each has exactly one."""
    told = orjson.loads(said)
    rows = told if isinstance(told, list) else told["results" if "results" in told else "data"]
    found = {place(row["index"]): figure(row) for row in rows}
    if len(rows) != count or found.keys() != set(range(count)):
        raise ValueError(f"{len(rows)} scores for {count} texts")
    return [found[at] for at in range(count)]


def place(value: object) -> int:
    """The index of a score's text; a bool is no index."""
    if type(value) is not int:
        raise TypeError(type(value).__name__)
    return value


def figure(row: Mapping[str, Any]) -> float:
    value = row["relevance_score"] if "relevance_score" in row else row["score"]
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError("not a score")
    return float(value)


def address(url: str) -> str:
    """The URL if it names the path, else with `/rerank` appended."""
    parts = urlsplit(url.rstrip("/"))
    named = parts.path.rpartition("/")[2] in ("rerank", "reranking") or parts.query
    return parts.geturl() if named else parts._replace(path=f"{parts.path}/rerank").geturl()


@asynccontextmanager
async def open_reranker(settings: Settings) -> AsyncIterator[HttpReranker | None]:
    """The server of RERANK_URL, which may be down now; None without that setting."""
    rerank = settings.rerank
    if rerank.url is None:
        yield None
        return
    key = rerank.api_key.get_secret_value() if rerank.api_key else NO_KEY
    async with open_client(Server(rerank.url, key), address(rerank.url)) as client:
        yield HttpReranker(client, rerank.model, settings.rag.timeout_seconds * PATIENCE_SHARE)
