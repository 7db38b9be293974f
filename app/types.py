"""Value types of retrieval: Scope (who asks), Query, Passage, Candidate, Found, and the trace of an answer.

Similarity is a cosine in [-1, 1] after the embedding space's floor was taken out: unrelated texts do not lie
near 0 in every space. An embedding is little-endian float32 bytes of unit length: hashable, compact, no
numeric library needed. Tokens are o200k tokens, times UTC, durations milliseconds where not said otherwise.
"""

import math
from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from enum import StrEnum
from typing import Protocol, TypeAlias

Embedding: TypeAlias = bytes
"""float32 values, little-endian, unit length; `len() == 4 * dimensions`."""

DEFAULT_TENANT = "default"
DOCUMENTS, MEMORIES, CORPUS = "documents", "memories", "corpus"
"""`Passage.source` of chunks of PDFs, of a person's memories and of reference texts."""
CONVERSATIONS, CODE, DREAMS = "conversations", "code", "dreams"
"""`Passage.source` of rows of projects."""
SOURCES = (DOCUMENTS, MEMORIES, CORPUS, CONVERSATIONS, CODE, DREAMS)
SAID = frozenset({MEMORIES})
"""Sources whose passages somebody said at a time. The time of a document is that of its upload: none."""
SAID_ON = "said_on"
"""The field of a passage that holds an ISO date, or None: the day is not known."""
KNOWABLE = range(1000, 3000)
"""Years in which days are counted: from there, and to there, every day has its neighbours."""


Stretch: TypeAlias = tuple[date, date]
"""Days: the first, and the one after the last."""


@dataclass(frozen=True, slots=True)
class Filter:
    """The part of what an asker may see that a search is about; None: no such bound."""

    documents: tuple[str, ...] | None = None
    """Ids."""
    collections: tuple[str, ...] | None = None
    """Of reference texts."""
    since: datetime | None = None
    """Uploads and texts of this time or later; those without a time are left out."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Who asks, and so what they may see. Every source filters by it in the store."""

    tenant: str = DEFAULT_TENANT
    owner: str = ""
    """The key's user, or "" for a tenant key: sessions and threads are keyed (tenant, owner, id)."""
    user_id: str | None = None
    """The person asked about: a user key forces its own, a tenant key may name anyone."""
    session_id: str | None = None
    thread_id: str | None = None
    project: str | None = None
    vantage_id: str | None = None
    only: Filter | None = None

    @property
    def thread(self) -> str:
        """The thread's id: the one named, else the session's, else "", the user's default thread."""
        return self.thread_id or self.session_id or ""


@dataclass(frozen=True, slots=True)
class Query:
    text: str
    scope: Scope
    limit: int = 40
    """Passages a source returns at most, a leg."""
    threshold: float = 0.2
    """Evidence that a match exceeds (`retrieval/relevance.py`)."""
    before: tuple[str, ...] = ()
    """What the asker said earlier, oldest first, where `text` follows up on it. Read by rewriting alone."""
    days: tuple[Stretch, ...] = ()
    """Those that are asked about, where a time is."""
    legible: bool = True
    """False: the embedder cannot read the question, so that words alone decide what matches."""


def day_of(moment: datetime) -> date | None:
    """Its day in UTC; None: not KNOWABLE."""
    if moment.year not in KNOWABLE:
        return None
    day = moment.astimezone(UTC).date()
    return day if day.year in KNOWABLE else None


LONG_AGO = datetime.fromtimestamp(0, UTC)
"""Of a memory or card whose writer does not say when it was made."""


def day_said(created_at: datetime) -> date | None:
    """When a memory was said; None: its writer does not say."""
    return None if created_at == LONG_AGO else day_of(created_at)


@dataclass(slots=True)  # unfrozen: an answer makes hundreds, and frozen ones cost seven times as much
class Passage:
    """A piece of text that can be packed and cited. Not changed once it is made."""

    source: str
    """The source that found it: documents, memories, corpus, conversations, code, dreams."""
    id: str
    """Stable in its source."""
    text: str
    tokens: int
    """o200k tokens of `text`, counted when it was written."""
    label: str
    """Its citation without the brackets, `report.pdf#3`: unique among what the asker can reach."""
    similarity: float | None = None
    """[-1, 1]; None when the passage was not chosen by meaning."""
    score: float = 0.0
    """Relevance after fusion and boosts: what the order is made of."""
    title: str = ""
    fields: Mapping[str, str | int | None] = field(default_factory=dict)
    """What the source knows beside the text: page, page_end, heading, url, document."""
    created_at: datetime | None = None
    """When it was written, or last changed: what recency looks at."""
    quoted: int = 0
    """o200k tokens of the middle of `text` (`text/tokens.py`) as `quote` shows it, counted when it was
    written; 0: not counted, or it has no middle."""
    lined: int = 0
    """The same as `one_line` shows it."""
    days: tuple[date, ...] | None = None
    """Start and end of each span of days that a memory speaks of, as kept with it; None: to be read from
    `text`."""
    evidence: float | None = None
    """What the threshold is compared with (`retrieval/relevance.py`); None: the similarity."""

    @property
    def said_on(self) -> date | None:
        """The day, in UTC, on which it was said; None: nobody said it (SAID), nobody knows, or the day is not
        KNOWABLE. Where the source tells it (the field SAID_ON), a later change does not move it."""
        if self.source not in SAID:
            return None
        day = self.fields.get(SAID_ON, "")
        if day == "":
            return day_of(self.created_at) if self.created_at else None
        try:
            said = date.fromisoformat(str(day))
        except ValueError:
            return None
        return said if said.year in KNOWABLE else None


@dataclass(slots=True)
class Hit:
    """A passage as one leg saw it."""

    key: str
    """The passage's id."""
    score: float
    """Raw: BM25 for words, similarity for meaning."""
    coverage: float = 0.0
    """Words: share of the query's IDF mass this passage holds, in [0, 1]."""
    lent: float = field(default=0.0, compare=False)
    """Words: the part of `score` from neighbouring turns (`retrieval/memories.py`). Fusion alone reads it."""
    content: float = field(default=0.0, compare=False)
    """Words: share of the query's content that the passage holds (`retrieval/bm25.py`); 0 where
    similarity decides, for then nobody needs it."""


@dataclass(frozen=True, slots=True)
class Legs:
    """What one source found: each leg best first, at most `limit` long, and the passages of both."""

    source: str
    words: tuple[Hit, ...] = ()
    meaning: tuple[Hit, ...] = ()
    passages: Mapping[str, Passage] = field(default_factory=dict)
    """By id, and those of the days asked about. Each carries its exact similarity (None only if the query
    could not be embedded)."""
    stored: int = 0
    """Passages in reach, matching or not; 0 means there is nothing to search."""
    beside: Mapping[str, Hit] = field(default_factory=dict)
    """How the word leg sees passages that only the meaning leg chose; those without a word are left out."""
    dated: Mapping[str, Hit] = field(default_factory=dict)
    """And those that no leg chose, of the days asked about: they tell nothing of how clearly a leg tells."""
    notes: tuple[str, ...] = ()
    """What the asker should know of how it went: a collection passed over, points without text."""
    partial: str = ""
    """Why a part of what is in reach was not searched (`Degraded.reason`); "": all of it was."""
    engine: bool = False
    """An engine was asked for the nearest, of a part at least; otherwise all were compared exactly."""


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


@dataclass(slots=True)
class Candidate:
    """A passage in the running: its relevance is `passage.score`, made by `retrieval/fusion.py` alone."""

    passage: Passage
    verdict: Verdict | None = None
    """None: still in the running."""
    boosts: Mapping[str, float] = field(default_factory=dict)
    """Factors by name, as far as anything boosts it."""

    @property
    def score(self) -> float:
        """Relevance times all boosts."""
        return self.passage.score * math.prod(self.boosts.values())


class Reason(StrEnum):
    """`rag.reason`; `reason_of` in `answering/reason.py` says which one wins."""

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


CERTAIN = 2.0
"""Evidence above every threshold: those are in [-1, 1]."""


@dataclass(slots=True)
class Entry:
    source: str
    id: str
    label: str
    similarity: float | None
    score: float
    verdict: Verdict | None
    boosts: Mapping[str, float] = field(default_factory=dict)
    """Factors by name: relevance times all of them is the score."""
    sha256: str = ""
    """Of the passage's text: a replay can tell whether the source changed."""
    relevance: float | None = None
    """Before boosts; None: nothing boosts passages of this kind, and the score is the relevance."""
    created_at: datetime | None = None
    """Of the passage: what a recency bias looks at."""
    evidence: float | None = None
    """What the threshold was compared with; None: the similarity."""


@dataclass(frozen=True, slots=True)
class Degraded:
    """A source (or the embedding, or a store) that did not do its part, and why."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class PendingDocument:
    """A document in reach that is still being read."""

    id: str
    filename: str


class ChunkKind(StrEnum):
    TEXT = ""
    TABLE = "table"
    """Its rows have the form that `ingest/columns.py` describes."""
    LISTING = "listing"
    """A table of contents, an index of exhibits: it names what is elsewhere."""
    COVER = "cover"
    """A first page of form fields."""


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document, cut at structure."""

    ordinal: int
    text: str
    page: int
    page_end: int
    heading: str
    """Heading path, outermost first, joined by ` › `; "" where there is none."""
    tokens: int
    kind: str = ""
    """A `ChunkKind`: what most of it is."""
    page_label: str = ""
    """Page numbers as printed, `12`, `iv` or `F-3–F-4`; "": not known."""


@dataclass(frozen=True, slots=True)
class ParsedDocument:
    pages: int
    title: str
    chunks: tuple[Chunk, ...]
    warnings: tuple[str, ...] = ()
    """Sentences for people: what of the file cannot be searched."""


@dataclass(frozen=True, slots=True)
class Trace:
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
    pending: tuple[PendingDocument, ...] = ()
    """With `Reason.PROCESSING`: the newest documents that are being read."""

    @property
    def used(self) -> bool:
        """True if the model saw context."""
        return self.reason is Reason.OK

    @property
    def packed(self) -> tuple[Entry, ...]:
        """The candidates that the model saw."""
        return tuple(entry for entry in self.entries if entry.verdict is Verdict.PACKED)

    def notes(self) -> list[str]:
        packed = self.packed
        left = Counter(entry.verdict for entry in self.entries if entry.verdict is not Verdict.PACKED)
        rest = [
            f"Left out {count} candidate{'s' if count > 1 else ''}: {verdict}"
            for verdict, count in sorted(left.items())
        ]
        partly = {entry.source for entry in packed}
        lost = [
            f"{item.source} {PARTLY if item.source in partly else 'did not answer'}: {item.reason}"
            for item in self.degraded
        ]
        text = [f'Searched with "{self.searched}"'] if self.searched else []
        none = [] if packed else [f"No context: {self.reason}"]
        return [*self._retrieved(packed), *none, *rest, *lost, *self.told, *text]

    def _retrieved(self, packed: Sequence[Entry]) -> list[str]:
        """How many of each source, unless a project tells it in words of its own."""
        if any(note.startswith("Retrieved ") for note in self.told):
            return []
        found = Counter(entry.source for entry in packed)
        return [
            f"Retrieved {count} passage{'s' if count > 1 else ''} from {source}"
            for source, count in found.items()
        ]


PARTLY = "answered in part"
REWRITE = "rewrite"
"""`Degraded.source` of a rewriting that did not come, and the reason of one that cannot be used."""

RERANK = "rerank"
"""`Degraded.source` of a second stage that did not come, and the reason of an answer that cannot be used."""

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


class Source(Protocol):
    """One thing searched. Laws (one contract test): best first; at most `limit` a leg; nothing
    outside `scope`; similarities, not distances; raises only `RetrievalError`; read-your-writes."""

    @property
    def name(self) -> str:
        """`Passage.source` of all it finds."""

    async def reach(self, scope: Scope) -> Reach:
        """In one round trip, or it costs a cached answer more than it saves."""


def moment(at: datetime) -> str:
    """RFC 3339 in UTC, with `Z`, whatever its own zone is; without a zone it is UTC."""
    return (at.astimezone(UTC) if at.tzinfo else at).replace(tzinfo=None).isoformat() + "Z"


class Probe(Protocol):
    """A dependency that can be asked whether it lives."""

    @property
    def name(self) -> str:
        """As `/readyz` shows it."""

    async def check(self) -> Mapping[str, str | int | float]:
        """Facts about it; raises `Unavailable` or `RetrievalError` if it does not answer."""


Clock: TypeAlias = Callable[[], datetime]
"""Now, in UTC, so that tests can pass time."""
LEAST_FLOOR = 0.15
"""A floor below it counts as 0: the space is comparable as it is."""


@dataclass(frozen=True, slots=True)
class Space:
    """What every stored vector belongs to. Vectors of two spaces are never compared."""

    name: str
    """`<model>@<dim>`, recorded with every vector."""
    model: str
    dim: int
    floor: float
    """Median raw cosine of unrelated texts, measured when the space is first used."""


def space_name(model: str, dim: int) -> str:
    return f"{model}@{dim}"


def similarity(cosine: float, floor: float) -> float:
    """A raw cosine as a similarity in [-1, 1]: unrelated texts near 0, equal ones 1."""
    if floor >= LEAST_FLOOR:
        cosine = (cosine - floor) / (1 - floor) if floor < 1 else 0.0
    return max(-1.0, min(1.0, cosine))
