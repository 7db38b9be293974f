"""The record of the corpus, on a real Postgres."""

import asyncio
from collections.abc import Sequence

import pytest

from app.db import corpus as module
from app.db.corpus import CorpusStore, Reference, ReferenceDraft, placed
from app.db.pool import Pool
from app.types import Scope
from tests.fakes.uploads import SPACE, vector

ACME, OTHER = Scope("acme"), Scope("other")
VERSION = "SELECT version FROM ibid.collection_version WHERE tenant = 'acme'"


async def admitted(
    pool: Pool, *texts: ReferenceDraft, scope: Scope = ACME, collection: str = "sleep"
) -> list[tuple[Reference, bool]]:
    vectors, counts = [vector(text.text) for text in texts], [len(text.text) for text in texts]
    return await CorpusStore(pool).admit(scope, collection, texts, vectors, counts, space=SPACE.name)


async def written(
    pool: Pool, *texts: ReferenceDraft, scope: Scope = ACME, collection: str = "sleep"
) -> Sequence[Reference]:
    return [text for text, _ in await admitted(pool, *texts, scope=scope, collection=collection)]


async def test_a_text_is_kept_with_all_it_came_with(pool: Pool) -> None:
    given = ReferenceDraft("Keep the hours.", "a1", "Hygiene", {"kind": "guide", "n": 2, "tags": ["x"]})

    ((kept, fresh),) = await admitted(pool, given)

    assert fresh
    assert (kept.id, kept.text, kept.title, kept.metadata, kept.tokens) == (
        "a1",
        given.text,
        given.title,
        given.metadata,
        15,
    )
    assert kept.point == placed("acme", "sleep", given)[1]


async def test_an_id_again_replaces(pool: Pool) -> None:
    await written(pool, ReferenceDraft("old", "a1"))

    outcomes = await admitted(pool, ReferenceDraft("new", "a1"), ReferenceDraft("newest", "a1"))

    assert [fresh for _, fresh in outcomes] == [False, False]
    assert await pool.fetchval("SELECT array_agg(text) FROM ibid.corpus_text") == ["newest"]


async def test_without_an_id_the_words_are_it(pool: Pool) -> None:
    ((one, _), (two, _)) = await admitted(pool, ReferenceDraft("a"), ReferenceDraft("b"))
    ((again, fresh),) = await admitted(pool, ReferenceDraft("a"))

    assert (again.id, fresh) == (one.id, False)
    assert one.id != two.id
    assert one.id == one.point


@pytest.mark.parametrize(
    ("scope", "collection"),
    [pytest.param(OTHER, "sleep", id="tenant"), pytest.param(ACME, "work", id="collection")],
)
async def test_a_text_belongs_to_tenant_and_collection(pool: Pool, scope: Scope, collection: str) -> None:
    (mine,) = await written(pool, ReferenceDraft("a", "a1"))
    (theirs,) = await written(pool, ReferenceDraft("a", "a1"), scope=scope, collection=collection)

    assert theirs.point != mine.point
    assert await CorpusStore(pool).remove(scope, collection, "a1")
    assert await CorpusStore(pool).remove(ACME, "sleep", "a1")
    assert not await CorpusStore(pool).remove(ACME, "sleep", "a1")


async def test_collections_are_told_in_figures(pool: Pool) -> None:
    await written(pool, ReferenceDraft("abc"), ReferenceDraft("de"))
    await written(pool, ReferenceDraft("x"), collection="Art")
    await written(pool, ReferenceDraft("x"), scope=OTHER, collection="theirs")

    told = await CorpusStore(pool).collections(ACME)

    assert [(shelf.collection, shelf.texts, shelf.tokens) for shelf in told] == [
        ("Art", 1, 1),
        ("sleep", 2, 5),
    ]


async def test_every_change_grows_the_version(pool: Pool) -> None:
    seen = []
    for text in ("a", "b"):
        await written(pool, ReferenceDraft(text, "a1"))
        seen.append(await pool.fetchval(VERSION))
    await CorpusStore(pool).remove(ACME, "sleep", "a1")
    await CorpusStore(pool).remove(ACME, "sleep", "a1")

    assert [*seen, await pool.fetchval(VERSION)] == [1, 2, 3]


async def test_a_removed_text_is_new_when_it_comes_again(pool: Pool) -> None:
    await written(pool, ReferenceDraft("a", "a1"))
    await CorpusStore(pool).remove(ACME, "sleep", "a1")
    assert await pool.fetchval("SELECT count(*) FROM ibid.corpus_text") == 0

    ((_, fresh),) = await admitted(pool, ReferenceDraft("a", "a1"))

    assert fresh


async def test_a_tenant_has_as_many_collections_as_it_may(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more is refused, also to writers at the same time; those it has take texts; another tenant has its
    own; one that is removed makes room."""
    monkeypatch.setattr(module, "MOST", 2)
    await written(pool, ReferenceDraft("a"), collection="one")

    outcomes = await asyncio.gather(
        *(admitted(pool, ReferenceDraft("a"), collection=name) for name in ("two", "three", "four")),
        return_exceptions=True,
    )

    assert sorted(type(each).__name__ for each in outcomes) == ["TooMany", "TooMany", "list"]
    await admitted(pool, ReferenceDraft("b"), collection="one")
    await admitted(pool, ReferenceDraft("a"), scope=OTHER, collection="five")
    assert await CorpusStore(pool).clear(ACME, "one") == 2
    await admitted(pool, ReferenceDraft("a"), collection="six")


async def test_a_collection_is_cleared_for_its_tenant(pool: Pool) -> None:
    await written(pool, ReferenceDraft("a"), ReferenceDraft("b"))
    await written(pool, ReferenceDraft("a"), scope=OTHER)
    before = await pool.fetchval(VERSION)

    assert await CorpusStore(pool).clear(ACME, "sleep") == 2
    assert await CorpusStore(pool).clear(ACME, "sleep") == 0
    assert await pool.fetchval(VERSION) == before + 1
    assert len(await CorpusStore(pool).collections(OTHER)) == 1
