"""A moderation server (VANTAGE_RISK_URL): a moderation endpoint or a guard model, over the OpenAI protocol.

A URL ending in `/chat/completions` names a guard model, which answers `safe` or `unsafe` (Llama Guard), `no`
or `yes` (ShieldGemma, Granite Guardian). Any other URL is a moderation endpoint. After several failures in a
row it is not asked for some seconds. Raises `RetrievalError`: timeout, unavailable, overloaded, moderation.
The message is never logged. Times are in seconds.
"""

import math
import re
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import orjson
import structlog

from app.breaker import LASTING, Breaker, is_down
from app.errors import RetrievalError
from app.models.chat import printable
from app.models.client import FAULTS, NO_KEY, ModelClient, Server, open_client, retrieval_error
from app.settings import Settings

MODERATION = "moderation"
"""Its name in `degraded` and in /readyz."""


SECONDS = 10.0
"""Timeout for silence; callers have shorter deadlines."""
PATIENCE = 1.0
"""A call cancelled after this long had a deadline."""
ANSWER_BYTES = 256 << 10
GUARD = "/chat/completions"
TOKENS = 32
"""Most tokens of a guard model's reply."""
HARM = "harm"
"""Category of a guard model's verdict without one."""
VERDICTS: Mapping[str, float] = {
    **dict.fromkeys(("unsafe", "yes", "harmful", "1"), 1.0),
    **dict.fromkeys(("safe", "no", "harmless", "0"), 0.0),
}
SELFHARM = "self-harm"
OF_SELFHARM = re.compile(r"self-?harm$|suicid")
"""Other names of self-harm; `self-harm/intent` remains a category of its own."""
CATEGORIES: Mapping[str, str] = {"S11": SELFHARM}
"""Llama Guard's codes with a meaning for the policy."""
UNUSABLE = (ValueError, TypeError, KeyError, AttributeError, IndexError, RecursionError)
"""Errors of reading a reply of any shape."""

log = structlog.get_logger(__name__)


class HttpModerator:
    """`model` None: the server has one."""

    def __init__(self, client: ModelClient, model: str | None) -> None:
        self.client = client
        self.model = model
        self.breaker = Breaker(time.monotonic, lasting=LASTING)

    async def scores(self, text: str) -> Mapping[str, float]:
        """By category, in [0, 1], rounded to four digits. Raises `RetrievalError`."""
        if self.breaker.refuses:
            raise RetrievalError("unavailable")
        with self.breaker.attempt(is_down, patience=PATIENCE):
            said = await self._post(self._body(text))
        try:
            return guarded(said) if self._guards else moderated(said)
        except UNUSABLE as error:
            log.warning("moderation unusable", fault=type(error).__name__)
            raise RetrievalError(MODERATION) from error

    @property
    def _guards(self) -> bool:
        return urlsplit(self.client.address).path.endswith(GUARD)

    def _body(self, text: str) -> bytes:
        turn = printable({"role": "user", "content": text})
        asked: dict[str, object] = {"model": self.model} if self.model else {}
        if self._guards:
            asked |= {"messages": [turn], "max_tokens": TOKENS, "temperature": 0, "stream": False}
        else:
            asked["input"] = turn["content"]
        return orjson.dumps(asked)

    async def _post(self, body: bytes) -> bytes:
        try:
            return await self.client.ask(body, SECONDS, ANSWER_BYTES)
        except FAULTS as error:
            raise retrieval_error(error, MODERATION) from error
        except ValueError as error:
            raise RetrievalError(MODERATION) from error


def moderated(said: bytes) -> dict[str, float]:
    scores = orjson.loads(said)["results"][0]["category_scores"]
    found: dict[str, float] = {}
    for name, score in scores.items():
        if score is not None:
            found[category(name)] = max(share(score), found.get(category(name), 0.0))
    return found


def category(name: str) -> str:
    plain = re.sub(r"[\s_]+", "-", name.strip().lower())
    return SELFHARM if OF_SELFHARM.search(plain) else CATEGORIES.get(name.upper(), name)


def guarded(said: bytes) -> dict[str, float]:
    text = orjson.loads(said)["choices"][0]["message"]["content"]
    text = text.rpartition("</think>")[2]
    words = re.findall(r"\w+", text)
    named = re.search(r"safety\W+(safe|unsafe)\b", text, re.IGNORECASE)  # `User Safety: unsafe`
    verdict = VERDICTS[(named[1] if named else words[0]).lower()]
    names = {CATEGORIES.get(word.upper(), HARM) for word in words[1:] if re.fullmatch(r"[sS]\d+", word)}
    return dict.fromkeys(sorted(names) or [HARM], verdict)


def share(score: object) -> float:
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        raise TypeError("not a score")
    return round(min(1.0, max(0.0, float(score))), 4)


def address(url: str) -> str:
    """The URL if it names the path, else with `/moderations` appended."""
    parts = urlsplit(url.rstrip("/"))
    named = parts.path.endswith((GUARD, "/moderations"))
    return parts.geturl() if named else parts._replace(path=f"{parts.path}/moderations").geturl()


@asynccontextmanager
async def open_moderator(settings: Settings) -> AsyncIterator[HttpModerator | None]:
    """The service of VANTAGE_RISK_URL, which may be down now; None without that setting."""
    vantage = settings.vantage
    if vantage.risk_url is None:
        yield None
        return
    key = vantage.risk_api_key.get_secret_value() if vantage.risk_api_key else NO_KEY
    at = address(vantage.risk_url)
    async with open_client(Server(vantage.risk_url, key), at) as client:
        yield HttpModerator(client, vantage.risk_model)
