"""The door of the record: who comes first, and what is kept of whom."""

import asyncio
import hashlib
import os
import tracemalloc
from collections.abc import AsyncIterator
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from app.db import documents
from app.db.documents import PIECE, Admission, DocumentStore, State
from app.db.pool import Pool, open_pool
from app.db.users import Belongings, ErasureStore
from app.errors import Conflict, Overloaded, RemovedMeanwhile, Unavailable
from tests.fakes.uploads import ALICE, TENANT, read, ready, upload


@pytest.fixture
async def wide(dsn: str) -> AsyncIterator[Pool]:
    """A pool of ten, as a small service has."""
    async with open_pool(dsn, max_size=10) as opened:
        yield opened


async def count(pool: Pool, table: str) -> int:
    """Rows of a table of ours."""
    return int(await pool.fetchval(f"SELECT count(*) FROM ibid.{table}"))  # noqa: S608 - tests' own names


async def test_keeps_row_bytes_and_job(pool: Pool, tmp_path: Path) -> None:
    """An admitted upload is durable: a row that is being read, its bytes, its job."""
    document, created = await DocumentStore(pool).admit(ALICE, upload(tmp_path))
    assert created
    assert (document.state, document.label, document.session_id) == (State.PROCESSING, "report.pdf", "s1")
    job = await pool.fetchrow("SELECT * FROM ibid.job")
    assert job is not None
    assert (job["kind"], job["document_id"], job["owner"]) == ("ingest", document.id, "alice")
    assert b"".join([piece async for piece in DocumentStore(pool).content(document.id)]).endswith(b"one\ntwo")


async def test_a_global_document_has_no_owner(pool: Pool, tmp_path: Path) -> None:
    """What all share belongs to the tenant, whoever sent it."""
    document, _ = await DocumentStore(pool).admit(ALICE, upload(tmp_path, session_id=None))
    row = await pool.fetchrow("SELECT owner, session_id FROM ibid.document WHERE id = $1", document.id)
    assert tuple(row or ()) == ("", "")
    assert document.scope == "global"


async def test_the_same_bytes_again_are_the_same_document(pool: Pool, tmp_path: Path) -> None:
    """Under whatever name; nothing is written twice."""
    store = DocumentStore(pool)
    first, _ = await store.admit(ALICE, upload(tmp_path))
    again, created = await store.admit(ALICE, upload(tmp_path, filename="other.pdf"))
    assert (again.id, created) == (first.id, False)
    assert await count(pool, "job") == 1


async def test_the_same_bytes_elsewhere_are_another_document(pool: Pool, tmp_path: Path) -> None:
    """Parts know nothing of each other: not sessions, owners, tenants, nor what is shared."""
    store = DocumentStore(pool)
    scopes = [ALICE, replace(ALICE, owner="bob"), replace(ALICE, tenant="other")]
    made = [await store.admit(scope, upload(tmp_path)) for scope in scopes]
    made.append(await store.admit(ALICE, upload(tmp_path, session_id="s2")))
    made.append(await store.admit(ALICE, upload(tmp_path, session_id=None)))
    assert all(created for _, created in made)
    assert len({document.id for document, _ in made}) == 5


async def test_twenty_racing_uploads_of_the_same_bytes_make_one_document(wide: Pool, tmp_path: Path) -> None:
    """One is created, nineteen are told of it, and the losers' bytes are gone."""
    store = DocumentStore(wide)
    uploads = [upload(tmp_path, filename=f"{n}.pdf") for n in range(20)]
    made = await asyncio.gather(*(store.admit(ALICE, given) for given in uploads))
    assert len({document.id for document, _ in made}) == 1
    assert sum(created for _, created in made) == 1
    assert [await count(wide, table) for table in ("document", "document_piece", "job")] == [1, 1, 1]


async def test_replicas_race_too(dsn: str, tmp_path: Path) -> None:
    """Two services, each with its pool, at the same moment: still one document."""
    async with open_pool(dsn, max_size=4) as one, open_pool(dsn, max_size=4) as two:
        stores = [DocumentStore(one), DocumentStore(two)] * 4
        made = await asyncio.gather(*(store.admit(ALICE, upload(tmp_path)) for store in stores))
        assert sum(created for _, created in made) == 1


async def test_a_taken_name_is_a_conflict(pool: Pool, tmp_path: Path) -> None:
    """Other bytes under the name of one that is being read or is ready."""
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
    """Neither its bytes nor its name stand in anybody's way."""
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
    """Every name is taken, cleaned, fits its index, and never meets the file system."""
    for n, name in enumerate(NAMES):
        document, _ = await DocumentStore(pool).admit(ALICE, upload(tmp_path, f"{n}", filename=name))
        await read(pool, document.id)
    found, _ = await DocumentStore(pool).list(ALICE, cursor=None, limit=9)
    assert [document.filename for document in reversed(found)] == list(NAMES.values())
    assert all(len(document.label) <= 140 for document in found)


async def test_labels_are_unique_in_a_part(pool: Pool, tmp_path: Path) -> None:
    """Two names that look alike in a citation get two labels."""
    store = DocumentStore(pool)
    one, _ = await store.admit(ALICE, upload(tmp_path, "1", filename="a(1).pdf"))
    two, _ = await store.admit(ALICE, upload(tmp_path, "2", filename="a[1].pdf"))
    assert (one.label, two.label) == ("a(1).pdf", "a(1)-2.pdf")


async def test_tenants_and_parts_are_made_on_the_way(pool: Pool, tmp_path: Path) -> None:
    """A first upload needs no set-up; its part starts at version 0."""
    await DocumentStore(pool).admit(TENANT, upload(tmp_path))
    assert await pool.fetchval("SELECT count(*) FROM ibid.tenant WHERE id = 'acme'") == 1
    assert await pool.fetchval("SELECT version FROM ibid.part WHERE session_id = 's1'") == 0


@dataclass(frozen=True)
class Halfway:
    """An upload that stops after its first piece."""

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
    """Postgres restarting under an upload: `Unavailable`, and the next try is whole."""
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


async def test_fifty_megabytes_need_little_memory(pool: Pool, tmp_path: Path) -> None:
    """A file goes in and out piece by piece."""
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


async def test_two_hundred_at_once_on_a_pool_of_ten(wide: Pool, tmp_path: Path) -> None:
    """All get in, and meanwhile the pool still serves others at once."""
    store = DocumentStore(wide)
    uploads = [upload(tmp_path, f"text {n}", filename=f"{n}.pdf", session_id=f"s{n % 7}") for n in range(200)]
    async with asyncio.TaskGroup() as group:
        tasks = [group.create_task(store.admit(ALICE, given)) for given in uploads]
        waits = [group.create_task(store.finished("none", seconds=0)) for _ in range(50)]
    assert all(task.result()[1] for task in tasks)
    assert all(wait.result() is None for wait in waits)
    assert await count(wide, "job") == 200


async def test_too_many_at_once_are_told(pool: Pool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody waits for a turn for ever."""
    monkeypatch.setattr(documents, "TURN_SECONDS", 0.05)
    door = Admission(pool)
    async with door._turn():
        with pytest.raises(Overloaded):
            await door.admit(ALICE, upload(tmp_path))


async def test_users_who_send_the_same_at_once_all_have_it(pool: Pool, tmp_path: Path) -> None:
    """One document, and none of them is forgotten."""
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
    """Nothing of it stays."""
    eve = replace(TENANT, user_id="eve")
    given = replace(upload(tmp_path), path=tmp_path / "pipe")
    os.mkfifo(given.path)
    sending = asyncio.create_task(DocumentStore(pool).admit(eve, given))
    pipe = await asyncio.to_thread(given.path.open, "wb")  # once the store reads
    try:
        await ErasureStore(pool).begin(eve, ["documents"])
        assert await Belongings(pool).erase(eve) == 0
    finally:
        pipe.close()

    with pytest.raises(RemovedMeanwhile):
        await sending
    assert await count(pool, "document") == 0
