"""Export and erasure of a person, holding by holding, and the files afterwards."""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.answer import Answer, Role, Turn, new_id
from app.answering.recorder import Recorder
from app.db import users
from app.db.answers import AnswerStore
from app.db.cards import CardDraft, CardShape, CardStore
from app.db.documents import DocumentPart
from app.db.memories import lock_user
from app.db.pool import Pool
from app.db.project_tables import CONVERSATION, Analysed, keep
from app.db.rows import transaction
from app.db.users import (
    TABLES,
    Documents,
    Due,
    ErasureStore,
    HoldingRows,
    evict_erased,
)
from app.retrieval.index_cache import Key
from app.services.users import UserService
from app.types import Scope
from tests.db.test_answers import ANSWER
from tests.fakes.holdings import NAMES_ONLY, FakeFiles, FakeHolding
from tests.fakes.records import tell
from tests.fakes.uploads import ALICE, ready, upload, vector

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
ADA = Scope(tenant="acme", user_id="ada")
OTHERS = [
    pytest.param(replace(ADA, tenant="other"), id="another tenant's of the name"),
    pytest.param(replace(ADA, user_id="bob"), id="another user"),
]
PERSONAL = """
    SELECT DISTINCT table_schema || '.' || table_name FROM information_schema.columns
    WHERE column_name IN ('user_id', 'owner') AND table_schema IN ('ibid', 'public')
"""
REFERS = """
    SELECT DISTINCT conrelid::regclass::text, confrelid::regclass::text FROM pg_constraint WHERE contype = 'f'
"""
OLDER = """
    INSERT INTO public.vantage_answer_trace (answer_id, tenant, user_id, created_at) VALUES ($1, $2, $3, $4)
"""
MEMORY = """
    INSERT INTO ibid.memory
        (id, tenant, user_id, text, kind, origin, place, tokens, space, embedding)
    VALUES ($1, $2, $3, $4, 'note', 'api', 1, 3, 'fake@8', $5)
"""
TRACE = """
    INSERT INTO public.vantage_answer_trace (answer_id, tenant, owner, user_id) VALUES ($1, $2, $3, $4)
"""
TITLE = "INSERT INTO ibid.session_title (tenant, owner, session_id, title) VALUES ($1, $2, 's', $3)"
NEXT = "INSERT INTO ibid.text_next VALUES ('other@8', 'memory', $1, $2, $1)"


def holding_of(pool: Pool, name: str) -> HoldingRows:
    return next(each for each in users.record_holdings(pool) if each.name == name)


async def kept(pool: Pool, name: str, scope: Scope) -> list[str]:
    """Everything a holding tells of a user, as text."""
    holding = holding_of(pool, name)
    return [str(row) async for row in holding.export(scope)]


async def some(pool: Pool, scope: Scope, words: str = "why") -> None:
    turns = [Turn(Role.USER, words, NOON), Turn(Role.ASSISTANT, "so", NOON + timedelta(seconds=1))]
    await AnswerStore(pool).keep(scope, replace(ANSWER, id=new_id(), question=words), turns)
    who = (scope.tenant, scope.user_id or scope.owner)
    await pool.execute("INSERT INTO ibid.memory_vote VALUES ($1, $2, $3, $4, 1)", *who, new_id(), new_id())
    await pool.execute(TRACE, new_id(), scope.tenant, scope.owner, scope.user_id)
    await pool.execute(TITLE, *who, words)
    for shape in CardShape:
        await CardStore(pool).put(scope, CardDraft(shape, "clinic", words, user_id=who[1]))


async def test_every_table_that_names_a_person_is_of_a_holding(pool: Pool) -> None:
    """Or is kept for a reason that is written down: what comes to be later cannot be forgotten."""
    found = {row[0] for row in await pool.fetch(PERSONAL)}
    named = {table for tables in TABLES.values() for table in tables} | set(NAMES_ONLY)

    assert sorted(found - named) == []


async def test_what_hangs_on_a_holdings_rows_is_of_it_too(pool: Pool) -> None:
    """A table that refers to one of its tables goes with the rows, so its files are rewritten with them."""
    every = [tuple(row) for row in await pool.fetch(REFERS)]
    named = {table for tables in TABLES.values() for table in tables}

    assert [child for child, parent in every if parent in named and child not in named] == []


@pytest.mark.parametrize("name", [table.name for table in users.SINGLE])
@pytest.mark.parametrize("other", OTHERS)
async def test_a_users_rows_go_and_others_stay(pool: Pool, name: str, other: Scope) -> None:
    for scope in (ADA, other):
        await some(pool, scope)
    holding = holding_of(pool, name)
    before = await kept(pool, name, other)

    counts = [await holding.erase(ADA), await holding.erase(ADA)]

    assert counts == [{"chat_log": 2}.get(name, 1), 0]
    assert await kept(pool, name, ADA) == []
    assert await kept(pool, name, other) == before != []


@pytest.mark.parametrize(
    "asked",
    [
        pytest.param(Scope(tenant="acme", owner="ada", user_id="ada", session_id="s"), id="with his own key"),
        pytest.param(Scope(tenant="acme", user_id="ada", thread_id="t"), id="in his name"),
        pytest.param(Scope(tenant="acme", owner="ada"), id="no name but the key's"),
    ],
)
async def test_what_was_asked_for_a_user_is_his(pool: Pool, asked: Scope) -> None:
    await some(pool, asked, "the canary sang")

    assert "the canary sang" in str(await kept(pool, "answers", ADA))
    assert "the canary sang" in str(await kept(pool, "chat_log", ADA))


async def test_an_export_is_read_page_by_page(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(users, "PAGE", 2)
    for n in range(5):
        turns = [Turn(Role.USER, f"turn {n}", NOON + timedelta(minutes=n))]
        await tell(pool, ADA, turns, answer_id=f"a{n}")

    rows = [row async for row in HoldingRows(pool, users.CHAT_LOG).export(ADA)]

    assert [row["content"] for row in rows] == [f"turn {n}" for n in range(5)]
    assert all("tenant" not in row for row in rows)
    assert all(str(row["created_at"]).startswith("2026-11-21T12:0") for row in rows)
    assert all(str(row["created_at"]).endswith("Z") for row in rows)


async def test_what_is_for_all_users_of_a_namespace_is_nobody_s(pool: Pool) -> None:
    cards, shared = CardStore(pool), CardDraft(CardShape.CARD, "clinic", "Be brief.")
    await cards.put(ADA, shared)
    assert await kept(pool, "vantage_cards", ADA) == []

    assert await holding_of(pool, "vantage_cards").erase(ADA) == 0

    assert not (await cards.put(ADA, shared))[1]


async def test_traces_of_an_older_tool_are_told(pool: Pool) -> None:
    for change in ("answer_id TYPE uuid USING answer_id::uuid", "created_at DROP NOT NULL"):
        await pool.execute(f"ALTER TABLE public.vantage_answer_trace ALTER COLUMN {change}")
    for n in range(3):
        row = (new_id(), "acme", "ada", NOON if n else None)
        await pool.execute(OLDER, *row)

    holding = holding_of(pool, "vantage_traces")

    assert len([row async for row in holding.export(ADA)]) == 3
    assert [await holding.erase(ADA), await holding.erase(ADA)] == [3, 0]


INDEXED = {
    "conversations": """
        INSERT INTO public.conversation_index (tenant, owner, project, title, embedding, embedding_ibid)
        VALUES ($1, $2, $3, 'Mine', $4, $4) RETURNING session_id::text
    """,
    "code": """
        INSERT INTO public.code_index (tenant, owner, project, chunk_text, embedding, embedding_ibid)
        VALUES ($1, $2, $3, 'mine()', $4, $4) RETURNING id::text
    """,
}


@pytest.mark.parametrize("name", INDEXED)
async def test_rows_of_projects_go_with_all_that_was_derived(pool: Pool, name: str) -> None:
    """A user's own, in every project: told without vectors; words and vectors in the making go too."""
    holding = holding_of(pool, name)
    owners = (("acme", "ada", "THN"), ("acme", "ada", "Lab"), ("acme", "", "THN"), ("other", "ada", "THN"))
    for owner in owners:
        row = await pool.fetchval(INDEXED[name], *owner, vector("x"))
        await pool.execute("INSERT INTO ibid.project_words VALUES ($1, $2, '1', 1, '')", name, row)
        kind = name.removesuffix("s")
        await pool.execute(
            "INSERT INTO ibid.text_next VALUES ('other@8', $1, $2, $3)", kind, row, vector("x")
        )

    told = [row async for row in holding.export(ADA)]
    counts = [await holding.erase(ADA), await holding.erase(ADA)]

    assert sorted(str(row["project"]) for row in told) == ["Lab", "THN"]
    assert not {"tenant", "space", "embedding", "embedding_ibid"} & set(told[0])
    assert counts == [2, 0]
    for table in ("project_words", "text_next"):
        assert await pool.fetchval(f"SELECT count(*) FROM ibid.{table}") == 2  # noqa: S608 - ours


async def test_words_kept_meanwhile_go_too(pool: Pool) -> None:
    """A search analyses a row while its owner is erased: the erasure waits for it."""
    holding = holding_of(pool, "conversations")
    row = await pool.fetchval(INDEXED["conversations"], "acme", "ada", "THN", vector("x"))
    async with pool.acquire() as connection, connection.transaction():
        await keep(connection, CONVERSATION, {row: Analysed(b"", 1)})
        erasing = asyncio.create_task(holding.erase(ADA))
        done, _ = await asyncio.wait({erasing}, timeout=0.3)
        assert not done

    assert await erasing == 1
    assert await pool.fetchval("SELECT count(*) FROM ibid.project_words") == 0


async def test_own_documents_are_told_with_the_address_of_their_file(pool: Pool, tmp_path: Path) -> None:
    document = await ready(pool, ALICE, upload(tmp_path))
    await ready(pool, replace(ALICE, owner="bob", user_id="bob"), upload(tmp_path, "x", filename="x.pdf"))
    await ready(pool, Scope(tenant="acme"), upload(tmp_path, "y", filename="y.pdf", session_id=None))

    rows = [row async for row in Documents(pool).export(Scope(tenant="acme", user_id="alice"))]

    assert [row["id"] for row in rows] == [document.id]
    assert rows[0]["file"] == f"/api/documents/{document.id}/file"


async def test_own_documents_go_from_every_session(pool: Pool, tmp_path: Path) -> None:
    """Unseen at once; a job clears each away, and searches of each session start anew."""
    for n, session in enumerate(("s1", "s2")):
        file = upload(tmp_path, f"text {n}", filename=f"{n}.pdf", session_id=session)
        await ready(pool, replace(ALICE, session_id=session), file)
    bob = await ready(
        pool, replace(ALICE, owner="bob", user_id="bob"), upload(tmp_path, "x", filename="x.pdf")
    )
    versions = "SELECT version FROM ibid.part WHERE owner = 'alice' ORDER BY session_id"
    before = [row[0] for row in await pool.fetch(versions)]
    alice = Scope(tenant="acme", user_id="alice")

    counts = [await Documents(pool).erase(alice), await Documents(pool).erase(alice)]

    standing = await pool.fetch("SELECT id FROM ibid.document WHERE removed_at IS NULL")
    purges = await pool.fetchval("SELECT count(*) FROM ibid.job WHERE kind = 'purge' AND owner = 'alice'")
    assert counts == [2, 0]
    assert [row[0] for row in standing] == [bob.id]
    assert purges == 2
    assert [row[0] for row in await pool.fetch(versions)] == [version + 1 for version in before]
    assert [row async for row in Documents(pool).export(alice)] == []


async def remembered(pool: Pool, scope: Scope, name: str) -> None:
    """A memory of the user's, and its vector of a space in the making."""
    who = (name, scope.tenant, scope.user_id)
    await pool.execute(MEMORY, *who, f"words of {name}", vector(name))
    await pool.execute(NEXT, name, vector(name))


async def test_memories_go_with_their_vectors_in_the_making(pool: Pool) -> None:
    bob = replace(ADA, user_id="bob")
    for scope, name in ((ADA, "a1"), (ADA, "a2"), (bob, "b1")):
        await remembered(pool, scope, name)
    await pool.execute("DELETE FROM ibid.outbox")
    subject = users.Memories(pool)

    counts = [await subject.erase(ADA), await subject.erase(ADA)]

    assert counts == [2, 0]
    assert [row async for row in subject.export(ADA)] == []
    for table in ("memory", "text_next"):
        rows = await pool.fetch(f"SELECT id FROM ibid.{table}")  # noqa: S608 - the two above
        assert [row[0] for row in rows] == ["b1"]
    assert [row[0] for row in await pool.fetch("SELECT item FROM ibid.outbox ORDER BY item")] == ["a1", "a2"]


async def test_a_memory_written_while_an_erasure_ran_is_entered_again(pool: Pool) -> None:
    await remembered(pool, ADA, "a1")
    await pool.execute("DELETE FROM ibid.outbox")

    await users.Memories(pool).enter(ADA)

    assert await pool.fetchval("SELECT array_agg(item) FROM ibid.outbox") == ["a1"]


NAMES = ("memories", "answers")
BARE_MEMORY = """
    INSERT INTO ibid.memory (id, tenant, user_id, text, kind, origin, place, tokens, space, embedding)
    VALUES ('m', 'acme', $1, 'words', 'note', 'api', 1, 1, 's', '[1]')
"""
ASKERS = [
    pytest.param(ADA, id="in his name"),
    pytest.param(Scope(tenant="acme", owner="ada"), id="with his key"),
]
STRANGERS = [
    pytest.param(replace(ADA, tenant="other"), id="another tenant's of the name"),
    pytest.param(replace(ADA, user_id="bob"), id="another user"),
    pytest.param(Scope(tenant="acme"), id="nobody in particular"),
]


def asked(at: datetime) -> Answer:
    return replace(ANSWER, id=new_id(), created_at=at)


def clean(due: list[Due]) -> list[Due]:
    return [replace(each, dirty=()) for each in due]


async def stands(pool: Pool, answer: Answer) -> bool:
    return bool(await pool.fetchval("SELECT true FROM ibid.answer WHERE id = $1", answer.id))


@pytest.mark.parametrize("asker", ASKERS)
async def test_what_was_asked_before_is_not_written_after(pool: Pool, asker: Scope) -> None:
    """Neither the answer nor its turns nor an activity; what is asked later is kept again."""
    before = asked(datetime.now(UTC) - timedelta(seconds=1))
    await ErasureStore(pool).begin(ADA, NAMES)
    after = asked(datetime.now(UTC) + timedelta(seconds=1))

    for answer in (before, after):
        await AnswerStore(pool).keep(asker, answer, [Turn(Role.USER, "canary")])

    assert (await stands(pool, before), await stands(pool, after)) == (False, True)
    assert await pool.fetchval("SELECT count(*) FROM public.chat_log") == 1


@pytest.mark.parametrize("asker", STRANGERS)
async def test_others_answers_are_written(pool: Pool, asker: Scope) -> None:
    before = asked(datetime.now(UTC) - timedelta(seconds=1))
    await ErasureStore(pool).begin(ADA, NAMES)

    await AnswerStore(pool).keep(asker, before)

    assert await stands(pool, before)


@pytest.mark.parametrize("asker", ASKERS)
async def test_an_answer_that_waits_elsewhere_is_known_to_be_gone(pool: Pool, asker: Scope) -> None:
    began = datetime.now(UTC) - timedelta(seconds=1)
    store = AnswerStore(pool)
    known = await store.removed(asker, began)

    mark = await ErasureStore(pool).begin(ADA, NAMES)

    assert (known, await store.removed(asker, began)) == (False, True)
    assert not await store.removed(asker, mark.erased_at)


async def test_an_answer_being_written_is_waited_for(pool: Pool) -> None:
    async with transaction(pool) as connection:
        await connection.fetchval("SELECT ibid.user_stands('acme', 'ada', now())")
        begun = asyncio.create_task(ErasureStore(pool).begin(ADA, NAMES))
        await asyncio.sleep(0.2)
        waited = not begun.done()

    await begun
    assert waited


async def test_writers_of_memories_are_waited_for(pool: Pool) -> None:
    async with transaction(pool) as connection:
        await lock_user(connection, "acme", "ada")
        begun = asyncio.create_task(ErasureStore(pool).begin(ADA, NAMES))
        await asyncio.sleep(0.2)
        waited = not begun.done()

    await begun
    assert waited


async def test_an_erasure_is_seen_by_caches(pool: Pool) -> None:
    """At its beginning and at its end: what was searched in between is not asked for again."""
    version = "SELECT version FROM ibid.memory_user"
    store = ErasureStore(pool)

    mark = await store.begin(ADA, NAMES)
    first = await pool.fetchval(version)
    await store.end(ADA, mark, [])

    assert await pool.fetchval(version) > first > 0


async def test_files_are_dirty_with_what_was_erased(pool: Pool) -> None:
    store = ErasureStore(pool)

    mark = await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])
    due = await store.due()
    await store.compacted(clean(due))

    assert mark.dirty == ("answers",)
    assert mark.dirty_at
    assert mark.dirty_at > mark.erased_at
    assert [(each.tenant, each.user_id, each.dirty) for each in due] == [("acme", "ada", ("answers",))]
    assert await store.due() == []


async def test_what_was_dirty_before_stays_so(pool: Pool) -> None:
    """Asked again before the files are rewritten, they are still due, by the same time."""
    store = ErasureStore(pool)
    first = await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])

    again = await store.end(ADA, await store.begin(ADA, NAMES), [])
    more = await store.end(ADA, await store.begin(ADA, NAMES), ["memories"])

    assert (again.dirty, again.dirty_at) == (("answers",), first.dirty_at)
    assert more.dirty == ("answers", "memories")
    assert more.dirty_at
    assert more.dirty_at > more.erased_at


async def test_an_erasure_that_broke_off_is_due_whole(pool: Pool) -> None:
    """A crash between beginning and end: nobody knows what was there. Not before it must have been one."""
    await ErasureStore(pool).begin(ADA, NAMES)
    at_once = await ErasureStore(pool).due()
    await pool.execute("UPDATE ibid.memory_user SET due_at = due_at - interval '10 minutes'")

    assert at_once == []
    assert [each.dirty for each in await ErasureStore(pool).due()] == [tuple(TABLES)]


async def test_files_are_not_called_clean_by_a_compaction_that_came_too_early(pool: Pool) -> None:
    store = ErasureStore(pool)
    mark = await store.begin(ADA, NAMES)
    await pool.execute("UPDATE ibid.memory_user SET due_at = now()")
    early = await store.due()

    ended = await store.end(ADA, mark, ["answers"])
    await store.compacted(clean(early))

    assert [each.dirty for each in await store.due()] == [ended.dirty] == [("answers",)]


async def test_files_wait_for_a_slow_holding(pool: Pool) -> None:
    """A look for what is to be compacted, while a holding is at its deletes, finds nothing to do; the receipt
    does not call clean what was rewritten before them."""
    going, gone = asyncio.Event(), asyncio.Event()

    class Slow(FakeHolding):
        async def erase(self, scope: Scope) -> int:
            going.set()
            await gone.wait()
            return await super().erase(scope)

    files, holding = FakeFiles(), Slow("answers", {("acme", "ada"): [{"id": 1}]})
    subject = UserService([holding], [files], ErasureStore(pool), Recorder(AnswerStore(pool)))
    erasing = asyncio.create_task(subject.erase(ADA))
    await going.wait()
    early = await subject.compact()
    gone.set()

    receipt = await erasing

    assert (early, receipt.compacted, receipt.pending) == (False, False, ())
    assert await subject.compact()
    assert (await subject.erase(ADA)).compacted


async def test_an_earlier_erasure_that_ends_later_counts(pool: Pool) -> None:
    """Two at once: what the first dropped is dirty, though the second found nothing and is rewritten; and
    nothing is due while one of them is at it."""
    store = ErasureStore(pool)
    first = await store.begin(ADA, NAMES)
    second = await store.begin(ADA, NAMES)
    await store.end(ADA, first, ["answers"])
    meanwhile = await store.due()
    await store.end(ADA, second, [])

    assert meanwhile == []
    assert "answers" in (await store.due())[0].dirty


async def test_names_of_whom_nothing_was_kept_leave_no_mark_for_long(pool: Pool) -> None:
    """It guards what is under way, and goes. Marks of others stay, and of who came back."""
    store = ErasureStore(pool)
    for user in ("ada", "bob", "eve"):
        scope = replace(ADA, user_id=user)
        await store.end(scope, await store.begin(scope, NAMES), ["answers"] if user == "bob" else [])
    await pool.execute(BARE_MEMORY, "eve")
    await store.sweep()
    at_once = await pool.fetchval("SELECT count(*) FROM ibid.memory_user")
    await pool.execute("UPDATE ibid.memory_user SET ended_at = ended_at - interval '49 hours'")

    await store.sweep()

    left = await pool.fetch("SELECT user_id FROM ibid.memory_user ORDER BY user_id")
    assert (at_once, [row["user_id"] for row in left]) == (3, ["bob", "eve"])


async def test_an_erasure_is_whole_when_the_last_of_two_has_ended(pool: Pool) -> None:
    ended = "SELECT ended_at IS NOT NULL FROM ibid.memory_user"
    store = ErasureStore(pool)
    first = await store.begin(ADA, NAMES)
    second = await store.begin(ADA, NAMES)

    states = []
    for mark in (first, second):
        await store.end(ADA, mark, [])
        states.append(await pool.fetchval(ended))

    assert states == [False, True]


async def test_an_erasure_while_files_are_rewritten_is_due_again(pool: Pool) -> None:
    store = ErasureStore(pool)
    await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])
    due = await store.due()

    await store.end(ADA, await store.begin(ADA, NAMES), ["memories"])
    await store.compacted(clean(due))

    assert [each.dirty for each in await store.due()] == [("answers", "memories")]


async def test_an_answer_about_files_never_forgets_what_was_dropped_meanwhile(pool: Pool) -> None:
    """Rewritten while two erasures are under way, one of which drops something: that is still to be done."""
    store = ErasureStore(pool)
    await store.end(ADA, await store.begin(ADA, NAMES), ["answers"])
    due = await store.due()
    first, second = await store.begin(ADA, NAMES), await store.begin(ADA, NAMES)

    await store.end(ADA, first, ["memories"])
    await store.compacted(clean(due))
    told = await store.end(ADA, second, [])

    assert "memories" in told.dirty
    assert "memories" in (await store.due())[0].dirty


async def test_documents_are_cleared_away_first(pool: Pool, tmp_path: Path) -> None:
    """Removed but not yet purged, their bytes are rows like any other; and out of the engine."""
    await ready(pool, ALICE, upload(tmp_path))
    alice, store = Scope(tenant="acme", user_id="alice"), ErasureStore(pool)
    mark = await store.begin(alice, ["documents"])
    count = await Documents(pool).erase(alice)
    await store.end(alice, mark, ["documents"])
    waiting = await store.due()

    await pool.execute("DELETE FROM ibid.document WHERE removed_at IS NOT NULL")
    still = await store.due()
    await pool.execute("UPDATE ibid.outbox SET engine = 'qdrant', collection = 'sleep'")

    assert (count, waiting, still) == (1, [], [])
    assert len(await store.due()) == 1


async def test_every_replica_drops_the_indexes_and_results_of_an_erased_user(pool: Pool) -> None:
    predicates: list[Callable[[Key], bool]] = []
    cleared: list[bool] = []
    listening = asyncio.create_task(evict_erased(pool, predicates.append, lambda: cleared.append(True)))
    store, alice = ErasureStore(pool), Scope(tenant="acme", user_id="alice")
    for _ in range(100):  # until it listens
        await store.end(alice, await store.begin(alice, NAMES), ())
        await asyncio.sleep(0.05)
        if predicates:
            break
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)

    goes = [("memories", ("acme", "alice")), ("documents", DocumentPart("acme", "alice", "s1"))]
    stays = [
        ("memories", ("acme", "bob")),
        ("memories", ("other", "alice")),
        ("documents", DocumentPart("acme")),
    ]
    assert [predicates[0](key) for key in (*goes, *stays)] == [True, True, False, False, False]
    assert cleared
