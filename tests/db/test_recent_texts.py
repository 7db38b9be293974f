"""What a person heard in a conversation."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from app.answer import Role, Turn
from app.db.answers import AnswerStore
from app.db.memories import SAYINGS, Draft, RecentTextStore
from app.db.pool import Pool
from app.types import Entry, Reason, Scope, Trace, Verdict
from tests.db.test_answers import ANSWER
from tests.db.test_memories import written
from tests.fakes.keeping import ADA, NOON

LATER = NOON + timedelta(hours=1)
serial = iter(range(1_000))


async def answered(
    pool: Pool, text: str, *, scope: Scope = ADA, at: datetime = NOON, recalled: Sequence[str] = ()
) -> None:
    """A question and its answer, with what the answer recalled."""
    entries = tuple(
        Entry("memories", name, f"memory#{n}", 0.5, 0.5, Verdict.PACKED) for n, name in enumerate(recalled)
    )
    answer = replace(
        ANSWER,
        id=f"01998f3a-9d21-7e40-a4b3-{next(serial):012d}",
        created_at=at,
        trace=Trace(Reason.OK, entries=entries),
    )
    turns = [Turn(Role.USER, "why?", at), Turn(Role.ASSISTANT, text, at + timedelta(seconds=1))]
    await AnswerStore(pool).keep(scope, answer, turns)


async def test_what_the_assistant_said_is_heard(pool: Pool) -> None:
    """Newest first; what the person said is not."""
    await answered(pool, "first")
    await answered(pool, "second", at=LATER)

    assert await RecentTextStore(pool).recent(ADA, "t1", None) == ["second", "first"]


async def test_what_it_recalled_is_heard(pool: Pool) -> None:
    """The memories it was shown, each once; what was left out was not heard."""
    (memory, other) = await written(pool, Draft("Juno is a rabbit."), Draft("not recalled"))
    await answered(pool, "so", recalled=[memory.id, "foreign"])
    await answered(pool, "so", recalled=[memory.id])

    assert await RecentTextStore(pool).recent(ADA, "t1", None) == ["so", "so", "Juno is a rabbit."]
    assert other.text not in await RecentTextStore(pool).recent(ADA, "t1", None)


async def test_what_is_said_later_is_not_heard_yet(pool: Pool) -> None:
    """An answer to these very words is no reason to call them its echo."""
    (memory,) = await written(pool, Draft("Juno is a rabbit."))
    await answered(pool, "You moved.", at=NOON, recalled=[memory.id])

    assert await RecentTextStore(pool).recent(ADA, "t1", NOON) == []


@pytest.mark.parametrize(
    ("scope", "thread"),
    [
        pytest.param(ADA, "t2", id="another thread"),
        pytest.param(ADA, None, id="the default thread"),
        pytest.param(replace(ADA, tenant="other"), "t1", id="another tenant"),
        pytest.param(replace(ADA, owner="ada"), "t1", id="another key"),
        pytest.param(replace(ADA, user_id="bob"), "t1", id="another user in the same thread"),
    ],
)
async def test_elsewhere_nothing_was_heard(pool: Pool, scope: Scope, thread: str | None) -> None:
    """What is an echo for one says nothing about another."""
    (memory,) = await written(pool, Draft("Juno is a rabbit."))
    await answered(pool, "so", recalled=[memory.id])

    assert await RecentTextStore(pool).recent(scope, thread, None) == []


async def test_the_default_thread_is_the_user_s_own(pool: Pool) -> None:
    """No name is shared by all who name none."""
    await answered(pool, "mine", scope=Scope("acme", user_id="ada"))
    await answered(pool, "nobody's", scope=Scope("acme"))

    assert await RecentTextStore(pool).recent(ADA, None, None) == ["mine"]


async def test_a_session_is_a_thread_too(pool: Pool) -> None:
    """As chat names it; what was said there to nobody in particular was heard by who was there."""
    await answered(pool, "hello", scope=Scope("acme", session_id="s1", thread_id="s1"))

    assert await RecentTextStore(pool).recent(ADA, "s1", None) == ["hello"]


async def test_long_ago_is_forgotten(pool: Pool) -> None:
    """What is read is bounded, however long the conversation; the newest counts."""
    await pool.execute(
        "INSERT INTO public.chat_log (tenant, owner, thread_id, user_id, role, content, created_at)"
        " SELECT 'acme', '', 't1', 'ada', 'assistant', n::text, $1::timestamptz + n * interval '1 minute'"
        " FROM generate_series(1, 130) AS n",
        NOON,
    )

    said = await RecentTextStore(pool).recent(ADA, "t1", None)

    assert said == [str(n) for n in range(130, 130 - SAYINGS, -1)]
