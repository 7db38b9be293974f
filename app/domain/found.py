"""What a retrieval starts from (`Reach`), what it came to (`Found`), and where that is kept (`Shared`).

Times are milliseconds, but for `Shared`, which counts seconds.
"""

from collections.abc import Awaitable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from app.domain.passage import Candidate, Embedding, Legs, Query
from app.domain.rerank import RERANK
from app.domain.rewording import REWRITE
from app.domain.selection import Selection, why
from app.domain.trace import Degraded, Reason

EXACT, ENGINE = "exact", "engine"
"""Every passage in reach was compared, or Chroma, Qdrant or pgvector was asked for the nearest of some."""
STAGES = frozenset({RERANK, REWRITE})
ASIDE = STAGES | {"embedding"}
"""`Degraded.source` of what is no source: without it everything in reach was searched all the same."""


class Reach(Protocol):
    """What a scope may see of one source, as it stood when it was asked for."""

    @property
    def standing(self) -> str:
        """Opaque. Equal ones find equal things, every write in reach makes another, no two reaches share."""

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Both legs. `embedding` is awaited beside the word leg; None: the query has no vector."""


@dataclass(frozen=True, slots=True)
class Found:
    """Candidates of all sources, fused and best first; what was left out as a duplicate in its source (across
    sources whoever tells them decides); who failed."""

    candidates: tuple[Candidate, ...] = ()
    duplicates: tuple[Candidate, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    stored: int = 0
    """Passages in reach of the sources that answered."""
    answered: int = 0
    """Sources that answered."""
    took_ms: int = 0
    sources: Mapping[str, str] = field(default_factory=dict)
    """How the nearest of each source were found: EXACT or ENGINE."""
    notes: tuple[str, ...] = ()
    """What sources tell of how it went."""
    cached: bool = False
    """It came from a finished retrieval; one that was searched for several at once is nobody's cache hit."""

    unsought: bool = False
    """Small talk: nothing was looked for."""

    def reason(self, asked: int, selection: Selection) -> Reason:
        """`rag.reason` for what was made of it; `asked` counts sources."""
        if self.unsought:
            return Reason.SMALL_TALK
        timed_out = any(item.reason == "timeout" for item in self.degraded if item.source not in STAGES)
        lost = any(item.source not in ASIDE and item.reason != "not_available" for item in self.degraded)
        # What has failed may hold something: that nothing is stored can only be told by all.
        answered = 0 if lost and not self.stored else self.answered
        return why(selection, asked=asked, answered=answered, timed_out=timed_out, stored=self.stored)


VALUE_BYTES = 2 << 20
"""The most that one result may take in a cache that is shared."""


class Shared(Protocol):
    """A cache that replicas share. Never raises but on cancellation: being away is a miss. Nobody vouches
    for what it gives: whoever reads it checks it."""

    async def get(self, key: str) -> bytes | None:
        """What is kept, if it comes within a moment; more than VALUE_BYTES is nothing of ours."""

    def put(self, key: str, value: bytes, *, seconds: float) -> None:
        """Kept soon after and for `seconds`, or not at all; nobody waits for it."""
