"""Sessions, and the turns of a thread in chat_log."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.answer import Role, Turn
from app.db import sessions
from app.db.answers import AnswerStore
from app.db.documents import DocumentStore
from app.db.jobs import JobStore
from app.db.pool import Pool
from app.db.sessions import ChatLogStore, SessionStore
from app.errors import Missing, RetrievalError, Unavailable
from app.types import Scope
from tests.db.test_answers import ANSWER
from tests.fakes.records import tell
from tests.fakes.uploads import ALICE, TENANT, parsed, read, ready, upload, vector

STRANGERS = [
    pytest.param(replace(ALICE, tenant="other"), id="another tenant"),
    pytest.param(replace(ALICE, owner="bob"), id="another owner"),
    pytest.param(replace(ALICE, owner=""), id="a tenant key"),
]
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
VERSION = "SELECT version FROM ibid.part WHERE tenant = 'acme' AND owner = 'alice' AND session_id = 's1'"


async def said(
    pool: Pool, scope: Scope, text: str = "why", *, at: datetime = NOON, answer: str = "a"
) -> None:
    later = at + timedelta(seconds=1)
    turns = [Turn(Role.USER, text, at), Turn(Role.ASSISTANT, f"{text}: so", later)]
    await tell(pool, scope, turns, answer_id=answer)


async def listed(pool: Pool, scope: Scope = ALICE, limit: int = 99) -> list[str]:
    return [
        found.session_id for found in (await SessionStore(pool).recent(scope, cursor=None, limit=limit))[0]
    ]


async def read_back(pool: Pool, scope: Scope = ALICE) -> list[str]:
    return [found.content for found in (await SessionStore(pool).turns(scope, cursor=None, limit=99))[0]]


async def test_a_session_is_what_was_filed_and_said_in_it(pool: Pool, tmp_path: Path) -> None:
    document = await ready(pool, ALICE, upload(tmp_path))
    await ready(pool, TENANT, upload(tmp_path, "x", filename="x.pdf", session_id=None))
    await said(pool, ALICE, at=NOON)
    (found,), after = await SessionStore(pool).recent(ALICE, cursor=None, limit=9)
    assert (found.session_id, found.documents, found.turns, after) == ("s1", 1, 2, None)
    assert {found.created_at, found.last_active_at} <= {
        document.created_at,
        NOON + timedelta(microseconds=1),
        NOON + timedelta(seconds=1, microseconds=2),
    }
    assert found.created_at <= found.last_active_at


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_another_s_sessions_are_empty(pool: Pool, tmp_path: Path, stranger: Scope) -> None:
    await ready(pool, ALICE, upload(tmp_path))
    await said(pool, ALICE)
    assert (await listed(pool, stranger), await read_back(pool, stranger)) == ([], [])
    assert not await SessionStore(pool).remove(stranger)
    assert (await listed(pool), len(await read_back(pool))) == (["s1"], 2)


async def test_pages_go_from_the_latest_back(pool: Pool) -> None:
    for n in range(7):
        at = NOON + timedelta(minutes=n // 2)
        await said(pool, replace(ALICE, session_id=f"s{n}"), at=at, answer=f"a{n}")
    store, cursor, seen = SessionStore(pool), None, []
    while True:
        found, cursor = await store.recent(ALICE, cursor=cursor, limit=3)
        seen += [session.session_id for session in found]
        if cursor is None:
            break
    assert seen == ["s6", "s5", "s4", "s3", "s2", "s1", "s0"]


async def test_turns_are_read_in_order_page_by_page(pool: Pool) -> None:
    for n in range(4):
        await said(pool, ALICE, f"q{n}", at=NOON + timedelta(minutes=n), answer=f"a{n}")
    store = SessionStore(pool)
    first, cursor = await store.turns(ALICE, cursor=None, limit=5)
    rest, end = await store.turns(ALICE, cursor=cursor, limit=5)
    assert [turn.content for turn in (*first, *rest)] == [
        text for n in range(4) for text in (f"q{n}", f"q{n}: so")
    ]
    assert [turn.answer_id for turn in rest] == ["a2", "a3", "a3"]
    assert ([turn.role for turn in first[:2]], end) == (["user", "assistant"], None)


async def test_threads_of_a_session_are_told_apart(pool: Pool) -> None:
    """All of them, or one that is named; the same thread in another session is not here."""
    draft = replace(ALICE, thread_id="draft")
    await said(pool, ALICE, "one", answer="a")
    await said(pool, draft, "two", at=NOON + timedelta(minutes=1), answer="b")
    await said(pool, replace(draft, session_id="s2"), "three", answer="c")
    found, _ = await SessionStore(pool).turns(ALICE, cursor=None, limit=9)
    assert [turn.thread_id for turn in found] == ["s1", "s1", "draft", "draft"]
    assert await read_back(pool, draft) == ["two", "two: so"]


async def test_rows_of_other_tools_do_not_disturb(pool: Pool) -> None:
    await said(pool, ALICE)
    await pool.execute(
        "INSERT INTO public.chat_log (tenant, owner, session_id, role, content) VALUES "
        "('acme', 'alice', 's1', 'system', 'x'), ('acme', 'alice', 's1', 'user', NULL), "
        "('acme', 'alice', NULL, 'user', 'y'), ('acme', 'alice', 's9', 'tool', 'z')"
    )
    assert (await listed(pool), len(await read_back(pool))) == (["s1"], 2)


async def test_a_removed_session_is_gone(pool: Pool, tmp_path: Path) -> None:
    """Documents, turns, answers; searches see it by the version; a job clears each document away."""
    document = await ready(pool, ALICE, upload(tmp_path))
    await said(pool, ALICE)
    await AnswerStore(pool).keep(ALICE, ANSWER)
    version = await pool.fetchval(VERSION)
    assert await SessionStore(pool).remove(ALICE)
    assert (await listed(pool), await read_back(pool)) == ([], [])
    assert await AnswerStore(pool).get(ALICE, ANSWER.id) is None
    assert await DocumentStore(pool).get(ALICE, document.id) is None
    assert await pool.fetchval(VERSION) > version
    jobs = await pool.fetch("SELECT kind, document_id FROM ibid.job ORDER BY id")
    assert ("purge", document.id) == tuple(jobs[-1])


async def test_others_stay(pool: Pool, tmp_path: Path) -> None:
    kept = [replace(ALICE, session_id="s2"), replace(ALICE, owner="bob", user_id="bob")]
    shared = await ready(pool, TENANT, upload(tmp_path, "x", filename="x.pdf", session_id=None))
    for n, scope in enumerate((ALICE, *kept)):
        await said(pool, scope, answer=f"a{n}")
    assert await SessionStore(pool).remove(ALICE)
    assert [await read_back(pool, scope) for scope in kept] == [["why", "why: so"]] * 2
    assert await DocumentStore(pool).get(TENANT, shared.id) is not None
    assert await pool.fetchval("SELECT count(*) FROM ibid.activity") == 2


async def test_an_upload_under_way_does_not_come_back(pool: Pool, tmp_path: Path) -> None:
    store = DocumentStore(pool)
    document, _ = await store.admit(ALICE, upload(tmp_path))
    other, _ = await store.admit(ALICE, upload(tmp_path, "three", filename="b.pdf"))
    result = parsed("three")
    await read(
        pool, (await ready(pool, replace(ALICE, session_id="s2"), upload(tmp_path, session_id="s2"))).id
    )
    await store.keep_chunks(other.id, result, [vector("three")], "fake@8")
    assert await SessionStore(pool).remove(ALICE)
    with pytest.raises(Missing):
        await read(pool, document.id)
    await store.make_ready(other.id)
    assert await store.placed(document.id) is None
    states = await pool.fetch("SELECT removed_at IS NULL FROM ibid.document WHERE session_id = 's1'")
    assert [tuple(row) for row in states] == [(False,), (False,)]


async def test_its_jobs_are_taken_up(pool: Pool, tmp_path: Path) -> None:
    """Once the ingest that came before it is done with, a purge is the next job of a document."""
    await ready(pool, ALICE, upload(tmp_path))
    await SessionStore(pool).remove(ALICE)
    async with JobStore(pool) as jobs:
        first = await jobs.claim(lease_seconds=9)
        assert first is not None
        await jobs.finish(first)
        second = await jobs.claim(lease_seconds=9)
    assert second is not None
    assert [first.kind, second.kind] == ["ingest", "purge"]


ROWS = """
    INSERT INTO public.chat_log (tenant, owner, session_id, thread_id, role, content, created_at)
    SELECT 'acme', 'alice', 's1', 's1', 'user', n::text, $2 FROM generate_series(1, $1::int) AS n
"""


async def paged(pool: Pool, limit: int) -> list[str]:
    """All that was said in the session, page by page."""
    store, cursor, seen = SessionStore(pool), None, list[str]()
    while True:
        found, cursor = await store.turns(ALICE, cursor=cursor, limit=limit)
        seen += [turn.content for turn in found]
        if cursor is None:
            return seen


@pytest.mark.parametrize("at", [NOON, None, datetime(1970, 1, 1, tzinfo=UTC)], ids=["noon", "never", "1970"])
async def test_rows_of_one_instant_are_read_as_they_came(pool: Pool, at: datetime | None) -> None:
    """The tenth after the ninth, each once, whatever their time; rows without one come first."""
    await pool.execute("ALTER TABLE public.chat_log ALTER COLUMN created_at DROP NOT NULL")
    await said(pool, ALICE)
    await pool.execute(ROWS, 12, at)
    counted = [str(n) for n in range(1, 13)]
    assert [text for text in await paged(pool, 5) if text.isdigit()] == counted
    if at != NOON:
        assert await paged(pool, 5) == [*counted, "why", "why: so"]


async def test_ids_of_another_tool_s_make_are_paged_too(pool: Pool) -> None:
    await pool.execute(
        "ALTER TABLE public.chat_log ALTER COLUMN id DROP IDENTITY; "
        "ALTER TABLE public.chat_log ALTER COLUMN id TYPE uuid USING gen_random_uuid(), "
        "ALTER COLUMN id SET DEFAULT gen_random_uuid()"
    )
    await pool.execute(ROWS, 12, NOON)
    assert sorted(map(int, await paged(pool, 5))) == list(range(1, 13))


async def test_a_row_without_a_time_does_not_make_a_session_old(pool: Pool) -> None:
    """It was active when the newest row that has one says, and began with the oldest such."""
    await pool.execute("ALTER TABLE public.chat_log ALTER COLUMN created_at DROP NOT NULL")
    await said(pool, ALICE)
    await pool.execute(ROWS, 1, None)
    ((found,), _) = await SessionStore(pool).recent(ALICE, cursor=None, limit=9)
    assert found.turns == 3
    assert {found.created_at.date(), found.last_active_at.date()} == {NOON.date()}


async def test_a_removal_has_one_deadline(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sessions, "REMOVE_SECONDS", 0.2)
    await said(pool, ALICE)
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("LOCK TABLE public.chat_log IN SHARE MODE")
        with pytest.raises(Unavailable):
            await SessionStore(pool).remove(ALICE)
    assert await read_back(pool) == ["why", "why: so"]


HERE = Scope(tenant="acme", owner="alice", user_id="alice", session_id="s1", thread_id="t1")
OTHERS = [
    pytest.param(replace(HERE, tenant="other"), id="tenant"),
    pytest.param(replace(HERE, owner="bob"), id="owner"),
    pytest.param(replace(HERE, thread_id="t2"), id="thread"),
]


def exchange(n: int) -> list[Turn]:
    return [Turn(Role.USER, f"question {n}"), Turn(Role.ASSISTANT, f"answer {n}")]


async def said_of_chatlog(log: ChatLogStore, scope: Scope, limit: int = 99) -> list[str]:
    return [turn.content for turn in await log.turns(scope, limit)]


async def test_the_newest_are_given(pool: Pool) -> None:
    log = ChatLogStore(pool)
    for n in range(3):
        await tell(pool, HERE, exchange(n), answer_id=f"a{n}")
    assert await said_of_chatlog(log, HERE, 3) == ["answer 1", "question 2", "answer 2"]


@pytest.mark.parametrize("stranger", OTHERS)
async def test_another_s_thread_is_empty(pool: Pool, stranger: Scope) -> None:
    log = ChatLogStore(pool)
    await tell(pool, HERE, exchange(1), answer_id="a")
    assert await log.turns(stranger, 99) == []


async def test_default_threads_of_two_users_are_apart(pool: Pool) -> None:
    log = ChatLogStore(pool)
    one, two = Scope(tenant="acme", user_id="one"), Scope(tenant="acme", user_id="two")
    await tell(pool, one, exchange(1), answer_id="a")
    await tell(pool, two, exchange(2), answer_id="b")
    assert await said_of_chatlog(log, one) == ["question 1", "answer 1"]
    assert await log.turns(Scope(tenant="acme"), 99) == []


async def test_a_table_that_cannot_be_read_costs_the_history_alone(pool: Pool) -> None:
    await pool.execute("ALTER TABLE public.chat_log DROP COLUMN content")
    with pytest.raises(RetrievalError) as lost:
        await ChatLogStore(pool).turns(HERE, 9)
    assert (lost.value.reason, lost.value.rejected) == ("unavailable", True)


async def test_turns_are_found_again_by_their_ids(pool: Pool) -> None:
    """As they were read; in their own thread alone, and whatever type an older tool gave the ids."""
    log = ChatLogStore(pool)
    await tell(pool, HERE, exchange(1), answer_id="a")
    for kind in ("bigint", "text", "uuid USING lpad(id, 32, '0')::uuid"):
        if kind != "bigint":
            await pool.execute("ALTER TABLE public.chat_log ALTER COLUMN id DROP IDENTITY IF EXISTS")
            await pool.execute(f"ALTER TABLE public.chat_log ALTER COLUMN id TYPE {kind}")
        turns = await ChatLogStore(pool).turns(HERE, 9)
        assert list((await log.these(HERE, [turn.id for turn in turns])).values()) == turns
        assert await log.these(replace(HERE, thread_id="t2"), [turn.id for turn in turns]) == {}
    assert await log.these(HERE, []) == {}
