"""The schema arrives once, however many replicas start, and older tables of others are extended."""

import asyncio
import shutil
from pathlib import Path

import asyncpg
import pytest

from app.db import postgres as module
from app.db.migrations import migrate
from app.db.pool import Pool
from app.errors import StartError
from app.retrieval.project_tables import CHUNK, CONVERSATION, rows_of
from app.retrieval.projects import NEWEST
from app.types import Scope

TABLES = (
    "SELECT table_name, column_name, data_type FROM information_schema.columns "
    "WHERE table_schema IN ('ibid', 'public') ORDER BY 1, 2"
)


@pytest.fixture
async def admin(dsn: str) -> str:
    return dsn.replace("ibid@", "postgres@")


@pytest.fixture
async def empty(dsn: str) -> str:
    connection = await asyncpg.connect(dsn)
    await connection.execute(
        "DROP SCHEMA ibid CASCADE; DROP TABLE public.chat_log, public.vantage_answer_trace"
    )
    await connection.close()
    return dsn


async def fetch(dsn: str, sql: str) -> list[tuple[object, ...]]:
    connection = await asyncpg.connect(dsn)
    try:
        return [tuple(row) for row in await connection.fetch(sql)]
    finally:
        await connection.close()


async def test_first_tables(pool: Pool) -> None:
    found = await pool.fetch("SELECT tablename FROM pg_tables WHERE schemaname = 'ibid'")
    assert {row["tablename"] for row in found} >= {
        *("tenant", "api_key", "space", "part", "document", "document_piece", "chunk"),
        *("job", "answer", "activity", "alembic_version"),
    }
    assert await pool.fetchval("SELECT id FROM ibid.tenant") == "default"


async def test_twice_is_once(dsn: str) -> None:
    before = await fetch(dsn, TABLES)
    await migrate(dsn)
    assert await fetch(dsn, TABLES) == before
    assert await fetch(dsn, "SELECT count(*) FROM ibid.tenant") == [(1,)]


async def test_replicas_that_start_at_once(empty: str) -> None:
    """Four at the same time on an empty database all succeed, and it is done once."""
    await asyncio.gather(*(migrate(empty) for _ in range(4)))
    assert await fetch(empty, "SELECT count(*) FROM ibid.alembic_version") == [(1,)]
    assert await fetch(empty, "SELECT id FROM ibid.tenant") == [("default",)]


async def test_older_chat_log_is_extended(empty: str) -> None:
    """A chat_log of older tools keeps its rows and columns and gains ours, with defaults that fit."""
    await fetch(
        empty, "CREATE TABLE public.chat_log (user_id text, role varchar(20), content text, mood int)"
    )
    await fetch(empty, "INSERT INTO public.chat_log VALUES ('ann', 'user', 'hello', 3)")
    await migrate(empty)
    assert await fetch(
        empty, "SELECT id, tenant, owner, user_id, thread_id, role, content, mood FROM public.chat_log"
    ) == [(1, "default", "", "ann", None, "user", "hello", 3)]
    await fetch(empty, "INSERT INTO public.chat_log (user_id, role, content) VALUES ('bob', 'user', 'hi')")
    assert await fetch(empty, "SELECT id FROM public.chat_log ORDER BY id") == [(1,), (2,)]


async def test_older_chat_log_with_its_own_keys(empty: str) -> None:
    """An id of another type, and times without a zone, are left as they are."""
    await fetch(
        empty,
        "CREATE TABLE public.chat_log (id uuid PRIMARY KEY DEFAULT gen_random_uuid(), created_at timestamp)",
    )
    await migrate(empty)
    await fetch(empty, "INSERT INTO public.chat_log (role, content) VALUES ('user', 'hi')")
    assert await fetch(empty, "SELECT pg_typeof(id)::text, tenant FROM public.chat_log") == [
        ("uuid", "default")
    ]


LONG = "(SELECT string_agg(md5(n::text), '') FROM generate_series(1, 200) AS n)"
"""6,400 characters that cannot be made shorter: no page of a tree holds them."""


async def test_long_names_of_theirs_are_taken(empty: str) -> None:
    """Rows that are there, and rows that come: a project or a path may be longer than an index holds."""
    tables = {
        "conversation_index": "session_id uuid, project text, title text",
        "code_index": "id uuid, project text, file_path text, chunk_text text, sha256 text",
    }
    await fetch(empty, "DROP TABLE public.conversation_index, public.code_index")
    for table, columns in tables.items():
        await fetch(empty, f"CREATE TABLE public.{table} ({columns})")
        await fetch(empty, f"INSERT INTO public.{table} (project) VALUES ({LONG})")  # noqa: S608 - ours
    await migrate(empty)
    for table in tables:
        await fetch(empty, f"INSERT INTO public.{table} (project) VALUES ({LONG}), ('THN')")  # noqa: S608
    await fetch(empty, f"UPDATE code_index SET sha256 = {LONG}, file_path = {LONG}")  # noqa: S608 - ours
    parts = "SELECT kind, length(project) FROM ibid.project_part ORDER BY 1, 2"
    kinds = ("code", "conversations")
    assert await fetch(empty, parts) == [(kind, length) for kind in kinds for length in (3, 200)]


@pytest.mark.parametrize("kind", ["text", "varchar(50)"])
async def test_their_nullable_owner_and_tenant_stay_so(empty: str, kind: str) -> None:
    """Rows of nobody are shared in the tenant `default`, those that are there and those that come."""
    asked = rows_of(Scope(owner="ann"), None)
    said = asked.sql.replace("$1", "'default'").replace("$2", "'{\"\",ann}'")
    await fetch(empty, "DROP TABLE public.conversation_index, public.code_index")
    for table in (CONVERSATION, CHUNK):
        name, columns = table.name, f"{table.id} uuid, project text, owner {kind}, tenant {kind}"
        await fetch(empty, f"CREATE TABLE {name} ({columns})")
        await fetch(empty, f"INSERT INTO {name} (project) VALUES ('before')")  # noqa: S608 - ours
    await migrate(empty)
    for name in (CONVERSATION.name, CHUNK.name):
        await fetch(
            empty,
            f"INSERT INTO {name} (project, owner, tenant) VALUES ('after', NULL, NULL), "  # noqa: S608 - ours
            "('ann''s', 'ann', NULL), ('ben''s', 'ben', NULL), ('strange', NULL, 'other')",
        )
        await fetch(empty, f"UPDATE {name} SET project = 'later' WHERE project = 'after'")  # noqa: S608 - ours
        seen = await fetch(empty, f"SELECT project FROM {name} WHERE {said} ORDER BY 1")  # noqa: S608 - ours
        assert seen == [("ann's",), ("before",), ("later",)]
    parts = await fetch(empty, "SELECT tenant, owner, project FROM ibid.project_part WHERE kind = 'code'")
    assert {("default", "", "before"), ("default", "", "later"), ("other", "", "strange")} <= set(parts)


async def test_the_newest_are_read_off_the_index(dsn: str) -> None:
    await fetch(
        dsn,
        "INSERT INTO conversation_index (project, title, indexed_at) "
        "SELECT 'THN', n, now() - n * interval '1 min' FROM generate_series(1, 5000) AS n",
    )
    await fetch(dsn, "ANALYZE conversation_index")
    asked = rows_of(Scope(project="THN"), None)
    said = asked.sql.replace("$1", "'default'").replace("$2", "'{\"\"}'").replace("$3", "'THN'")
    newest = NEWEST.format(
        id="session_id", table=CONVERSATION.name, where=f"{said} AND ({CONVERSATION.shown})", limit=5
    )
    plan = "\n".join(str(row[0]) for row in await fetch(dsn, f"EXPLAIN {newest}"))
    assert "conversation_index_newest" in plan
    assert "Seq Scan" not in plan


async def test_failed_migration_leaves_nothing(empty: str) -> None:
    await fetch(empty, "CREATE VIEW public.chat_log AS SELECT 1")
    with pytest.raises(StartError, match="cannot be migrated"):
        await migrate(empty)
    assert await fetch(empty, "SELECT to_regnamespace('ibid')") == [(None,)]


async def test_database_of_a_newer_ibid(dsn: str) -> None:
    await fetch(dsn, "UPDATE ibid.alembic_version SET version_num = '9999'")
    with pytest.raises(StartError, match="another version of Ibid"):
        await migrate(dsn)


async def test_server_without_pgvector(admin: str, empty: str) -> None:
    """Where the extension is missing and we may not create it, the start says who must do what."""
    await fetch(admin, "DROP EXTENSION vector CASCADE")
    with pytest.raises(StartError, match="CREATE EXTENSION vector"):
        await migrate(empty)


async def test_prepared_by_someone_with_more_rights(admin: str, empty: str) -> None:
    """A role that may not create schemas is enough where schema and extension are there."""
    (name,) = (await fetch(admin, "SELECT current_database()"))[0]
    await fetch(admin, "CREATE SCHEMA ibid AUTHORIZATION ibid")
    await fetch(admin, f"ALTER DATABASE {name} OWNER TO postgres")
    await fetch(admin, "GRANT CREATE ON SCHEMA public TO ibid")
    await migrate(empty)
    assert await fetch(empty, "SELECT id FROM ibid.tenant") == [("default",)]


async def test_installed_copy_finds_its_scripts(
    empty: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Without a checkout the scripts come from where an installation puts them, even an odd place."""
    installed = tmp_path / "100% share"
    shutil.copytree(module.CHECKOUT, installed)
    monkeypatch.setattr(module, "CHECKOUT", tmp_path / "nowhere")
    monkeypatch.setattr(module, "INSTALLED", installed)
    await migrate(empty)
    assert await fetch(empty, "SELECT id FROM ibid.tenant") == [("default",)]


def test_missing_scripts_are_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CHECKOUT", tmp_path)
    monkeypatch.setattr(module, "INSTALLED", tmp_path)
    with pytest.raises(StartError, match="migration scripts are missing"):
        module.scripts()
