"""The record of the corpus, on a real Postgres."""

import asyncio
from collections.abc import Sequence

import pytest

from app.clients.pool import Pool
from app.domain.corpus import Given, Reference, placed
from app.domain.passage import Scope
from app.domain.revision import Marked
from app.stores import corpus as module
from app.stores.corpus import CorpusStore
from tests.fakes.uploads import SPACE, vector

ACME, OTHER = Scope("acme"), Scope("other")
VERSION = "SELECT version FROM ibid.collection_version WHERE tenant = 'acme'"


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
    assert await CorpusStore(pool).indexed(scope, collection, kept) == Marked()
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
    await store.withdraw(ACME, "sleep", [text], new=[text.point])
    seen.append(await pool.fetchval(VERSION))

    assert seen == sorted(set(seen))


async def test_what_is_withdrawn_was_never_there(pool: Pool) -> None:
    """What is searchable stays."""
    ((mine, _),) = await admitted(pool, Given("mine"))
    (theirs,) = await written(pool, Given("theirs"))

    store, new = CorpusStore(pool), [mine.point, theirs.point]
    assert await store.withdraw(ACME, "sleep", [mine, theirs], new=new) == [mine.point]
    assert await store.indexed(ACME, "sleep", [mine]) == Marked([mine.point])


async def test_a_text_replaced_meanwhile_is_told_and_not_marked(pool: Pool) -> None:
    """The older may lie over the newer in the index; nor does its writer take the newer back."""
    ((old, _),) = await admitted(pool, Given("old", "a1"))
    (new,) = await written(pool, Given("new", "a1"))
    store = CorpusStore(pool)

    marked = await store.indexed(ACME, "sleep", [old])

    assert [(text.text, text.revision) for text, _ in marked.newer] == [("new", new.revision)]
    assert await pool.fetchval("SELECT indexed_at IS NULL FROM ibid.corpus_text")
    assert await store.withdraw(ACME, "sleep", [old], new=[old.point]) == []


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


async def test_a_tenant_has_as_many_collections_as_it_may(
    pool: Pool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One more is refused, also to writers at the same time; those it has take texts; another tenant has its
    own; one that is removed makes room."""
    monkeypatch.setattr(module, "MOST", 2)
    await written(pool, Given("a"), collection="one")

    outcomes = await asyncio.gather(
        *(admitted(pool, Given("a"), collection=name) for name in ("two", "three", "four")),
        return_exceptions=True,
    )

    assert sorted(type(each).__name__ for each in outcomes) == ["TooMany", "TooMany", "list"]
    await admitted(pool, Given("b"), collection="one")
    await admitted(pool, Given("a"), scope=OTHER, collection="five")
    assert len(await CorpusStore(pool).clear(ACME, "one")) == 2
    await admitted(pool, Given("a"), collection="six")


async def test_a_collection_is_cleared_for_its_tenant(pool: Pool) -> None:
    """Its points are told, none a second time; another tenant's stay, and the version grows."""
    mine = await written(pool, Given("a"), Given("b"))
    await written(pool, Given("a"), scope=OTHER)
    before = await pool.fetchval(VERSION)

    assert sorted(await CorpusStore(pool).clear(ACME, "sleep")) == sorted(text.point for text in mine)
    assert await CorpusStore(pool).clear(ACME, "sleep") == []
    assert await pool.fetchval(VERSION) == before + 1
    assert len(await CorpusStore(pool).collections(OTHER)) == 1


@pytest.mark.parametrize("scope", [pytest.param(ACME, id="own"), pytest.param(OTHER, id="another's")])
async def test_a_collection_with_a_row_is_not_dropped(pool: Pool, scope: Scope) -> None:
    """Nor with one that waits to go; without any it is."""
    dropped: list[str] = []

    async def drop() -> None:
        dropped.append("sleep")

    (text,) = await written(pool, Given("a", "a1"), scope=scope)
    store = CorpusStore(pool)
    await store.remove(scope, "sleep", "a1")
    assert not await store.vacate(ACME, "sleep", drop)
    await store.forget([text.point])

    assert dropped == []
    assert await store.vacate(ACME, "sleep", drop)
    assert dropped == ["sleep"]


async def test_a_writer_waits_while_its_collection_is_dropped(pool: Pool) -> None:
    """Whichever tenant's: a point written before the drop would be lost with it."""
    order: list[str] = []
    begun = asyncio.Event()

    async def drop() -> None:
        begun.set()
        await asyncio.sleep(0.1)
        order.append("dropped")

    async def write() -> None:
        await admitted(pool, Given("a"), scope=OTHER)
        order.append("admitted")

    dropping = asyncio.create_task(CorpusStore(pool).vacate(ACME, "sleep", drop))
    await begun.wait()
    await write()
    await dropping

    assert order == ["dropped", "admitted"]
