"""Answers in the record, and as JSON."""

import asyncio
import json
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from app.answer import (
    Answer,
    Block,
    Citation,
    Finish,
    Kind,
    Recipe,
    Ref,
    Role,
    Turn,
    Usage,
    new_id,
    recipe_block,
)
from app.answering.prompt import SYSTEM
from app.answering.replay import instructions
from app.db.answers import COLUMNS, AnswerStore, body_json, ids_in, restored, trace_row
from app.db.documents import DocumentPart
from app.db.migrations import migrate
from app.db.pool import Pool, open_pool
from app.db.rows import storable
from app.db.sessions import ChatLogStore, SessionStore, emptied
from app.errors import NoRoom, Rejected
from app.types import CERTAIN, Degraded, Entry, Reason, Scope, Trace, Verdict

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
            Entry(
                *("documents", "d:1", "a.pdf#1", 0.75, 1.5, Verdict.PACKED, {"recency": 1.1}, "ff"),
                created_at=datetime(2026, 11, 1, 9, 30, 0, 125, tzinfo=UTC),
                evidence=0.81,
            ),
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
    appended=True,
    recipe=Recipe(
        "documents",
        instructions(SYSTEM),
        notes=(recipe_block(Kind.NOTE, "Be brief.", keep=True),),
        turns=(Block(Kind.TURN, "aa", name="user", refs=(Ref("chat_log", "7", "aa"),)),),
        ranking=3,
    ),
)
RULING: dict[str, object] = {
    "response_class": "NEGOTIATE",
    "rules": ["stakes.medical", "limits.negotiate"],
    "policy_version": "1.0123456789ab",
    "policy_sha256": "ab" * 32,
    "params": {"token_target": 400, "directness": 0.5},
    "mix": {"memory_cards": 1.0, "lens_fm": False},
    "sd": {"clarity": 0.9, "risk": {"violence": 0.0}},
    "class_check": {"held": True, "broken": []},
    "vantage_id": "work",
    "inspect_only": False,
    "thread": 2,
}
RULED = replace(
    ANSWER,
    endpoint="/vantage/query",
    trace=replace(
        ANSWER.trace,
        entries=tuple(
            Entry(source, f"{source}-{verdict}", "x#1", 0.5, 0.9, verdict, {}, "ee")
            for source in ("memories", "corpus")
            for verdict in (Verdict.PACKED, Verdict.OVER_BUDGET)
        ),
    ),
    ruling=RULING,
)


KEYS = [
    pytest.param(Scope(tenant="acme", owner="alice", user_id="alice"), id="their key"),
    pytest.param(Scope(tenant="acme", user_id="alice"), id="a key for all"),
]


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
    store = AnswerStore(pool)
    await store.keep(asked, ANSWER)
    assert await store.get(asker, ANSWER.id) == ANSWER


async def test_what_json_cannot_hold_is_mended(pool: Pool) -> None:
    entry = replace(ANSWER.trace.entries[0], label="a\0\ud800", score=float("nan"))
    answer = replace(ANSWER, text="\0", question="\ud800", trace=replace(ANSWER.trace, entries=(entry,)))
    store = AnswerStore(pool)
    await store.keep(HERE, answer)
    kept = await store.get(HERE, answer.id)
    assert kept is not None
    assert (kept.text, kept.question) == ("\ufffd", "\ufffd")
    assert (kept.trace.entries[0].label, kept.trace.entries[0].score) == ("a\ufffd\ufffd", 0.0)


SAID = (Turn(Role.USER, "why?"), Turn(Role.ASSISTANT, "because"))


async def test_turns_of_a_stranger_under_its_id_are_not_kept(pool: Pool) -> None:
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
    await AnswerStore(pool).keep(scope, ANSWER, SAID)
    assert [row[0] for row in await pool.fetch("SELECT user_id FROM ibid.activity")] == active


FULL = """
    CREATE FUNCTION full_disk() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$;
    CREATE TRIGGER full_disk BEFORE INSERT ON ibid.answer FOR EACH ROW EXECUTE FUNCTION full_disk()
"""


async def test_a_full_disk_is_no_outage(pool: Pool) -> None:
    answers = AnswerStore(pool)
    await answers.keep(HERE, ANSWER)
    await pool.execute(FULL)
    for _ in range(5):
        with pytest.raises(NoRoom):
            await answers.keep(HERE, replace(ANSWER, id=new_id()), SAID)
    assert pool.breaker.closed
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
    async with pool.acquire() as connection:
        async with connection.transaction():
            within = SimpleNamespace(
                execute=connection.execute, check_room=pool.check_room, recording=pool.recording
            )
            await AnswerStore(within).keep(HERE, ANSWER, SAID)  # type: ignore[arg-type] # all that it asks for
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
            await emptied(connection, DocumentPart(HERE.tenant, HERE.owner, "s1"))
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


TRACED = "SELECT to_jsonb(trace) AS row FROM public.vantage_answer_trace AS trace"


async def traces(pool: Pool) -> list[dict[str, object]]:
    return [json.loads(row["row"]) for row in await pool.fetch(TRACED)]


async def test_a_ruled_answer_has_a_row_that_tells_why(pool: Pool) -> None:
    """Of the trace table: what was decided, what was used by id, score and hash; no word of any text."""
    await AnswerStore(pool).keep(HERE, RULED, SAID)
    [row] = await traces(pool)
    assert row | dict(RULING, thread=2) == row | {"thread": 2}
    assert (row["answer_id"], row["tenant"], row["user_id"], row["thread_id"]) == (
        *(RULED.id, "acme"),
        *("alice", "t1"),
    )
    assert (row["memory_ids"], row["corpus_ids"]) == (["memories-packed"], ["corpus-packed"])
    assert [item["sha256"] for item in row["used"]] == ["ee", "ee"]  # type: ignore[attr-defined] # JSON
    assert (row["model"], row["prompt_sha256"], row["timings"]) == ("m", "0" * 64, {"search": 12})
    assert row["created_at"] == "2026-11-21T12:00:00+00:00"
    assert await AnswerStore(pool).get(HERE, RULED.id) == RULED
    assert not any(text in str(row) for text in (RULED.question, RULED.text))


async def test_what_was_only_inspected_leaves_a_trace_and_nothing_else(pool: Pool) -> None:
    """No turn, nobody active; marked so, found by its id, and never the last that was said."""
    store, seen = AnswerStore(pool), replace(RULED, text="", ruling=RULING | {"inspect_only": True})
    await store.keep(HERE, seen, SAID)
    assert [row["inspect_only"] for row in await traces(pool)] == [True]
    for table in ("public.chat_log", "ibid.activity"):
        assert await pool.fetchval(f"SELECT count(*) FROM {table}") == 0  # noqa: S608 - constants above
    assert await store.get(HERE, seen.id) == seen
    assert await store.last(HERE) is None


OLDER = """
    DROP TABLE public.vantage_answer_trace;
    CREATE TABLE public.vantage_answer_trace (
        id serial PRIMARY KEY, answer_id uuid, user_id varchar(64) NOT NULL, answer text NOT NULL,
        memory_ids jsonb, created_at timestamp DEFAULT now());
    INSERT INTO public.vantage_answer_trace (answer_id, user_id, answer, memory_ids)
    SELECT '01998f39-1c02-7b3a-9c41-5d2f8e6a1b90', 'ann', 'yes', '["m1"]' FROM generate_series(1, 2)
"""


async def test_an_older_tool_s_table_takes_our_rows(pool: Pool, dsn: str) -> None:
    """It keeps its rows and columns, gains ours, and a value becomes what its column is."""
    await pool.execute(OLDER)
    await pool.execute("DROP SCHEMA ibid CASCADE")  # as before the first start
    await migrate(dsn)
    async with open_pool(dsn) as fresh:
        for _ in range(2):
            await AnswerStore(fresh).keep(HERE, RULED, SAID)
        *older, row = sorted(await traces(fresh), key=lambda row: str(row["id"]))
    assert [(one["tenant"], one["answer"], one["memory_ids"]) for one in older] == [
        ("default", "yes", ["m1"])
    ] * 2
    assert (row["answer_id"], row["answer"], row["memory_ids"]) == (RULED.id, None, ["memories-packed"])
    assert (row["rules"], row["created_at"]) == (RULING["rules"], "2026-11-21T12:00:00")


ASKS = Scope(user_id="ann")


async def test_an_older_tool_s_trace_names_the_memories_of_its_answer(pool: Pool) -> None:
    """Whatever its columns' types; for its tenant and user alone, and for no row of ours."""
    await pool.execute(OLDER)
    await pool.execute("ALTER TABLE public.vantage_answer_trace ADD COLUMN tenant text DEFAULT 'default'")
    store, key = AnswerStore(pool), "01998f39-1c02-7b3a-9c41-5d2f8e6a1b90"
    assert await store.used(ASKS, key) == ("m1",)
    for stranger in (replace(ASKS, tenant="acme"), replace(ASKS, user_id="bob"), Scope()):
        assert await store.used(stranger, key) is None
    assert await store.used(ASKS, new_id()) is None
    assert await store.used(ASKS, "none") is None
    await pool.execute("ALTER TABLE public.vantage_answer_trace ADD COLUMN inspect_only text DEFAULT 'true'")
    assert await store.used(ASKS, key) is None


@pytest.mark.parametrize(
    ("ids", "names"),
    [
        pytest.param('["a", "b", "a"]', ("a", "b"), id="array"),
        pytest.param('"[\\"a\\"]"', ("a",), id="text of an array"),
        pytest.param('[{"id": "a"}, 7, "b"]', ("b",), id="others"),
        pytest.param('"words"', (), id="words"),
        pytest.param("7", (), id="number"),
        pytest.param("null", (), id="null"),
        pytest.param(None, (), id="no column"),
    ],
)
def test_memories_are_named_in_many_ways(ids: str | None, names: tuple[str, ...]) -> None:
    assert ids_in(ids) == names


@pytest.mark.parametrize("asker", KEYS)
async def test_where_it_was_asked_is_known_to_who_may_see_it(pool: Pool, asker: Scope) -> None:
    store = AnswerStore(pool)
    await store.keep(HERE, ANSWER)
    assert await store.asked(asker, ANSWER.id) == HERE
    for stranger in (replace(HERE, tenant="other"), Scope("acme", user_id="bob")):
        assert await store.asked(stranger, ANSWER.id) is None
    assert await store.asked(HERE, "none") is None


async def test_a_table_that_takes_no_row_of_ours_costs_the_row_alone(pool: Pool) -> None:
    """Of an older tool, its ids numbers: the answer, its ruling and its turns are kept."""
    await pool.execute("ALTER TABLE public.vantage_answer_trace ALTER COLUMN answer_id TYPE int USING 1")
    store = AnswerStore(pool)
    await store.keep(HERE, RULED, SAID)
    assert await store.get(HERE, RULED.id) == RULED
    assert len(await ChatLogStore(pool).turns(HERE, 9)) == 2
    assert await traces(pool) == []


def row(body: str, question: str = "why?") -> Any:
    facts = asdict(ANSWER) | {"question": storable(question), "text": ANSWER.text}
    return facts | {"finish": "stop", "body": body}


def test_what_an_older_version_kept_is_restored() -> None:
    body = json.loads(body_json(ANSWER))
    del body["recipe"], body["ruling"]
    for line in body["trace"]["entries"]:
        del line["created_at"], line["evidence"]
    entries = tuple(replace(line, created_at=None, evidence=None) for line in ANSWER.trace.entries)
    found = restored(row(json.dumps(body)))
    assert found == replace(ANSWER, recipe=None, trace=replace(ANSWER.trace, entries=entries))


def test_what_words_once_vouched_for_is_certain() -> None:
    """Traces of older versions have `vouched` and no `evidence`; no threshold excluded such a passage."""
    body = json.loads(body_json(ANSWER))
    for line, vouched in zip(body["trace"]["entries"], (True, False), strict=True):
        del line["evidence"]
        line["vouched"] = vouched
    entries = restored(row(json.dumps(body))).trace.entries
    assert [entry.evidence for entry in entries] == [CERTAIN, None]


def test_what_a_newer_version_added_is_passed_over() -> None:
    body = json.loads(body_json(ANSWER))
    body["usage"] |= {"cached_tokens": 5}
    body["recipe"] |= {"sauce": 1}
    body["recipe"]["system"] |= {"spice": 2}
    body["recipe"]["turns"][0].append("pepper")
    body["trace"]["entries"][0] |= {"new": 1}
    assert restored(row(json.dumps(body))) == ANSWER


def test_a_trace_holds_no_text() -> None:
    told = json.loads(trace_row(HERE, RULED) or "")
    assert set(told) == set(COLUMNS)
    assert not any(text in str(told) for text in (RULED.question, RULED.text))
    assert trace_row(Scope(), ANSWER) is None


def test_a_project_is_kept_with_the_recipe() -> None:
    """By it a replay looks things up; an answer of an older version named none."""
    assert ANSWER.recipe is not None
    answer = replace(ANSWER, recipe=replace(ANSWER.recipe, project="THN"))
    assert restored(row(body_json(answer))) == answer
    body = json.loads(body_json(answer))
    del body["recipe"]["project"]
    assert restored(row(json.dumps(body))).recipe == ANSWER.recipe
