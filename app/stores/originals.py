"""What answers were made of, looked up again by id (`domain/replay.Originals`): passages, cards, turns.

Postgres is the record of what Ibid wrote; what it does not know are points of older tools, asked of Qdrant.
Rows of projects are read by their sources, so that a passage is made of a row in one place.
Only what is in the reach of the scope in which the answer was asked. Not there is not there; a store that
does not answer is `Unavailable`, never an erasure.
"""

from collections import defaultdict
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeAlias, TypeVar

import asyncpg

from app.clients.faults import postgres_faults
from app.clients.points import Point, Points, Where
from app.clients.pool import Pool
from app.domain.errors import RetrievalError, Unavailable
from app.domain.memory import NOTE, RAW, Memory
from app.domain.passage import SAID_ON, Passage, Scope
from app.domain.prompt import Turn
from app.domain.trace import Entry
from app.index import payload, referred, remembered
from app.index.catalogue import RETRY_SECONDS
from app.retrieval.imported import imported
from app.retrieval.retrievers.qdrant import NOT_OURS
from app.stores.chatlog import THREAD, ChatLogStore, thread
from app.stores.corpus import COLUMNS as TEXTS
from app.stores.corpus import reference
from app.stores.reach import IN_REACH
from app.stores.register import COLUMNS as MEMORIES
from app.stores.register import memory

DOCUMENTS = "documents"
CHUNKS = f"""
    SELECT document.id || ':' || chunk.ordinal AS key, chunk.text
    FROM unnest($4::text[], $5::int[]) AS wanted (id, ordinal)
    JOIN (SELECT id FROM ibid.document WHERE {IN_REACH} AND state = 'ready') AS document USING (id)
    JOIN ibid.chunk AS chunk ON chunk.document_id = document.id AND chunk.ordinal = wanted.ordinal
"""  # noqa: S608 - constants of ours
# A document that was replaced has another id and the same name: what its label names today.
NAMESAKES = f"""
    SELECT DISTINCT ON (wanted.key) wanted.key, chunk.text
    FROM unnest($4::text[], $5::text[], $6::int[]) AS wanted (key, name, ordinal)
    JOIN (SELECT id, name, session_id FROM ibid.document WHERE {IN_REACH} AND state = 'ready') AS document
        USING (name)
    JOIN ibid.chunk AS chunk ON chunk.document_id = document.id AND chunk.ordinal = wanted.ordinal
    ORDER BY wanted.key, document.session_id DESC, document.id DESC
"""  # noqa: S608 - constants of ours
KEPT = f"""
    SELECT {MEMORIES} FROM ibid.memory
    WHERE tenant = $1 AND user_id = $2 AND id = ANY($3)
"""  # noqa: S608 - constants of ours
# A client that brings its history along mostly brings what was said here: the words are in the thread.
SAID = f"""
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
"""Rows in reach by their ids, as a search would find them today; raises `RetrievalError`."""

T = TypeVar("T")
Found = dict[str, T]
"""By id."""


class OriginalStore:
    """See the module."""

    def __init__(self, pool: Pool, points: Points, rows: Mapping[str, Named] | None = None) -> None:
        """`rows`: those of each of the projects' sources, by their ids."""
        self._pool = pool
        self._points = points
        self._rows = rows or {}
        self._chatlog = ChatLogStore(pool)

    async def passages(self, scope: Scope, entries: Sequence[Entry]) -> dict[tuple[str, str], Passage]:
        """Those of a trace's entries that are there, by source and id; their labels are the trace's."""
        of = defaultdict[str, list[Entry]](list)
        for entry in entries:
            of[entry.source].append(entry)
        texts = await self._chunks(scope, of[DOCUMENTS])
        cards = await self.cards(scope, [entry.id for entry in of[remembered.NAME]])
        corpus = await self._corpus(scope, [entry.id for entry in of[referred.NAME]])
        found = [
            *(shown(DOCUMENTS, key, text) for key, text in texts.items()),
            *map(told, cards.values()),
            *corpus.values(),
        ]
        for source, named in self._rows.items():
            if of[source]:
                with answering():
                    found += await named(scope, [entry.id for entry in of[source]])
        return {(passage.source, passage.id): passage for passage in found}

    async def turns(self, scope: Scope, ids: Sequence[str]) -> Found[Turn]:
        """Those turns of the scope's thread that are there."""
        return await self._chatlog.these(scope, ids)

    async def said(self, scope: Scope, hashes: Sequence[str]) -> Found[str]:
        """Words of the scope's thread, by their hash."""
        with postgres_faults():
            rows = await self._pool.fetch(SAID, *thread(scope), list(hashes))
        return {row["key"]: row["content"] for row in rows}

    async def cards(self, scope: Scope, ids: Sequence[str]) -> Found[Memory]:
        """Those of the user's memories, cards among them, that are there."""
        if not ids or not scope.user_id:
            return {}
        with postgres_faults():
            rows = await self._pool.fetch(KEPT, scope.tenant, scope.user_id, list(ids))
        known = {row["id"]: memory(row) for row in rows}
        missing = set(ids) - {row["id"] for row in rows}
        missing -= (await self._imported(RAW, missing)).keys()
        points = await self._remembered(scope, missing) if missing else []
        return known | {point.id: remembered.memory(point) for point in points}

    async def _remembered(self, scope: Scope, ids: Collection[str]) -> list[Point]:
        """Points of older tools."""
        with answering():
            stands = await remembered.standing_of(self._pool, scope.tenant, scope.user_id or "")
        wanted = set(ids) if stands.since is None else set(ids).intersection(stands.since)
        return await self._scrolled(RAW, remembered.owned(scope), wanted)

    async def _chunks(self, scope: Scope, entries: Sequence[Entry]) -> Found[str]:
        """Texts of documents' passages; of documents that were replaced those that have their labels now."""
        if not entries:
            return {}
        reach = (scope.tenant, scope.owner, scope.session_id or "")
        places = [place(entry) for entry in entries]
        with postgres_faults():
            rows = await self._pool.fetch(CHUNKS, *reach, *columns([at[:2] for at in places], 2))
            known = texts(rows)
            lost = [
                (entry.id, name, ordinal)
                for entry, (_, ordinal, name) in zip(entries, places, strict=True)
                if entry.id not in known
            ]
            rows = await self._pool.fetch(NAMESAKES, *reach, *columns(lost, 3)) if lost else []
        return known | texts(rows)

    async def _corpus(self, scope: Scope, keys: Sequence[str]) -> Found[Passage]:
        """Reference texts, by collection and point."""
        of = defaultdict[str, list[str]](list)
        for key in keys:
            collection, _, point = key.rpartition("/")
            of[collection].append(point)
        found: Found[Passage] = {}
        for collection, points in of.items():
            found |= await self._shelf(scope, collection, points)
        return found

    async def _shelf(self, scope: Scope, collection: str, ids: Sequence[str]) -> Found[Passage]:
        """Those of one collection. A point that was imported since is the record's under another id."""
        rows_of = await self._imported(collection, ids)
        names = {rows_of.get(each, each): each for each in ids}
        with postgres_faults():
            rows = await self._pool.fetch(REFERENCES, scope.tenant, collection, [*names])
        kept = {names[row["point"]]: reference(row) for row in rows}
        missing = set(ids) - kept.keys() - rows_of.keys()
        points = [
            Point(point, {"text": text.text, "metadata": dict(text.metadata)}) for point, text in kept.items()
        ]
        points += await self._scrolled(collection, remembered.tenants(scope), missing) if missing else []
        passages = [referred.passage(collection, point, "", None) for point in points]
        return {passage.id: passage for passage in passages if passage.text}

    async def _imported(self, collection: str, points: Collection[str]) -> Mapping[str, str]:
        """Which of these points were imported, with the row's id."""
        with answering():
            return await imported(self._pool, collection, points) if points else {}

    async def _scrolled(self, collection: str, where: Where, ids: Collection[str]) -> list[Point]:
        """Points that the record does not know; none of a collection that is not there."""
        if not ids:
            return []
        wanted = replace(where, lacks=NOT_OURS, ids=tuple(sorted(ids)))
        with answering():
            try:
                return await self._points.scroll(collection, wanted, limit=len(ids))
            except RetrievalError:  # a collection that has gone refuses too, as does a wrong key
                if collection in {shape.name for shape in await self._points.collections()}:
                    raise
                return []


@contextmanager
def answering() -> Iterator[None]:
    """Around what a search could do without, and this cannot."""
    try:
        yield
    except RetrievalError as error:
        raise Unavailable("a store does not answer", retry_after=RETRY_SECONDS) from error


def place(entry: Entry) -> tuple[str, int, str]:
    """A passage's document, its ordinal there, and the name in its label."""
    document, _, ordinal = entry.id.rpartition(":")
    return document, int(ordinal), entry.label.rpartition("#")[0]


def texts(rows: Sequence[asyncpg.Record]) -> Found[str]:
    """By their keys."""
    return {row["key"]: row["text"] for row in rows}


def columns(rows: Sequence[tuple[object, ...]], width: int) -> list[list[object]]:
    """Rows as columns, also where there are none."""
    return [[row[at] for row in rows] for at in range(width)]


def told(card: Memory) -> Passage:
    """A memory as a prompt shows it, with the day on which it was said."""
    kind = payload.fact({"kind": card.kind}, "kind") or NOTE
    day = payload.day({"created_at": card.created_at.isoformat()})
    said = {SAID_ON: None if card.created_at == remembered.LONG_AGO else day}
    return shown(remembered.NAME, card.id, card.text, collection=RAW, kind=kind, **said)


def shown(source: str, key: str, text: str, **fields: str | None) -> Passage:
    """A passage with what a prompt shows of it; its label is put in by whoever knows it."""
    return Passage(source, key, text, 0, "", fields=fields)
