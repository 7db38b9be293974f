"""Chroma's copy of the documents' vectors: written, removed, and filled again from the record.

Postgres has every vector, so a Chroma that has lost some, or all, is refilled beside the searches. Methods
raise `RetrievalError` and `Unavailable`; what runs in the background tries again. Seconds.
"""

import asyncio
from collections.abc import AsyncIterator, Collection, Sequence
from contextlib import asynccontextmanager

import structlog

from app.clients.chroma import Chroma
from app.clients.embedded import REMADE_MOST
from app.clients.faults import retrieval_faults
from app.clients.pool import Pool
from app.domain.document import Part
from app.domain.errors import RetrievalError, Unavailable
from app.domain.passage import Embedding
from app.domain.space import Space
from app.retrieval.retrievers import EnginePoint, Filter
from app.retrieval.retrievers.chroma import OURS, ChromaRetriever, collection, passage_id

AGAIN_SECONDS = 5.0
"""After a refill that failed: as long as Chroma is then left alone."""
READY = """
    SELECT tenant, owner, session_id, id, chunks FROM ibid.document
    WHERE state = 'ready' AND removed_at IS NULL AND id > $1 ORDER BY id LIMIT 100
"""
CURRENT = "SELECT current FROM ibid.space WHERE name = $1"
READY_CHUNKS = (
    "SELECT coalesce(sum(chunks), 0) FROM ibid.document WHERE state = 'ready' AND removed_at IS NULL"
)
EMBEDDINGS = "SELECT embedding FROM ibid.chunk WHERE document_id = $1 AND space = $2 ORDER BY ordinal"
THERE = "SELECT true FROM ibid.document WHERE id = $1 AND removed_at IS NULL"

log = structlog.get_logger(__name__)


class DocumentVectors:
    """Of one space. Keeps `ports.DocumentIndex`, `ports.Probe` and `holding.Files`."""

    name = "chroma"

    def __init__(self, pool: Pool, chroma: Chroma, space: Space) -> None:
        self.retriever = ChromaRetriever(chroma)
        self._pool = pool
        self._chroma = chroma
        self._space = space
        self._collections = {flag: collection(space.name, is_global=flag) for flag in (True, False)}
        self._filling: asyncio.Task[None] | None = None

    async def put(self, part: Part, document_id: str, embeddings: Sequence[Embedding]) -> None:
        """All vectors of a document, in order; again replaces."""
        name = self._collections[part.is_global]
        payload = {"tenant": part.tenant, "owner": part.owner, "session": part.session_id}
        payload["document"] = document_id
        points = [
            EnginePoint(passage_id((document_id, ordinal)), vector, payload)
            for ordinal, vector in enumerate(embeddings, 1)
        ]
        await self.retriever.upsert(name, points)
        stale = {*await self._chroma.ids(name, {"document": document_id})} - {point.id for point in points}
        await self.retriever.delete(name, sorted(stale))

    async def remove(self, part: Part, document_id: str) -> None:
        """Drop a document's vectors; none there is no error."""
        await self._chroma.delete(self._collections[part.is_global], {"document": document_id})

    async def held(self, part: Part, document_id: str) -> int:
        """How many vectors of a document there are."""
        return await self.retriever.count(
            self._collections[part.is_global], Filter({"document": document_id})
        )

    async def check(self) -> dict[str, int]:
        """Whether Chroma answers, and how many vectors it holds in this space."""
        await self._chroma.beat()
        return {"vectors": sum([await self._chroma.count(name) for name in self._collections.values()])}

    @property
    def external(self) -> bool:
        """Whether it is a server."""
        return not self._chroma.embedded

    async def compact(self, holdings: Collection[str]) -> Collection[str]:
        """Its folder made anew, and filled from the record beside the searches. Chroma holds no text, but
        vectors tell of one. A large folder, without which searches would go without Chroma, is left."""
        asked = {"documents", self.name}.intersection(holdings)
        if asked and (await self.check())["vectors"] > REMADE_MOST:
            return asked
        if asked:
            await self._chroma.renew()
        return ()

    async def rebuild(self) -> int:
        """Give Chroma the vectors of every ready document that it lacks; how many documents there were.

        What it holds of other spaces is dropped: this one must be current.
        """
        mended = await self._fill_all()
        await self._forget_others()
        return mended

    async def tidy(self) -> None:
        """Drop what a space before this one left, if this one is current; no reason not to start."""
        try:
            if await self._is_current():
                await self._forget_others()
        except (RetrievalError, Unavailable):
            log.warning("other spaces not dropped from chroma")

    def refill(self, *, unless_whole: bool = False) -> None:
        """Fill a Chroma that has lost vectors, in the background; from the start if that is under way."""
        if self._filling:
            self._filling.cancel()
        self._filling = asyncio.create_task(self._refill(unless_whole=unless_whole), name="chroma-refill")

    async def aclose(self) -> None:
        """End what is under way."""
        if self._filling:
            self._filling.cancel()
            await asyncio.gather(self._filling, return_exceptions=True)

    async def _refill(self, *, unless_whole: bool) -> None:
        """Until it is done. A space that is being moved to has no vectors in the record yet."""
        while True:
            try:
                if not await self._is_current() or (unless_whole and await self._is_whole()):
                    return
                mended = await self._fill_all()
                await self._chroma.filled()
            except (RetrievalError, Unavailable):
                await asyncio.sleep(AGAIN_SECONDS)
            else:
                log.info("chroma holds every document", mended=mended)
                return

    async def _is_current(self) -> bool:
        """Whether this is the space that all vectors belong to."""
        with retrieval_faults():
            return bool(await self._pool.fetchval(CURRENT, self._space.name))

    async def _is_whole(self) -> bool:
        """Whether Chroma holds as many vectors as there are chunks; it may hold more, of removed ones."""
        with retrieval_faults():
            chunks: int = await self._pool.fetchval(READY_CHUNKS)
        return (await self.check())["vectors"] >= chunks

    async def _fill_all(self) -> int:
        """Every ready document looked at; how many had to be mended."""
        mended, after = 0, ""
        while True:
            with retrieval_faults():
                page = await self._pool.fetch(READY, after)
            if not page:
                return mended
            after = page[-1]["id"]
            for tenant, owner, session_id, document_id, chunks in page:
                mended += await self._filled(Part(tenant, owner, session_id), document_id, chunks)

    async def _filled(self, part: Part, document_id: str, chunks: int) -> bool:
        """Whether a document's vectors had to be written. One that is removed meanwhile may be purged
        already: then they go too."""
        if await self.held(part, document_id) == chunks:
            return False
        with retrieval_faults():
            rows = await self._pool.fetch(EMBEDDINGS, document_id, self._space.name)
        await self.put(part, document_id, [row["embedding"] for row in rows])
        with retrieval_faults():
            there = await self._pool.fetchval(THERE, document_id)
        if not there:
            await self.remove(part, document_id)
        return True

    async def _forget_others(self) -> None:
        """Drop the collections of other spaces. Only by names of ours."""
        others = {name for name in await self._chroma.names() if OURS.match(name)}
        for name in sorted(others - {*self._collections.values()}):
            await self._chroma.forget(name)
            log.info("another space dropped from chroma", collection=name)


@asynccontextmanager
async def open_document_vectors(pool: Pool, chroma: Chroma, space: Space) -> AsyncIterator[DocumentVectors]:
    """Chroma, kept whole in the background; of other spaces' vectors an embedded one is rid."""
    vectors = DocumentVectors(pool, chroma, space)
    chroma.renewed = vectors.refill
    try:
        await chroma.ready()
        if chroma.embedded:  # a server may still serve replicas of an older configuration
            await vectors.tidy()
        vectors.refill(unless_whole=True)
        yield vectors
    finally:
        chroma.renewed = None
        await vectors.aclose()
