"""The candidate ledger: every passage seen, with its figures and its verdict. Told once, shown many ways
(the reply's `notes`, the stream's `debug`, the kept trace, the log line)."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum


class Verdict(StrEnum):
    """What became of a candidate."""

    PACKED = "packed"
    BELOW_THRESHOLD = "below_threshold"
    DUPLICATE = "duplicate"
    OVER_LIMIT = "over_limit"
    """Beyond the number of passages that are told: top_k, the three memories."""
    OVER_BUDGET = "over_budget"
    """There were no tokens left for it."""
    SKIPPED = "skipped"


class Reason(StrEnum):
    """`rag.reason`, in order of precedence (CONTRACT §1)."""

    SMALL_TALK = "small_talk"
    """A greeting, thanks or a reaction that refers to nothing: it was not searched for."""
    EMPTY = "empty"
    PROCESSING = "processing"
    """Nothing matched, and a document in reach is still being read."""
    TIMEOUT = "timeout"
    UNAVAILABLE = "unavailable"
    SKIPPED = "skipped_short_query"
    NO_MATCH = "no_match"
    OK = "ok"
    GREETING = "greeting"
    """Of /rag/query alone: a pure greeting is answered without looking anything up."""
    UNASKED = "not_asked"
    """Of /vantage/query alone: its class, or its mix, wants nothing looked up."""
    CANCELLED = "cancelled"
    """In the record alone: the asker left before the sources had answered."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One candidate's line in the ledger."""

    source: str
    id: str
    label: str
    similarity: float | None
    score: float
    verdict: Verdict
    boosts: Mapping[str, float] = field(default_factory=dict)
    """Factors by name: relevance times all of them is the score."""
    sha256: str = ""
    """Of the passage's text: a replay can tell whether the source changed."""
    relevance: float | None = None
    """Before boosts; None: nothing boosts passages of this kind, and the score is the relevance."""
    created_at: datetime | None = None
    """Of the passage: what a recency bias looks at."""
    vouched: bool = False
    """Words vouch for it: no threshold keeps it out."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """A source (or the embedding, or a store) that did not do its part, and why."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Pending:
    """A document in reach that is still being read."""

    id: str
    filename: str


@dataclass(frozen=True, slots=True)
class Trace:
    """How the context of one answer came to be."""

    reason: Reason
    entries: tuple[Entry, ...] = ()
    degraded: tuple[Degraded, ...] = ()
    cached: bool = False
    tokens: int = 0
    """Of the rendered context block."""
    budget: int = 0
    took_ms: int = 0
    sources: Mapping[str, str] = field(default_factory=dict)
    """How the nearest of each source were found: `exact` or `engine`."""
    searched: str = ""
    """What was searched instead of the message: a follow-up with what it refers to."""
    told: tuple[str, ...] = ()
    """What the sources tell of how it went (`Legs.notes`)."""
    pending: tuple[Pending, ...] = ()
    """With `Reason.PROCESSING`: the newest documents that are being read."""

    @property
    def used(self) -> bool:
        """Whether the model saw context."""
        return self.reason is Reason.OK

    @property
    def packed(self) -> tuple[Entry, ...]:
        """The candidates that the model saw."""
        return tuple(entry for entry in self.entries if entry.verdict is Verdict.PACKED)

    def notes(self) -> list[str]:
        """How retrieval went, in the seeds' words."""
        packed = self.packed
        left = Counter(entry.verdict for entry in self.entries if entry.verdict is not Verdict.PACKED)
        rest = [f"Left out {count} candidates: {verdict}" for verdict, count in sorted(left.items())]
        lost = [f"{item.source} did not answer: {item.reason}" for item in self.degraded]
        text = [f'Searched with "{self.searched}"'] if self.searched else []
        none = [] if packed else [f"No context: {self.reason}"]
        return [*self._retrieved(packed), *none, *rest, *lost, *self.told, *text]

    def _retrieved(self, packed: Sequence[Entry]) -> list[str]:
        """How many of each source, unless a project tells it in words of its own."""
        if any(note.startswith("Retrieved ") for note in self.told):
            return []
        found = Counter(entry.source for entry in packed)
        return [f"Retrieved {count} passages from {source}" for source, count in found.items()]
