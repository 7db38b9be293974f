"""What runs beside the first stage, and after it: rewording and rerank, each within its part of the time.

The question itself is searched at once; what a model makes of it meanwhile is searched beside it; what all of
it found is one list, which a reranker may order anew. Whatever fails or is late leaves the first stage as it
was and one word in `degraded`. Raises nothing but on cancellation. Seconds of the loop's time.
Source: docs/decisions/0050; DESIGN §6.
"""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import replace
from typing import Any, Protocol

import structlog

from app.domain.breaker import Breaker, is_down
from app.domain.errors import RetrievalError
from app.domain.found import Found
from app.domain.merge import merged
from app.domain.passage import Query
from app.domain.rerank import MOST, RERANK, Reranker, asked, reordered, shown
from app.domain.trace import Degraded
from app.services.rewrite import Rewriter

RERANK_SHARE = 1 / 3
"""Part of RAG_TIMEOUT_SECONDS that the scores may take, once everything is found."""
GRACE = 0.1
"""Seconds before the end at which the first stage's order is taken, to hand it over in time."""
FAIR = 0.5
"""Of its part: a reranker that was left less than this has not failed when it is late."""

First = Callable[[Query], Coroutine[Any, Any, Found]]
"""The first stage: every source, one text."""

log = structlog.get_logger(__name__)


class After(Protocol):
    """What `Retrieval` knows of it."""

    def key(self, query: Query) -> list[object]:
        """All that a result depends on beside the first stage's."""

    async def search(self, query: Query, first: First, until: float) -> Found:
        """What both stages find; ends by `until`."""


def nothing_there(found: Found) -> bool:
    """Whether no wording could find more: nothing is stored in reach, and everybody has said so."""
    return not found.stored and not found.degraded


class Second:
    """Both, or one of them. `seconds`: RAG_TIMEOUT_SECONDS; `breaker`: the reranker's."""

    def __init__(
        self, reranker: Reranker | None, rewriter: Rewriter | None, breaker: Breaker, *, seconds: float
    ) -> None:
        self._reranker = reranker
        self._rewriter = rewriter
        self._breaker = breaker
        self._seconds = seconds

    def key(self, query: Query) -> list[object]:
        """Whose scores, whose words, and what those were made from."""
        reworded = [self._rewriter.name, *query.before] if self._rewriter else []
        return [self._reranker.name if self._reranker else "", reworded]

    async def search(self, query: Query, first: First, until: float) -> Found:
        """What both stages find."""
        found = (
            await self._wide(query, first, until, self._rewriter) if self._rewriter else await first(query)
        )
        if self._reranker is None or len(found.candidates) < 2:
            return found
        return await self._ranked(query, found, until, self._reranker)

    async def _wide(self, query: Query, first: First, until: float, rewriter: Rewriter) -> Found:
        """What the question and its rewordings find."""
        async with asyncio.TaskGroup() as group:
            own = group.create_task(first(query))
            rewording = group.create_task(rewriter.texts(query, until))
            await asyncio.wait({own, rewording}, return_when=asyncio.FIRST_COMPLETED)
            vain = own.done() and nothing_there(own.result())
            texts, faults = ((), ()) if vain else await rewording
            rewording.cancel()  # where it was in vain; else it is done
            more = [group.create_task(first(replace(query, text=text, before=()))) for text in texts]
        found = merged(own.result(), [task.result() for task in more], query.threshold)
        told = [f'Searched also with "{text}"' for text in texts]
        return replace(found, degraded=(*found.degraded, *faults), notes=(*found.notes, *told))

    async def _ranked(self, query: Query, found: Found, until: float, reranker: Reranker) -> Found:
        """The same, in the reranker's order if that comes in time."""
        some = found.candidates[:MOST]
        try:
            scores = await self._scores(reranker, query.text, [item.passage.text for item in some], until)
        except (RetrievalError, TimeoutError) as error:
            reason = error.reason if isinstance(error, RetrievalError) else "timeout"
            log.warning("not reranked", reason=reason)
            return replace(found, degraded=(*found.degraded, Degraded(RERANK, reason)))
        note = f"Reranked {len(some)} candidates"
        return replace(found, candidates=reordered(found.candidates, scores), notes=(*found.notes, note))

    async def _scores(self, reranker: Reranker, text: str, texts: list[str], until: float) -> list[float]:
        """The server's, within its part of the time. Raises `RetrievalError` and `TimeoutError`."""
        share, now = self._seconds * RERANK_SHARE, asyncio.get_running_loop().time()
        left = min(share, until - GRACE - now)
        if self._breaker.refuses:
            raise RetrievalError("unavailable")
        if left <= 0:
            raise TimeoutError
        fair = FAIR * share

        def judge(error: Exception) -> bool | None:
            return (left >= fair or None) if isinstance(error, TimeoutError) else is_down(error)

        with self._breaker.attempt(judge, patience=fair):
            async with asyncio.timeout(left):
                return list(await reranker.scores(asked(text), [shown(each) for each in texts]))
