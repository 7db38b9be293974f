"""A `/rerank` server: question and texts in, a score a text out. Keeps `models/base.Reranker`.

Two forms are spoken: `documents` in, `results` of {index, relevance_score} out (Cohere, Jina, vLLM,
llama.cpp; `data` at Voyage); and `texts` in, a list of {index, score} out (TEI), once a server asks for it.
Raises `RetrievalError`: timeout, unavailable (nobody there, or 5xx), rerank for a refusal or for any answer
that is not one score for each text. Texts are never logged. Seconds.
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
from app.errors import RetrievalError, StartError
from app.models.client import FAULTS, NO_KEY, ModelClient, Refused, Server, open_client, retrieval_error
from app.settings import Settings
from app.types import RERANK

PATIENCE_SHARE = 1 / 6
"""Of RAG_TIMEOUT_SECONDS: half of what the second stage gives it. One that was left less has not failed."""
SECONDS = 30.0
"""Of silence that end a request; whoever waits has a shorter deadline of their own."""
ANSWER_BYTES = 2 << 20
"""Longer answers are none, even of servers that send the texts back."""
BATCH = 32
"""Texts a request that TEI takes, where nobody has told it another number."""
MISSING = re.compile(r"\btexts\b")
"""In a refusal: the server wants the other form."""
UNUSABLE = (ValueError, TypeError, KeyError, AttributeError, RecursionError)
"""What reading an answer of any shape may raise."""

log = structlog.get_logger(__name__)


class HttpReranker:
    """See the module. `model` None: the server has one; `patience`: seconds after which a request that is
    given up counts as a failure of the server."""

    def __init__(self, client: ModelClient, model: str | None, patience: float) -> None:
        self.client = client
        self.model = model
        self.patience = patience
        self.breaker = Breaker(time.monotonic, lasting=LASTING)
        self.tei = False
        """Whether the server has asked for `texts`."""

    @property
    def name(self) -> str:
        """Where, and which model."""
        return f"{self.client.address} {self.model or ''}".strip()

    async def scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """One a text, in their order, on the server's own scale."""
        if self.breaker.refuses:
            raise RetrievalError("unavailable")
        with self.breaker.attempt(is_down, patience=self.patience):
            return await self._scores(query, texts)

    async def _scores(self, query: str, texts: Sequence[str]) -> list[float]:
        """The same, whatever the breaker says."""
        tei = self.tei  # others may learn it meanwhile: an answer is to the form that it was asked in
        size = BATCH if tei else len(texts)
        try:
            batches = [texts[at : at + size] for at in range(0, len(texts), size)]
            return [score for batch in batches for score in await self.request(query, batch, tei=tei)]
        except OtherForm:
            return await self.otherwise(query, texts)

    async def otherwise(self, query: str, texts: Sequence[str]) -> list[float]:
        """In the other form; one that is refused too was not it."""
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
        """The answer's body. Raises `OtherForm` where the server wants the texts under another name."""
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
        """The request in the server's form."""
        if tei:
            return {"query": query, "texts": texts, "truncate": True}
        asked = {"query": query, "documents": texts, "top_n": len(texts)}
        return asked if self.model is None else {"model": self.model, **asked}


class OtherForm(Exception):
    """The server asks for `texts`."""


def read(said: bytes, count: int) -> list[float]:
    """The scores of an answer in the texts' order; raises `UNUSABLE` unless each has exactly one."""
    told = orjson.loads(said)
    rows = told if isinstance(told, list) else told["results" if "results" in told else "data"]
    found = {place(row["index"]): figure(row) for row in rows}
    if len(rows) != count or found.keys() != set(range(count)):
        raise ValueError(f"{len(rows)} scores for {count} texts")
    return [found[at] for at in range(count)]


def place(value: object) -> int:
    """Which text a score is for: `True` is no number."""
    if type(value) is not int:
        raise TypeError(type(value).__name__)
    return value


def figure(row: Mapping[str, Any]) -> float:
    value = row["relevance_score"] if "relevance_score" in row else row["score"]
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError("not a score")
    return float(value)


def address(url: str) -> str:
    """Where texts are sent: the URL as it is if it names the path, else with `/rerank` behind it."""
    parts = urlsplit(url.rstrip("/"))
    if parts.scheme not in ("http", "https"):
        raise StartError("RERANK_URL must begin with http:// or https://")
    named = parts.path.rpartition("/")[2] in ("rerank", "reranking") or parts.query
    return parts.geturl() if named else parts._replace(path=f"{parts.path}/rerank").geturl()


@asynccontextmanager
async def open_reranker(settings: Settings) -> AsyncIterator[HttpReranker | None]:
    """The server of RERANK_URL, which need not be there yet; None: there is none."""
    rerank = settings.rerank
    if rerank.url is None:
        yield None
        return
    key = rerank.api_key.get_secret_value() if rerank.api_key else NO_KEY
    async with open_client(Server(rerank.url, key), address(rerank.url)) as client:
        yield HttpReranker(client, rerank.model, settings.rag.timeout_seconds * PATIENCE_SHARE)
