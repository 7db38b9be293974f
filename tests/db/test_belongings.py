"""What the record keeps of a person, told and dropped."""

import asyncio
import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from app.answer import Role, Turn, new_id
from app.db import users
from app.db.answers import AnswerStore
from app.db.cards import CardDraft, CardStore, Shape
from app.db.pool import Pool
from app.db.users import NAMES_ONLY, TABLES, Belongings, Rows
from app.retrieval.project_tables import CONVERSATION, Analysed, keep
from app.types import Scope
from tests.db.test_answers import ANSWER
from tests.fakes.turns import tell
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
NEXT = "INSERT INTO ibid.text_next VALUES ('other@8', 'memory', $1, $2, $1)"


async def kept(pool: Pool, name: str, scope: Scope) -> list[str]:
    """Everything a holding tells of a user, as text."""
    holding = next(each for each in users.belongings(pool) if each.name == name)
    return [str(row) async for row in holding.export(scope)]


async def some(pool: Pool, scope: Scope, words: str = "why") -> None:
    """A question with its answer, and a vote."""
    turns = [Turn(Role.USER, words, NOON), Turn(Role.ASSISTANT, "so", NOON + timedelta(seconds=1))]
    await AnswerStore(pool).keep(scope, replace(ANSWER, id=new_id(), question=words), turns)
    who = (scope.tenant, scope.user_id or scope.owner)
    await pool.execute("INSERT INTO ibid.memory_vote VALUES ($1, $2, $3, $4, 1)", *who, new_id(), new_id())
    await pool.execute(TRACE, new_id(), scope.tenant, scope.owner, scope.user_id)
    for shape in Shape:
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


def test_a_holding_of_the_record_has_tables(pool: Pool) -> None:
    """By the same name; memories have a holding of their own, with the index."""
    names = [holding.name for holding in users.belongings(pool)]

    assert sorted([*names, "memories"]) == sorted(TABLES)


@pytest.mark.parametrize("name", [table.name for table in users.SINGLE])
@pytest.mark.parametrize("other", OTHERS)
async def test_a_users_rows_go_and_others_stay(pool: Pool, name: str, other: Scope) -> None:
    """At once, all of them, and again there is none."""
    for scope in (ADA, other):
        await some(pool, scope)
    holding = next(each for each in users.belongings(pool) if each.name == name)
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
    """By his own key, or by the tenant's in his name."""
    await some(pool, asked, "the canary sang")

    assert "the canary sang" in str(await kept(pool, "answers", ADA))
    assert "the canary sang" in str(await kept(pool, "chat_log", ADA))


async def test_an_export_is_read_page_by_page(pool: Pool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Oldest first, each row once; without tenant and vectors."""
    monkeypatch.setattr(users, "PAGE", 2)
    for n in range(5):
        turns = [Turn(Role.USER, f"turn {n}", NOON + timedelta(minutes=n))]
        await tell(pool, ADA, turns, answer_id=f"a{n}")

    rows = [row async for row in Rows(pool, users.CHAT_LOG).export(ADA)]

    assert [row["content"] for row in rows] == [f"turn {n}" for n in range(5)]
    assert all("tenant" not in row for row in rows)
    assert all(str(row["created_at"]).startswith("2026-11-21T12:0") for row in rows)
    assert all(str(row["created_at"]).endswith("Z") for row in rows)


async def test_what_is_for_all_users_of_a_namespace_is_nobody_s(pool: Pool) -> None:
    """It stays, and is in no export."""
    cards, shared = CardStore(pool), CardDraft(Shape.CARD, "clinic", "Be brief.")
    await cards.put(ADA, shared)
    assert await kept(pool, "vantage_cards", ADA) == []

    assert await Rows(pool, users.CARDS).erase(ADA) == 0

    assert not (await cards.put(ADA, shared))[1]


async def test_traces_of_an_older_tool_are_told(pool: Pool) -> None:
    """Its ids are of another type, and a time may be missing."""
    for change in ("answer_id TYPE uuid USING answer_id::uuid", "created_at DROP NOT NULL"):
        await pool.execute(f"ALTER TABLE public.vantage_answer_trace ALTER COLUMN {change}")
    for n in range(3):
        row = (new_id(), "acme", "ada", NOON if n else None)
        await pool.execute(OLDER, *row)

    holding = Rows(pool, users.TRACES)

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
    holding = next(each for each in users.belongings(pool) if each.name == name)
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
    holding = next(each for each in users.belongings(pool) if each.name == "conversations")
    row = await pool.fetchval(INDEXED["conversations"], "acme", "ada", "THN", vector("x"))
    async with pool.acquire() as connection, connection.transaction():
        await keep(connection, CONVERSATION, {row: Analysed(b"", 1)})
        erasing = asyncio.create_task(holding.erase(ADA))
        done, _ = await asyncio.wait({erasing}, timeout=0.3)
        assert not done

    assert await erasing == 1
    assert await pool.fetchval("SELECT count(*) FROM ibid.project_words") == 0


async def test_own_documents_are_told_with_the_address_of_their_file(pool: Pool, tmp_path: Path) -> None:
    """Not those of others, nor what the tenant shares."""
    document = await ready(pool, ALICE, upload(tmp_path))
    await ready(pool, replace(ALICE, owner="bob", user_id="bob"), upload(tmp_path, "x", filename="x.pdf"))
    await ready(pool, Scope(tenant="acme"), upload(tmp_path, "y", filename="y.pdf", session_id=None))

    rows = [row async for row in Belongings(pool).export(Scope(tenant="acme", user_id="alice"))]

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

    counts = [await Belongings(pool).erase(alice), await Belongings(pool).erase(alice)]

    standing = await pool.fetch("SELECT id FROM ibid.document WHERE removed_at IS NULL")
    purges = await pool.fetchval("SELECT count(*) FROM ibid.job WHERE kind = 'purge' AND owner = 'alice'")
    assert counts == [2, 0]
    assert [row[0] for row in standing] == [bob.id]
    assert purges == 2
    assert [row[0] for row in await pool.fetch(versions)] == [version + 1 for version in before]
    assert [row async for row in Belongings(pool).export(alice)] == []


def test_reasons_to_keep_a_name_are_given() -> None:
    """In words."""
    assert all(re.search(r"\w+ \w+ \w+", reason) for reason in NAMES_ONLY.values())


async def remembered(pool: Pool, scope: Scope, name: str) -> None:
    """A memory of the user's, and its vector of a space in the making."""
    who = (name, scope.tenant, scope.user_id)
    await pool.execute(MEMORY, *who, f"words of {name}", vector(name))
    await pool.execute(NEXT, name, vector(name))


async def test_memories_go_with_their_vectors_in_the_making(pool: Pool) -> None:
    """At once; others' stay, and the engine is told."""
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
    """Its point may have gone with the others."""
    await remembered(pool, ADA, "a1")
    await pool.execute("DELETE FROM ibid.outbox")

    await users.Memories(pool).enter(ADA)

    assert await pool.fetchval("SELECT array_agg(item) FROM ibid.outbox") == ["a1"]
