"""Documents into memory: postings from Postgres, vectors from Chroma, and what either has lost made good.

Postgres is the record: postings of another analysis are made anew from the chunks, vectors that Chroma
does not have come from `ibid.chunk`. Never a silent gap: each loss is logged. Raises `RetrievalError`.
"""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import structlog

from app.domain.document import Part
from app.domain.errors import RetrievalError, Unavailable
from app.domain.space import Space
from app.index.block import Block, single
from app.index.place import Listed, Matrix, Place
from app.index.posting import build, spoken
from app.index.record import Record
from app.index.segment import Segment, from_bytes
from app.index.vectors import VectorIndex

AT_ONCE = 32
"""Documents whose postings one statement reads: some megabytes."""

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Loaded:
    """Blocks of one document each, and those whose vectors Chroma has lost."""

    blocks: list[Block]
    lost: dict[str, Matrix]


class Loader:
    """Reads documents of one space."""

    def __init__(self, record: Record, vectors: VectorIndex, space: Space) -> None:
        self._record = record
        self._vectors = vectors
        self._space = space

    async def load(self, part: Part, documents: Sequence[Listed], *, exact: bool) -> Loaded:
        """All of them; with their vectors if `exact`."""
        words: dict[str, Segment] = {}
        for at in range(0, len(documents), AT_ONCE):
            words |= await self._words(documents[at : at + AT_ONCE])
        if not exact:
            return Loaded([single(item.id, words[item.id], None) for item in documents], {})
        matrices, lost = await self._matrices(part, documents)
        blocks = [single(item.id, words[item.id], matrices[item.id]) for item in documents]
        return Loaded(blocks, {key: matrices[key] for key in lost})

    async def _words(self, documents: Sequence[Listed]) -> dict[str, Segment]:
        """Postings, analysed anew where there are none of today's analysis."""
        stored = await self._record.words([item.id for item in documents])
        found: dict[str, Segment] = {}
        for item in documents:
            segment = readable(stored.get(item.id))
            fits = segment is not None and len(segment.lengths) == item.chunks
            found[item.id] = segment if segment is not None and fits else await self._analysed(item)
        return found

    async def _analysed(self, item: Listed) -> Segment:
        """Postings made anew from the chunks, and kept."""
        log.info("documents analysed anew", document=item.id)
        chunks = await self._record.chunks(item.id)
        segment = await asyncio.to_thread(build, spoken(item.filename, item.title, chunks))
        try:
            await self._record.keep_words(item.id, segment.to_bytes())
        except Unavailable:
            log.warning("postings not kept", document=item.id)
        return segment

    async def _matrices(self, part: Part, documents: Sequence[Listed]) -> tuple[dict[str, Matrix], list[str]]:
        """Vectors of each document, and the documents that Chroma does not have whole."""
        held = await self._held(part, documents)
        found = held or {}
        lost = [item.id for item in documents if not whole(item, found)]
        if lost and held is not None:
            log.warning("chroma has lost vectors; they come from postgres", documents=len(lost))
        matrices = {
            item.id: await self.recorded(item) if item.id in lost else filled(item, found, self._space.dim)
            for item in documents
        }
        return matrices, [] if held is None else lost

    async def _held(self, part: Part, documents: Sequence[Listed]) -> Mapping[Place, Matrix] | None:
        """What Chroma has of their vectors; None: it does not answer."""
        places = [(item.id, ordinal) for item in documents for ordinal in range(1, item.chunks + 1)]
        try:
            return await self._vectors.get(part, places)
        except RetrievalError as error:
            log.warning("chroma does not answer; vectors come from postgres", reason=error.reason)
            return None

    async def recorded(self, item: Listed) -> Matrix:
        """A document's vectors as Postgres has them. One that is nowhere is zero: found by words alone."""
        found = await self._record.vectors(item.id, self._space.name)
        if not whole(item, found):
            log.error("vectors of this space are missing", document=item.id, space=self._space.name)
        return filled(item, found, self._space.dim)


def whole(item: Listed, found: Mapping[Place, Matrix]) -> bool:
    """Whether all passages of a document have a vector."""
    return all((item.id, ordinal) in found for ordinal in range(1, item.chunks + 1))


def filled(item: Listed, found: Mapping[Place, Matrix], dim: int) -> Matrix:
    """A document's vectors, row 0 its first passage."""
    matrix = np.zeros((item.chunks, dim), dtype=np.float32)
    for row in range(item.chunks):
        vector = found.get((item.id, row + 1))
        if vector is not None:
            matrix[row] = vector
    return matrix


def readable(data: bytes | None) -> Segment | None:
    """Stored postings; None for those that are missing or damaged."""
    try:
        return None if data is None else from_bytes(data)
    except ValueError:
        return None
