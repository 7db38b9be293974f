"""/v1/search, the MCP tool `search` and `ibid search`: passages without an answer.

Finds, orders and labels what /api/chat would put before its model, without a budget of tokens; asks no chat
model for an answer and records no turn. A filter applies inside the sources, so what it leaves fills `top_k`.
A search raises only on cancellation. Source: docs/contract.md.
"""

import sys
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace

from app.answer import ShownCitation
from app.answering.budget import Meter, PromptLimits, ledger, packed_passages
from app.answering.followup import names_nothing, refers
from app.answering.meta import ROWS, SCORES, TEXT, cite, linked, shown
from app.answering.question import Question
from app.db.documents import Document, DocumentStore
from app.db.rows import is_id
from app.errors import Missing, required
from app.retrieval.documents import seen_from
from app.retrieval.search import Retrieval
from app.services.chat import is_unmatched, pending_documents, selected
from app.text.greeting import is_small_talk
from app.text.labels import label
from app.types import (
    CODE,
    CONVERSATIONS,
    CORPUS,
    DOCUMENTS,
    DREAMS,
    MEMORIES,
    Chunk,
    Filter,
    Found,
    Passage,
    Query,
    Reason,
    Scope,
    Trace,
)

TOP_K = 10
"""The default."""
DIGITS = 10
"""Of a chunk's number."""
ALL = frozenset({TEXT, SCORES})
"""What results have unless the request says otherwise."""


@dataclass(frozen=True, slots=True)
class Searched:
    """`passages` are those of the `results`, in order."""

    results: tuple[ShownCitation, ...]
    passages: tuple[Passage, ...]
    trace: Trace


Named = Callable[[Scope, Sequence[str]], Awaitable[list[Passage]]]
"""Passages of a source by their ids, as far as the scope sees them; raises `RetrievalError`."""


class SearchService:
    def __init__(
        self,
        retrieval: Retrieval,
        limits: PromptLimits,
        count: Callable[[str], int],
        *,
        documents: DocumentStore | None = None,
        named: Mapping[str, Named] | None = None,
        public_url: str | None = None,
    ) -> None:
        """`limits`, `count` (o200k tokens): of /api/chat; `named`: by source, of all but documents."""
        self._retrieval = retrieval
        self._limits = limits
        self._count = count
        self._documents = documents
        self._named = named or {}
        self._public_url = public_url

    async def search(
        self,
        scope: Scope,
        text: str,
        *,
        sources: Sequence[str] | None = None,
        top_k: int | None = None,
        include: frozenset[str] = ALL,
    ) -> Searched:
        """`sources`: None: all that the scope reaches (`reachable`)."""
        started = time.perf_counter()
        names = tuple(dict.fromkeys(reachable(scope) if sources is None else sources))
        most = top_k or min(TOP_K, self._limits.top_k)
        question = Question(scope, text, sources=names, top_k=most)
        found = await self._found(question)
        meter = Meter(self._count)
        candidates, reason = selected(question, found, sys.maxsize, self._limits, meter)
        passages = packed_passages(candidates)
        trace = Trace(
            reason,
            entries=ledger(candidates),
            degraded=found.degraded,
            cached=found.cached,
            tokens=sum(passage.tokens for passage in passages),
            sources=found.sources,
            told=found.notes,
        )
        if is_unmatched(trace) and (pending := await pending_documents(self._documents, question)):
            trace = replace(trace, reason=Reason.PROCESSING, pending=pending)
        took_ms = round((time.perf_counter() - started) * 1000)
        results = (shown(linked(cite(each), self._public_url), each, include) for each in passages)
        return Searched(tuple(results), passages, replace(trace, took_ms=took_ms))

    async def fetch(self, scope: Scope, source: str, passage_id: str) -> tuple[ShownCitation, Passage]:
        """A passage by the id of its source. Raises `Missing`, `Unavailable`."""
        if source in ROWS and scope.project is None:
            raise Missing("there is no such passage")
        known = source in self._named and (is_id if source in ROWS else str.isprintable)(passage_id)
        if source == DOCUMENTS:
            found = await self._chunk(scope, passage_id)
        elif known:
            with required():
                found = await self._named[source](scope, [passage_id])
        else:
            found = []
        if not found:
            raise Missing("there is no such passage")
        return shown(linked(cite(found[0]), self._public_url), found[0], frozenset({TEXT})), found[0]

    async def _chunk(self, scope: Scope, passage_id: str) -> list[Passage]:
        document_id, _, n = passage_id.rpartition(":")
        if self._documents is None or not (n.isascii() and n.isdigit() and len(n) < DIGITS):
            return []
        document = await self._documents.get(scope, document_id)
        if document and document.session_id not in (None, scope.session_id):
            return []
        chunk = await self._documents.chunk(scope, document_id, int(n)) if document else None
        return [chunk_passage(document, chunk, scope)] if document and chunk else []

    async def _found(self, question: Question) -> Found:
        text, limits = question.message, self._limits
        if is_small_talk(text) or (refers(text) and names_nothing(text)):
            return Found(unsought=True)
        limit = max(question.top_k or 0, limits.top_k)
        query = Query(text, question.scope, limit=limit, threshold=limits.threshold)
        return await self._retrieval.gather(query, question.searched)


def chunk_passage(document: Document, chunk: Chunk, scope: Scope) -> Passage:
    ordinal = chunk.ordinal
    return Passage(
        DOCUMENTS,
        f"{document.id}:{ordinal}",
        chunk.text,
        chunk.tokens,
        label(document.label, str(ordinal)),
        title=document.title or document.filename,
        fields={
            "page": chunk.page,
            "page_end": chunk.page_end,
            "page_label": chunk.page_label,
            "heading": chunk.heading,
            "url": f"/api/documents/{document.id}/chunks/{ordinal}{seen_from(scope)}",
        },
        created_at=document.created_at,
    )


def reachable(scope: Scope) -> tuple[str, ...]:
    """Sources in which the scope may find something. A filter that names documents or collections is about
    their sources alone."""
    only = scope.only or Filter()
    if only.documents is not None or only.collections is not None:
        named = {DOCUMENTS: only.documents, CORPUS: only.collections}
        return tuple(source for source, ids in named.items() if ids is not None)
    personal = (MEMORIES,) if scope.user_id else ()
    rows = (CONVERSATIONS, CODE, DREAMS) if scope.project else ()
    return (DOCUMENTS, *personal, CORPUS, *rows)
