"""Rows that the index lacks, or still has."""

from app.clients.pool import Pool
from app.domain.corpus import Given
from app.domain.memory import RAW, Draft
from app.domain.passage import Scope
from app.domain.stray import Stock, StrayMemory
from app.stores.corpus import CorpusStore
from app.stores.memories import MemoryStore
from app.stores.spaces import SpaceStore
from app.stores.strays import StrayStore
from tests.fakes.keeping import ADA
from tests.fakes.uploads import SPACE, vector
from tests.stores import test_corpus, test_memories


async def current(pool: Pool) -> StrayStore:
    """With the space that the rows are of."""
    await SpaceStore(pool).keep(SPACE)
    await SpaceStore(pool).make_current(SPACE.name)
    return StrayStore(pool)


async def test_unfinished_and_removed_memories_are_strays(pool: Pool) -> None:
    """Each with whose it is and its vector; what is as it should be is none."""
    await test_memories.written(pool, Draft("well"))
    (gone,) = await test_memories.written(pool, Draft("gone"))
    await MemoryStore(pool).remove(ADA, gone.id)
    await test_memories.admitted(pool, Draft("lost"))

    strays = await (await current(pool)).memories("", 99, all_of_them=False)

    assert {(stray.memory.text, stray.removed) for stray in strays} == {("gone", True), ("lost", False)}
    assert {stray.scope for stray in strays} == {Scope("acme", user_id="ada")}
    assert {stray.embedding for stray in strays} == {vector("gone"), vector("lost")}


async def test_unfinished_and_removed_texts_are_strays(pool: Pool) -> None:
    """Likewise, with their collection."""
    await test_corpus.written(pool, Given("well"), Given("gone", "a1"))
    await CorpusStore(pool).remove(Scope("acme"), "sleep", "a1")
    await test_corpus.admitted(pool, Given("lost"))

    strays = await (await current(pool)).texts("", 99, all_of_them=False)

    assert {(stray.reference.text, stray.collection, stray.removed) for stray in strays} == {
        ("gone", "sleep", True),
        ("lost", "sleep", False),
    }


async def test_a_lost_index_is_given_all_that_is_searchable(pool: Pool) -> None:
    """Page by page, each row once; and it is known how many there are."""
    await test_memories.written(pool, *(Draft(f"n{n}") for n in range(5)))
    await test_memories.admitted(pool, Draft("not yet"))
    await test_corpus.written(pool, Given("a"), Given("b"))
    store, after = await current(pool), ""
    found: list[StrayMemory] = []
    while page := await store.memories(after, 2, all_of_them=True):
        found += page
        after = page[-1].memory.id

    assert sorted(stray.memory.text for stray in found) == [f"n{n}" for n in range(5)]
    assert len(await store.texts("", 9, all_of_them=True)) == 2
    told = {RAW: Stock(5, ("acme",)), "sleep": Stock(2, ("acme",))}
    assert await store.kept() == (SPACE.name, told)


async def test_it_is_known_which_points_are_ours(pool: Pool) -> None:
    """Whatever became of them; others' are not."""
    (memory,) = await test_memories.written(pool, Draft("gone"))
    await MemoryStore(pool).remove(ADA, memory.id)
    (text,) = await test_corpus.written(pool, Given("a"))

    assert await StrayStore(pool).known([memory.id, text.point, "7"]) == {memory.id, text.point}


async def test_vectors_of_another_space_wait_for_reembed(pool: Pool) -> None:
    """They are not for this index; what was removed still has to go."""
    (gone,) = await test_memories.written(pool, Draft("gone"))
    await MemoryStore(pool).remove(ADA, gone.id)
    await test_memories.admitted(pool, Draft("lost"))
    store = await current(pool)
    await pool.execute("UPDATE ibid.memory SET space = 'other@4'")

    assert [stray.memory.text for stray in await store.memories("", 9, all_of_them=False)] == ["gone"]
