"""Memories in the record: ids, rows, writers that race, what was just heard."""

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest

from app.answer import Role, Turn
from app.db.answers import AnswerStore
from app.db.memories import (
    COLUMNS,
    DAEMONS,
    GRAVITY,
    SAYINGS,
    WRITE,
    Draft,
    Memory,
    MemoryOutcome,
    MemoryStore,
    RecentTextStore,
    Written,
    analysed,
    memory,
    new_memory,
    written_row,
)
from app.db.pool import Pool
from app.db.votes import VoteStore
from app.errors import InvalidField, RemovedMeanwhile
from app.types import Entry, Reason, Scope, Trace, Verdict
from tests.db.test_answers import ANSWER
from tests.fakes.services import ADA, NOON, kept
from tests.fakes.uploads import SPACE, vector

LATER = datetime(2999, 1, 1, tzinfo=UTC)
"""After every erasure."""
BOB = replace(ADA, user_id="bob")
OTHERS = [
    pytest.param(BOB, id="another user"),
    pytest.param(replace(ADA, tenant="other"), id="another tenant"),
]
CARD = Draft("likes rest", kind=GRAVITY, origin=DAEMONS[0], fields={"weights": {"rest": 0.5}})
VERSION = "SELECT version FROM ibid.memory_user WHERE tenant = 'acme' AND user_id = 'ada'"


async def admitted(pool: Pool, *drafts: Draft, scope: Scope = ADA, since: datetime = LATER) -> list[Written]:
    vectors, counts = [vector(draft.text) for draft in drafts], [len(draft.text) for draft in drafts]
    return await MemoryStore(pool).admit(scope, drafts, vectors, counts, SPACE.name, since=since)


async def written(pool: Pool, *drafts: Draft, scope: Scope = ADA) -> list[Memory]:
    outcomes = await admitted(pool, *drafts, scope=scope)
    return [each.memory for each in outcomes if each.memory and each.outcome is MemoryOutcome.CREATED]


async def listed(pool: Pool, scope: Scope = ADA) -> list[str]:
    return [memory.text for memory in (await MemoryStore(pool).list(scope, cursor=None, limit=99))[0]]


async def test_a_memory_is_kept_with_all_it_came_with(pool: Pool) -> None:
    draft = Draft("I moved.", "diary", ("home",), "journal", "work", "t1", NOON, {"mood": ["good", 1]})

    (memory,) = await written(pool, draft)

    assert memory == Memory(
        memory.id, "ada", "I moved.", 8, NOON, "diary", ("home",), "journal", "work", "t1", 1, draft.fields
    )
    assert await MemoryStore(pool).get(ADA, memory.id) == memory


async def test_the_same_words_are_the_same_memory(pool: Pool) -> None:
    (first,) = await written(pool, Draft("I moved to Lyon."))

    (again,) = await admitted(pool, Draft("  i MOVED\nto lyon. ", created_at=NOON))

    assert again == Written(MemoryOutcome.REPEATED, first)
    drafts = [Draft("I moved  to Lyon."), Draft("I slept.")]
    assert await MemoryStore(pool).known(ADA, drafts) == {first.id: first}


async def test_twice_in_one_request_is_once(pool: Pool) -> None:
    one, two = await admitted(pool, Draft("I moved."), Draft("i moved."))

    assert (one.outcome, two.outcome) == (MemoryOutcome.CREATED, MemoryOutcome.REPEATED)
    assert two.memory == one.memory


@pytest.mark.parametrize("other", OTHERS)
async def test_another_s_words_are_another_s_memory(pool: Pool, other: Scope) -> None:
    (memory,) = await written(pool, Draft("I moved."))
    store = MemoryStore(pool)

    assert (await admitted(pool, Draft("I moved."), scope=other))[0].outcome is MemoryOutcome.CREATED
    assert await store.get(other, memory.id) is None
    assert not await store.remove(other, memory.id)
    assert await listed(pool) == ["I moved."]


async def test_a_namespace_has_memories_of_its_own(pool: Pool) -> None:
    await written(pool, Draft("I moved."))

    (there,) = await admitted(pool, Draft("I moved.", vantage_id="work"))

    assert there.outcome is MemoryOutcome.CREATED
    assert list(await MemoryStore(pool).known(ADA, [Draft("I moved.", vantage_id="home")])) == []


async def test_places_count_in_each_thread(pool: Pool) -> None:
    one = await written(pool, Draft("a", thread_id="t1"), Draft("b", thread_id="t2"), CARD, Draft("c"))
    two = await written(pool, Draft("d", thread_id="t1"), Draft("e"))

    assert [memory.place for memory in one] == [1, 1, 0, 1]
    assert [memory.place for memory in two] == [2, 2]


async def test_writers_who_race_get_places_of_their_own(pool: Pool) -> None:
    drafts = [Draft(f"note {n % 15}", thread_id="t1") for n in range(20)]

    outcomes = await asyncio.gather(*(written(pool, draft) for draft in drafts))

    places = [memory.place for found in outcomes for memory in found]
    rows = await pool.fetch("SELECT place FROM ibid.memory ORDER BY place")
    assert len(rows) == 15
    assert len({row["place"] for row in rows}) == 15
    assert len(places) >= 15


async def test_a_card_of_a_daemon_replaces_itself(pool: Pool) -> None:
    (first,) = await written(pool, CARD)

    (second,) = await written(pool, replace(CARD, text="likes play", fields={"weights": {}}))

    assert (second.id, second.text, second.fields) == (first.id, "likes play", {"weights": {}})
    assert await listed(pool) == ["likes play"]


async def test_every_change_that_a_search_sees_grows_the_version(pool: Pool) -> None:
    seen = []
    (memory,) = await written(pool, Draft("I moved."))
    seen.append(await pool.fetchval(VERSION))
    await MemoryStore(pool).remove(ADA, memory.id)
    seen.append(await pool.fetchval(VERSION))
    await written(pool, Draft("I moved."), Draft("i moved."))
    seen.append(await pool.fetchval(VERSION))
    await written(pool, Draft("I moved."))

    assert [*seen, await pool.fetchval(VERSION)] == [1, 2, 3, 3]


async def test_a_removed_memory_is_gone_with_its_votes(pool: Pool) -> None:
    (memory,) = await written(pool, Draft("I moved."))
    await VoteStore(pool).cast(ADA, memory.id, 1, answer_id="a")
    store = MemoryStore(pool)

    assert await store.remove(ADA, memory.id)

    assert not await store.remove(ADA, memory.id)
    assert await store.get(ADA, memory.id) is None
    assert await listed(pool) == []
    for table in ("memory", "memory_vote"):
        assert await pool.fetchval(f"SELECT count(*) FROM ibid.{table}") == 0  # noqa: S608 - the two above


async def test_a_tenant_key_removes_any_user_s(pool: Pool) -> None:
    (memory,) = await written(pool, Draft("I moved."))

    assert await MemoryStore(pool).remove(Scope("acme"), memory.id)


async def test_pages_hold_each_once_newest_first(pool: Pool) -> None:
    drafts = [Draft(f"n{n}", created_at=NOON + timedelta(hours=n // 3)) for n in range(10)]
    await written(pool, *drafts)
    store, cursor, pages = MemoryStore(pool), None, []
    while True:
        page, cursor = await store.list(ADA, cursor=cursor, limit=3)
        pages.append(page)
        if cursor is None:
            break

    times = [memory.created_at for page in pages for memory in page]
    assert [len(page) for page in pages] == [3, 3, 3, 1]
    assert times == sorted(times, reverse=True)
    assert len({memory.id for page in pages for memory in page}) == 10


async def test_a_cursor_of_somebody_else_s_making_is_refused(pool: Pool) -> None:
    with pytest.raises(InvalidField) as refused:
        await MemoryStore(pool).list(ADA, cursor="nonsense", limit=3)
    assert refused.value.field == "query.cursor"


async def test_nothing_asked_for_before_an_erasure_is_kept(pool: Pool) -> None:
    await pool.execute(
        "INSERT INTO ibid.memory_user (tenant, user_id, erased_at) VALUES ('acme', 'ada', $1)", NOON
    )

    with pytest.raises(RemovedMeanwhile):
        await admitted(pool, Draft("before"), since=NOON - timedelta(seconds=1))

    assert (await admitted(pool, Draft("since"), since=NOON + timedelta(seconds=1)))[0].memory
    assert (await admitted(pool, Draft("an import", created_at=NOON - timedelta(days=9))))[0].memory


async def test_time_is_postgres_s(pool: Pool) -> None:
    before = await pool.fetchval("SELECT clock_timestamp()")

    assert before < await MemoryStore(pool).clock() < await pool.fetchval("SELECT clock_timestamp()")


async def test_drafts_without_a_time_are_of_now_and_in_order(pool: Pool) -> None:
    one, two = await written(pool, Draft("a"), Draft("b"))

    assert one.created_at < two.created_at
    assert abs(datetime.now(UTC) - one.created_at) < timedelta(minutes=5)


async def test_memories_are_a_user_s(pool: Pool) -> None:
    with pytest.raises(ValueError, match="user"):
        await MemoryStore(pool).list(Scope("acme"), cursor=None, limit=1)
    assert not await MemoryStore(pool).remove(ADA, "\0")
    assert await MemoryStore(pool).get(ADA, "\0") is None


@pytest.mark.parametrize(
    "given",
    [
        pytest.param(kept(), id="plain"),
        pytest.param(
            kept(tags=("a", "b"), vantage_id="w", thread_id="t", place=7, kind="k"), id="all fields"
        ),
        pytest.param(kept(fields={"weights": {"sleep": 0.25}, "why": None}), id="a card"),
        pytest.param(kept("Ærø 兔 🐇"), id="any script"),
    ],
)
async def test_a_row_reads_back_as_the_memory(pool: Pool, given: Memory) -> None:
    [found] = analysed([given.text])
    await pool.execute(WRITE, *written_row("acme", SPACE.name, given, vector("x"), found))

    row = await pool.fetchrow(f"SELECT {COLUMNS} FROM ibid.memory")  # noqa: S608 - a constant of ours

    assert row is not None
    assert memory(row) == given


def test_what_postgres_cannot_hold_is_mended() -> None:
    draft = Draft("a\0b\ud800")

    made_of = new_memory(draft, "id", "ada", tokens=1, at=NOON, place=1)

    assert made_of == replace(kept("a\ufffdb\ufffd"), id="id", tokens=1)


MUCH_LATER = NOON + timedelta(hours=1)
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
    await answered(pool, "first")
    await answered(pool, "second", at=MUCH_LATER)

    assert await RecentTextStore(pool).recent(ADA, "t1", None) == ["second", "first"]


async def test_what_it_recalled_is_heard(pool: Pool) -> None:
    (memory, other) = await written(pool, Draft("Juno is a rabbit."), Draft("not recalled"))
    await answered(pool, "so", recalled=[memory.id, "foreign"])
    await answered(pool, "so", recalled=[memory.id])

    assert await RecentTextStore(pool).recent(ADA, "t1", None) == ["so", "so", "Juno is a rabbit."]
    assert other.text not in await RecentTextStore(pool).recent(ADA, "t1", None)


async def test_what_is_said_later_is_not_heard_yet(pool: Pool) -> None:
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
    (memory,) = await written(pool, Draft("Juno is a rabbit."))
    await answered(pool, "so", recalled=[memory.id])

    assert await RecentTextStore(pool).recent(scope, thread, None) == []


async def test_the_default_thread_is_the_user_s_own(pool: Pool) -> None:
    await answered(pool, "mine", scope=Scope("acme", user_id="ada"))
    await answered(pool, "nobody's", scope=Scope("acme"))

    assert await RecentTextStore(pool).recent(ADA, None, None) == ["mine"]


async def test_a_session_is_a_thread_too(pool: Pool) -> None:
    """As chat names it; what was said there to nobody in particular was heard by who was there."""
    await answered(pool, "hello", scope=Scope("acme", session_id="s1", thread_id="s1"))

    assert await RecentTextStore(pool).recent(ADA, "s1", None) == ["hello"]


async def test_long_ago_is_forgotten(pool: Pool) -> None:
    await pool.execute(
        "INSERT INTO public.chat_log (tenant, owner, thread_id, user_id, role, content, created_at)"
        " SELECT 'acme', '', 't1', 'ada', 'assistant', n::text, $1::timestamptz + n * interval '1 minute'"
        " FROM generate_series(1, 130) AS n",
        NOON,
    )

    said = await RecentTextStore(pool).recent(ADA, "t1", None)

    assert said == [str(n) for n in range(130, 130 - SAYINGS, -1)]
