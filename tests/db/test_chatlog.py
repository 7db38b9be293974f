"""The turns of every thread."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.answer import Role, Turn
from app.db.pool import Pool
from app.db.sessions import TURNS, ChatLogStore, thread
from app.errors import RetrievalError
from app.types import Scope
from tests.fakes.turns import tell

HERE = Scope(tenant="acme", owner="alice", user_id="alice", session_id="s1", thread_id="t1")
STRANGERS = [
    pytest.param(replace(HERE, tenant="other"), id="tenant"),
    pytest.param(replace(HERE, owner="bob"), id="owner"),
    pytest.param(replace(HERE, thread_id="t2"), id="thread"),
]


def exchange(n: int) -> list[Turn]:
    """A question and its answer."""
    return [Turn(Role.USER, f"question {n}"), Turn(Role.ASSISTANT, f"answer {n}")]


async def said(log: ChatLogStore, scope: Scope, limit: int = 99) -> list[str]:
    """The contents of a thread."""
    return [turn.content for turn in await log.turns(scope, limit)]


async def test_turns_come_back_in_order(pool: Pool) -> None:
    """Oldest first, roles and times with them."""
    log = ChatLogStore(pool)
    for n in range(3):
        await tell(pool, HERE, exchange(n), answer_id=f"a{n}")
    turns = await log.turns(HERE, 99)
    assert [turn.content for turn in turns] == [
        f"{word} {n}" for n in range(3) for word in ("question", "answer")
    ]
    assert [turn.role for turn in turns[:2]] == [Role.USER, Role.ASSISTANT]
    assert all(turn.at for turn in turns)


async def test_the_newest_are_given(pool: Pool) -> None:
    """A limit drops the oldest."""
    log = ChatLogStore(pool)
    for n in range(3):
        await tell(pool, HERE, exchange(n), answer_id=f"a{n}")
    assert await said(log, HERE, 3) == ["answer 1", "question 2", "answer 2"]


@pytest.mark.parametrize("stranger", STRANGERS)
async def test_another_s_thread_is_empty(pool: Pool, stranger: Scope) -> None:
    """Threads are keyed (tenant, owner, id)."""
    log = ChatLogStore(pool)
    await tell(pool, HERE, exchange(1), answer_id="a")
    assert await log.turns(stranger, 99) == []


async def test_without_a_thread_it_is_the_session_s(pool: Pool) -> None:
    """The default of `thread_id` is the session."""
    log = ChatLogStore(pool)
    await tell(pool, replace(HERE, thread_id=None), exchange(1), answer_id="a")
    assert len(await log.turns(replace(HERE, thread_id="s1"), 99)) == 2


async def test_default_threads_of_two_users_are_apart(pool: Pool) -> None:
    """Under one tenant key, without thread and session, each user has a thread."""
    log = ChatLogStore(pool)
    one, two = Scope(tenant="acme", user_id="one"), Scope(tenant="acme", user_id="two")
    await tell(pool, one, exchange(1), answer_id="a")
    await tell(pool, two, exchange(2), answer_id="b")
    assert await said(log, one) == ["question 1", "answer 1"]
    assert await log.turns(Scope(tenant="acme"), 99) == []


async def test_a_repeated_write_is_kept_once(pool: Pool) -> None:
    """The recorder repeats what may have been committed."""
    log = ChatLogStore(pool)
    for _ in range(2):
        await tell(pool, HERE, exchange(1), answer_id="a")
    assert len(await log.turns(HERE, 99)) == 2


async def test_marks_the_user_s_activity(pool: Pool) -> None:
    """The latest time only grows; nobody's activity is nobody's."""
    await tell(pool, HERE, exchange(1), answer_id="a")
    first = await pool.fetchval("SELECT last_message_at FROM ibid.activity WHERE user_id = 'alice'")
    await tell(pool, HERE, exchange(2), answer_id="b")
    await tell(pool, Scope(tenant="acme", session_id="s"), exchange(3), answer_id="c")
    rows = await pool.fetch("SELECT user_id, last_message_at FROM ibid.activity")
    assert [row["user_id"] for row in rows] == ["alice"]
    assert rows[0]["last_message_at"] > first


async def test_given_times_are_kept(pool: Pool) -> None:
    """A turn that says when it was is believed, to a microsecond."""
    at = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
    log = ChatLogStore(pool)
    await tell(pool, HERE, [Turn(Role.USER, "hi", at)], answer_id="a")
    (turn,) = await log.turns(HERE, 9)
    assert turn.at is not None
    assert abs((turn.at - at).total_seconds()) < 1e-4


async def test_text_that_no_column_holds_is_mended(pool: Pool) -> None:
    """A model's NUL does not lose a turn."""
    log = ChatLogStore(pool)
    await tell(pool, HERE, [Turn(Role.ASSISTANT, "a\0\ud800")], answer_id="a")
    assert await said(log, HERE) == ["a\ufffd\ufffd"]


async def test_rows_of_other_tools_do_not_disturb(pool: Pool) -> None:
    """Other roles, or no content: passed over."""
    log = ChatLogStore(pool)
    await tell(pool, HERE, exchange(1), answer_id="a")
    await pool.execute(
        "INSERT INTO public.chat_log (tenant, owner, thread_id, role, content) VALUES "
        "('acme', 'alice', 't1', 'system', 'x'), ('acme', 'alice', 't1', 'user', NULL)"
    )
    assert len(await log.turns(HERE, 99)) == 2


async def test_postgres_away(pool: Pool) -> None:
    """Reading ends in `degraded`."""
    log = ChatLogStore(pool)
    await pool.close()
    with pytest.raises(RetrievalError):
        await log.turns(HERE, 9)


async def test_a_long_thread_is_read_from_an_index(pool: Pool) -> None:
    """In its order: the history of a hundred thousand turns is that of two hundred."""
    await pool.execute(
        "INSERT INTO public.chat_log (tenant, owner, thread_id, role, content) "
        "SELECT 'acme', 'alice', 't1', 'user', n::text FROM generate_series(1, 3000) AS n"
    )
    await pool.execute("ANALYZE public.chat_log")
    plan = "\n".join(row[0] for row in await pool.fetch(f"EXPLAIN {TURNS}", *thread(HERE), 200))
    assert "chat_log_thread_newest" in plan
    assert "Sort" not in plan
    assert await said(ChatLogStore(pool), HERE, 3) == ["2998", "2999", "3000"]


async def test_a_table_that_cannot_be_read_costs_the_history_alone(pool: Pool) -> None:
    """Another tool changed it: no status, and Postgres is not down for it."""
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
