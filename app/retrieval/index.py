"""The exact index of a scope, and the search over all scopes that a question reaches.

A scope is listed and versioned as one: the documents of a session, one user's memories, a collection, a
project. Its index has postings for BM25 and a float32 matrix for cosine, in segments: a large base and small
deltas, merged as they grow (like the levels of a log-structured merge tree). Indexes are immutable, so a
running search keeps the version it began with. Cosines are raw here.
"""

import asyncio
from bisect import bisect_right
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import accumulate
from typing import Any, ParamSpec, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from app.retrieval.bm25 import Content, Lexical, Mask, Postings, Scores, merge
from app.text.terms import terms
from app.types import Hit, Passage

Matrix: TypeAlias = NDArray[np.float32]
"""Vectors of unit length as rows, or one of them."""
PassageKey: TypeAlias = tuple[str, int]
"""(entry, ordinal): a document's id and the number of its passage, from 1; a row's id and 1."""
Address: TypeAlias = tuple[int, int]
"""(segment, row), valid during one search."""
Floats: TypeAlias = NDArray[np.float64]
NeighbourScores: TypeAlias = Callable[[Sequence["Segment"], Sequence[Floats]], Sequence[Floats]]
"""Maps the BM25 scores of all rows to what their neighbours add: one array per segment."""

ENTRY_BYTES = 300
"""Memory of an entry beside its passages: id, facts, places in maps."""
INLINE = 12_000
"""Passages that are searched on the loop: one or two milliseconds for each retriever. Larger searches use a
thread, which under load waits as long for the interpreter (docs/adr/0020)."""
SHORT, CHARACTER = 100, 10
"""Up to SHORT characters the cost of a question depends on the passages alone. In a longer one each
character, which is cut into terms (about 2 µs), costs as much as CHARACTER passages."""

Given = ParamSpec("Given")
Result = TypeVar("Result")


@dataclass(frozen=True, slots=True, eq=False)
class Segment:
    """The passages of some entries in consecutive rows, ordered by ordinal."""

    entries: tuple[str, ...]
    firsts: Sequence[int]
    """First row of each entry, and the number of rows."""
    postings: Postings
    vectors: Matrix | None
    """One row per passage; None if an engine finds the nearest."""
    columns: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    """Values by which a search filters, one per row."""
    live: Mask | None = None
    """By row; None: all."""
    vectorless: Mask | None = None
    """Rows without a vector of the space (zeros in the matrix); None: there are none."""

    @property
    def rows(self) -> int:
        return self.firsts[-1]

    @property
    def size(self) -> int:
        return self.rows if self.live is None else int(self.live.sum())

    @property
    def nbytes(self) -> int:
        columns = sum(column.nbytes for column in self.columns.values())
        return self.postings.nbytes + columns + (0 if self.vectors is None else self.vectors.nbytes)

    def key(self, row: int) -> PassageKey:
        at = bisect_right(self.firsts, row) - 1
        return self.entries[at], row - self.firsts[at] + 1

    def without(self, gone: Collection[str]) -> "Segment":
        dead = [at for at, entry in enumerate(self.entries) if entry in gone]
        if not dead:
            return self
        live = np.ones(self.rows, dtype=np.bool_) if self.live is None else self.live.copy()
        for at in dead:
            live[self.firsts[at] : self.firsts[at + 1]] = False
        return replace(self, live=live)

    def cosines(self, vector: Matrix, alive: Mask | None) -> NDArray[np.float32]:
        """Cosine of every row; -inf for those that are deleted or have no vector."""
        if self.vectors is None:
            return np.full(self.rows, -np.inf, dtype=np.float32)
        # vecdot sums each row by itself: equal rows get equal bits wherever they are, and no BLAS threads are
        # woken, which under load cost twenty times what they save (0.6 against 12 ms for 10,000 rows).
        found: NDArray[np.float32] = np.vecdot(self.vectors, vector)
        for mask in (None if alive is None else ~alive, self.vectorless):
            if mask is not None:
                found[mask] = -np.inf
        return found


def rows_segment(
    ids: Sequence[str],
    postings: Postings,
    vectors: Matrix | None,
    columns: Mapping[str, NDArray[Any]] | None = None,
    vectorless: Mask | None = None,
) -> Segment:
    bare = vectorless if vectorless is not None and vectorless.any() else None
    return Segment(tuple(ids), range(len(ids) + 1), postings, vectors, columns or {}, vectorless=bare)


def merge_segments(segments: Sequence[Segment]) -> Segment:
    """Merge the live entries of several segments, in order. About 20 ns of CPU per posting."""
    masks = [segment.live for segment in segments]
    chosen = [(segment, at) for segment in segments for at in _live_entries(segment)]
    lengths = [segment.firsts[at + 1] - segment.firsts[at] for segment, at in chosen]
    vectorless = _concatenate([_without_vector(segment) for segment in segments], masks)
    return Segment(
        tuple(segment.entries[at] for segment, at in chosen),
        range(len(lengths) + 1) if set(lengths) == {1} else tuple(accumulate(lengths, initial=0)),
        merge([segment.postings for segment in segments], masks),
        _matrix(segments),
        _columns(segments, masks),
        vectorless=vectorless if vectorless.any() else None,
    )


def _columns(segments: Sequence[Segment], masks: Sequence[Mask | None]) -> dict[str, NDArray[Any]]:
    names = segments[0].columns if segments else {}
    return {name: _concatenate([segment.columns[name] for segment in segments], masks) for name in names}


def _matrix(segments: Sequence[Segment]) -> Matrix | None:
    matrices = [segment.vectors for segment in segments if segment.vectors is not None]
    if len(matrices) < len(segments):
        return None
    return _concatenate(matrices, [segment.live for segment in segments])


def _without_vector(segment: Segment) -> Mask:
    return np.zeros(segment.rows, dtype=np.bool_) if segment.vectorless is None else segment.vectorless


def compacted(segments: Sequence[Segment]) -> tuple[Segment, ...]:
    """Few segments: each more than twice the next, none mostly deleted; O(log n) merges per passage."""
    kept: list[Segment] = []
    for segment in segments:
        if segment.size:
            kept.append(segment if segment.size * 2 > segment.rows else merge_segments([segment]))
        while len(kept) > 1 and kept[-2].rows <= 2 * kept[-1].rows:
            kept[-2:] = [merge_segments(kept[-2:])]
    return tuple(kept)


def _live_entries(segment: Segment) -> list[int]:
    live = segment.live
    return [
        at
        for at in range(len(segment.entries))
        if segment.firsts[at] < segment.firsts[at + 1] and (live is None or live[segment.firsts[at]])
    ]


def _concatenate(arrays: Sequence[NDArray[Any]], masks: Sequence[Mask | None]) -> NDArray[Any]:
    return np.concatenate(
        [array if mask is None else array[mask] for array, mask in zip(arrays, masks, strict=True)]
    )


@dataclass(frozen=True, eq=False)
class ScopeIndex:
    scope: Hashable
    version: int
    entries: Mapping[str, Any] = field(default_factory=dict)
    """Facts of each entry; a changed value means changed passages."""
    segments: tuple[Segment, ...] = ()
    exact: bool = True
    """True if the vectors are in memory; otherwise an engine finds the nearest."""

    @cached_property
    def size(self) -> int:
        return sum(segment.size for segment in self.segments)

    @property
    def nbytes(self) -> int:
        return sum(segment.nbytes for segment in self.segments) + ENTRY_BYTES * (1 + len(self.entries))

    @cached_property
    def entry_rows(self) -> Mapping[str, tuple[int, int, int]]:
        """For each live entry (segment, first row, row after its last)."""
        return {
            entry: (number, segment.firsts[at], segment.firsts[at + 1])
            for number, segment in enumerate(self.segments)
            for at, entry in enumerate(segment.entries)
            if segment.live is None or segment.live[segment.firsts[at]]
        }

    def locate(self, keys: Iterable[PassageKey]) -> dict[PassageKey, Address]:
        found: dict[PassageKey, Address] = {}
        for entry, ordinal in keys:
            number, first, end = self.entry_rows.get(entry, (0, 0, 0))
            if first < first + ordinal <= end:
                found[entry, ordinal] = (number, first + ordinal - 1)
        return found

    def passages(self, entries: Iterable[str]) -> list[PassageKey]:
        found = {entry: self.entry_rows[entry] for entry in entries if entry in self.entry_rows}
        return [
            (entry, ordinal)
            for entry, (_, first, end) in found.items()
            for ordinal in range(1, end - first + 1)
        ]

    def changed(self, entries: Mapping[str, Any]) -> list[str]:
        known = self.entries
        return sorted(entry for entry, facts in entries.items() if known.get(entry, _UNKNOWN) != facts)

    def rows_to_rebuild(self, fresh: int) -> int:
        """Estimate of the passages that `compacted` copies if `fresh` are added."""
        rows = fresh
        for segment in reversed(self.segments):
            if segment.rows > 2 * rows:
                break
            rows += segment.rows
        return rows

    def updated(self, version: int, entries: Mapping[str, Any], fresh: Sequence[Segment]) -> "ScopeIndex":
        """The index at a newer version, without entries that are not listed; `fresh` has the changed ones."""
        gone = {entry for entry, facts in self.entries.items() if entries.get(entry, _UNKNOWN) != facts}
        segments = [segment.without(gone) for segment in self.segments] if gone else [*self.segments]
        added = [merge_segments(fresh)] if len(fresh) > 1 else list(fresh)
        return ScopeIndex(self.scope, version, entries, compacted([*segments, *added]), self.exact)


_UNKNOWN = object()


class IndexSearch:
    """One question over the indexes it reaches. Call `lexical` before `hits`, and `dense` before `nearest`
    and `cosines`, which read its scores."""

    def __init__(
        self,
        indexes: Sequence[ScopeIndex],
        *,
        allowed: Callable[[ScopeIndex, Segment], Mask | None] | None = None,
        passage_id: Callable[[PassageKey], str] = lambda key: key[0],
    ) -> None:
        """`allowed`: rows the scope may see, if not all; `passage_id`: maps a key to a passage's id."""
        self.indexes = indexes
        self.segments = [segment for index in indexes for segment in index.segments]
        self._passage_id = passage_id
        self._alive = [
            both_masks(segment.live, allowed(index, segment) if allowed else None)
            for index in indexes
            for segment in index.segments
        ]
        self._firsts = [0, *accumulate(len(index.segments) for index in indexes)]
        self._lexical = Lexical([], [])
        self._scores: list[Scores] = []
        self._neighbour_scores: Sequence[Floats] = ()
        self._cosines: list[NDArray[np.float32]] = []

    @cached_property
    def size(self) -> int:
        return sum(
            segment.rows if alive is None else int(alive.sum())
            for segment, alive in zip(self.segments, self._alive, strict=True)
        )

    def cost(self, text: str) -> int:
        """Cost of the lexical search, in passages searched for a short question."""
        return self.size * max(SHORT, len(text)) // SHORT + CHARACTER * len(text)

    def key(self, address: Address) -> PassageKey:
        return self.segments[address[0]].key(address[1])

    def passage_id(self, address: Address) -> str:
        return self._passage_id(self.key(address))

    def addresses(self, index: ScopeIndex, keys: Iterable[PassageKey]) -> dict[PassageKey, Address]:
        first = self._first_segment(index)
        found = {key: (first + number, row) for key, (number, row) in index.locate(keys).items()}
        return {key: address for key, address in found.items() if self.is_visible(address)}

    def contains(self, entry: str) -> bool:
        return any(entry in index.entries for index in self.indexes)

    def index_of(self, address: Address) -> ScopeIndex:
        return self.indexes[bisect_right(self._firsts, address[0]) - 1]

    def size_of(self, index: ScopeIndex) -> int:
        """Passages of one index that the scope may see."""
        masks = self._alive[self._first_segment(index) :]
        return sum(
            segment.rows if alive is None else int(alive.sum())
            for segment, alive in zip(index.segments, masks, strict=False)
        )

    def visible(self, index: ScopeIndex, limit: int) -> list[PassageKey]:
        """Passages of one index that the scope may see: all, or about `limit` evenly spread."""
        first = self._first_segment(index)
        rows = [
            np.arange(segment.rows) if alive is None else np.flatnonzero(alive)
            for segment, alive in zip(index.segments, self._alive[first:], strict=False)
        ]
        step = max(1, sum(map(len, rows)) // limit)
        return [
            self.key((number, row))
            for number, some in enumerate(rows, first)
            for row in some[::step].tolist()
        ]

    def _first_segment(self, index: ScopeIndex) -> int:
        return self._firsts[list(map(id, self.indexes)).index(id(index))]

    def is_visible(self, address: Address) -> bool:
        """True for a live passage that the scope may see."""
        alive = self._alive[address[0]]
        return alive is None or bool(alive[address[1]])

    def lexical(
        self, text: str, limit: int, neighbour_scores: NeighbourScores | None = None
    ) -> list[Address]:
        """The best by BM25, best first; `neighbour_scores` are added to each row's own."""
        live = [(each.postings, alive) for each, alive in zip(self.segments, self._alive, strict=True)]
        self._lexical = Lexical(live, terms(text))
        self._scores = [self._lexical.scores(number) for number in range(len(self.segments))]
        totals = [scores.bm25 for scores in self._scores]
        if neighbour_scores:
            self._neighbour_scores = [
                added if alive is None else np.where(alive, added, 0.0)
                for added, alive in zip(neighbour_scores(self.segments, totals), self._alive, strict=True)
            ]
            totals = [own + added for own, added in zip(totals, self._neighbour_scores, strict=True)]
        found = [((number, row), float(totals[number][row])) for number, row in best(totals, limit, 0.0)]
        return [address for address, _ in self.ranked(found)[:limit]]

    def hits(self, ids: Mapping[Address, str], content: Content | None = None) -> dict[Address, Hit]:
        """BM25 scores of some passages, by id; those without a query term are left out. `content`: the
        query's, if words alone decide what matches."""
        found: dict[Address, Hit] = {}
        for number, rows in by_segment(ids).items():
            at = np.array(rows, dtype=np.uint32)
            scores = self._scores[number]
            added = self._neighbour_scores[number][at].tolist() if self._neighbour_scores else [0.0] * len(at)
            content_of = self._lexical.contents(number, content, at) if content else [0.0] * len(at)
            held = zip(
                rows,
                scores.bm25[at].tolist(),
                added,
                self._lexical.coverage(scores, at),
                content_of,
                strict=True,
            )
            for row, score, neighbours, coverage, share in held:
                if score + neighbours > 0:
                    found[number, row] = Hit(
                        ids[number, row], score + neighbours, coverage, neighbours, share
                    )
        return found

    def dense(self, vector: Matrix, limit: int) -> dict[Address, float]:
        """The nearest by exact cosine, best first, in segments with vectors."""
        self._cosines = [
            segment.cosines(vector, alive) for segment, alive in zip(self.segments, self._alive, strict=True)
        ]
        return self.nearest(limit)

    def nearest(self, limit: int, among: Sequence[Mask] | None = None) -> dict[Address, float]:
        """The same within masked rows, one mask per segment; None: all."""
        cosines = self._cosines
        if among is not None:
            cosines = [np.where(mask, own, -np.inf) for own, mask in zip(cosines, among, strict=True)]
        found = [
            ((number, row), float(cosines[number][row])) for number, row in best(cosines, limit, -np.inf)
        ]
        return dict(self.ranked(found)[:limit])

    def cosines(self, addresses: Iterable[Address]) -> dict[Address, float]:
        every = {(number, row): float(self._cosines[number][row]) for number, row in addresses}
        return {address: cosine for address, cosine in every.items() if cosine > -np.inf}

    def attach_token_counts(self, passages: Mapping[Address, Passage]) -> None:
        for (number, row), passage in passages.items():
            characters, quoted, lined = self.segments[number].postings.shown[row].tolist()
            if len(passage.text) == characters:
                passage.quoted, passage.lined = quoted, lined

    def ranked(self, found: Iterable[tuple[Address, float]]) -> list[tuple[Address, float]]:
        every = list(found)
        if len({value for _, value in every}) == len(every):
            return sorted(every, key=lambda item: -item[1])
        return sorted(every, key=lambda item: (-item[1], self.key(item[0])))


def by_segment(addresses: Iterable[Address]) -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for number, row in sorted(set(addresses)):
        found.setdefault(number, []).append(row)
    return found


def best(values: Sequence[NDArray[np.floating]], limit: int, least: float) -> list[Address]:
    """Addresses of the `limit` largest values above `least`, and of all that tie with the last."""
    every = np.concatenate([np.zeros(0, dtype=np.float32), *values])
    if len(every) > limit:
        least = max(least, float(np.nextafter(np.partition(every, -limit)[-limit], -np.inf)))
    offsets = np.cumsum([0, *(len(some) for some in values)])
    chosen = np.flatnonzero(every > least)
    numbers = np.searchsorted(offsets, chosen, side="right") - 1
    return list(zip(numbers.tolist(), (chosen - offsets[numbers]).tolist(), strict=True))


async def on_loop_or_thread(
    cost: int, work: Callable[Given, Result], *given: Given.args, **named: Given.kwargs
) -> Result:
    """Runs small work on the loop, larger work in a thread; `cost` in passages."""
    if cost <= INLINE:
        return work(*given, **named)
    return await asyncio.to_thread(work, *given, **named)


def both_masks(one: Mask | None, other: Mask | None) -> Mask | None:
    if one is None or other is None:
        return other if one is None else one
    return one & other
