"""Finds what an answer was made from: passages, turns and cards by id, for a replay.

Documents, memories and reference texts are read from Postgres, then from Qdrant (points of other tools);
sources that are gone are missing from the result. Raises `Unavailable`, `RetrievalError`.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

import asyncpg

from app.answer import Turn
from app.db.corpus import COLUMNS as TEXTS
from app.db.corpus import reference
from app.db.documents import IN_REACH
from app.db.memories import COLUMNS as MEMORY_COLUMNS
from app.db.memories import NOTE, RAW, Memory, memory
from app.db.pool import Pool, postgres_faults
from app.db.sessions import THREAD, ChatLogStore, thread
from app.errors import RetrievalError, required
from app.retrieval import payload
from app.retrieval.memories import standing_of
from app.retrieval.points import (
    CORPUS,
    MEMORIES,
    memory_from_point,
    owned,
    tenants,
    text_point_passage,
)
from app.retrieval.retrievers.points import Point, Where
from app.retrieval.retrievers.qdrant import NOT_OURS, Qdrant, imported
from app.types import DOCUMENTS, LONG_AGO, SAID_ON, Entry, Passage, Scope

T = TypeVar("T")

CHUNKS = f"""
    SELECT document.id || ':' || chunk.ordinal AS key, chunk.text, page, page_end, heading
    FROM unnest($4::text[], $5::int[]) AS wanted (id, ordinal)
    JOIN (SELECT id FROM ibid.document WHERE {IN_REACH} AND state = 'ready') AS document USING (id)
    JOIN ibid.chunk AS chunk ON chunk.document_id = document.id AND chunk.ordinal = wanted.ordinal
"""  # noqa: S608 - constants of ours
# A replaced document has another id and the same name: find what the label names now.
NAMESAKES = f"""
    SELECT DISTINCT ON (wanted.key) wanted.key, chunk.text, page, page_end, heading
    FROM unnest($4::text[], $5::text[], $6::int[]) AS wanted (key, name, ordinal)
    JOIN (SELECT id, name, session_id FROM ibid.document WHERE {IN_REACH} AND state = 'ready') AS document
        USING (name)
    JOIN ibid.chunk AS chunk ON chunk.document_id = document.id AND chunk.ordinal = wanted.ordinal
    ORDER BY wanted.key, document.session_id DESC, document.id DESC
"""  # noqa: S608 - constants of ours
KEPT = f"""
    SELECT {MEMORY_COLUMNS} FROM ibid.memory
    WHERE tenant = $1 AND user_id = $2 AND id = ANY($3)
"""  # noqa: S608 - constants of ours
# A client's own history mostly consists of this thread's turns, so their texts are found there.
SELECT_SAID = f"""
    SELECT key, content FROM (
        SELECT content, encode(sha256(convert_to(content, 'UTF8')), 'hex') AS key FROM public.chat_log
        WHERE {THREAD} AND content IS NOT NULL) AS said
    WHERE key = ANY($5)
"""  # noqa: S608 - a constant of ours
REFERENCES = f"""
    SELECT {TEXTS} FROM ibid.corpus_text
    WHERE tenant = $1 AND collection = $2 AND point = ANY($3)
"""  # noqa: S608 - constants of ours

Named: TypeAlias = Callable[[Scope, Sequence[str]], Awaitable[Sequence[Passage]]]
"""Fetches rows in the scope's reach by id, as a search returns them; raises `RetrievalError`."""
Found = dict[str, T]


class OriginalStore:
    def __init__(self, pool: Pool, points: Qdrant, rows: Mapping[str, Named] | None = None) -> None:
        self._pool = pool
        self._points = points
        self._rows = rows or {}
        self._chatlog = ChatLogStore(pool)

    async def passages(self, scope: Scope, entries: Sequence[Entry]) -> dict[tuple[str, str], Passage]:
        """Passages of a trace that still exist, by (source, id), with the labels of the trace."""
        of = defaultdict[str, list[Entry]](list)
        for entry in entries:
            of[entry.source].append(entry)
        chunks = await self._chunks(scope, of[DOCUMENTS])
        cards = await self.cards(scope, [entry.id for entry in of[MEMORIES]])
        corpus = await self._corpus(scope, [entry.id for entry in of[CORPUS]])
        found = [
            *chunks,
            *map(memory_passage, cards.values()),
            *corpus.values(),
        ]
        for source, rows_of in self._rows.items():
            if of[source]:
                with required():
                    found += await rows_of(scope, [entry.id for entry in of[source]])
        return {(passage.source, passage.id): passage for passage in found}

    async def turns(self, scope: Scope, ids: Sequence[str]) -> Found[Turn]:
        return await self._chatlog.these(scope, ids)

    async def said(self, scope: Scope, hashes: Sequence[str]) -> Found[str]:
        with postgres_faults():
            rows = await self._pool.fetch(SELECT_SAID, *thread(scope), list(hashes))
        return {row["key"]: row["content"] for row in rows}

    async def cards(self, scope: Scope, ids: Sequence[str]) -> Found[Memory]:
        if not ids or not scope.user_id:
            return {}
        with postgres_faults():
            rows = await self._pool.fetch(KEPT, scope.tenant, scope.user_id, list(ids))
        known = {row["id"]: memory(row) for row in rows}
        missing = set(ids) - {row["id"] for row in rows}
        missing -= (await self._imported(RAW, missing)).keys()
        points = await self._remembered(scope, missing) if missing else []
        return known | {point.id: memory_from_point(point) for point in points}

    async def _remembered(self, scope: Scope, ids: Collection[str]) -> list[Point]:
        with required():
            stands = await standing_of(self._pool, scope.tenant, scope.user_id or "")
        wanted = set(ids) if stands.since is None else set(ids).intersection(stands.since)
        return await self._scrolled(RAW, owned(scope), wanted)

    async def _chunks(self, scope: Scope, entries: Sequence[Entry]) -> list[Passage]:
        """Document chunks; for a replaced document, of the one that has its label now."""
        if not entries:
            return []
        reach = (scope.tenant, scope.owner, scope.session_id or "")
        places = [chunk_address(entry) for entry in entries]
        with postgres_faults():
            rows = await self._pool.fetch(CHUNKS, *reach, *columns([at[:2] for at in places], 2))
            known = {row["key"] for row in rows}
            lost = [
                (entry.id, name, ordinal)
                for entry, (_, ordinal, name) in zip(entries, places, strict=True)
                if entry.id not in known
            ]
            rows += await self._pool.fetch(NAMESAKES, *reach, *columns(lost, 3)) if lost else []
        return [chunk_passage(row) for row in rows]

    async def _corpus(self, scope: Scope, keys: Sequence[str]) -> Found[Passage]:
        of = defaultdict[str, list[str]](list)
        for key in keys:
            collection, _, point = key.rpartition("/")
            of[collection].append(point)
        found: Found[Passage] = {}
        for collection, points in of.items():
            found |= await self._collection_texts(scope, collection, points)
        return found

    async def _collection_texts(self, scope: Scope, collection: str, ids: Sequence[str]) -> Found[Passage]:
        """Texts of one collection. A point imported since has another id in Postgres."""
        rows_of = await self._imported(collection, ids)
        names = {rows_of.get(each, each): each for each in ids}
        with postgres_faults():
            rows = await self._pool.fetch(REFERENCES, scope.tenant, collection, [*names])
        kept = {names[row["point"]]: reference(row) for row in rows}
        missing = set(ids) - kept.keys() - rows_of.keys()
        points = [
            Point(point, {"text": text.text, "metadata": dict(text.metadata)}) for point, text in kept.items()
        ]
        points += await self._scrolled(collection, tenants(scope), missing) if missing else []
        passages = [text_point_passage(collection, point, "", None) for point in points]
        return {passage.id: passage for passage in passages if passage.text}

    async def _imported(self, collection: str, points: Collection[str]) -> Mapping[str, str]:
        with required():
            return await imported(self._pool, collection, points) if points else {}

    async def _scrolled(self, collection: str, where: Where, ids: Collection[str]) -> list[Point]:
        if not ids:
            return []
        wanted = replace(where, lacks=NOT_OURS, ids=tuple(sorted(ids)))
        with required():
            try:
                return await self._points.scroll(collection, wanted, limit=len(ids))
            except RetrievalError:  # a missing collection is refused too, as is a wrong key
                if collection in {shape.name for shape in await self._points.collections()}:
                    raise
                return []


def chunk_address(entry: Entry) -> tuple[str, int, str]:
    document, _, ordinal = entry.id.rpartition(":")
    return document, int(ordinal), entry.label.rpartition("#")[0]


def chunk_passage(row: asyncpg.Record) -> Passage:
    place = {name: row[name] for name in ("page", "page_end", "heading")}
    return bare_passage(DOCUMENTS, row["key"], row["text"], **place)


def columns(rows: Sequence[tuple[object, ...]], width: int) -> list[list[object]]:
    return [[row[at] for row in rows] for at in range(width)]


def memory_passage(card: Memory) -> Passage:
    kind = payload.fact({"kind": card.kind}, "kind") or NOTE
    day = payload.day({"created_at": card.created_at.isoformat()})
    said = {SAID_ON: None if card.created_at == LONG_AGO else day}
    return bare_passage(MEMORIES, card.id, card.text, collection=RAW, kind=kind, **said)


def bare_passage(source: str, key: str, text: str, **fields: str | int | None) -> Passage:
    return Passage(source, key, text, 0, "", fields=fields)
