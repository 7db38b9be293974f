"""What an asker may do with documents, and to whose."""

import itertools
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.db.documents import Document, DocumentStore, Fault, opened
from app.db.pool import Pool
from app.errors import InvalidField, Unavailable
from app.types import Pending, Scope
from tests.fakes.uploads import ALICE, TENANT, ready, upload

NOBODY = "00000000-0000-7000-8000-000000000000"
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
    """The ids a scope sees."""
    return [document.id for document in (await DocumentStore(pool).list(scope, cursor=None, limit=99))[0]]


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_another_s_document_is_not_there(pool: Pool, tmp_path: Path, stranger: Scope) -> None:
    """By no method, whoever asks; and it stays."""
    document = await ready(pool, ALICE, upload(tmp_path))
    for attempt in ATTEMPTS:
        assert not await attempt(DocumentStore(pool), stranger, document.id)
    assert await listed(pool, stranger) == []
    assert await listed(pool, ALICE) == [document.id]


async def test_an_id_that_is_none_is_not_there(pool: Pool) -> None:
    """Whatever stands in the path, the answer is the same."""
    for key in (NOBODY, "", "a\0b", "\ud800", "x" * 10_000, "' OR true --"):
        for attempt in ATTEMPTS:
            assert not await attempt(DocumentStore(pool), ALICE, key), repr(key)


async def test_sessions_of_one_owner_are_seen_together_without_a_session(pool: Pool, tmp_path: Path) -> None:
    """No session: all of the asker's and the shared ones; a session: that one's and the shared ones."""
    one = await ready(pool, ALICE, upload(tmp_path, "1"))
    two = await ready(pool, replace(ALICE, session_id="s2"), upload(tmp_path, "2", session_id="s2"))
    shared = await ready(pool, TENANT, upload(tmp_path, "3", session_id=None))
    assert await listed(pool, replace(ALICE, session_id=None)) == [shared.id, two.id, one.id]
    assert await listed(pool, ALICE) == [shared.id, one.id]


async def test_a_user_key_does_not_see_what_tenant_keys_keep_in_sessions(pool: Pool, tmp_path: Path) -> None:
    """The tenant key's sessions have the owner "": no user's."""
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


async def test_a_last_full_page_has_no_next(pool: Pool, tmp_path: Path) -> None:
    """The cursor is null where nothing follows."""
    store = DocumentStore(pool)
    await store.admit(ALICE, upload(tmp_path))
    page, cursor = await store.list(ALICE, cursor=None, limit=1)
    assert (len(page), cursor) == (1, None)


@pytest.mark.parametrize("cursor", ["x", "é", "\ud800", "AAAA", "=" * 99, "a\0"])
def test_a_foreign_cursor_is_refused(cursor: str) -> None:
    """As a field that is not as it should be, not as a fault of ours."""
    with pytest.raises(InvalidField):
        opened(cursor)


async def test_a_chunk_that_is_none_is_not_there(pool: Pool, tmp_path: Path) -> None:
    """Ordinals count from 1 and end with the document."""
    document = await ready(pool, ALICE, upload(tmp_path))
    for ordinal in (0, -1, 3, 2**31, 2**63):
        assert await DocumentStore(pool).chunk(ALICE, document.id, ordinal) is None, ordinal


async def test_chunks_are_as_they_were_read(pool: Pool, tmp_path: Path) -> None:
    """Text, pages, heading, tokens."""
    document = await ready(pool, ALICE, upload(tmp_path))
    chunk = await DocumentStore(pool).chunk(ALICE, document.id, 2)
    assert chunk is not None
    assert (chunk.ordinal, chunk.text, chunk.page, chunk.heading, chunk.tokens) == (2, "two", 2, "Heading", 3)


async def test_chunks_show_when_the_document_is_ready(pool: Pool, tmp_path: Path) -> None:
    """Not half-read."""
    document = await ready(pool, ALICE, upload(tmp_path))
    await pool.execute("UPDATE ibid.document SET state = 'processing'")
    assert await DocumentStore(pool).chunk(ALICE, document.id, 1) is None


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


async def test_what_was_removed_can_be_uploaded_again(pool: Pool, tmp_path: Path) -> None:
    """The same bytes, the same name: a new document."""
    document = await ready(pool, ALICE, upload(tmp_path))
    await DocumentStore(pool).remove(ALICE, document.id)
    again, created = await DocumentStore(pool).admit(ALICE, upload(tmp_path))
    assert created
    assert again.id != document.id


async def test_a_forgotten_failure_is_unseen_at_once(pool: Pool, tmp_path: Path) -> None:
    """Its uploader was told; others who wait for the same bytes still hear of it, then it is purged."""
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    await store.fail(document.id, Fault("pdf-damaged", "no"))
    await store.forget_failed(document.id)
    assert await store.get(ALICE, document.id) is None
    waiting = await store.finished(document.id, seconds=0)
    assert waiting is not None
    assert waiting.fault == Fault("pdf-damaged", "no")
    assert await pool.fetchval("SELECT run_after > now() FROM ibid.job WHERE kind = 'purge'")


async def test_forgetting_spares_what_did_not_fail(pool: Pool, tmp_path: Path) -> None:
    """A ready document is not forgotten."""
    document = await ready(pool, ALICE, upload(tmp_path))
    await DocumentStore(pool).forget_failed(document.id)
    assert await listed(pool, ALICE) == [document.id]


async def test_postgres_away_is_told(pool: Pool) -> None:
    """Reads and writes of the record cannot do without it."""
    store = DocumentStore(pool)
    await pool.close()
    with pytest.raises(Unavailable):
        await store.get(ALICE, NOBODY)
    with pytest.raises(Unavailable):
        await store.list(ALICE, cursor=None, limit=1)
    with pytest.raises(Unavailable):
        await store.remove(ALICE, NOBODY)


async def test_what_is_being_read_is_known_to_who_will_reach_it(pool: Pool, tmp_path: Path) -> None:
    """Newest first: of the session and shared; not what is ready, failed or removed, nor another's."""
    store = DocumentStore(pool)
    await ready(pool, ALICE, upload(tmp_path, "ready", filename="ready.pdf"))
    shared, _ = await store.admit(TENANT, upload(tmp_path, "shared", filename="all.pdf", session_id=None))
    own, _ = await store.admit(ALICE, upload(tmp_path, "own", filename="own.pdf"))
    failed, _ = await store.admit(ALICE, upload(tmp_path, "failed", filename="failed.pdf"))
    await store.fail(failed.id, Fault("pdf-damaged", ""))
    removed, _ = await store.admit(ALICE, upload(tmp_path, "removed", filename="removed.pdf"))
    await store.remove(ALICE, removed.id)

    assert await store.pending(ALICE) == (Pending(own.id, "own.pdf"), Pending(shared.id, "all.pdf"))
    assert await store.pending(replace(ALICE, session_id="s2")) == (Pending(shared.id, "all.pdf"),)
    assert await store.pending(replace(ALICE, tenant="other")) == ()
