"""Vectors of a space in the making: beside the old, then swapped in one step."""

from pathlib import Path

from app.clients.pool import Pool
from app.domain.corpus import Given
from app.domain.memory import Draft
from app.domain.space import Space
from app.stores.memories import MemoryStore
from app.stores.spaces import SpaceStore
from app.stores.vectors import VectorStore
from tests.fakes.keeping import ADA
from tests.fakes.uploads import ALICE, SPACE, TENANT, ready, upload, vector
from tests.stores import test_corpus
from tests.stores.test_memories import written

NEXT = Space("next@8", "next", 8, 0.1)


async def test_every_chunk_lacks_a_vector_at_first(pool: Pool, tmp_path: Path) -> None:
    """Chunks of all tenants and sessions count, with what is embedded of them."""
    document = await ready(pool, ALICE, upload(tmp_path, "a\nb"), "a\nb")
    await ready(pool, TENANT, upload(tmp_path, "c", session_id=None), "c")
    store = VectorStore(pool)
    missing = await store.missing(NEXT.name, 10)
    assert await store.count(NEXT.name) == len(missing) == 3
    first = next(text for text in missing if text.id == document.id)
    assert (first.ordinal, first.title, first.heading, first.text) == (1, "Title", "Heading", "a")


async def test_kept_vectors_are_not_asked_for_again(pool: Pool, tmp_path: Path) -> None:
    """An interrupted move goes on from where it was; keeping again replaces."""
    await ready(pool, ALICE, upload(tmp_path, "a\nb"), "a\nb")
    store = VectorStore(pool)
    first = (await store.missing(NEXT.name, 1))[:1]
    for _ in range(2):
        await store.keep(NEXT.name, first, [vector("x")])
    assert [text.text for text in await store.missing(NEXT.name, 10)] == ["b"]


async def test_no_swap_while_a_vector_is_missing(pool: Pool, tmp_path: Path) -> None:
    """Until the last chunk has one, the old space stays current and untouched."""
    await ready(pool, ALICE, upload(tmp_path, "a\nb"), "a\nb")
    await SpaceStore(pool).make_current(SPACE.name)
    store = VectorStore(pool)
    await store.keep(NEXT.name, await store.missing(NEXT.name, 1), [vector("x")])
    assert not await store.swap(NEXT)
    assert await SpaceStore(pool).current() == SPACE
    assert await SpaceStore(pool).vectors_in(NEXT.name) == 0


async def test_the_swap_moves_everything_at_once(pool: Pool, tmp_path: Path) -> None:
    """New vectors, new current space, every part's version grown, nothing left beside."""
    await ready(pool, ALICE, upload(tmp_path, "a\nb"), "a\nb")
    before = await pool.fetchval("SELECT version FROM ibid.part WHERE session_id = 's1'")
    store = VectorStore(pool)
    texts = await store.missing(NEXT.name, 10)
    await store.keep(NEXT.name, texts, [vector(text.text + "!") for text in texts])
    assert await store.swap(NEXT)
    rows = await pool.fetch("SELECT text, space, embedding FROM ibid.chunk ORDER BY ordinal")
    assert [tuple(row) for row in rows] == [(name, NEXT.name, vector(name + "!")) for name in "ab"]
    assert await SpaceStore(pool).current() == NEXT
    assert await pool.fetchval("SELECT version FROM ibid.part WHERE session_id = 's1'") > before
    assert await pool.fetchval("SELECT count(*) FROM ibid.chunk_next") == 0


async def test_memories_and_texts_move_too(pool: Pool) -> None:
    """Counted, asked for with what is embedded of them, swapped in the same step; versions grow."""
    (memory,) = await written(pool, Draft("I moved."))
    (text,) = await test_corpus.written(pool, Given("Light delays sleep.", "a1", "Sleep"))
    before = await pool.fetchval("SELECT version FROM ibid.memory_user")
    store, seen = VectorStore(pool), []
    assert await store.count(NEXT.name) == 2
    while texts := await store.missing(NEXT.name, 10):
        seen += texts
        for _ in range(2):
            await store.keep(NEXT.name, texts, [vector(each.text + "!") for each in texts])

    assert [(each.kind, each.id, each.title, each.text) for each in seen] == [
        ("memory", memory.id, "", "I moved."),
        ("corpus", text.point, "Sleep", "Light delays sleep."),
    ]
    assert await store.swap(NEXT)
    rows = await pool.fetch(
        "SELECT space, embedding FROM ibid.memory UNION ALL SELECT space, embedding FROM ibid.corpus_text"
    )
    assert [tuple(row) for row in rows] == [(NEXT.name, vector(each.text + "!")) for each in seen]
    assert await pool.fetchval("SELECT version FROM ibid.memory_user") > before
    assert await pool.fetchval("SELECT count(*) FROM ibid.text_next") == 0


async def test_what_is_removed_is_not_moved(pool: Pool) -> None:
    """It is on its way out, and does not stop the swap; what is new meanwhile does."""
    (memory,) = await written(pool, Draft("gone"))
    await MemoryStore(pool).remove(ADA, memory.id)
    store = VectorStore(pool)
    assert await store.count(NEXT.name) == 0
    await written(pool, Draft("new"))
    assert not await store.swap(NEXT)


async def test_a_vector_in_the_making_goes_with_its_memory(pool: Pool) -> None:
    """An erasure during a move that broke off leaves nothing of it."""
    await written(pool, Draft("gone"))
    store = VectorStore(pool)
    await store.keep(NEXT.name, await store.missing(NEXT.name, 9), [vector("gone")])
    await pool.execute("DELETE FROM ibid.memory")
    assert await pool.fetchval("SELECT count(*) FROM ibid.text_next") == 0


async def test_a_removed_document_is_left_out(pool: Pool, tmp_path: Path) -> None:
    """What is on its way out is not embedded again, and does not stop the swap."""
    document = await ready(pool, ALICE, upload(tmp_path))
    await pool.execute("UPDATE ibid.document SET removed_at = now() WHERE id = $1", document.id)
    store = VectorStore(pool)
    assert await store.count(NEXT.name) == 0
    assert await store.swap(NEXT)
