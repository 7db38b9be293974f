"""A project's source: rows of a table, the newest, the nearest, and by words and meaning.

Exact, filtered in the store; words lie in memory (`worded.py`) and follow `ibid.project_part.version`, which
triggers change whoever writes, so a change shows in the next search of every replica. Similarities are cosine
above the space's floor. Words that are not loaded in their part of the time are done without: the other leg
answers, the legs are `partial`, and the load goes on for the next search. Seconds. Raises `RetrievalError`.
"""

import asyncio
import json
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import TracebackType
from typing import Any, ClassVar, Self

from app.clients.pool import Pool
from app.domain.passage import Embedding, Hit, Legs, Passage, Query, Scope
from app.domain.space import Space, similarity
from app.domain.stopwatch import DENSE as MEANING
from app.domain.stopwatch import TEXTS, stage
from app.domain.text import Text
from app.index.finder import Finder, Found
from app.index.lots import Lot, Lots, row_of
from app.index.mark import short
from app.index.meaning import computed
from app.index.place import Spot
from app.index.search import Search
from app.index.table import Table, Where, rows_of
from app.index.texts import Texts
from app.retrieval.content import Content, content
from app.retrieval.terms import VERSION
from app.retrieval.vocabulary import count

WORDS_SHARE = 1 / 3
"""Part of RAG_TIMEOUT_SECONDS that a search waits for words: what is left is the other leg's."""
COUNTED = 2
"""Characters whose tokens cost about as much to count as a passage costs to be searched."""


@dataclass(frozen=True, slots=True)
class Told:
    """A row's text."""

    text: Text
    tokens: int


class ContextSource(ABC):
    """Keeps project.ProjectSource. Each kind says what its rows are as passages."""

    name: ClassVar[str]
    table: ClassVar[Table]
    inside: ClassVar[bool] = True
    """Whether it has the rows of its projects, or all but those."""

    def __init__(
        self,
        pool: Pool,
        space: Space,
        projects: Collection[str] | None = None,
        *,
        store: str = "",
        seconds: float = 6.0,
    ) -> None:
        self._finder = Finder(pool, self.table, space)
        self._space = space
        self._projects = projects
        self.store = store
        """Which database this is: two may share a cache."""
        self._patience = seconds * WORDS_SHARE
        self._texts: Texts[Told] = Texts()
        self._lots = Lots(pool, self.table)
        self._lots.gone = self._texts.forget

    @abstractmethod
    def text(self, row: Mapping[str, Any]) -> str:
        """A row's columns as plain text."""

    @abstractmethod
    def passage(self, found: Found, told: Told, short: str, similar: float | None) -> Passage:
        """A row as a passage; `short` is its id for labels."""

    def where(self, scope: Scope) -> Where:
        """The rows it may tell of."""
        return rows_of(scope, self._projects, inside=self.inside)

    async def reach(self, scope: Scope) -> "Reached":
        """The tenant's rows and the asker's own, of the scope's project or of all, as they stand now."""
        versions = await self._lots.versions(scope.tenant, self.where(scope))
        return Reached(self, scope, tuple(versions))

    @property
    def shown(self) -> Sequence[str]:
        """The projects whose rows are told apart: what a result depends on."""
        return sorted(self._projects or ())

    async def search(self, reached: "Reached", query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Both legs, in one more statement to Postgres; shelves may be newer than what was reached."""
        shelves, missing = await self._lots.within(self._patience, reached.versions)
        late = "timeout" if missing else ""
        search = Search(shelves)
        if not search.size and not late:
            return Legs(self.name)
        spots = await computed(search.effort(query.text), search.words, query.text, query.limit)
        vector = await embedding
        worded = standing(search, spots)
        if vector is None and not worded:
            return Legs(self.name, stored=search.size, partial=late)
        with stage(MEANING):
            rows = await self._finder.both(self.where(reached.scope), vector, list(worded), query.limit)
        with stage(TEXTS):
            every = await self._passages(rows)
        passages = {row.id: passage for row, passage in zip(rows, every, strict=True) if passage.text.strip()}
        there = {row.id: row for row in rows if row.id in passages}
        told = await asyncio.to_thread(content, query.text) if vector is None else None
        effort = search.effort(query.text) if told else 0
        found = await computed(effort, legs, self.name, search, worded, there, passages, told=told)
        return replace(found, stored=max(found.stored, len(there)), partial=late)

    async def newest(self, scope: Scope, limit: int) -> list[Passage]:
        """By indexed_at, newest first, those without a time last; similarity None."""
        return await self._passages(await self._finder.newest(self.where(scope), limit))

    async def nearest(self, scope: Scope, vector: Embedding, limit: int) -> list[Passage]:
        """By cosine alone, rows without a vector left out, ties by id."""
        return await self._passages(await self._finder.nearest(self.where(scope), vector, limit))

    async def named(self, scope: Scope, ids: Sequence[str]) -> list[Passage]:
        """Those of these rows that are in reach, in any order; similarity None."""
        return await self._passages(await self._finder.both(self.where(scope), None, ids, 0))

    async def _passages(self, rows: Sequence[Found]) -> list[Passage]:
        """Rows as passages, in their order."""
        told = await self._told(rows)
        marks = short(self.name, [row.id for row in rows])
        return [self.passage(row, told[place(row)], marks[row.id], self._similar(row.cosine)) for row in rows]

    def _similar(self, cosine: float | None) -> float | None:
        """What a raw cosine means."""
        return None if cosine is None else similarity(cosine, self._space.floor)

    async def _told(self, rows: Sequence[Found]) -> Mapping[tuple[str, int], Told]:
        """The text of each with its tokens; those of rows found lately are known."""
        known = self._texts.known(map(place, rows))
        texts = {place(row): self.text(row.columns) for row in rows if place(row) not in known}
        effort = sum(map(len, texts.values())) // COUNTED
        fresh = await computed(effort, counted, texts)
        self._texts.keep(fresh)
        return known | fresh

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """End loads under way."""
        await self._lots.aclose()


@dataclass(frozen=True, slots=True)
class Reached:
    """Keeps found.Reach: the lots in reach of a scope, and the version of each."""

    source: ContextSource
    scope: Scope
    versions: tuple[tuple[Lot, int], ...]

    @property
    def standing(self) -> str:
        """With what a result depends on beside the rows: which store it is, and how words are cut."""
        source, scope = self.source, self.scope
        who = [scope.tenant, scope.owner, scope.project, *source.shown]
        lots = [[lot.owner, lot.project, version] for lot, version in self.versions]
        return json.dumps([source.name, source.store, VERSION, who, lots])

    async def search(self, query: Query, embedding: Awaitable[Embedding | None]) -> Legs:
        """Both legs; raises `RetrievalError`."""
        return await self.source.search(self, query, embedding)


def standing(search: Search, spots: Iterable[Spot]) -> dict[str, Spot]:
    """Where rows stand, by id: one that moves may stand on two shelves for a moment."""
    found: dict[str, Spot] = {}
    for spot in spots:
        found.setdefault(row_of(search.place(spot)[0]), spot)
    return found


def legs(
    name: str,
    search: Search,
    worded: Mapping[str, Spot],
    rows: Mapping[str, Found],
    passages: Mapping[str, Passage],
    *,
    told: Content | None = None,
) -> Legs:
    """Both legs over the rows that were read; `worded`: where those the words chose stand, best first;
    `told`: the query's content, where there is no vector."""
    spots = {**located(search, rows.values()), **{key: worded[key] for key in worded if key in rows}}
    hits = {row_of(hit.key): voiced(hit) for hit in search.hits(spots.values(), told).values()}
    return Legs(
        source=name,
        words=tuple(hits[key] for key in worded if key in rows),
        meaning=tuple(Hit(row.id, passages[row.id].similarity or 0.0) for row in nearest(rows.values())),
        passages={key: passages[key] for key in sorted(passages)},
        stored=search.size,
        beside={key: hit for key, hit in hits.items() if key not in worded},
    )


def nearest(rows: Iterable[Found]) -> list[Found]:
    """The rows that meaning found, by cosine, ties by id."""
    return sorted((row for row in rows if row.near), key=lambda row: (-(row.cosine or 0), row.id))


def voiced(hit: Hit) -> Hit:
    """By its row, whatever the revision."""
    return Hit(row_of(hit.key), hit.score, hit.coverage, hit.rare, content=hit.content)


def located(search: Search, rows: Iterable[Found]) -> dict[str, Spot]:
    """Where rows stand at the revision that was read; one that is newer than the shelves has no words yet."""
    found: dict[str, Spot] = {}
    first = 0
    names = {row.id: f"{row.id} {row.seen}" for row in rows}
    for shelf in search.shelves:
        for key, name in names.items():
            if name in shelf.documents:
                block, at = shelf.documents[name]
                found[key] = (first + block, at)
        first += len(shelf.blocks)
    return found


def place(row: Found) -> tuple[str, int]:
    """A row and its revision: the same text for ever."""
    return row.id, int(row.seen)


def counted(texts: Mapping[tuple[str, int], str]) -> dict[tuple[str, int], Told]:
    """With their tokens: other tools' rows have none."""
    return {key: Told(Text(text), count(text)) for key, text in texts.items()}
