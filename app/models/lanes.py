"""The lanes of the bundled model: who waits for whom, and who goes first on the processor.

A query never queues behind an ingest, and outranks it; sentences of an extractive answer lie between, and are
refused early, because such an answer can do without. Raises `RetrievalError`, see `lane.py`.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from enum import IntEnum

from app.domain.passage import Embedding
from app.models.encoder import Encoder, Faults
from app.models.lane import Lane, Pace

CORES = max(1, min(4, os.cpu_count() or 1))


class Kind(IntEnum):
    """What a text is embedded for."""

    QUERY = 1
    """One thread: a second takes the interpreter from whoever else needs it more often than it helps
    (docs/decisions/0064)."""
    LONG_QUERY = 2
    """Up to 60 ms each: no short one waits for them."""
    SENTENCE = 3
    PASSAGE = 4


PACES: Mapping[Kind, Pace] = {
    Kind.QUERY: Pace("embed-query", 1, waiting=256),
    Kind.LONG_QUERY: Pace("embed-long-query", CORES, waiting=256),
    Kind.SENTENCE: Pace("embed-sentence", CORES, waiting=16, nice=5),
    Kind.PASSAGE: Pace("embed-passage", CORES, waiting=64, nice=10),
}


class Lanes:
    """All of them over one model. Their threads start with it and end with `close`."""

    def __init__(self, encode: Encoder, faults: Faults = ()) -> None:
        self.lanes = {kind: Lane(encode, pace, faults) for kind, pace in PACES.items()}

    async def run(self, kind: Kind, texts: Sequence[str]) -> list[Embedding]:
        """The texts' vectors, in order."""
        return await self.lanes[kind].run(texts)

    async def close(self) -> None:
        """Refuse what waits; at most 5 s."""
        await asyncio.gather(*(lane.close() for lane in self.lanes.values()))
