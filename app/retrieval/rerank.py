"""The second stage: query rewriting beside the first search, reranking after it, each within its share of the
time.

The question itself is searched at once, its rewritten forms beside it. The reranker's scores become relevance
in [0, 1], so that boosts work as before; similarity, threshold and match rules do not change. A failure or
delay keeps the first stage's result and is reported in `degraded`. Times are in seconds. Why, and the sizes:
docs/adr/0014.
"""

import asyncio
import math
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from typing import Any

import structlog

from app.errors import RetrievalError
from app.metrics import stage
from app.models.base import Reranker
from app.retrieval.fusion import scored
from app.retrieval.rewrite import Rewriter, merged
from app.types import RERANK, Candidate, Degraded, Found, Query

MAX_RERANKED = 50
"""Most candidates reranked: more than are packed, and no more than a small model reads in a second or two."""

TEXT_BYTES, QUERY_BYTES = 1_500, 500
"""UTF-8 bytes of each text and of the question: together under 512 tokens, the limit of many models. Bytes,
because they follow tokens in every script."""

GAP = " … "
"""Joins both ends of a question that is too long: its point is at one of them."""


def reordered(candidates: Sequence[Candidate], scores: Sequence[float]) -> tuple[Candidate, ...]:
    """The first `len(scores)` by their scores, ties in their old order; then the others, at most as relevant
    as the last of those."""
    ranked = sorted(zip(scores, unit(scores), candidates, strict=False), key=lambda told: -told[0])
    rest = candidates[len(ranked) :]
    least = ranked[-1][1] if ranked else 1.0
    highest = max((item.passage.score for item in rest), default=0.0)
    factor = least / highest if highest > least else 1.0
    return (
        *(Candidate(scored(item.passage, score)) for _, score, item in ranked),
        *(Candidate(scored(item.passage, min(least, item.passage.score * factor))) for item in rest),
    )


def unit(scores: Sequence[float]) -> list[float]:
    if all(0 <= score <= 1 for score in scores):
        return [float(score) for score in scores]
    return [logistic(score) for score in scores]


def logistic(score: float) -> float:
    """A logit as a probability; never overflows."""
    if score >= 0:
        return 1 / (1 + math.exp(-score))
    odds = math.exp(score)
    return odds / (1 + odds)


def shown(text: str, most: int = TEXT_BYTES) -> str:
    """The beginning of a text, never blank, which servers refuse."""
    cut = text[:most].encode("utf-8", "replace")[:most].decode("utf-8", "ignore")
    return cut if cut.strip() else "-"


def asked(text: str) -> str:
    """Beginning and end of a long question: a follow-up's own words come last."""
    raw = text.encode("utf-8", "replace")
    if len(raw) <= QUERY_BYTES:
        return raw.decode()
    half = (QUERY_BYTES - len(GAP.encode())) // 2
    return GAP.join(part.decode("utf-8", "ignore") for part in (raw[:half], raw[-half:]))


RERANK_SHARE = 1 / 3
"""Share of RAG_TIMEOUT_SECONDS for the scores, once everything is found."""
GRACE = 0.1
"""Seconds before the deadline at which the first stage's order is used."""

First = Callable[[Query], Coroutine[Any, Any, Found]]
"""The first stage: searches every source for one text."""

log = structlog.get_logger(__name__)


def nothing_there(found: Found) -> bool:
    return not found.stored and not found.degraded


class SecondStage:
    """Rewriter and reranker, or one of them. `seconds`: RAG_TIMEOUT_SECONDS."""

    def __init__(self, reranker: Reranker | None, rewriter: Rewriter | None, *, seconds: float) -> None:
        self._reranker = reranker
        self._rewriter = rewriter
        self._seconds = seconds

    def key(self, query: Query) -> list[object]:
        """What a result depends on beside the first stage: reranker, rewriter and the earlier messages."""
        reworded = [self._rewriter.name, *query.before] if self._rewriter else []
        return [self._reranker.name if self._reranker else "", reworded]

    async def search(self, query: Query, first: First, until: float) -> Found:
        """Results of both stages, by the time `until`."""
        found = (
            await self._wide(query, first, until, self._rewriter) if self._rewriter else await first(query)
        )
        if self._reranker is None or len(found.candidates) < 2:
            return found
        return await self._ranked(query, found, until, self._reranker)

    async def _wide(self, query: Query, first: First, until: float, rewriter: Rewriter) -> Found:
        async with asyncio.TaskGroup() as group:
            own = group.create_task(first(query))
            rewording = group.create_task(rewriter.texts(query, until))
            await asyncio.wait({own, rewording}, return_when=asyncio.FIRST_COMPLETED)
            vain = own.done() and nothing_there(own.result())
            texts, faults = ((), ()) if vain else await rewording
            rewording.cancel()  # not needed if there is nothing to find; else it is done
            more = [group.create_task(first(replace(query, text=text, before=()))) for text in texts]
        found = merged(own.result(), [task.result() for task in more], query.threshold)
        told = [f'Searched also with "{text}"' for text in texts]
        return replace(found, degraded=(*found.degraded, *faults), notes=(*found.notes, *told))

    async def _ranked(self, query: Query, found: Found, until: float, reranker: Reranker) -> Found:
        some = found.candidates[:MAX_RERANKED]
        try:
            scores = await self._scores(reranker, query.text, [item.passage.text for item in some], until)
        except (RetrievalError, TimeoutError) as error:
            reason = error.reason if isinstance(error, RetrievalError) else "timeout"
            log.warning("not reranked", reason=reason)
            return replace(found, degraded=(*found.degraded, Degraded(RERANK, reason)))
        note = f"Reranked {len(some)} candidates"
        return replace(found, candidates=reordered(found.candidates, scores), notes=(*found.notes, note))

    async def _scores(self, reranker: Reranker, text: str, texts: list[str], until: float) -> list[float]:
        latest = asyncio.get_running_loop().time() + self._seconds * RERANK_SHARE
        with stage("rerank"):
            async with asyncio.timeout_at(min(latest, until - GRACE)):
                return list(await reranker.scores(asked(text), [shown(each) for each in texts]))
