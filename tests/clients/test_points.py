"""The contract of Qdrant's engines: embedded, a server over HTTP, and the vendor's client in memory.

The last one is the vendor's own for tests, in Python: it rounds otherwise when points are added, and does not
wait for anything. What hangs on that is asked of the two that users have.
"""

import asyncio
import random
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from qdrant_client import AsyncQdrantClient

from app.clients.edge import open_edge
from app.clients.points import Ask, Collection, Point, Points, Sparse, Where
from app.clients.qdrant import Qdrant, connected
from app.clients.weights import reckoned
from app.domain.errors import RetrievalError
from tests.fakes.points import DIM, cosine, embedding, ids, meets, owned, point
from tests.fakes.qdrant import qdrant_server

pytestmark = [  # of the vendor's own small engine
    pytest.mark.filterwarnings("ignore:Payload indexes have no effect"),
    pytest.mark.filterwarnings("ignore:Local mode performs exact"),
]
NAME = "memory_raw"
EVERY = Where()


@asynccontextmanager
async def in_memory(_folder: Path) -> AsyncIterator[Points]:
    """The vendor's own engine for tests."""
    engine = Qdrant(AsyncQdrantClient(":memory:"))
    yield engine
    await engine.aclose()


@asynccontextmanager
async def over_http(folder: Path) -> AsyncIterator[Points]:
    """A server's."""
    with qdrant_server(folder) as server:
        engine = connected(server.url, None)
        yield engine
        await engine.aclose()


ENGINES: Mapping[str, Callable[[Path], AbstractAsyncContextManager[Points]]] = {
    "embedded": open_edge,
    "in memory": in_memory,
    "server": over_http,
}


@pytest.fixture(params=list(ENGINES))
async def points(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Points]:
    """An engine with one empty collection."""
    async with ENGINES[request.param](tmp_path / "qdrant") as engine:
        await engine.create(NAME, DIM)
        yield engine


@pytest.fixture(params=["embedded", "server"])
async def real(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Points]:
    """An engine that users have."""
    async with ENGINES[request.param](tmp_path / "qdrant") as engine:
        await engine.create(NAME, DIM)
        yield engine


async def test_the_nearest_come_first_with_their_cosine(points: Points) -> None:
    """At most as many as were asked for."""
    stored = [point(n) for n in range(30)]
    await points.put(NAME, stored)
    [found] = await points.search(NAME, [Ask(EVERY, 10, dense=embedding(99))])
    wanted = sorted(stored, key=lambda each: -cosine(each.dense or b"", embedding(99)))[:10]
    assert ids(found) == ids(wanted)
    assert [each.score for each in found] == pytest.approx(
        [cosine(each.dense or b"", embedding(99)) for each in wanted], abs=1e-5
    )


async def test_words_are_weighed_by_how_rare_they_are(points: Points) -> None:
    """BM25's IDF times both weights, only points that hold a word, best first."""
    stored = [point(n) for n in range(30)]
    await points.put(NAME, stored)
    query = Sparse((3, 11), (1.0, 2.0))
    [found] = await points.search(NAME, [Ask(EVERY, 30, words=query)])
    wanted = {each.id: score for each in stored if (score := bm25(each, query, stored))}
    assert {each.id: each.score for each in found} == pytest.approx(wanted, rel=1e-4)
    assert [each.score for each in found] == sorted((each.score for each in found), reverse=True)


def bm25(one: Point, query: Sparse, corpus: list[Point]) -> float:
    """The words' score as Qdrant documents it."""
    total = 0.0
    for term, weight in zip(query.indices, query.values, strict=True):
        holders = sum(term in each.words.indices for each in corpus if each.words)
        idf = np.log((len(corpus) - holders + 0.5) / (holders + 0.5) + 1)
        own = dict(zip(one.words.indices, one.words.values, strict=True)) if one.words else {}
        total += float(idf) * weight * own.get(term, 0.0)
    return total


async def test_equal_scores_are_ordered_by_id(points: Points) -> None:
    """Whoever was written first, and at the end of a list too: who is in must not hang on files."""
    same = Sparse((1,), (1.0,))
    stored = [Point(point(n).id, {"at": n * 37 % 60}, embedding(5), same) for n in range(60)]
    stored.sort(key=lambda each: each.payload["at"])
    await points.put(NAME, stored)
    asks = [Ask(EVERY, 7, words=same), Ask(EVERY, 7, dense=embedding(5))]
    for found in await points.search(NAME, asks):
        assert ids(found) == sorted(ids(stored))[:7]


async def test_a_leg_ranks_among_what_the_other_finds(points: Points) -> None:
    """With its own exact scores; those without a word are left out by the words."""
    await points.put(NAME, [point(n) for n in range(50)])
    query = Sparse((1, 2, 3, 4, 5), (1.0,) * 5)
    meaning, words = Ask(EVERY, 9, dense=embedding(77)), Ask(EVERY, 9, words=query)
    both = [
        meaning,
        words,
        Ask(EVERY, 9, words=query, among=meaning),
        Ask(EVERY, 9, dense=embedding(77), among=words),
    ]
    near, worded, scored, rescored = await points.search(NAME, both)
    [all_words] = await points.search(NAME, [Ask(EVERY, 50, words=query)])
    assert ids(scored) == [each.id for each in all_words if each.id in ids(near)]
    assert set(ids(rescored)) == set(ids(worded))
    assert [each.score for each in rescored] == sorted((each.score for each in rescored), reverse=True)


async def test_words_weighed_here_are_those_of_the_engine(real: Points) -> None:
    """Where all points in reach are at hand; those without words count as the engine has it."""
    bare = [Point(point(n).id, point(n).payload, embedding(n)) for n in range(40, 47)]
    empty = [Point(point(n).id, point(n).payload, embedding(n), Sparse()) for n in range(47, 52)]
    await real.put(
        NAME, [*(point(n) for n in range(40)), *bare, *empty, *(point(n, "bob") for n in (90, 91))]
    )
    query = Sparse(tuple(range(0, 40, 3)), (1.0,) * 14)
    asks = [Ask(owned("ann"), 99, words=query, vectors=True)]
    asks += [Ask(owned("ann"), 99, dense=embedding(1), vectors=True)]
    by_words, everything = await real.search(NAME, asks)
    assert len(everything) == 52
    assert reckoned(query, everything) == by_words


async def test_filters_are_exact(points: Points) -> None:
    """Every kind of condition, alone and together, for searches, pages and counts."""
    chance = random.Random(7)  # noqa: S311 - the same on every run
    kinds = [{}, {"kind": "note"}, {"kind": "card"}, {"kind": "fact", "vantage_id": "v"}]
    times = [{}, *({"created_at": f"2023-05-{day:02}T{day:02}:30:00+02:00"} for day in range(1, 20))]
    stored = [
        point(n, chance.choice("abc"), **chance.choice(kinds), **chance.choice(times)) for n in range(60)
    ]
    await points.put(NAME, stored)
    filters = [*(drawn(chance, stored) for _ in range(25)), Where(has=(("kind", ()),)), Where(ids=())]
    asked = await points.search(
        NAME, [Ask(where, 60, dense=embedding(1), payload=False) for where in filters]
    )
    for where, found in zip(filters, asked, strict=True):
        wanted = {each.id for each in stored if meets(each, where)}
        assert set(ids(found)) == wanted, where
        assert await points.count(NAME, where) == len(wanted), where
        assert {each.id for each in await points.scroll(NAME, where, limit=99)} == wanted, where


def drawn(chance: random.Random, stored: list[Point]) -> Where:
    """Any filter."""
    users = (("user_id", tuple(chance.sample("abcd", 2))),)
    kinds = (("kind", tuple(chance.sample(("note", "card", "fact"), chance.randrange(1, 3)))),)
    return Where(
        has=users if chance.random() < 0.6 else (),
        lacks=kinds if chance.random() < 0.5 else (),
        open=(("vantage_id", ("v",)),) if chance.random() < 0.3 else kinds if chance.random() < 0.3 else (),
        ids=(*ids(chance.sample(stored, 20)), "no-id") if chance.random() < 0.3 else None,
        between=spans(chance) if chance.random() < 0.4 else (),
    )


def spans(chance: random.Random) -> tuple[tuple[str, str, str], ...]:
    """Some days of that May, overlapping or not."""
    firsts = [chance.randrange(1, 25) for _ in range(chance.randrange(1, 4))]
    return tuple(
        ("created_at", f"2023-05-{day:02}T00:00:00Z", f"2023-05-{day + chance.randrange(1, 5):02}T00:00:00Z")
        for day in firsts
    )


async def test_a_leg_ranks_among_what_is_of_a_time(points: Points) -> None:
    """With the scores that it gives in the whole reach."""
    await points.put(
        NAME, [point(n, "ann", created_at=f"2023-05-{n % 20 + 1:02}T12:00:00Z") for n in range(200)]
    )
    query = Sparse(tuple(range(0, 40, 3)), (1.0,) * 14)
    of_may = replace(owned("ann"), between=(("created_at", "2023-05-03T00:00:00Z", "2023-05-05T00:00:00Z"),))
    words, dated = Ask(owned("ann"), 200, words=query), Ask(of_may, 7, dense=embedding(3))
    every, near, worded = await points.search(
        NAME, [words, dated, Ask(owned("ann"), 7, words=query, among=dated)]
    )
    assert len(near) == 7
    assert {each.payload["created_at"][:10] for each in near} == {"2023-05-03", "2023-05-04"}
    scores = {each.id: each.score for each in every}
    assert {each.id: each.score for each in worded} == {
        key: scores[key] for key in ids(near) if key in scores
    }


async def test_another_users_points_move_nothing(real: Points) -> None:
    """Every id, score, order and count is the same to the last bit with fifty of another user's beside."""
    await real.put(NAME, [point(n, "ann") for n in range(40)])
    query = Sparse(tuple(range(0, 40, 3)), (1.0,) * 14)
    words, meaning = Ask(owned("ann"), 10, words=query), Ask(owned("ann"), 10, dense=embedding(3))
    asks = [words, meaning, Ask(owned("ann"), 10, words=query, among=meaning)]
    before = await real.search(NAME, asks)
    await real.put(NAME, [point(n, "bob") for n in range(100, 150)])
    assert await real.search(NAME, asks) == before
    assert await real.count(NAME, owned("ann")) == 40


async def test_nor_do_those_that_were_there_first(real: Points) -> None:
    """Engines remember words in the order of their first appearance, in anybody's text."""
    await real.create("after bob", DIM)
    await real.put("after bob", [point(n, "bob") for n in range(150, 50, -1)])
    mine = [point(n, "ann") for n in range(40)]
    for name in (NAME, "after bob"):
        await real.put(name, mine)
    query = Sparse(tuple(range(40)), (1.0,) * 40)
    asks = [Ask(owned("ann"), 12, words=query), Ask(owned("ann"), 12, dense=embedding(3))]
    asks += [Ask(owned("ann"), 12, words=query, among=asks[1])]
    assert await real.search("after bob", asks) == await real.search(NAME, asks)


async def test_what_is_written_is_read_back(real: Points) -> None:
    """Payload of any JSON, both vectors bit for bit; written again it is replaced, at once."""
    told = {"text": "Ünïcode ☃", "n": 1, "f": 1.5, "tags": ["a", "b"], "none": None, "o": {"deep": [1]}}
    one = Point(point(1).id, told, embedding(1), Sparse((7, 4_000_000_000), (0.25, 2.0)))
    await real.put(NAME, [one, point(2)])
    assert await real.scroll(NAME, Where(ids=(one.id,)), limit=5, vectors=True) == [one]
    again = Point(one.id, {"text": "other"}, embedding(9), Sparse((3,), (1.0,)))
    await real.put(NAME, [again])
    assert await real.scroll(NAME, Where(ids=(one.id,)), limit=5, vectors=True) == [again]
    assert await real.count(NAME, EVERY) == 2


async def test_a_search_gives_what_was_asked_for(points: Points) -> None:
    """Payloads or none, the words' vector or none, never the dense one."""
    await points.put(NAME, [point(1)])
    ask = Ask(EVERY, 1, dense=embedding(1))
    asks = [ask, Ask(EVERY, 1, dense=embedding(1), payload=False, vectors=True)]
    [[full], [bare]] = await points.search(NAME, asks)
    assert (full.payload, full.words, full.dense) == (point(1).payload, None, None)
    assert (bare.payload, bare.words, bare.dense) == ({}, point(1).words, None)


async def test_a_point_may_lack_either_vector(points: Points) -> None:
    """Then that leg does not find it."""
    await points.put(
        NAME, [Point(point(1).id, {}, embedding(1)), Point(point(2).id, {}, words=Sparse((1,), (1.0,)))]
    )
    asks = [Ask(EVERY, 9, dense=embedding(1)), Ask(EVERY, 9, words=Sparse((1,), (1.0,)))]
    assert [ids(found) for found in await points.search(NAME, asks)] == [[point(1).id], [point(2).id]]


async def test_what_is_removed_is_gone_at_once(points: Points) -> None:
    """From searches, pages and counts; again is no error."""
    await points.put(NAME, [point(n, "ann" if n % 2 else "bob") for n in range(20)])
    for _ in range(2):
        await points.remove(NAME, owned("ann"))
    [found] = await points.search(NAME, [Ask(EVERY, 20, dense=embedding(1))])
    assert {each.payload["user_id"] for each in found} == {"bob"}
    assert await points.count(NAME, owned("ann")) == 0
    assert len(await points.scroll(NAME, EVERY, limit=99)) == 10


async def test_pages_show_everything_once(points: Points) -> None:
    """By id, however long a page is; a page after the last is empty."""
    stored = [point(n) for n in range(23)]
    await points.put(NAME, stored)
    seen: list[str] = []
    while page := await points.scroll(NAME, EVERY, limit=5, after=seen[-1] if seen else None):
        seen += ids(page)
    assert seen == sorted(ids(stored))


async def test_collections_are_listed_with_their_shape(points: Points) -> None:
    """By name; one that is there already stays as it is, but for new indexes; one that is dropped is gone."""
    await points.put(NAME, [point(1)])
    await points.create("a notebook", 4, keys=("kind",), tenants=("tenant",), times=("created_at",))
    await points.create(NAME, DIM, keys=("kind",), tenants=("tenant",), times=("created_at",))
    ours = Collection("a notebook", 4, "meaning", "words", 0), Collection(NAME, DIM, "meaning", "words", 1)
    assert await points.collections() == list(ours)
    await points.drop("a notebook")
    await points.drop("never was there")
    assert await points.collections() == [ours[1]]


async def test_a_collection_that_is_not_there_is_told(points: Points) -> None:
    """Nothing is down; to remove from it is no error."""
    asks = [Ask(EVERY, 1, dense=embedding(1))]
    calls = (
        lambda: points.search("gone", asks),
        lambda: points.count("gone", EVERY),
        lambda: points.scroll("gone", EVERY, limit=1),
        lambda: points.put("gone", [point(1)]),
    )
    for call in calls:
        with pytest.raises(RetrievalError, match="unavailable") as caught:
            await call()
        assert caught.value.rejected
    await points.remove("gone", EVERY)


async def test_what_does_not_fit_is_told(points: Points) -> None:
    """A vector of another size, an id that is none: nothing is down, and nothing is written."""
    await points.put(NAME, [point(1)])
    calls = (
        lambda: points.search(NAME, [Ask(EVERY, 1, dense=embedding(1, DIM + 1))]),
        lambda: points.put(NAME, [Point(point(2).id, {}, embedding(1, DIM + 1))]),
        lambda: points.put(NAME, [Point("no id", {}, embedding(1))]),
    )
    for call in calls:
        with pytest.raises(RetrievalError) as caught:
            await call()
        assert caught.value.rejected
    assert await points.count(NAME, EVERY) == 1


async def test_nothing_asked_is_nothing_found(points: Points) -> None:
    """No limit, no words, no points, no asks."""
    await points.put(NAME, [])
    assert await points.search(NAME, []) == []
    await points.put(NAME, [point(1)])
    asks = [Ask(EVERY, 0, dense=embedding(1)), Ask(EVERY, 5, words=Sparse())]
    assert await points.search(NAME, asks) == [[], []]


async def test_whoever_leaves_is_let_go(real: Points) -> None:
    """Cancellation passes through, and spoils nothing for the next."""
    await real.put(NAME, [point(n) for n in range(20)])
    leaving = [asyncio.create_task(real.search(NAME, [Ask(EVERY, 5, dense=embedding(n))])) for n in range(20)]
    await asyncio.sleep(0)
    for task in leaving:
        task.cancel()
    await asyncio.wait(leaving)
    assert any(task.cancelled() for task in leaving)
    assert len((await real.search(NAME, [Ask(EVERY, 5, dense=embedding(1))]))[0]) == 5


async def test_it_says_what_it_is(points: Points) -> None:
    """As `/readyz` and `ibid doctor` show it; compacting changes nothing that can be asked."""
    assert {"server", "version"} <= set(await points.check())
    await points.put(NAME, [point(n) for n in range(5)])
    await points.remove(NAME, Where(ids=(point(1).id,)))
    before = await points.scroll(NAME, EVERY, limit=9, vectors=True)
    await points.compact(NAME)
    assert await points.scroll(NAME, EVERY, limit=9, vectors=True) == before
    assert len(before) == 4
