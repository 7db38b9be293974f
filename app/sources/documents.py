"""Documents: the chunks of PDFs, searched by words (BM25) and meaning (exact, or Chroma for large parts).

Postgres is the record (`ibid.chunk`, its vectors too), Chroma an index of it, shelves in memory (`index/`)
what a query looks at; they follow `ibid.part.version`, so a write shows in the next search of every replica.
Similarities are cosine above the space's floor. Searches raise `RetrievalError`, writes `Unavailable`.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from urllib.parse import quote

import numpy as np
import structlog

from app.clients.chroma import Chroma
from app.clients.identity import identity
from app.clients.pool import Pool
from app.domain.document import Chunk, Part
from app.domain.errors import RetrievalError
from app.domain.passage import Embedding, Hit, Legs, Passage, Query, Scope
from app.domain.quick import quick
from app.domain.space import Space, similarity
from app.domain.stopwatch import TEXTS, stage
from app.index.bookcase import MEMORY_BYTES
from app.index.cited import NAME, passage
from app.index.loader import Loader
from app.index.meaning import Meaning, Near, computed
from app.index.mending import Mending
from app.index.naming import Naming
from app.index.place import Place, Spot, key
from app.index.posting import build, spoken
from app.index.record import Record
from app.index.search import Search
from app.index.stacks import Stacks, exact_most
from app.index.texts import Row, Texts
from app.index.vectors import VectorIndex
from app.retrieval.content import Content, content
from app.retrieval.terms import VERSION

hit_of = quick(Hit)

log = structlog.get_logger(__name__)


class DocumentSource:
    """Keeps ports.Source and ports.DocumentIndex; `probe` keeps ports.Probe."""

    name = NAME

    def __init__(
        self,
        pool: Pool,
        chroma: Chroma,
        space: Space,
        *,
        store: str = "",
        memory_bytes: int = MEMORY_BYTES,
        exact: int | None = None,
    ) -> None:
        self._pool = pool
        self._space = space
        self.store = store
        """Which database this is: two may share a cache."""
        self._record = Record(pool)
        self._vectors = VectorIndex(chroma, space)
        self._meaning = Meaning(self._record, self._vectors, space)
        self._loader = Loader(self._record, self._vectors, space)
        self._stacks = Stacks(
            self._record,
            self._vectors,
            self._loader,
            memory_bytes=memory_bytes,
            exact_most=exact_most(space.dim) if exact is None else exact,
        )
        self._texts: Texts[Row] = Texts()
        self._stacks.gone = self._texts.forget
        self.mending = Mending(self._record, self._vectors, self._stacks, space)
        self._naming = Naming()

    @property
    def probe(self) -> VectorIndex:
        """Chroma, as `/readyz` asks it, and its files, as an erasure leaves them."""
        return self._vectors

    async def reach(self, scope: Scope) -> "Reached":
        """The session's documents and the global ones, as they stand now."""
        parts = reach(scope)
        return Reached(self, scope, tuple(zip(parts, await self._record.versions(parts), strict=True)))

    async def search(self, reached: "Reached", query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Both legs over what was reached, in one more statement to Postgres; shelves may be newer."""
        search = Search(await asyncio.gather(*(self._stacks.at(*each) for each in reached.versions)))
        words = await computed(search.effort(query.text), search.words, query.text, query.limit)
        vector = await embedding
        told = await asyncio.to_thread(content, query.text) if vector is None else None
        near = Near() if vector is None else await self._near(search, vector, words, query.limit)
        with stage(TEXTS):
            return await self._legs(search, words, near, told, seen_from(reached.scope))

    async def _near(self, search: Search, vector: Embedding, words: Sequence[Spot], limit: int) -> Near:
        """The meaning leg; a vector of another space is no vector."""
        if len(vector) != 4 * self._space.dim:
            log.error("the query's vector is of another space", space=self._space.name)
            raise RetrievalError("embedding")
        return await self._meaning.near(search, np.frombuffer(vector, dtype="<f4"), words, limit)

    async def _legs(
        self, search: Search, words: Sequence[Spot], near: Near, told: Content | None, seen: str
    ) -> Legs:
        """What was found, with its texts. Passages purged since the search began are left out. `told`: the
        query's content, where there is no vector."""
        places = {spot: search.place(spot) for spot in {*words, *near.spots}}
        rows = await self._rows(places.values())
        there = {spot: place for spot, place in places.items() if place in rows}
        hits = await asyncio.to_thread(search.hits, there, told) if told else search.hits(there)
        floor = self._space.floor
        found = {spot: similarity(value, floor) for spot, value in near.cosines.items()}
        chosen = set(words)
        similar = {place: found.get(spot) for spot, place in there.items()}
        return Legs(
            source=NAME,
            words=tuple(hits[spot] for spot in words if spot in there),
            meaning=tuple(meant(there[spot], found[spot]) for spot in near.spots if spot in there),
            passages=self._passages(search, rows, similar, seen),
            stored=search.size,
            beside={hit.key: hit for spot, hit in hits.items() if spot not in chosen},
        )

    async def _rows(self, places: Collection[Place]) -> Mapping[Place, Row]:
        """Texts of passages: what was found lately is still here, the rest comes from the record."""
        known = self._texts.known(places)
        missing = [place for place in places if place not in known]
        if not missing:
            return known
        fetched = await self._record.passages(missing)
        self._texts.keep(fetched)
        return known | fetched

    def _passages(
        self,
        search: Search,
        rows: Mapping[Place, Row],
        found: Mapping[Place, float | None],
        seen: str,
    ) -> dict[str, Passage]:
        """Passages by id, in the order of documents and ordinals: what fusion finds equal stays so."""
        names = self._naming.names(search.shelves)
        documents = {place[0] for place in found}
        listed = {
            named: shelf.documents[named]
            for shelf in search.shelves
            for named in documents & shelf.documents.keys()
        }
        made = (
            passage(rows[place], listed[place[0]], names[place[0]], found[place], seen)
            for place in sorted(found)
        )
        return {one.id: one for one in made}

    async def put(
        self, part: Part, document_id: str, chunks: Sequence[Chunk], embeddings: Sequence[Embedding]
    ) -> None:
        """Index all chunks of one document; again replaces. Invisible until the record says ready."""
        if [chunk.ordinal for chunk in chunks] != list(range(1, len(chunks) + 1)):
            raise ValueError("ordinals must count from 1")
        names = await self._record.names(document_id)
        words = await asyncio.to_thread(build, spoken(names.filename, names.title, chunks))
        matrix = np.frombuffer(b"".join(embeddings), dtype="<f4").reshape(len(chunks), self._space.dim)
        await self._vectors.put(part, document_id, matrix)
        await self._record.keep_words(document_id, words.to_bytes())

    async def remove(self, part: Part, document_id: str) -> None:
        """Drop a document's index entries; nothing there is no error."""
        await self._vectors.remove(part, document_id)
        await self._record.forget_words(document_id)
        self._texts.forget({document_id})

    async def rebuild(self) -> int:
        """Give Chroma the vectors of every ready document that it lacks; how many documents there were.

        What it holds of other spaces is dropped: this one must be current.
        """
        return await self.mending.rebuild()

    async def aclose(self) -> None:
        """End loads and repairs under way."""
        await self.mending.aclose()
        await self._stacks.aclose()


def meant(place: Place, similar: float) -> Hit:
    """A passage as the meaning leg saw it."""
    return hit_of(key(place), similar, 0.0, False, 0.0, 0.0)


@dataclass(frozen=True, slots=True)
class Reached:
    """Keeps found.Reach: the parts of a scope and the version of each."""

    source: DocumentSource
    scope: Scope
    versions: tuple[tuple[Part, int], ...]

    @property
    def standing(self) -> str:
        """With what a result depends on beside the texts: which store it is, and how words are cut."""
        parts = [[part.tenant, part.owner, part.session_id, version] for part, version in self.versions]
        return json.dumps([self.source.store, VERSION, parts])

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Both legs; raises `RetrievalError`."""
        return await self.source.search(self, query, embedding)


@asynccontextmanager
async def open_documents(pool: Pool, chroma: Chroma, space: Space) -> AsyncIterator[DocumentSource]:
    """The source, and an end to what it does in the background."""
    source = DocumentSource(pool, chroma, space, store=await identity(pool))
    chroma.renewed = source.mending.begin
    try:
        await chroma.ready()
        if chroma.embedded:  # a server may still serve replicas of an older configuration
            await source.mending.tidy()
        yield source
    finally:
        chroma.renewed = None
        await source.aclose()


def reach(scope: Scope) -> list[Part]:
    """The parts that a scope may see: its session's own, and what the tenant shares."""
    shared = Part(scope.tenant)
    return [Part(scope.tenant, scope.owner, scope.session_id), shared] if scope.session_id else [shared]


def seen_from(scope: Scope) -> str:
    """The query string of a passage's address: labels are a session's, so the address names it."""
    return f"?session_id={quote(scope.session_id, safe='')}" if scope.session_id else ""
