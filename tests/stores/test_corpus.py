"""The record of the corpus, on a real Postgres."""

from collections.abc import Sequence

import pytest

from app.clients.pool import Pool
from app.domain.corpus import Given, Reference, placed
from app.domain.passage import Scope
from app.stores.corpus import CorpusStore
from tests.fakes.uploads import SPACE, vector

ACME, OTHER = Scope("acme"), Scope("other")
VERSION = "SELECT version FROM ibid.corpus_version WHERE tenant = 'acme'"


async def admitted(
    pool: Pool, *texts: Given, scope: Scope = ACME, collection: str = "sleep"
) -> list[tuple[Reference, bool]]:
    """What becomes of texts in the record."""
    vectors, counts = [vector(text.text) for text in texts], [len(text.text) for text in texts]
    return await CorpusStore(pool).admit(scope, collection, texts, vectors, counts, space=SPACE.name)


async def written(
    pool: Pool, *texts: Given, scope: Scope = ACME, collection: str = "sleep"
) -> Sequence[Reference]:
    """Texts that went the whole way."""
    kept = [text for text, _ in await admitted(pool, *texts, scope=scope, collection=collection)]
    assert await CorpusStore(pool).indexed(scope, collection, [text.point for text in kept]) == []
    return kept


async def test_a_text_is_kept_with_all_it_came_with(pool: Pool) -> None:
    """Title and metadata come back as they were given."""
    given = Given("Keep the hours.", "a1", "Hygiene", {"kind": "guide", "n": 2, "tags": ["x"]})

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
    """One row, with the last text; so within one request."""
    await written(pool, Given("old", "a1"))

    outcomes = await admitted(pool, Given("new", "a1"), Given("newest", "a1"))

    assert [fresh for _, fresh in outcomes] == [False, False]
    assert await pool.fetchval("SELECT array_agg(text) FROM ibid.corpus_text") == ["newest"]


async def test_without_an_id_the_words_are_it(pool: Pool) -> None:
    """Sent again it is the same text; other words are another."""
    ((one, _), (two, _)) = await admitted(pool, Given("a"), Given("b"))
    ((again, fresh),) = await admitted(pool, Given("a"))

    assert (again.id, fresh) == (one.id, False)
    assert one.id != two.id
    assert one.id == one.point


@pytest.mark.parametrize(
    ("scope", "collection"),
    [pytest.param(OTHER, "sleep", id="tenant"), pytest.param(ACME, "work", id="collection")],
)
async def test_a_text_belongs_to_tenant_and_collection(pool: Pool, scope: Scope, collection: str) -> None:
    """The same id elsewhere is another text, and is not removed with it."""
    (mine,) = await written(pool, Given("a", "a1"))
    (theirs,) = await written(pool, Given("a", "a1"), scope=scope, collection=collection)

    assert theirs.point != mine.point
    assert await CorpusStore(pool).remove(scope, collection, "a1") == theirs.point
    assert await CorpusStore(pool).remove(ACME, "sleep", "a1") == mine.point
    assert await CorpusStore(pool).remove(ACME, "sleep", "a1") is None


async def test_collections_are_told_in_figures(pool: Pool) -> None:
    """What is searchable, by name; another tenant's are not there."""
    await written(pool, Given("abc"), Given("de"))
    await written(pool, Given("x"), collection="Art")
    await written(pool, Given("x"), scope=OTHER, collection="theirs")
    await admitted(pool, Given("not yet"))

    told = await CorpusStore(pool).collections(ACME)

    assert [(shelf.collection, shelf.texts, shelf.tokens) for shelf in told] == [
        ("Art", 1, 1),
        ("sleep", 2, 5),
    ]


async def test_every_change_grows_the_version(pool: Pool) -> None:
    """Indexed, removed, withdrawn."""
    (text,) = await written(pool, Given("a", "a1"))
    store, seen = CorpusStore(pool), [await pool.fetchval(VERSION)]
    await store.remove(ACME, "sleep", "a1")
    seen.append(await pool.fetchval(VERSION))
    await store.withdraw(ACME, "sleep", [text.point])
    seen.append(await pool.fetchval(VERSION))

    assert seen == sorted(set(seen))


async def test_what_is_withdrawn_was_never_there(pool: Pool) -> None:
    """What is searchable stays."""
    ((mine, _),) = await admitted(pool, Given("mine"))
    (theirs,) = await written(pool, Given("theirs"))

    assert await CorpusStore(pool).withdraw(ACME, "sleep", [mine.point, theirs.point]) == [mine.point]
    assert await CorpusStore(pool).indexed(ACME, "sleep", [mine.point]) == [mine.point]


async def test_a_removed_text_is_new_when_it_comes_again(pool: Pool) -> None:
    """Also before its point has gone; then it waits for a repair."""
    (text,) = await written(pool, Given("a", "a1"))
    store = CorpusStore(pool)
    await store.remove(ACME, "sleep", "a1")
    ((_, fresh),) = await admitted(pool, Given("a", "a1"))

    assert fresh
    assert await store.forget([text.point])
    assert await pool.fetchval("SELECT count(*) FROM ibid.corpus_text") == 1
    await store.remove(ACME, "sleep", "a1")
    assert not await store.forget([text.point])
    assert await pool.fetchval("SELECT count(*) FROM ibid.corpus_text") == 0
