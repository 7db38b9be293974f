"""A document's life behind the door."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest

from app.db.documents import Document, DocumentStore, Fault, Part, State
from app.db.pool import Pool
from app.db.vectors import SpaceStore
from app.errors import Missing
from app.retrieval.terms import pack
from tests.fakes.uploads import ALICE, SPACE, TENANT, parsed, read, ready, upload, vector

DAMAGED = Fault("pdf-damaged", "no page can be read")


async def version(pool: Pool, session_id: str = "s1") -> int:
    """Of Alice's part."""
    found = await pool.fetchval("SELECT version FROM ibid.part WHERE session_id = $1", session_id)
    return int(found)


async def left(pool: Pool, document_id: str) -> dict[str, int]:
    """Rows that hang on a document, and its own."""
    tables = {"document": "id", "document_piece": "document_id", "chunk": "document_id"}
    return {
        table: await pool.fetchval(f"SELECT count(*) FROM ibid.{table} WHERE {name} = $1", document_id)  # noqa: S608
        for table, name in tables.items()
    }


async def admitted(pool: Pool, folder: Path, text: str = "one\ntwo", *, again: bool = False) -> Document:
    """A document that is being read."""
    return (await DocumentStore(pool).admit(ALICE, upload(folder, text, replace=again)))[0]


async def test_placed_tells_where_it_lives(pool: Pool, tmp_path: Path) -> None:
    """Jobs find the document and its part whoever asked; a removed one is not there."""
    document = await admitted(pool, tmp_path)
    store = DocumentStore(pool)
    placed = await store.placed(document.id)
    assert placed is not None
    assert placed[1] == Part("acme", "alice", "s1")
    await store.remove(ALICE, document.id)
    assert await store.placed(document.id) is None


async def test_ready_shows_the_facts_and_bumps_the_version(pool: Pool, tmp_path: Path) -> None:
    """From one moment to the next: counts, chunks, and a version that search compares."""
    document = await admitted(pool, tmp_path, "one\ntwo\nthree")
    before = await version(pool)
    await read(pool, document.id, "one\ntwo\nthree")
    found = await DocumentStore(pool).get(ALICE, document.id)
    assert found is not None
    assert (found.state, found.pages, found.chunks, found.tokens) == (State.READY, 3, 3, 11)
    assert await version(pool) == before + 1


async def test_ready_twice_is_ready_once(pool: Pool, tmp_path: Path) -> None:
    """A repeated step changes nothing."""
    document = await admitted(pool, tmp_path)
    await read(pool, document.id)
    before = await version(pool)
    await DocumentStore(pool).make_ready(document.id)
    assert await version(pool) == before


async def test_chunks_again_replace(pool: Pool, tmp_path: Path) -> None:
    """A repeated reading leaves the chunks of the last one, in its space, vectors unchanged."""
    document = await admitted(pool, tmp_path)
    await read(pool, document.id, "one\ntwo\nthree")
    await read(pool, document.id, "one")
    rows = await pool.fetch("SELECT ordinal, space, embedding FROM ibid.chunk")
    assert [tuple(row) for row in rows] == [(1, SPACE.name, vector("one"))]


async def test_chunks_are_written_with_their_terms(pool: Pool, tmp_path: Path) -> None:
    """Those of file name, title, heading and text as stored, so that loading an index analyses nothing."""
    document = await admitted(pool, tmp_path)
    await SpaceStore(pool).keep(SPACE)
    odd = replace(parsed("x"), chunks=(replace(parsed("x").chunks[0], text="sea\0side"),))
    await DocumentStore(pool).keep_chunks(document.id, odd, [vector("x")], SPACE.name)
    [row] = await pool.fetch("SELECT terms, text FROM ibid.chunk")
    assert row["terms"] == pack(f"report.pdf\nTitle\nHeading\n{row['text']}", row["text"])


async def test_ordinals_that_do_not_count_from_one_are_refused(pool: Pool, tmp_path: Path) -> None:
    """A row's place in the index is its ordinal: a gap would cite the wrong passage."""
    document = await admitted(pool, tmp_path)
    gap = replace(parsed("x"), chunks=(replace(parsed("x").chunks[0], ordinal=2),))
    with pytest.raises(ValueError, match="count from 1"):
        await DocumentStore(pool).keep_chunks(document.id, gap, [vector("x")], SPACE.name)


async def test_chunks_that_no_text_column_holds_are_mended(pool: Pool, tmp_path: Path) -> None:
    """NUL and lone surrogates come out of PDFs; they must not fail a document."""
    document = await admitted(pool, tmp_path)
    await read(pool, document.id)
    hostile = replace(parsed("x"), title="t\0", chunks=(replace(parsed("x").chunks[0], text="a\0\ud800b"),))
    await DocumentStore(pool).keep_chunks(document.id, hostile, [vector("x")], SPACE.name)
    chunk = await DocumentStore(pool).chunk(ALICE, document.id, 1)
    assert chunk is not None
    assert chunk.text == "a\ufffd\ufffdb"


async def test_a_document_removed_under_the_work_is_missing(pool: Pool, tmp_path: Path) -> None:
    """Neither chunks nor readiness bring it back; its bytes say so too."""
    document = await admitted(pool, tmp_path)
    store = DocumentStore(pool)
    await store.remove(ALICE, document.id)
    with pytest.raises(Missing):
        await store.keep_chunks(document.id, parsed("x"), [vector("x")], SPACE.name)
    await store.make_ready(document.id)
    assert await store.get(ALICE, document.id) is None
    with pytest.raises(Missing):
        _ = [piece async for piece in store.content(document.id)]


async def test_a_replacement_swaps_in_one_step(pool: Pool, tmp_path: Path) -> None:
    """The new one is ready, the old one gone, its purge queued: seen together or not at all."""
    old = await ready(pool, ALICE, upload(tmp_path, "old"))
    new = await admitted(pool, tmp_path, "new", again=True)
    await read(pool, new.id, "new")
    found, _ = await DocumentStore(pool).list(ALICE, cursor=None, limit=9)
    assert [document.id for document in found] == [new.id]
    purges = await pool.fetch("SELECT document_id FROM ibid.job WHERE kind = 'purge'")
    assert [row["document_id"] for row in purges] == [old.id]


async def test_of_two_replacements_the_later_upload_wins(pool: Pool, tmp_path: Path) -> None:
    """Whichever is read first: the one read last does not push out what was sent after it."""
    await ready(pool, ALICE, upload(tmp_path, "v1"))
    second = await admitted(pool, tmp_path, "v2", again=True)
    third = await admitted(pool, tmp_path, "v3", again=True)
    await read(pool, third.id, "v3")
    await read(pool, second.id, "v2")
    found, _ = await DocumentStore(pool).list(ALICE, cursor=None, limit=9)
    assert [document.id for document in found] == [third.id]


async def test_a_replacement_that_fails_leaves_the_old_one(pool: Pool, tmp_path: Path) -> None:
    """A damaged new version costs nothing."""
    old = await ready(pool, ALICE, upload(tmp_path, "old"))
    new = await admitted(pool, tmp_path, "new", again=True)
    await DocumentStore(pool).fail(new.id, DAMAGED)
    served = await DocumentStore(pool).get(ALICE, old.id)
    assert served is not None
    assert served.state is State.READY


async def test_racing_replacements_leave_one(pool: Pool, tmp_path: Path) -> None:
    """Made ready at the same moment by several workers, the newest stays alone."""
    made = [await admitted(pool, tmp_path, f"v{n}", again=True) for n in range(5)]
    await read(pool, made[0].id)
    store = DocumentStore(pool)
    await asyncio.gather(*(store.make_ready(document.id) for document in made))
    found, _ = await store.list(ALICE, cursor=None, limit=9)
    assert [document.id for document in found] == [made[-1].id]


async def test_failed_keeps_the_row_alone(pool: Pool, tmp_path: Path) -> None:
    """Its problem is told for a day; bytes and chunks are gone at once."""
    document = await admitted(pool, tmp_path)
    store = DocumentStore(pool)
    await store.fail(document.id, DAMAGED)
    found = await store.get(ALICE, document.id)
    assert found is not None
    assert (found.state, found.fault) == (State.FAILED, DAMAGED)
    assert await left(pool, document.id) == {"document": 1, "document_piece": 0, "chunk": 0}


async def test_a_ready_document_cannot_fail(pool: Pool, tmp_path: Path) -> None:
    """A late worker whose lease was lost does no harm."""
    document = await ready(pool, ALICE, upload(tmp_path))
    await DocumentStore(pool).fail(document.id, DAMAGED)
    assert (await left(pool, document.id))["chunk"] == 2


async def test_purge_deletes_what_was_removed(pool: Pool, tmp_path: Path) -> None:
    """Row, bytes and chunks; again is no error."""
    document = await ready(pool, ALICE, upload(tmp_path))
    store = DocumentStore(pool)
    await store.remove(ALICE, document.id)
    await store.purge(document.id)
    await store.purge(document.id)
    assert await left(pool, document.id) == {"document": 0, "document_piece": 0, "chunk": 0}


async def test_purge_spares_what_is_there(pool: Pool, tmp_path: Path) -> None:
    """A purge that should not be does nothing."""
    document = await ready(pool, ALICE, upload(tmp_path))
    await DocumentStore(pool).purge(document.id)
    assert await left(pool, document.id) == {"document": 1, "document_piece": 1, "chunk": 2}


async def test_sweep_removes_failures_of_yesterday(pool: Pool, tmp_path: Path) -> None:
    """After 24 hours, not before; and ready documents stay however old."""
    store = DocumentStore(pool)
    old = (await store.admit(TENANT, upload(tmp_path, "1", filename="1.pdf")))[0]
    new = (await store.admit(TENANT, upload(tmp_path, "2", filename="2.pdf")))[0]
    kept = await ready(pool, TENANT, upload(tmp_path, "3", filename="3.pdf"))
    for document in (old, new):
        await store.fail(document.id, DAMAGED)
    age = "UPDATE ibid.document SET created_at = now() - interval '25 hours' WHERE id = ANY($1)"
    await pool.execute(age, [old.id, kept.id])
    await store.sweep()
    found, _ = await store.list(TENANT, cursor=None, limit=9)
    assert [document.id for document in found] == [kept.id, new.id]
    assert await pool.fetchval("SELECT document_id FROM ibid.job WHERE kind = 'purge'") == old.id
