"""Documents in the record: uploads, labels, chunks, states, waiting, and who sees them."""

import asyncio
import hashlib
import itertools
import os
import signal
import tracemalloc
from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

import asyncpg
import pytest

from app.db import documents
from app.db.documents import (
    PIECE,
    Document,
    DocumentFault,
    DocumentStore,
    State,
)
from app.db.pool import Pool, open_pool
from app.db.users import Documents, ErasureStore
from app.errors import Conflict, Missing, Overloaded, RemovedMeanwhile, Unavailable
from app.text.labels import distinct
from app.types import PendingDocument, Scope
from tests.fakes.uploads import ALICE, SPACE, TENANT, parsed, read, ready, upload, vector


@pytest.fixture
async def wide(dsn: str) -> AsyncIterator[Pool]:
    """A pool of ten, as a small service has."""
    async with open_pool(dsn, max_size=10) as opened:
        yield opened


async def count(pool: Pool, table: str) -> int:
    return int(await pool.fetchval(f"SELECT count(*) FROM ibid.{table}"))  # noqa: S608 - tests' own names


async def test_the_same_bytes_elsewhere_are_another_document(pool: Pool, tmp_path: Path) -> None:
    store = DocumentStore(pool)
    scopes = [ALICE, replace(ALICE, owner="bob"), replace(ALICE, tenant="other")]
    made = [await store.admit(scope, upload(tmp_path)) for scope in scopes]
    made.append(await store.admit(ALICE, upload(tmp_path, session_id="s2")))
    made.append(await store.admit(ALICE, upload(tmp_path, session_id=None)))
    assert all(created for _, created in made)
    assert len({document.id for document, _ in made}) == 5


async def test_twenty_racing_uploads_of_the_same_bytes_make_one_document(wide: Pool, tmp_path: Path) -> None:
    store = DocumentStore(wide)
    uploads = [upload(tmp_path, filename=f"{n}.pdf") for n in range(20)]
    made = await asyncio.gather(*(store.admit(ALICE, given) for given in uploads))
    assert len({document.id for document, _ in made}) == 1
    assert sum(created for _, created in made) == 1
    assert [await count(wide, table) for table in ("document", "document_piece", "job")] == [1, 1, 1]


async def test_a_taken_name_is_a_conflict(pool: Pool, tmp_path: Path) -> None:
    store = DocumentStore(pool)
    await store.admit(ALICE, upload(tmp_path))
    with pytest.raises(Conflict, match=r"report\.pdf"):
        await store.admit(ALICE, upload(tmp_path, "other"))
    assert await count(pool, "document") == 1


async def test_of_racing_uploads_of_one_name_one_wins(wide: Pool, tmp_path: Path) -> None:
    """Other bytes under one name at the same moment: the others get a conflict, and leave nothing."""
    store = DocumentStore(wide)
    uploads = [upload(tmp_path, f"text {n}") for n in range(12)]
    made = await asyncio.gather(*(store.admit(ALICE, given) for given in uploads), return_exceptions=True)
    assert sum(isinstance(result, tuple) for result in made) == 1
    assert sum(isinstance(result, Conflict) for result in made) == 11
    assert [await count(wide, table) for table in ("document", "document_piece")] == [1, 1]


async def test_replace_leaves_the_old_one_serving(pool: Pool, tmp_path: Path) -> None:
    """Until the new one is ready the old one is, and the new one has its label."""
    old = await ready(pool, ALICE, upload(tmp_path))
    new, created = await DocumentStore(pool).admit(ALICE, upload(tmp_path, "new", replace=True))
    assert created
    assert new.label == old.label
    served = await DocumentStore(pool).get(ALICE, old.id)
    assert served is not None
    assert served.state is State.READY


async def test_the_old_bytes_again_withdraw_their_replacement(pool: Pool, tmp_path: Path) -> None:
    """Whoever sends the old file again with replace wants it back: the one in work does not push it out."""
    old = await ready(pool, ALICE, upload(tmp_path, "old"))
    store = DocumentStore(pool)
    new, _ = await store.admit(ALICE, upload(tmp_path, "new", replace=True))
    again, created = await store.admit(ALICE, upload(tmp_path, "old", replace=True))
    assert (again.id, created) == (old.id, False)
    await store.make_ready(new.id)
    assert await store.get(ALICE, new.id) is None
    assert await store.get(ALICE, old.id) is not None


async def test_a_failed_upload_frees_bytes_and_name(pool: Pool, tmp_path: Path) -> None:
    store = DocumentStore(pool)
    first, _ = await store.admit(ALICE, upload(tmp_path))
    await pool.execute("UPDATE ibid.document SET state = 'failed', fault_slug = 'pdf-damaged'")
    again, created = await store.admit(ALICE, upload(tmp_path))
    assert created
    assert again.id != first.id


NAMES = {
    "../../x.pdf": "x.pdf",
    "a\0b.pdf": "ab.pdf",
    "a\udcff.pdf": "a_.pdf",
    "'; drop table ibid.document; --.pdf": "'; drop table ibid.document; --.pdf",
    "x" * 500 + ".pdf": "x" * 500 + ".pdf",
    "📈" * 400 + ".pdf": "📈" * 249 + ".pdf",
}


async def test_hostile_names(pool: Pool, tmp_path: Path) -> None:
    for n, name in enumerate(NAMES):
        document, _ = await DocumentStore(pool).admit(ALICE, upload(tmp_path, f"{n}", filename=name))
        await read(pool, document.id)
    found, _ = await DocumentStore(pool).list(ALICE, cursor=None, limit=9)
    assert [document.filename for document in reversed(found)] == list(NAMES.values())
    assert all(len(document.label) <= 140 for document in found)


@dataclass(frozen=True)
class Halfway:
    reached: asyncio.Event
    go: asyncio.Event


@pytest.fixture
def halfway(monkeypatch: pytest.MonkeyPatch) -> Halfway:
    """The next uploads stop there until they may go on."""
    stop, pieces = Halfway(asyncio.Event(), asyncio.Event()), documents.pieces

    async def slow(document_id: str, path: Path) -> AsyncIterator[tuple[str, int, bytes]]:
        async for piece in pieces(document_id, path):
            yield piece
            stop.reached.set()
            await stop.go.wait()

    monkeypatch.setattr(documents, "pieces", slow)
    return stop


async def test_cancelled_in_the_middle_nothing_is_kept(pool: Pool, tmp_path: Path, halfway: Halfway) -> None:
    """A client that leaves while its bytes are written leaves no row, no piece, no job."""
    task = asyncio.create_task(DocumentStore(pool).admit(ALICE, upload(tmp_path, "x" * (4 * PIECE))))
    await halfway.reached.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert [await count(pool, table) for table in ("document", "document_piece", "job")] == [0, 0, 0]


async def test_a_broken_connection_keeps_nothing(pool: Pool, tmp_path: Path, halfway: Halfway) -> None:
    store, given = DocumentStore(pool), upload(tmp_path, "y" * (2 * PIECE))
    task = asyncio.create_task(store.admit(ALICE, given))
    await halfway.reached.wait()
    kill = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE query LIKE 'COPY%'"
    assert await pool.fetchval(kill)
    halfway.go.set()
    await asyncio.wait({task})
    assert isinstance(task.exception(), Unavailable)
    assert await count(pool, "document_piece") == 0
    _, created = await store.admit(ALICE, given)
    assert created


async def test_a_connection_that_breaks_while_bytes_wait_ends_the_upload(
    pool: Pool, tmp_path: Path, halfway: Halfway
) -> None:
    """asyncpg waits on for room in the socket's buffer, until its own deadline."""
    task = asyncio.create_task(DocumentStore(pool).admit(ALICE, upload(tmp_path, "z" * (8 * PIECE))))
    await halfway.reached.wait()
    pid = await pool.fetchval("SELECT pid FROM pg_stat_activity WHERE query LIKE 'COPY%'")
    os.kill(pid, signal.SIGSTOP)
    try:
        halfway.go.set()
        await asyncio.sleep(0.3)  # until the buffer is full
        assert await pool.fetchval("SELECT pg_terminate_backend($1)", pid)
    finally:
        os.kill(pid, signal.SIGCONT)
    async with asyncio.timeout(60):
        await asyncio.wait({task})
    assert isinstance(task.exception(), Unavailable)
    assert await count(pool, "document_piece") == 0


async def test_fifty_megabytes_need_little_memory(pool: Pool, tmp_path: Path) -> None:
    path = tmp_path / "big.pdf"
    block = bytes(range(256)) * 4096
    digest = hashlib.sha256()
    with path.open("wb") as file:
        for _ in range(50):
            file.write(block)
            digest.update(block)
    given = replace(upload(tmp_path), path=path, size=50 * PIECE, sha256=digest.hexdigest())
    store = DocumentStore(pool)
    tracemalloc.start()
    try:
        document, _ = await store.admit(ALICE, given)
        back = hashlib.sha256()
        async for piece in store.content(document.id):
            back.update(piece)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert back.hexdigest() == given.sha256
    assert peak < 12 * PIECE


async def test_too_many_at_once_are_told(
    pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, halfway: Halfway
) -> None:
    monkeypatch.setattr(documents, "TURN_SECONDS", 0.05)
    store = DocumentStore(pool)
    first = asyncio.create_task(store.admit(ALICE, upload(tmp_path, "first", filename="first.pdf")))
    await halfway.reached.wait()
    with pytest.raises(Overloaded):
        await store.admit(ALICE, upload(tmp_path))
    halfway.go.set()
    assert (await first)[1]
    assert (await store.admit(ALICE, upload(tmp_path)))[1]


async def test_users_who_send_the_same_at_once_all_have_it(pool: Pool, tmp_path: Path) -> None:
    names = [f"user{n}" for n in range(6)]
    store = DocumentStore(pool)

    admitted = await asyncio.gather(
        *(store.admit(replace(TENANT, user_id=name), upload(tmp_path)) for name in names)
    )

    found = await store.get(replace(TENANT, session_id="s1"), admitted[0][0].id)
    assert found is not None
    assert [created for _, created in admitted].count(True) == 1
    assert sorted(found.users) == names


async def test_an_upload_that_arrives_while_its_user_is_erased_is_refused(pool: Pool, tmp_path: Path) -> None:
    eve = replace(TENANT, user_id="eve")
    given = replace(upload(tmp_path), path=tmp_path / "pipe")
    os.mkfifo(given.path)
    sending = asyncio.create_task(DocumentStore(pool).admit(eve, given))
    pipe = await asyncio.to_thread(given.path.open, "wb")  # once the store reads
    try:
        await ErasureStore(pool).begin(eve, ["documents"])
        assert await Documents(pool).erase(eve) == 0
    finally:
        pipe.close()

    with pytest.raises(RemovedMeanwhile):
        await sending
    assert await count(pool, "document") == 0


DAMAGED = DocumentFault("pdf-damaged", "no page can be read")


async def version(pool: Pool, session_id: str = "s1") -> int:
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
    return (await DocumentStore(pool).admit(ALICE, upload(folder, text, replace=again)))[0]


async def test_ready_shows_the_facts_and_bumps_the_version(pool: Pool, tmp_path: Path) -> None:
    document = await admitted(pool, tmp_path, "one\ntwo\nthree")
    before = await version(pool)
    await read(pool, document.id, "one\ntwo\nthree")
    found = await DocumentStore(pool).get(ALICE, document.id)
    assert found is not None
    assert (found.state, found.pages, found.chunks, found.tokens) == (State.READY, 3, 3, 11)
    assert await version(pool) == before + 1


async def test_chunks_that_no_text_column_holds_are_mended(pool: Pool, tmp_path: Path) -> None:
    document = await admitted(pool, tmp_path)
    await read(pool, document.id)
    hostile = replace(parsed("x"), title="t\0", chunks=(replace(parsed("x").chunks[0], text="a\0\ud800b"),))
    await DocumentStore(pool).keep_chunks(document.id, hostile, [vector("x")], SPACE.name)
    chunk = await DocumentStore(pool).chunk(ALICE, document.id, 1)
    assert chunk is not None
    assert chunk.text == "a\ufffd\ufffdb"


async def test_a_document_removed_under_the_work_is_missing(pool: Pool, tmp_path: Path) -> None:
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
    old = await ready(pool, ALICE, upload(tmp_path, "old"))
    new = await admitted(pool, tmp_path, "new", again=True)
    await DocumentStore(pool).fail(new.id, DAMAGED)
    served = await DocumentStore(pool).get(ALICE, old.id)
    assert served is not None
    assert served.state is State.READY


async def test_a_ready_document_cannot_fail(pool: Pool, tmp_path: Path) -> None:
    document = await ready(pool, ALICE, upload(tmp_path))
    await DocumentStore(pool).fail(document.id, DAMAGED)
    assert (await left(pool, document.id))["chunk"] == 2


async def test_purge_spares_what_is_there(pool: Pool, tmp_path: Path) -> None:
    document = await ready(pool, ALICE, upload(tmp_path))
    await DocumentStore(pool).purge(document.id)
    assert await left(pool, document.id) == {"document": 1, "document_piece": 1, "chunk": 2}


async def test_sweep_removes_failures_of_yesterday(pool: Pool, tmp_path: Path) -> None:
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


STRANGERS = [
    pytest.param(replace(ALICE, tenant="other"), id="another tenant"),
    pytest.param(replace(ALICE, owner="bob"), id="another owner"),
    pytest.param(replace(ALICE, owner=""), id="a tenant key"),
    pytest.param(replace(ALICE, session_id="s2"), id="another session"),
]

Attempt = Callable[[DocumentStore, Scope, str], Awaitable[object]]
ATTEMPTS: tuple[Attempt, ...] = (
    lambda store, scope, key: store.get(scope, key),
    lambda store, scope, key: store.chunk(scope, key, 1),
    lambda store, scope, key: store.remove(scope, key),
)


async def listed(pool: Pool, scope: Scope) -> list[str]:
    return [document.id for document in (await DocumentStore(pool).list(scope, cursor=None, limit=99))[0]]


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_another_s_document_is_not_there(pool: Pool, tmp_path: Path, stranger: Scope) -> None:
    document = await ready(pool, ALICE, upload(tmp_path))
    for attempt in ATTEMPTS:
        assert not await attempt(DocumentStore(pool), stranger, document.id)
    assert await listed(pool, stranger) == []
    assert await listed(pool, ALICE) == [document.id]


async def test_sessions_of_one_owner_are_seen_together_without_a_session(pool: Pool, tmp_path: Path) -> None:
    """No session: all of the asker's and the shared ones; a session: that one's and the shared ones."""
    one = await ready(pool, ALICE, upload(tmp_path, "1"))
    two = await ready(pool, replace(ALICE, session_id="s2"), upload(tmp_path, "2", session_id="s2"))
    shared = await ready(pool, TENANT, upload(tmp_path, "3", session_id=None))
    assert await listed(pool, replace(ALICE, session_id=None)) == [shared.id, two.id, one.id]
    assert await listed(pool, ALICE) == [shared.id, one.id]


async def test_a_user_key_does_not_see_what_tenant_keys_keep_in_sessions(pool: Pool, tmp_path: Path) -> None:
    await ready(pool, TENANT, upload(tmp_path))
    assert await listed(pool, replace(ALICE, session_id=None)) == []


async def test_a_shared_document_of_the_same_name_shows_with_a_number(pool: Pool, tmp_path: Path) -> None:
    """In a session that has its own of that name, in get and list; elsewhere it has its own name."""
    shared = await ready(pool, TENANT, upload(tmp_path, "shared", session_id=None))
    await ready(pool, ALICE, upload(tmp_path, "own"))
    store = DocumentStore(pool)

    def label(document: Document | None) -> str:
        return document.label if document else ""

    assert label(await store.get(ALICE, shared.id)) == "report-2.pdf"
    assert label(await store.get(replace(ALICE, session_id=None), shared.id)) == "report.pdf"
    assert label(await store.get(replace(ALICE, session_id="s2"), shared.id)) == "report.pdf"
    found, _ = await store.list(ALICE, cursor=None, limit=9)
    assert [document.label for document in found] == ["report.pdf", "report-2.pdf"]


async def test_pages_are_stable_under_inserts(pool: Pool, tmp_path: Path) -> None:
    """Newest first; what comes in while one pages is neither shown twice nor pushes anything out."""
    store = DocumentStore(pool)

    async def add(n: int) -> str:
        return (await store.admit(ALICE, upload(tmp_path, f"{n}", filename=f"{n}.pdf")))[0].id

    made = [await add(n) for n in range(7)]
    seen: list[str] = []
    cursor: str | None = None
    for n in itertools.count(100):
        page, cursor = await store.list(ALICE, cursor=cursor, limit=3)
        seen += [document.id for document in page]
        if cursor is None:
            break
        await add(n)
    assert seen == made[::-1]


async def test_removed_is_gone_at_once(pool: Pool, tmp_path: Path) -> None:
    """From every view; the version grew, the purge is queued; again there is nothing to remove."""
    document = await ready(pool, ALICE, upload(tmp_path))
    store = DocumentStore(pool)
    before = await pool.fetchval("SELECT version FROM ibid.part")
    assert await store.remove(ALICE, document.id)
    assert await store.get(ALICE, document.id) is None
    assert await listed(pool, ALICE) == []
    assert await pool.fetchval("SELECT version FROM ibid.part") == before + 1
    assert await pool.fetchval("SELECT count(*) FROM ibid.job WHERE kind = 'purge'") == 1
    assert not await store.remove(ALICE, document.id)


async def test_a_forgotten_failure_is_unseen_at_once(pool: Pool, tmp_path: Path) -> None:
    """Its uploader was told; others who wait for the same bytes still hear of it, then it is purged."""
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    await store.fail(document.id, DocumentFault("pdf-damaged", "no"))
    await store.forget_failed(document.id)
    assert await store.get(ALICE, document.id) is None
    waiting = await store.finished(document.id, seconds=0)
    assert waiting is not None
    assert waiting.fault == DocumentFault("pdf-damaged", "no")
    assert await pool.fetchval("SELECT run_after > now() FROM ibid.job WHERE kind = 'purge'")


async def test_forgetting_spares_what_did_not_fail(pool: Pool, tmp_path: Path) -> None:
    document = await ready(pool, ALICE, upload(tmp_path))
    await DocumentStore(pool).forget_failed(document.id)
    assert await listed(pool, ALICE) == [document.id]


async def test_what_is_being_read_is_known_to_who_will_reach_it(pool: Pool, tmp_path: Path) -> None:
    """Newest first: of the session and shared; not what is ready, failed or removed, nor another's."""
    store = DocumentStore(pool)
    await ready(pool, ALICE, upload(tmp_path, "ready", filename="ready.pdf"))
    shared, _ = await store.admit(TENANT, upload(tmp_path, "shared", filename="all.pdf", session_id=None))
    own, _ = await store.admit(ALICE, upload(tmp_path, "own", filename="own.pdf"))
    failed, _ = await store.admit(ALICE, upload(tmp_path, "failed", filename="failed.pdf"))
    await store.fail(failed.id, DocumentFault("pdf-damaged", ""))
    removed, _ = await store.admit(ALICE, upload(tmp_path, "removed", filename="removed.pdf"))
    await store.remove(ALICE, removed.id)

    assert await store.pending(ALICE) == (
        PendingDocument(own.id, "own.pdf"),
        PendingDocument(shared.id, "all.pdf"),
    )
    assert await store.pending(replace(ALICE, session_id="s2")) == (PendingDocument(shared.id, "all.pdf"),)
    assert await store.pending(replace(ALICE, tenant="other")) == ()


PAGE = 99


async def test_labels_are_those_of_search(pool: Pool, tmp_path: Path) -> None:
    """The record and `label.distinct` agree on every document in reach, also where names collide twice."""
    for n, name in enumerate(("a.pdf", "a-2.pdf", "b.pdf", "A.PDF")):
        await ready(pool, TENANT, upload(tmp_path, f"g{n}", filename=name, session_id=None))
    for n, name in enumerate(("a.pdf", "a-3.pdf", "c.pdf")):
        await ready(pool, ALICE, upload(tmp_path, f"s{n}", filename=name))
    found, _ = await DocumentStore(pool).list(ALICE, cursor=None, limit=PAGE)
    plain, _ = await DocumentStore(pool).list(replace(ALICE, session_id=None), cursor=None, limit=PAGE)
    names = {document.id: document.label for document in plain}
    oldest_first = sorted(found, key=lambda document: document.id)
    own = [document for document in oldest_first if document.session_id]
    shared = [document for document in oldest_first if not document.session_id]
    expected = distinct([names[one.id] for one in own], [names[one.id] for one in shared])
    assert ([one.label for one in own], [one.label for one in shared]) == expected
    assert len({one.label for one in found}) == len(found)


async def test_ready_ends_the_wait(pool: Pool, tmp_path: Path) -> None:
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    wait = asyncio.create_task(store.finished(document.id, seconds=30))
    await asyncio.sleep(0.1)
    await read(pool, document.id)
    async with asyncio.timeout(10):
        found = await wait
    assert found is not None
    assert found.state is State.READY


async def test_a_stop_ends_all_waits(pool: Pool, tmp_path: Path) -> None:
    """The one under way and those that begin later tell how it stands, at once."""
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    wait = asyncio.create_task(store.finished(document.id, seconds=30))
    await asyncio.sleep(0.1)
    store.hurry()
    async with asyncio.timeout(5):
        found = [await wait, await store.finished(document.id, seconds=30)]
    assert [each.state for each in found if each] == [State.PROCESSING, State.PROCESSING]


async def test_hundreds_wait_on_a_small_pool(dsn: str, tmp_path: Path) -> None:
    async with open_pool(dsn, max_size=2) as small:
        store = DocumentStore(small)
        document, _ = await store.admit(ALICE, upload(tmp_path))
        waits = [asyncio.create_task(store.finished(document.id, seconds=30)) for _ in range(300)]
        await asyncio.sleep(0.2)
        await read(small, document.id)
        found = await asyncio.gather(*waits)
    assert {document.state for document in found if document} == {State.READY}


async def written(pool: Pool, document_id: str) -> bool:
    """The document read in, as a worker does it: tried again while connections are still dying."""
    try:
        await read(pool, document_id)
    except Unavailable:
        return False
    return True


async def test_an_outage_in_the_middle_is_bridged(pool: Pool, tmp_path: Path) -> None:
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    wait = asyncio.create_task(store.finished(document.id, seconds=30))
    await asyncio.sleep(0.05)
    await pool.expire_connections()
    kill = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()"
    with pytest.raises((asyncpg.PostgresError, asyncpg.InterfaceError)):
        await pool.execute(kill)
    async with asyncio.timeout(10):
        while not await written(pool, document.id):  # noqa: ASYNC110 - nobody tells when the last one has died
            await asyncio.sleep(0.05)
    found = await wait
    assert found is not None
    assert found.state is State.READY


def document(session_id: str | None) -> Document:
    """A ready document of a session, or a global one."""
    return Document("id", "a.pdf", "a.pdf", session_id, State.READY, 1, 1, 1, "00", datetime.now(UTC))
