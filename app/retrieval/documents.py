"""Documents: chunks of PDFs, searched in the exact index of their part, or by Chroma if that is large.

A part is a session's documents or those shared by a tenant; its index follows `ibid.part.version`, so the
next search of every replica sees a write. Reads raise `RetrievalError`.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import groupby
from typing import Any
from urllib.parse import quote

import asyncpg
import numpy as np
import structlog

from app.db.documents import DocumentPart, indexed_text
from app.db.pool import Pool, postgres_faults, retrieval_faults
from app.retrieval.bm25 import Mask, invert
from app.retrieval.index import (
    Address,
    IndexSearch,
    Matrix,
    PassageKey,
    ScopeIndex,
    Segment,
    on_loop_or_thread,
)
from app.retrieval.index_cache import IndexCache, Listing
from app.retrieval.retrievers.chroma import Chroma, collection, key_of, passage_id
from app.retrieval.source import IndexedSource, Reached, analysed, stack, untaken
from app.text.labels import distinct, key, label, label_name
from app.types import DOCUMENTS, Embedding, Filter, Passage, Scope, Space

NAME_COST = 25
"""Cost of preparing a document's name (some 4 µs), in passages searched (`on_loop_or_thread`)."""
VERSIONS = """
    SELECT wanted.n, part.version FROM unnest($1::text[], $2::text[], $3::text[])
        WITH ORDINALITY AS wanted (tenant, owner, session_id, n)
    JOIN ibid.part AS part USING (tenant, owner, session_id)
"""
LISTING = """
    SELECT coalesce(part.version, 0) AS version, id, name, filename, title, chunks, created_at
    FROM (VALUES ($1::text, $2::text, $3::text)) AS wanted (tenant, owner, session_id)
    LEFT JOIN ibid.part AS part USING (tenant, owner, session_id)
    LEFT JOIN ibid.document AS document ON document.tenant = wanted.tenant
        AND document.owner = wanted.owner AND document.session_id = wanted.session_id
        AND document.state = 'ready' AND document.removed_at IS NULL
    ORDER BY id
"""
TERMS = """
    SELECT document_id, ordinal, terms FROM ibid.chunk
    WHERE document_id = ANY($1::text[]) ORDER BY document_id, ordinal
"""
TERMS_AND_VECTORS = """
    SELECT document_id, ordinal, terms, CASE WHEN space = $2 THEN embedding END AS embedding FROM ibid.chunk
    WHERE document_id = ANY($1::text[]) ORDER BY document_id, ordinal
"""
TEXTS = """
    SELECT document_id, chunk.ordinal, filename, title, heading, text
    FROM unnest($1::text[], $2::int[]) AS wanted (document_id, ordinal)
    JOIN ibid.chunk AS chunk USING (document_id, ordinal) JOIN ibid.document ON document.id = document_id
"""
KEEP_TERMS = """
    UPDATE ibid.chunk AS chunk SET terms = made.terms
    FROM unnest($1::text[], $2::int[], $3::bytea[]) AS made (document_id, ordinal, terms)
    WHERE chunk.document_id = made.document_id AND chunk.ordinal = made.ordinal
"""
VECTORS = """
    SELECT document_id, chunk.ordinal, embedding
    FROM unnest($1::text[], $2::int[]) AS wanted (document_id, ordinal)
    JOIN ibid.chunk AS chunk USING (document_id, ordinal) WHERE space = $3
"""
PASSAGES = """
    SELECT document_id, chunk.ordinal, chunk.text, chunk.tokens, page, page_end, heading,
        chunk.kind, chunk.page_label
    FROM unnest($1::text[], $2::int[]) AS wanted (document_id, ordinal)
    JOIN ibid.chunk AS chunk USING (document_id, ordinal)
    JOIN ibid.document AS document ON document.id = document_id
    WHERE document.state = 'ready' AND document.removed_at IS NULL
"""
"""Leaves out chunks removed since their index was loaded."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Listed:
    id: str
    name: str
    """For labels, before `-2`."""
    filename: str
    title: str
    chunks: int
    created_at: datetime


class ListedDocuments(dict[str, Listed]):
    """The ready documents of a part by id, in the order of their creation. Immutable."""

    @cached_property
    def looks(self) -> frozenset[str]:
        """Canonical forms of their names; fewer than documents if two names look alike."""
        return frozenset(key(document.name) for document in self.values())


class DocumentSource(IndexedSource[DocumentPart]):
    name = DOCUMENTS

    def __init__(
        self,
        cache: IndexCache,
        pool: Pool,
        chroma: Chroma,
        space: Space,
        *,
        store: str = "",
        seconds: float = 6.0,
    ) -> None:
        super().__init__(cache, space, store=store, seconds=seconds)
        self._pool = pool
        self._chroma = chroma

    async def reach(self, scope: Scope) -> Reached[DocumentPart]:
        parts = [DocumentPart(scope.tenant)]
        if scope.session_id:
            parts.insert(0, DocumentPart(scope.tenant, scope.owner, scope.session_id))
        columns = [[getattr(part, name) for part in parts] for name in ("tenant", "owner", "session_id")]
        with self._pool.reading():
            known: dict[int, int] = dict(map(tuple, await self._pool.fetch(VERSIONS, *columns)))
        versions = ((part, known.get(n, 0)) for n, part in enumerate(parts, 1))
        return Reached(self, scope, tuple(versions))

    async def listing(self, scope: DocumentPart) -> Listing:
        with retrieval_faults():
            rows = await self._pool.fetch(LISTING, scope.tenant, scope.owner, scope.session_id)
        found = await on_loop_or_thread(NAME_COST * len(rows), documents, rows)
        return Listing(rows[0]["version"], found, sum(each.chunks for each in found.values()))

    def sizes(self, listing: Listing, entries: Sequence[str]) -> Iterable[int]:
        return (listing.entries[entry].chunks for entry in entries)

    def passage_id(self, key: PassageKey) -> str:
        return passage_id(key)

    async def segment(
        self,
        scope: DocumentPart,
        entries: Sequence[str],
        *,
        vectors: bool,
    ) -> Segment | None:
        """Some documents. A chunk without a vector of the space is found by its terms only."""
        asked = (TERMS_AND_VECTORS, entries, self._space.name) if vectors else (TERMS, entries)
        with retrieval_faults():
            rows = await self._pool.fetch(*asked)
        packed = {(row["document_id"], row["ordinal"]): row["terms"] for row in rows}
        terms = await analysed(packed, self._texts, self._keep_terms)
        return await asyncio.to_thread(self._segment, rows, terms, vectors=vectors)

    def _segment(
        self, rows: Sequence[asyncpg.Record], terms: Mapping[PassageKey, bytes], *, vectors: bool
    ) -> Segment | None:
        gone = {row["document_id"] for row in rows if (row["document_id"], row["ordinal"]) not in terms}
        rows = [row for row in rows if row["document_id"] not in gone]
        if not rows:
            return None
        ids, firsts = list[str](), [0]
        for document, chunks in groupby(row["document_id"] for row in rows):
            ids.append(document)
            firsts.append(firsts[-1] + len(list(chunks)))
        postings = invert([terms[row["document_id"], row["ordinal"]] for row in rows])
        if not vectors:
            return Segment(tuple(ids), tuple(firsts), postings, None)
        matrix, bare = stack([row["embedding"] for row in rows], self._space.dim)
        if bare.any():
            log.error("vectors of this space are missing", chunks=int(bare.sum()), space=self._space.name)
        return Segment(tuple(ids), tuple(firsts), postings, matrix, vectorless=bare if bare.any() else None)

    async def _texts(self, keys: Sequence[PassageKey]) -> Mapping[PassageKey, tuple[int, str, str]]:
        """Texts to analyse. A chunk never changes, so its revision is 0."""
        with retrieval_faults():
            rows = await self._pool.fetch(TEXTS, *columns_of(keys))
        return {(row[0], row[1]): (0, indexed_text(*row[2:]), row[5]) for row in map(tuple, rows)}

    async def _keep_terms(self, _: Mapping[PassageKey, int], terms: Mapping[PassageKey, bytes]) -> None:
        with postgres_faults():
            await self._pool.execute(KEEP_TERMS, *columns_of(terms), list(terms.values()))

    async def vectors(self, keys: Sequence[PassageKey]) -> Mapping[PassageKey, Matrix]:
        with retrieval_faults():
            rows = await self._pool.fetch(VECTORS, *columns_of(keys), self._space.name)
        return {(row[0], row[1]): np.frombuffer(row[2], dtype="<f4") for row in rows}

    async def waiting(self, scope: DocumentPart) -> tuple[Sequence[str], bool]:
        return await untaken(self._pool, "chroma", "")

    async def nearest(
        self, reached: Reached[DocumentPart], scope: DocumentPart, vector: Embedding, limit: int
    ) -> Sequence[PassageKey]:
        part = {"tenant": scope.tenant}
        if not scope.is_global:
            part |= {"owner": scope.owner, "session": scope.session_id}
        name = collection(self._space.name, is_global=scope.is_global)
        return [key_of(key) for key, _ in await self._chroma.nearest(name, vector, part, limit)]

    def wanted(self, only: Filter, index: ScopeIndex, segment: Segment) -> Mask | None:
        if only.documents is None and only.since is None:
            return None
        listed: Mapping[str, Listed] = index.entries
        kept = [one in listed and is_wanted(only, listed[one]) for one in segment.entries]
        return np.repeat(np.array(kept, dtype=np.bool_), np.diff(segment.firsts))

    async def passages(
        self, reached: Reached[DocumentPart], search: IndexSearch, similar: Mapping[Address, float | None]
    ) -> Mapping[Address, Passage]:
        addresses = {search.key(address): address for address in similar}
        with retrieval_faults():
            rows = await self._pool.fetch(PASSAGES, *columns_of(addresses))
        names, seen = shown_names(search.indexes), seen_from(reached.scope)
        found: dict[Address, Passage] = {}
        for row in map(tuple, rows):
            address = addresses[row[:2]]
            document: Listed = search.index_of(address).entries[row[0]]
            found[address] = passage(document, row, names.get(row[0], document.name), similar[address], seen)
        return found


def is_wanted(only: Filter, document: Listed) -> bool:
    return (only.documents is None or document.id in only.documents) and (
        only.since is None or document.created_at >= only.since
    )


def passage(document: Listed, row: Sequence[Any], name: str, similar: float | None, seen: str) -> Passage:
    _, ordinal, text, tokens, page, page_end, heading, kind, page_label = row
    fields: dict[str, str | int | None] = {
        "document": document.id,
        "page": page,
        "page_end": page_end,
        "heading": heading,
        "part": kind,
        "page_label": page_label,
        "url": f"/api/documents/{document.id}/chunks/{ordinal}{seen}",
    }
    # Positional: names take as long as values.
    return Passage(
        DocumentSource.name,
        passage_id((document.id, ordinal)),
        text,
        tokens,
        label(name, str(ordinal)),
        similar,
        0.0,
        document.title or document.filename,
        fields,
        document.created_at,
    )


def documents(rows: Iterable[Iterable[Any]]) -> ListedDocuments:
    """Rows of LISTING; a part without documents has one row without an id. Names older than the rule for
    names are kept."""
    listed = (
        Listed(id_, label_name(name), filename, title, chunks, created_at)
        for _, id_, name, filename, title, chunks, created_at in map(tuple, rows)
        if id_ is not None
    )
    return ListedDocuments((document.id, document) for document in listed)


def columns_of(keys: Iterable[PassageKey]) -> tuple[list[str], list[int]]:
    every = list(keys)
    return [document for document, _ in every], [ordinal for _, ordinal in every]


def shown_names(indexes: Sequence[ScopeIndex]) -> Mapping[str, str]:
    """Names by document id: the session's documents keep theirs, a shared one that looks like another becomes
    `name-2.pdf`. Empty if no two names look alike: then all keep theirs."""
    own, shared = ListedDocuments(), ListedDocuments()
    for index in indexes:
        if isinstance(index.entries, ListedDocuments) and isinstance(index.scope, DocumentPart):
            own, shared = (own, index.entries) if index.scope.is_global else (index.entries, shared)
    if len(own.looks) + len(shared.looks) == len(own) + len(shared) and own.looks.isdisjoint(shared.looks):
        return {}
    names = distinct([each.name for each in own.values()], [each.name for each in shared.values()])
    return dict(zip([*own, *shared], [*names[0], *names[1]], strict=True))


def seen_from(scope: Scope) -> str:
    """Query string of a passage's URL: a label is valid in one session, so the URL names it."""
    return f"?session_id={quote(scope.session_id, safe='')}" if scope.session_id else ""
