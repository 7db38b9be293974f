"""The words of retrieval: who asks (Scope), what (Query), what was found (Passage), and how (Leg).

Similarity is cosine in [-1, 1] after the space's floor (CONTRACT §0); tokens are o200k tokens;
an embedding is little-endian float32 bytes of unit length, so that it is hashable, compact and
needs no numeric library here. Times are UTC.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, date, datetime
from typing import TypeAlias

from app.domain.quick import quick

Embedding: TypeAlias = bytes
"""float32 values, little-endian, unit length; `len() == 4 * dimensions`."""

DEFAULT_TENANT = "default"
SAID = frozenset({"memories"})
"""Sources whose passages somebody said at a time. The time of a document is that of its upload: none."""
SAID_ON = "said_on"
"""The field of a passage that holds an ISO date, or None: the day is not known."""
KNOWABLE = range(1000, 3000)
"""Years in which days are counted: from there, and to there, every day has its neighbours."""


Stretch: TypeAlias = tuple[date, date]
"""Days: the first, and the one after the last."""


@dataclass(frozen=True, slots=True)
class Scope:
    """Who asks, and so what they may see. Every source filters by it in the store."""

    tenant: str = DEFAULT_TENANT
    owner: str = ""
    """The key's user, or "" for a tenant key: sessions and threads are keyed (tenant, owner, id)."""
    user_id: str | None = None
    session_id: str | None = None
    thread_id: str | None = None
    project: str | None = None
    vantage_id: str | None = None

    @property
    def thread(self) -> str:
        """The thread's id: the one named, else the session's, else "", the user's default thread."""
        return self.thread_id or self.session_id or ""


@dataclass(frozen=True, slots=True)
class Query:
    """What is searched. Hashable, so that it can key a cache."""

    text: str
    scope: Scope
    limit: int = 40
    """Passages a source returns at most, a leg."""
    threshold: float = 0.2
    """Similarity at or below which only words can vouch for a passage."""
    before: tuple[str, ...] = ()
    """What the asker said earlier, oldest first, where `text` follows up on it. For `rewording.py` alone."""
    days: tuple[Stretch, ...] = ()
    """Those that are asked about, where a time is."""


def day_of(moment: datetime) -> date | None:
    """Its day in UTC; None: not KNOWABLE."""
    if moment.year not in KNOWABLE:
        return None
    day = moment.astimezone(UTC).date()
    return day if day.year in KNOWABLE else None


@dataclass(frozen=True, slots=True)
class Passage:
    """A piece of text that can be packed and cited."""

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


new_passage = quick(Passage)
"""All fields are given, in their order."""


@dataclass(frozen=True, slots=True)
class Hit:
    """A passage as one leg saw it."""

    key: str
    """The passage's id."""
    score: float
    """Raw: BM25 for words, similarity for meaning."""
    coverage: float = 0.0
    """Words: share of the query's IDF mass this passage holds, in [0, 1]."""
    rare: bool = False
    """Words: the passage holds the query's rare words, at least half of their IDF mass."""
    lent: float = field(default=0.0, compare=False)
    """Words: the part of `score` that its neighbours lend (`neighbours.py`). Fusion alone reads it."""
    content: float = field(default=0.0, compare=False)
    """Words: share of the query's content that the passage holds (`index/content.py`); 0 where the query was
    embedded, for then nobody needs it."""


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


@dataclass(frozen=True, slots=True)
class Candidate:
    """A passage in the running: its relevance is `passage.score`, made by `domain/fusion.py` alone."""

    passage: Passage
    words: Hit | None = None
    """How the word leg saw it; None: it did not."""
