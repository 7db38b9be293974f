"""The record of answers."""

import asyncio
import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import MappingProxyType

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.clients.pool import Pool
from app.domain.answer import Answer, Citation, Finish, Usage, new_id
from app.domain.breaker import Breaker
from app.domain.document import Part
from app.domain.errors import NoRoom, Rejected, Unavailable
from app.domain.passage import Scope
from app.domain.prompt import Role, Turn
from app.domain.trace import Degraded, Entry, Reason, Trace, Verdict
from app.services.guarded import GuardedAnswers
from app.stores.answers import AnswerStore, mended, picked, plain, written
from app.stores.chatlog import ChatLogStore
from app.stores.sessions import SessionStore, emptied

HERE = Scope(tenant="acme", owner="alice", user_id="alice", session_id="s1", thread_id="t1")
ANSWER = Answer(
    id=new_id(),
    endpoint="/api/chat",
    question="why?",
    text="because [a.pdf#1]",
    model="m",
    finish=Finish.STOP,
    citations=(Citation("a.pdf#1", "documents", "d:1", "A", 1, 2, None),),
    cited=("a.pdf#1",),
    unknown=("b.pdf#9",),
    prompt_sha256="0" * 64,
    trace=Trace(
        Reason.OK,
        (
            Entry("documents", "d:1", "a.pdf#1", 0.75, 1.5, Verdict.PACKED, {"recency": 1.1}, "ff"),
            Entry("documents", "d:2", "a.pdf#2", None, 0.0, Verdict.BELOW_THRESHOLD),
        ),
        (Degraded("memories", "timeout"),),
        cached=True,
        tokens=42,
        budget=50_000,
        took_ms=12,
        told=("b was passed over",),
    ),
    usage=Usage(10, 20),
    created_at=datetime(2026, 11, 21, 12, 0, tzinfo=UTC),
    timings={"search": 12},
)


KEYS = [
    pytest.param(Scope(tenant="acme", owner="alice", user_id="alice"), id="their key"),
    pytest.param(Scope(tenant="acme", user_id="alice"), id="a key for all"),
]


async def test_comes_back_as_it_was(pool: Pool) -> None:
    """Trace, citations and all."""
    store = AnswerStore(pool)
    await store.keep(HERE, ANSWER)
    assert await store.get(HERE, ANSWER.id) == ANSWER


async def test_an_answer_that_ended_in_an_error(pool: Pool) -> None:
    """Has no finish."""
    store, answer = AnswerStore(pool), replace(ANSWER, finish=None)
    await store.keep(HERE, answer)
    assert await store.get(HERE, answer.id) == answer


@pytest.mark.parametrize(
    "stranger",
    [
        pytest.param(replace(HERE, tenant="other"), id="tenant"),
        pytest.param(replace(HERE, owner="bob", user_id="bob"), id="another's key"),
        pytest.param(replace(HERE, owner="bob", user_id=None), id="another's key, naming nobody"),
        pytest.param(replace(HERE, owner="", user_id="bob"), id="in another's name"),
    ],
)
async def test_another_s_answer_is_not_there(pool: Pool, stranger: Scope) -> None:
    """Nor can it be overwritten under its id."""
    store = AnswerStore(pool)
    await store.keep(HERE, ANSWER)
    await store.keep(stranger, replace(ANSWER, text="forged"))
    assert await store.get(stranger, ANSWER.id) is None
    assert await store.get(HERE, ANSWER.id) == ANSWER


@pytest.mark.parametrize("asked", KEYS)
@pytest.mark.parametrize(
    "asker", [*KEYS, pytest.param(Scope(tenant="acme"), id="a key for all, naming nobody")]
)
async def test_keys_of_a_person_meet(pool: Pool, asked: Scope, asker: Scope) -> None:
    """Their own key, and a key for all that acts for them."""
    store = AnswerStore(pool)
    await store.keep(asked, ANSWER)
    assert await store.get(asker, ANSWER.id) == ANSWER


async def test_what_nobody_asked_is_no_persons(pool: Pool) -> None:
    """A key for all that named nobody sees it, and no user."""
    store, nobody = AnswerStore(pool), Scope(tenant="acme")
    await store.keep(nobody, ANSWER)
    askers = (nobody, replace(nobody, user_id="ada"), replace(nobody, owner="ada", user_id="ada"))
    assert [await store.get(asker, ANSWER.id) for asker in askers] == [ANSWER, None, None]


async def test_an_id_that_is_none_is_not_there(pool: Pool) -> None:
    """Whatever stands in the path."""
    for key in ("", "a\0", "\ud800", new_id()):
        assert await AnswerStore(pool).get(HERE, key) is None


async def test_again_replaces(pool: Pool) -> None:
    """A repeated write is one answer."""
    store = AnswerStore(pool)
    await store.keep(HERE, replace(ANSWER, text="", finish=None))
    await store.keep(HERE, ANSWER)
    assert await store.get(HERE, ANSWER.id) == ANSWER


async def test_what_json_cannot_hold_is_mended(pool: Pool) -> None:
    """NUL, lone surrogates and NaN do not lose an answer."""
    entry = replace(ANSWER.trace.entries[0], label="a\0\ud800", score=float("nan"))
    answer = replace(ANSWER, text="\0", question="\ud800", trace=replace(ANSWER.trace, entries=(entry,)))
    store = AnswerStore(pool)
    await store.keep(HERE, answer)
    kept = await store.get(HERE, answer.id)
    assert kept is not None
    assert (kept.text, kept.question) == ("\ufffd", "\ufffd")
    assert (kept.trace.entries[0].label, kept.trace.entries[0].score) == ("a\ufffd\ufffd", 0.0)


async def test_postgres_away_is_told(pool: Pool) -> None:
    """The recorder keeps it for later."""
    await pool.close()
    with pytest.raises(Unavailable):
        await AnswerStore(pool).keep(HERE, ANSWER)


SAID = (Turn(Role.USER, "why?"), Turn(Role.ASSISTANT, "because"))


async def test_its_turns_come_with_it(pool: Pool) -> None:
    """In one statement, and once: a repeated write adds none."""
    store = AnswerStore(pool)
    for _ in range(2):
        await store.keep(HERE, ANSWER, SAID)
    turns = await ChatLogStore(pool).turns(HERE, 9)
    assert [(turn.role, turn.content) for turn in turns] == [(turn.role, turn.content) for turn in SAID]
    rows = await pool.fetch("SELECT session_id, answer_id, thread_id FROM public.chat_log")
    assert {tuple(row) for row in rows} == {("s1", ANSWER.id, "t1")}


async def test_turns_of_a_stranger_under_its_id_are_not_kept(pool: Pool) -> None:
    """As their answer is not."""
    store = AnswerStore(pool)
    await store.keep(HERE, ANSWER)
    await store.keep(replace(HERE, owner="bob"), ANSWER, SAID)
    assert await pool.fetchval("SELECT count(*) FROM public.chat_log") == 0


@pytest.mark.parametrize(
    ("scope", "active"),
    [(HERE, ["alice"]), (Scope(tenant="acme", owner="bob"), ["bob"]), (Scope(tenant="acme"), [])],
    ids=["user", "key's user", "nobody"],
)
async def test_it_marks_the_users_activity(pool: Pool, scope: Scope, active: list[str]) -> None:
    """Whoever asked, if that is known."""
    await AnswerStore(pool).keep(scope, ANSWER, SAID)
    assert [row[0] for row in await pool.fetch("SELECT user_id FROM ibid.activity")] == active


@pytest.mark.parametrize(
    "text", ["plain", "a\\u0000b", "\0", "\ud800"], ids=["plain", "escape", "nul", "half"]
)
def test_the_quick_way_writes_what_the_careful_one_would(text: str) -> None:
    """Of all that it does not leave to it."""
    answer = replace(ANSWER, cited=(text,))
    assert json.loads(written(answer)) == json.loads(mended(answer))


def test_what_a_newer_version_added_is_passed_over() -> None:
    """Two versions may run beside each other."""
    assert picked(Usage, {"prompt_tokens": 1, "cached_tokens": 5}) == Usage(1, 0)


def test_any_mapping_is_an_object() -> None:
    """Also a read-only one."""
    assert plain(MappingProxyType({"a": (1, 2)})) == {"a": [1, 2]}


@given(st.dictionaries(st.text(), st.floats() | st.text(st.characters(codec=None))))
def test_law_plain_is_utf8_json(data: dict[str, object]) -> None:
    """Whatever goes in, strict JSON without NUL comes out."""
    kept = plain(data)
    assert isinstance(kept, dict)
    assert all("\0" not in text for text in map(str, [*kept, *kept.values()]))
    assert repr(kept).encode() is not None


FULL = """
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON ibid.answer FOR EACH ROW EXECUTE FUNCTION full_disk()
"""


async def test_a_full_disk_is_no_outage(pool: Pool) -> None:
    """However often: what only reads must not be refused for it."""
    breaker = Breaker(lambda: 0.0)
    answers = GuardedAnswers(AnswerStore(pool), breaker)
    await answers.keep(HERE, ANSWER)
    await pool.execute(FULL)
    for _ in range(5):
        with pytest.raises(NoRoom):
            await answers.keep(HERE, replace(ANSWER, id=new_id()), SAID)
    assert breaker.closed
    assert await answers.get(HERE, ANSWER.id) == ANSWER


async def test_what_postgres_will_not_take_is_told_apart(pool: Pool) -> None:
    """Another tool's column that must not be null, as when a right is missing; half of it is not kept."""
    await pool.execute("ALTER TABLE public.chat_log ADD COLUMN mood int NOT NULL")
    with pytest.raises(Rejected):
        await AnswerStore(pool).keep(HERE, ANSWER, SAID)
    assert await AnswerStore(pool).get(HERE, ANSWER.id) is None
    await pool.execute("ALTER TABLE ibid.answer RENAME TO elsewhere")
    with pytest.raises(Rejected):
        await AnswerStore(pool).get(HERE, ANSWER.id)


def asked(**ago: float) -> Answer:
    """An answer whose question came so long ago."""
    return replace(ANSWER, id=new_id(), created_at=datetime.now(UTC) - timedelta(**ago))


async def test_what_was_under_way_when_its_session_went_is_not_kept(pool: Pool) -> None:
    """Also if nothing else was there; what is asked later is, and so are others' answers."""
    store = AnswerStore(pool)
    before = asked(seconds=1)
    assert not await SessionStore(pool).remove(HERE)
    await store.keep(HERE, before, SAID)
    assert await store.get(HERE, before.id) is None
    assert await pool.fetchval("SELECT count(*) FROM public.chat_log") == 0
    assert await pool.fetchval("SELECT count(*) FROM ibid.activity") == 0
    for scope in (replace(HERE, session_id="s2"), replace(HERE, session_id=None), replace(HERE, owner="bob")):
        answer = asked(seconds=1)
        await store.keep(scope, answer)
        assert await store.get(scope, answer.id) == answer
        assert not await store.removed(scope, answer.created_at)
    after = asked(seconds=-1)
    await store.keep(HERE, after)
    assert await store.get(HERE, after.id) == after
    assert [await store.removed(HERE, answer.created_at) for answer in (before, after)] == [True, False]


async def test_a_removal_waits_for_what_is_being_written(pool: Pool) -> None:
    """Else it would come back as soon as its write is committed."""
    async with pool.acquire() as connection:
        async with connection.transaction():
            await AnswerStore(connection).keep(HERE, ANSWER, SAID)  # type: ignore[arg-type] # its methods do
            removing = asyncio.create_task(SessionStore(pool).remove(HERE))
            await asyncio.wait({removing}, timeout=0.2)
            assert not removing.done()
        assert await removing
    assert await AnswerStore(pool).get(HERE, ANSWER.id) is None
    assert await pool.fetchval("SELECT count(*) FROM public.chat_log") == 0


async def test_what_is_written_waits_for_a_removal(pool: Pool) -> None:
    """And is then not written, though it began to before the mark was there to be seen."""
    answer = asked(seconds=1)
    async with pool.acquire() as connection:
        async with connection.transaction():
            await emptied(connection, Part(HERE.tenant, HERE.owner, "s1"))
            keeping = asyncio.create_task(AnswerStore(pool).keep(HERE, answer, SAID))
            await asyncio.wait({keeping}, timeout=0.2)
            assert not keeping.done()
        await keeping
    assert await AnswerStore(pool).get(HERE, answer.id) is None


async def test_another_user_s_answer_is_not_there(pool: Pool) -> None:
    """Also under a key that acts for both; a scope without a user sees all that the key asked."""
    store, anyone = AnswerStore(pool), replace(HERE, owner="", user_id=None)
    await store.keep(replace(anyone, user_id="alice"), ANSWER)
    assert await store.get(replace(anyone, user_id="bob"), ANSWER.id) is None
    assert await store.get(anyone, ANSWER.id) == await store.get(replace(anyone, user_id="alice"), ANSWER.id)
    assert await store.get(anyone, ANSWER.id) == ANSWER


USER = Scope(tenant="acme", user_id="alice")
THREADS = {
    "default": USER,
    "thread": replace(USER, thread_id="t1"),
    "session": replace(USER, session_id="s1", thread_id="s1"),
}


@pytest.mark.parametrize("scope", THREADS.values(), ids=THREADS)
async def test_the_last_of_a_user_and_thread(pool: Pool, scope: Scope) -> None:
    """The newest that said anything: not one that failed before a word, not another's, of no other thread."""
    store = AnswerStore(pool)
    assert await store.last(scope) is None
    older, newer, silent, *others = [replace(ANSWER, id=new_id()) for _ in range(3 + len(THREADS) + 2)]
    await store.keep(scope, newer)
    await store.keep(scope, older)
    await store.keep(scope, replace(silent, text="", finish=None))
    strangers = [other for other in THREADS.values() if other != scope]
    strangers += [
        replace(scope, user_id="bob"),
        replace(scope, tenant="other"),
        replace(scope, owner="alice"),
    ]
    for stranger, other in zip(strangers, others, strict=True):
        await store.keep(stranger, other)
    assert await store.last(scope) == newer
    assert [await store.last(stranger) for stranger in strangers] == others
