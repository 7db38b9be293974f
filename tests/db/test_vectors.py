"""Rows: cursors, text that Postgres can hold, transactions; embedding spaces and the vectors of one that
is being built."""

import uuid
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db.corpus import ReferenceDraft
from app.db.memories import Draft, MemoryStore
from app.db.pool import Pool
from app.db.rows import closed, opened
from app.db.vectors import SpaceStore, VectorStore
from app.errors import InvalidField
from app.types import Space
from tests.db.test_memories import text_written, written
from tests.fakes.services import ADA
from tests.fakes.uploads import ALICE, SPACE, TENANT, ready, upload, vector

NEXT = Space("next@8", "next", 8, 0.1)
OLD, WIDE = vector("old"), b"\x00\x00\x80\x3f" * 3
ROW = """
    INSERT INTO public.conversation_index (session_id, title, sha256, space, embedding, embedding_ibid)
    VALUES ($1::text::uuid, $2, $3, $4, $5, $6)
"""
WORDS = """
    INSERT INTO ibid.project_words (kind, id, seen, analysis, terms)
    SELECT 'conversations', session_id::text, xmin::text, 1, '' FROM public.conversation_index
    WHERE session_id = $1::text::uuid
"""
KNOWN = """
    SELECT count(*) FROM ibid.project_words AS words
    JOIN public.conversation_index AS kept
        ON kept.session_id::text = words.id AND kept.xmin::text = words.seen
"""


def uuid_of(name: str) -> str:
    """A row's id; they sort as their names do."""
    return str(uuid.UUID(name * (32 // len(name))))


async def test_every_chunk_lacks_a_vector_at_first(pool: Pool, tmp_path: Path) -> None:
    document = await ready(pool, ALICE, upload(tmp_path, "a\nb"), "a\nb")
    await ready(pool, TENANT, upload(tmp_path, "c", session_id=None), "c")
    store = VectorStore(pool)
    missing = await store.missing(NEXT.name, 10)
    assert await store.count(NEXT.name) == len(missing) == 3
    first = next(text for text in missing if text.id == document.id)
    assert (first.ordinal, first.title, first.heading, first.text) == (1, "Title", "Heading", "a")


async def test_no_swap_while_a_vector_is_missing(pool: Pool, tmp_path: Path) -> None:
    await ready(pool, ALICE, upload(tmp_path, "a\nb"), "a\nb")
    await SpaceStore(pool).make_current(SPACE.name)
    store = VectorStore(pool)
    await store.keep(NEXT.name, await store.missing(NEXT.name, 1), [vector("x")])
    assert not await store.swap(NEXT)
    assert await SpaceStore(pool).current() == SPACE
    assert await SpaceStore(pool).vectors_in(NEXT.name) == 0


async def test_the_swap_moves_everything_at_once(pool: Pool, tmp_path: Path) -> None:
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
    (text,) = await text_written(pool, ReferenceDraft("Light delays sleep.", "a1", "Sleep"))
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


async def test_a_text_that_changed_since_is_embedded_again(pool: Pool) -> None:
    """A re-embedding broke off, and the texts were replaced before the next."""
    (memory,) = await written(pool, Draft("I moved to Graz."))
    await text_written(pool, ReferenceDraft("Light delays sleep.", "a1"))
    store = VectorStore(pool)
    texts = await store.missing(NEXT.name, 10)
    texts += await store.missing(NEXT.name, 10)
    await store.keep(NEXT.name, texts, [vector(each.text) for each in texts])
    await text_written(pool, ReferenceDraft("Noise delays sleep.", "a1"))
    moved = replace(memory, text="I moved to Linz.")
    assert await MemoryStore(pool).rewrite(ADA, moved, vector("Linz"), SPACE.name, since=datetime.now(UTC))
    assert await store.count(NEXT.name) == 2


async def test_what_is_removed_is_not_moved(pool: Pool) -> None:
    """It is on its way out, and does not stop the swap; what is new meanwhile does."""
    (memory,) = await written(pool, Draft("gone"))
    await MemoryStore(pool).remove(ADA, memory.id)
    store = VectorStore(pool)
    assert await store.count(NEXT.name) == 0
    await written(pool, Draft("new"))
    assert not await store.swap(NEXT)


async def test_a_removed_document_is_left_out(pool: Pool, tmp_path: Path) -> None:
    """What is on its way out is not embedded again, and does not stop the swap."""
    document = await ready(pool, ALICE, upload(tmp_path))
    await pool.execute("UPDATE ibid.document SET removed_at = now() WHERE id = $1", document.id)
    store = VectorStore(pool)
    assert await store.count(NEXT.name) == 0
    assert await store.swap(NEXT)


async def test_rows_of_projects_move_too(pool: Pool) -> None:
    """Ours where it was; another tool's row keeps its vector, ours beside it; what has no space yet stays as
    it is, and what has lost its words has none from now on."""
    rows = [
        ("a1", "ours", "x", OLD, None),
        ("a2", "adopted with its own", None, OLD, None),
        ("a3", "adopted beside", None, WIDE, OLD),
        ("a4", " ", None, OLD, None),
        ("a5", "ours beside", "x", None, OLD),
    ]
    for name, title, sha256, inside, beside in rows:
        await pool.execute(ROW, uuid_of(name), title, sha256, "old@8", inside, beside)
    await pool.execute(ROW, uuid_of("b1"), "nobody's", None, None, WIDE, None)
    await pool.execute("INSERT INTO public.code_index (chunk_text, space) VALUES ('def f(): pass', 'old@8')")
    await pool.execute(WORDS, uuid_of("a1"))
    version = "SELECT version FROM ibid.project_part WHERE kind = 'conversations'"
    before, store = await pool.fetchval(version), VectorStore(pool)
    assert await store.count(NEXT.name) == 5
    seen = []
    while texts := await store.missing(NEXT.name, 3):
        seen += [(each.kind, each.text) for each in texts]
        await store.keep(NEXT.name, texts, [vector(each.text + "!") for each in texts])
    said = ["ours", "adopted with its own", "adopted beside", "ours beside"]
    assert seen == [*(("conversation", text) for text in said), ("code", "def f(): pass")]

    assert await store.swap(NEXT)

    moved = await pool.fetch("SELECT title, space, embedding, embedding_ibid FROM conversation_index")
    assert {row[0]: tuple(row)[1:] for row in moved} == {
        "ours": (NEXT.name, vector("ours!"), None),
        "adopted with its own": (NEXT.name, OLD, vector("adopted with its own!")),
        "adopted beside": (NEXT.name, WIDE, vector("adopted beside!")),
        "ours beside": (NEXT.name, None, vector("ours beside!")),
        " ": (None, OLD, None),
        "nobody's": (None, WIDE, None),
    }
    assert await pool.fetchval(version) != before
    assert await pool.fetchval(KNOWN) == 1
    assert await SpaceStore(pool).vectors_in(NEXT.name) == 5


async def test_a_column_of_another_width_is_not_written(pool: Pool) -> None:
    await pool.execute("ALTER TABLE public.conversation_index ALTER COLUMN embedding TYPE vector(3)")
    await pool.execute(ROW, uuid_of("a"), "ours", "x", "old@3", WIDE, None)
    store = VectorStore(pool)
    texts = await store.missing(NEXT.name, 3)
    await store.keep(NEXT.name, texts, [vector("ours")])
    assert await store.swap(NEXT)
    row = await pool.fetchrow("SELECT embedding, embedding_ibid FROM conversation_index")
    assert row
    assert tuple(row) == (WIDE, vector("ours"))


async def test_a_row_is_embedded_as_far_as_anybody_reads(pool: Pool) -> None:
    """Megabytes would hold up the move, and what is no text at all must not stop it."""
    await pool.execute(ROW, uuid_of("a"), "word " * 1_000_000, None, "old@8", OLD, None)
    await pool.execute(ROW, uuid_of("b"), None, None, None, OLD, None)
    await pool.execute("UPDATE conversation_index SET tags = '[true]', space = 'old@8' WHERE title IS NULL")
    texts = await VectorStore(pool).missing(NEXT.name, 9)
    assert [each.text[:4] for each in texts] == ["word", "…"]
    assert len(texts[0].text) <= 40_000


times = st.datetimes(datetime(1900, 1, 1), datetime(3000, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001
keys = st.text("abcXYZ019._:-", max_size=200)


@given(times, keys)
def test_law_what_is_closed_opens(at: datetime, key: str) -> None:
    cursor = closed(at, key)
    assert opened(cursor) == (at, key)
    assert set(cursor) <= set("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


@pytest.mark.parametrize(
    "text", ["x", "%%%", "MTIz", "eHx4", "OTk5OTk5OTk5OTk5OTk5OTk5OTk5OXxh", "MXwA", "é"]
)
def test_what_is_not_ours_is_told(text: str) -> None:
    with pytest.raises(InvalidField) as caught:
        opened(text)
    assert caught.value.field == "query.cursor"


@given(st.text(max_size=80))
def test_law_any_text_opens_or_is_told(text: str) -> None:
    with suppress(InvalidField):
        assert closed(*opened(text)) == text
