"""A source whose scopes are searched exactly in memory, or by an engine where a scope is too large for that.

Lexical and dense retrieval of one question over the scope indexes in its reach. Each source says in SQL what
its scopes hold (`ScopeRows`), how a row is shown as a passage, and which engine finds the nearest vectors.
An engine's scores are not used: its candidates are scored again with the record's vectors. Similarities are
cosine above the space's floor. Raises `RetrievalError`.
"""

import asyncio
import base64
import hashlib
import json
from abc import abstractmethod
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np
import structlog

from app.db.pool import Pool, retrieval_faults
from app.db.rows import MICROSECOND
from app.errors import Rejected, RetrievalError, Unavailable
from app.retrieval.bm25 import Content, Mask, content
from app.retrieval.index import (
    Address,
    IndexSearch,
    Matrix,
    NeighbourScores,
    PassageKey,
    ScopeIndex,
    Segment,
    both_masks,
    on_loop_or_thread,
)
from app.retrieval.index_cache import IndexCache, ScopeRows
from app.tasks import deadline
from app.text.terms import VERSION, encode_terms, is_current
from app.types import (
    LONG_AGO,
    Embedding,
    Filter,
    Hit,
    Legs,
    Passage,
    Query,
    Scope,
    Space,
    Stretch,
    similarity,
)

LOAD_SHARE = 2 / 3
"""Part of RAG_TIMEOUT_SECONDS that a question waits for its indexes to be loaded."""
FOREIGN_SHARE = 1 / 4
"""Part of it that an engine has to say what other tools wrote."""
ENGINE_SHARE = 3 / 4
"""Part of it after which engines are no longer waited for: what they have not found costs no words. Usually
more than their clients wait, whose breakers count the silence."""
WIDER = 4
"""How many times more than wanted an engine is asked for: it is approximate, and may hold dead rows."""
ATTEMPTS = 3
"""Each four times wider than the one before."""
SAMPLE = 100
"""Passages checked for a vector in the record, if an engine found nothing in a scope."""
ANALYSED = 100
"""Rows that are analysed in one turn: some tens of milliseconds in a thread."""
DATED = 20
"""Passages of the days that are asked about."""
DATED_READ = 500
"""Of a scope whose vectors are not in memory, so many of those passages are compared."""
FRESH = 1_000
"""Items that an engine has yet to take, and that are searched exactly meanwhile."""
UNTAKEN = """
    SELECT '' AS item WHERE EXISTS (SELECT FROM ibid.outbox WHERE engine = $1 AND item = '')
    UNION ALL (SELECT item FROM ibid.outbox WHERE engine = $1 AND collection = $2 AND item <> ''
        ORDER BY seq DESC LIMIT $3)
"""
MAX_COMPARED = 5_000
"""Passages that a filter leaves of a large scope, up to which all are compared with the record's vectors: an
engine would find too few of them."""
WRITTEN = "written"
"""The column of a segment that holds times, as `written_at` counts them."""
DAY = "day"
"""The column of a segment that holds days, as `day_number` counts them."""
NO_DAY = np.iinfo(np.int32).min
NO_TIME = np.iinfo(np.int64).min

ScopeKey = TypeVar("ScopeKey", bound=Hashable)
RowKey = TypeVar("RowKey", bound=Hashable)

log = structlog.get_logger(__name__)


@dataclass(frozen=True, slots=True)
class Foreign:
    """Passages that other tools wrote, which only an engine knows."""

    passages: Sequence[Passage] = ()
    """Each with its similarity, best first."""
    stored: int = 0
    """How many are in reach."""
    notes: tuple[str, ...] = ()
    fault: str = ""
    """`RetrievalError.reason` where the engine did not answer."""


@dataclass(frozen=True, slots=True)
class Reached(Generic[ScopeKey]):
    """What a scope may see of a source, as it was when it was asked for. Implements `types.Reach`."""

    source: "IndexedSource[ScopeKey]"
    scope: Scope
    versions: tuple[tuple[ScopeKey, int], ...]
    facts: tuple[object, ...] = ()
    """What else the result depends on; JSON values."""

    @property
    def standing(self) -> str:
        """Opaque: equal ones find equal things."""
        versions = [[scope, version] for scope, version in self.versions]
        known = [self.source.name, self.source.store, VERSION, self.scope.tenant, *self.facts, versions]
        return json.dumps(known, default=str)

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Lexical and dense retrieval; raises `RetrievalError`."""
        return await self.source.search(self, query, embedding)


class IndexedSource(ScopeRows, Generic[ScopeKey]):
    """Base of every source: answers a query from the cached index of each scope in reach, or from the engine
    beyond the exact bound. A subclass says which scopes a question reaches, loads the rows of a scope, and
    makes passages of them. Raises `RetrievalError`."""

    def __init__(self, cache: IndexCache, space: Space, *, store: str = "", seconds: float = 6.0) -> None:
        """`store`: which database this is, since two may share a result cache; `seconds`:
        RAG_TIMEOUT_SECONDS."""
        self.store = store
        self._cache = cache
        self._space = space
        self._load_seconds = seconds * LOAD_SHARE
        self._foreign_seconds = seconds * FOREIGN_SHARE
        self._engine_seconds = seconds * ENGINE_SHARE

    # What a source says of itself.

    @abstractmethod
    async def reach(self, scope: Scope) -> Reached[ScopeKey]:
        """The scopes that the asker may see, each with its version, in one statement."""

    @abstractmethod
    async def vectors(self, keys: Sequence[PassageKey]) -> Mapping[PassageKey, Matrix]:
        """The record's vectors of some passages; those without one of the space are left out."""

    @abstractmethod
    async def nearest(
        self, reached: Reached[ScopeKey], scope: ScopeKey, vector: Embedding, limit: int
    ) -> Sequence[PassageKey]:
        """The engine's answer: the nearest passages of a scope that the asker may see (`allowed`), gone ones
        perhaps among them."""

    async def waiting(self, scope: ScopeKey) -> tuple[Sequence[str], bool]:
        """Entries that the engine has yet to take, and whether it has all others."""
        return (), True

    @abstractmethod
    async def passages(
        self, reached: Reached[ScopeKey], search: IndexSearch, similar: Mapping[Address, float | None]
    ) -> Mapping[Address, Passage]:
        """Passages with their similarity; those that have gone meanwhile are left out."""

    def passage_id(self, key: PassageKey) -> str:
        return key[0]

    def allowed(self, reached: Reached[ScopeKey], segment: Segment) -> Mask | None:
        """Rows that the asker may see; None: all."""
        return None

    def wanted(self, only: Filter, index: ScopeIndex, segment: Segment) -> Mask | None:
        """Rows that a search is about; None: all."""
        return None if only.since is None else segment.columns[WRITTEN] >= written_at(only.since)

    def _shown(self, reached: Reached[ScopeKey], index: ScopeIndex, segment: Segment) -> Mask | None:
        allowed, only = self.allowed(reached, segment), reached.scope.only
        return both_masks(allowed, self.wanted(only, index, segment)) if only else allowed

    def spread(self) -> NeighbourScores | None:
        """What neighbours add to a passage's BM25; None: there are none."""
        return None

    async def foreign(
        self,
        reached: Reached[ScopeKey],
        query: Query,
        vector: Embedding,
    ) -> Foreign:
        """Passages that other tools wrote straight into the engine."""
        return Foreign()

    # The search.

    async def search(
        self, reached: Reached[ScopeKey], query: Query, embedding: Awaitable[Embedding | None]
    ) -> Legs:
        """Lexical and dense retrieval over what was reached; indexes may be newer."""
        until = deadline(self._engine_seconds)
        indexes, late = await self._cache.get_all(self._load_seconds, self, reached.versions)
        search = IndexSearch(indexes, allowed=partial(self._shown, reached), passage_id=self.passage_id)
        cost = search.cost(query.text)
        lexical = await on_loop_or_thread(cost, search.lexical, query.text, query.limit, self.spread())
        embedded = await embedding
        cosines: dict[Address, float] = {}
        near: Sequence[Address] = ()
        dated: Sequence[Address] = ()
        fault, other = "", Foreign()
        if embedded is not None:
            self._check(embedded)
            near, cosines, fault = await self._dense(
                reached, search, embedded, lexical, query.limit, until=until
            )
            dated = await self._dated(search, embedded, query.days, cosines)
            if fault != "timeout":  # it has had its time
                other = await self._others(reached, query, embedded)
        chosen = dict.fromkeys((*lexical, *near, *dated))
        similar = {
            address: self.similar(cosines[address]) if address in cosines else None for address in chosen
        }
        words = await _content(query, similar.values()) if chosen else None
        passages = await self.passages(reached, search, similar) if chosen else {}
        search.attach_token_counts(passages)
        ids = {address: passage.id for address, passage in passages.items()}
        hits = await on_loop_or_thread(cost if words else 0, search.hits, ids, words)
        legs = _legs(self.name, search, lexical, near, passages, hits, other, query.limit)
        return replace(legs, partial="timeout" if late else fault or other.fault)

    async def _others(self, reached: Reached[ScopeKey], query: Query, vector: Embedding) -> Foreign:
        """What other tools wrote, if it comes in time."""
        only = reached.scope.only
        asked = replace(query, limit=query.limit * WIDER) if only else query
        try:
            async with asyncio.timeout(self._foreign_seconds):
                found = await self.foreign(reached, asked, vector)
        except TimeoutError:
            return Foreign(fault="timeout")
        return replace(found, passages=[each for each in found.passages if recent(only, each)])

    def similar(self, cosine: float) -> float:
        """A raw cosine as a similarity."""
        return similarity(cosine, self._space.floor)

    def _check(self, vector: Embedding) -> None:
        """A vector of another space is no vector."""
        if len(vector) != 4 * self._space.dim:
            log.error("the query's vector is of another space", space=self._space.name)
            raise RetrievalError("embedding")

    async def _dense(
        self,
        reached: Reached[ScopeKey],
        search: IndexSearch,
        embedded: Embedding,
        lexical: Sequence[Address],
        limit: int,
        *,
        until: float,
    ) -> tuple[Sequence[Address], dict[Address, float], str]:
        """The nearest, best first; the cosines of all candidates; why an engine did not answer. `until`: when
        engines are no longer waited for, as the loop counts."""
        vector, fault = np.frombuffer(embedded, dtype="<f4"), ""
        found = await on_loop_or_thread(search.size, search.dense, vector, limit)
        cosines = found | search.cosines(lexical)

        async def engine(index: ScopeIndex) -> tuple[dict[Address, float], dict[PassageKey, Address], str]:
            fresh, whole = await self.waiting(index.scope)  # type: ignore[arg-type] # its own scope
            if reached.scope.only and search.size_of(index) <= MAX_COMPARED:
                near, reason = search.addresses(index, search.visible(index, MAX_COMPARED)), ""
            else:
                near, reason = await self._by_engine(reached, search, index, embedded, limit, until=until)
            near |= await on_loop_or_thread(
                len(index.entries), lambda: search.addresses(index, index.passages(fresh))
            )
            others = {
                search.key(address): address for address in lexical if search.index_of(address) is index
            }
            exact = await self._cosines(vector, near | others)
            return exact, near, reason or ("" if whole else "unavailable")

        # At once: engines that are silent cost one deadline together, and the words are found all the same.
        large = [index for index in search.indexes if not index.exact]
        for exact, near, reason in await asyncio.gather(*map(engine, large)):
            found |= {address: exact[address] for address in near.values() if address in exact}
            cosines |= exact
            fault = fault or reason
        return [address for address, _ in search.ranked(found.items())[:limit]], cosines, fault

    async def _by_engine(
        self,
        reached: Reached[ScopeKey],
        search: IndexSearch,
        index: ScopeIndex,
        vector: Embedding,
        limit: int,
        *,
        until: float,
    ) -> tuple[dict[PassageKey, Address], str]:
        """About the nearest of one large scope, and why there are none or fewer: words still find, and the
        record has the vectors."""
        near: dict[PassageKey, Address] = {}
        asked = limit
        try:
            async with asyncio.timeout_at(until):
                for _ in range(ATTEMPTS):
                    asked *= WIDER
                    scope: ScopeKey = index.scope  # type: ignore[assignment] # its own
                    keys = await self.nearest(reached, scope, vector, asked)
                    if not keys and await self._has_vectors(search, index):
                        log.warning("engine has nothing of a scope", source=self.name, passages=index.size)
                        return near, "unavailable"
                    near = await on_loop_or_thread(len(index.entries), search.addresses, index, keys)
                    if len(near) >= limit or len(keys) < asked:
                        break
        except (RetrievalError, TimeoutError) as error:
            reason = error.reason if isinstance(error, RetrievalError) else "timeout"
            log.warning("engine did not answer", source=self.name, reason=reason)
            return near, reason
        return near, ""

    async def _has_vectors(self, search: IndexSearch, index: ScopeIndex) -> bool:
        """True if the record has vectors of what the asker may see of a scope, by a sample."""
        some = await on_loop_or_thread(len(index.entries), search.visible, index, SAMPLE)
        return bool(some and await self.vectors(some))

    async def _cosines(self, vector: Matrix, addresses: Mapping[PassageKey, Address]) -> dict[Address, float]:
        """Exact, by the record's vectors."""
        rows = await self.vectors([*addresses]) if addresses else {}
        return {addresses[key]: float(np.vecdot(row, vector)) for key, row in rows.items()}

    async def _dated(
        self, search: IndexSearch, embedded: Embedding, days: Sequence[Stretch], cosines: dict[Address, float]
    ) -> Sequence[Address]:
        """The nearest among the passages of the days that are asked about; their cosines are added."""
        if not days or not all(DAY in segment.columns for segment in search.segments):
            return ()
        masks = [on_days(segment.columns[DAY], days) for segment in search.segments]
        found = await on_loop_or_thread(search.size, search.nearest, DATED, masks)
        if not all(index.exact for index in search.indexes):
            vector = np.frombuffer(embedded, dtype="<f4")
            found |= await self._cosines(
                vector, {search.key(address): address for address in _rows(search, masks)}
            )
        cosines |= found
        return [address for address, _ in search.ranked(found.items())[:DATED]]


async def _content(query: Query, similarities: Collection[float | None]) -> Content | None:
    """The question's content, if words alone decide for some passages."""
    if query.legible and None not in similarities:
        return None
    return await asyncio.to_thread(content, query.text)


def _legs(  # noqa: PLR0917 - all that the search found
    name: str,
    search: IndexSearch,
    lexical: Sequence[Address],
    near: Sequence[Address],
    passages: Mapping[Address, Passage],
    hits: Mapping[Address, Hit],
    other: Foreign,
    limit: int,
) -> Legs:
    """The two rankings, with the passages of both in the order of their places."""
    others = [passage for passage in other.passages if not search.contains(passage.id)]
    meaning = _nearest([*(passages[address] for address in near if address in passages), *others])[:limit]
    kept = {hit.key for hit in meaning}
    shown = {passages[address].id: passages[address] for address in sorted(passages, key=search.key)}
    shown |= {passage.id: passage for passage in others if passage.id in kept}
    only_near = {*near}.difference(lexical)
    dated = {*hits}.difference(lexical, near)
    return Legs(
        source=name,
        words=tuple(hits[address] for address in lexical if address in passages),
        meaning=tuple(meaning),
        passages=shown,
        stored=search.size + other.stored,
        beside=_by_key(hits[address] for address in hits if address in only_near),
        dated=_by_key(hits[address] for address in hits if address in dated),
        notes=other.notes,
        engine=bool(others) or not all(index.exact for index in search.indexes),
    )


def _nearest(passages: Iterable[Passage]) -> list[Hit]:
    """Dense hits, best first."""
    hits = [Hit(each.id, each.similarity or 0.0) for each in passages]
    return sorted(hits, key=lambda hit: (-hit.score, hit.key))


def _by_key(hits: Iterable[Hit]) -> dict[str, Hit]:
    return {hit.key: hit for hit in hits}


async def analysed(
    packed: Mapping[RowKey, bytes | None],
    read: Callable[[Sequence[RowKey]], Awaitable[Mapping[RowKey, tuple[int, str, str]]]],
    keep: Callable[[Mapping[RowKey, int], Mapping[RowKey, bytes]], Awaitable[None]],
) -> dict[RowKey, bytes]:
    """The terms of rows. Those that have none of today's analysis are analysed in a thread, from revision,
    words and text as `read` gives them, and kept for the next load; rows that have gone are left out."""
    found = {key: terms for key, terms in packed.items() if terms is not None and is_current(terms)}
    stale = [key for key in packed if key not in found]
    if stale:
        log.info("rows are analysed", rows=len(stale))
    for at in range(0, len(stale), ANALYSED):
        texts = await read(stale[at : at + ANALYSED])
        made = await asyncio.to_thread(
            lambda some: {key: encode_terms(words, text) for key, (_, words, text) in some.items()}, texts
        )
        found |= made
        try:
            await keep({key: revision for key, (revision, *_) in texts.items()}, made)
        except (Unavailable, Rejected):
            log.warning("terms not kept", rows=len(made))
    return found


async def untaken(pool: Pool, engine: str, collection: str) -> tuple[list[str], bool]:
    """The newest items in the outbox of an engine (`db/outbox.py`), and whether that is all: no refill
    waits, and there are no more of them."""
    with retrieval_faults():
        rows = await pool.fetch(UNTAKEN, engine, collection, FRESH)
    items = [row["item"] for row in rows]
    return [item for item in items if item], "" not in items and len(items) < FRESH


def revisions(rows: str | None, separator: str = ",") -> dict[str, str]:
    """`id revision,id revision,...` as entries of a listing: ids without the separator."""
    return dict(row.rsplit(" ", 1) for row in rows.split(separator)) if rows else {}


def _rows(search: IndexSearch, masks: Sequence[Mask]) -> list[Address]:
    """Some rows of segments whose vectors are not in memory, the last first."""
    bare = [
        (number, int(row))
        for number, mask in enumerate(masks)
        if search.segments[number].vectors is None
        for row in np.flatnonzero(mask)[::-1][:DATED_READ]
    ]
    return [address for address in bare if search.is_visible(address)]


def written_at(moment: datetime | None) -> int:
    """A time as the column WRITTEN holds it: microseconds since 1970. Unknown ones are before all others;
    one without a zone, as other tools write them, is UTC."""
    if moment is None:
        return NO_TIME
    return ((moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - LONG_AGO) // MICROSECOND


def recent(only: Filter | None, passage: Passage) -> bool:
    """True if a filter's `since` lets a passage through."""
    since = only.since if only else None
    return since is None or written_at(passage.created_at) >= written_at(since)


def day_number(day: date | None) -> int:
    """A day as the column DAY holds it."""
    return day.toordinal() if day else NO_DAY


def on_days(column: Any, days: Sequence[Stretch]) -> Mask:  # noqa: ANN401 - int32 per row
    """Rows of any of these stretches of days."""
    found = np.zeros(len(column), dtype=np.bool_)
    for first, end in days:
        found |= (column >= first.toordinal()) & (column < end.toordinal())
    return found


def stack(rows: Collection[Embedding | None], dim: int) -> tuple[Matrix, Mask]:
    """Stored vectors as a matrix, and which rows have none of this space (zeros)."""
    matrix = np.zeros((len(rows), dim), dtype=np.float32)
    missing = np.ones(len(rows), dtype=np.bool_)
    for number, row in enumerate(rows):
        if row is not None and len(row) == 4 * dim:
            matrix[number] = np.frombuffer(row, dtype="<f4")
            missing[number] = False
    return matrix, missing


HEAD = 5
"""Bytes of a digest that a label shows, as 8 characters; all 16 where two would look alike."""


def label_suffixes(source: str, keys: Iterable[str]) -> dict[str, str]:
    """Each id as its label shows it: 8 characters, or 16 for those of this call whose 8 are alike."""
    digests = {key: digest(f"{source}\x1f{key}") for key in keys}
    alike = Counter(found[:HEAD] for found in digests.values())
    return {key: letters(full[:HEAD] if alike[full[:HEAD]] == 1 else full) for key, full in digests.items()}


def digest(text: str) -> bytes:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=10).digest()


def letters(found: bytes) -> str:
    """Small letters and digits: 8 of 5 bytes."""
    return base64.b32hexencode(found).decode().lower()
