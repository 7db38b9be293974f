"""The chat model's rewording of a question, before it is searched for: late or broken, there is none.

The model's server has a breaker of its own here: one that answers, but too late for this, is not waited for
at every question. Seconds of the loop's time. Never raises but on cancellation. Source: docs/decisions/0050.
"""

import asyncio

import structlog

from app.domain.breaker import Breaker
from app.domain.errors import ModelError, ModelTimeout
from app.domain.passage import Query
from app.domain.ports import ChatModel, ModelStream
from app.domain.rewording import REWRITE, SAID, UNREADABLE, VERSION, prompt, texts, worth
from app.domain.trace import Degraded

REWRITE_SHARE = 0.4
"""Part of RAG_TIMEOUT_SECONDS in which the rewording must be there, so that it can still be searched for."""
FAIR = 0.5
"""Of that: a model that was left less has not failed when it is late; nor one whose asker left before it."""

log = structlog.get_logger(__name__)

Reworded = tuple[tuple[str, ...], tuple[Degraded, ...]]


class Rewriter:
    """Asks the model that answers where no request names one. `seconds`: RAG_TIMEOUT_SECONDS."""

    def __init__(self, model: ChatModel, breaker: Breaker, *, seconds: float) -> None:
        self._model = model
        self._breaker = breaker
        self._seconds = seconds

    @property
    def name(self) -> str:
        """Whose words, and asked how."""
        return f"{self._model.name} {VERSION}"

    async def texts(self, query: Query, until: float) -> Reworded:
        """What is to be searched beside the question, if it comes in its part of the time until then; else
        nothing, and why."""
        if not worth(query.text):
            return (), ()
        if self._breaker.refuses:
            return nothing("unavailable")
        try:
            reply = await self._reply(query, until)
        except (ModelError, TimeoutError) as error:
            return nothing("timeout" if isinstance(error, ModelTimeout | TimeoutError) else "unavailable")
        try:
            return texts(reply, query.text), ()
        except UNREADABLE:
            return nothing(REWRITE)

    async def _reply(self, query: Query, until: float) -> str:
        """The model's. Raises `ModelError` and `TimeoutError`."""
        share = self._seconds * REWRITE_SHARE
        left = until - self._seconds + share - asyncio.get_running_loop().time()
        if left <= 0:
            raise TimeoutError
        fair = FAIR * share

        def judge(error: Exception) -> bool | None:
            """Refusals and nonsense come at once: the model can be had."""
            if isinstance(error, TimeoutError):
                return left >= fair or None
            return isinstance(error, ModelError) and error.down

        asked = prompt(query.text, query.before)
        with self._breaker.attempt(judge, patience=fair):
            async with asyncio.timeout(left), self._model.open(asked) as stream:
                return await heard(stream)


def nothing(reason: str) -> Reworded:
    """To search for beside the question, and why."""
    log.warning("not reworded", reason=reason)
    return (), (Degraded(REWRITE, reason),)


async def heard(stream: ModelStream) -> str:
    """What the model says, as far as it is a reply of the length that was asked for."""
    said = ""
    async for delta in stream:
        said += delta.text
        if len(said) > SAID:
            break
    return said
