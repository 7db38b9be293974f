"""Opening Postgres: embedded or configured, its revision, its identity, compaction. The schema arrives
once, however many replicas start, and older tables of others are extended."""

import asyncio
import shutil
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from anyio.from_thread import start_blocking_portal
from pydantic import SecretStr

from app.db import postgres
from app.db import postgres as module
from app.db.embedded import Cluster, open_cluster
from app.db.migrations import migrate
from app.db.pool import Pool, open_pool, postgres_faults
from app.db.postgres import (
    Behind,
    PostgresProbe,
    check_revision,
    compact,
    identity,
    is_newest,
    migrate_if_needed,
    open_postgres,
    recorded,
    superuser,
)
from app.db.project_tables import CHUNK, CONVERSATION, rows_of
from app.errors import StartError, Unavailable
from app.settings import Ibid, Postgres, Settings
from app.types import Probe, Scope


def embedded(folder: Path) -> Settings:
    return Settings(_env_file=None, ibid=Ibid(data_dir=folder))


def configured(dsn: str, folder: Path) -> Settings:
    return Settings(_env_file=None, ibid=Ibid(data_dir=folder), postgres=Postgres(dsn=SecretStr(dsn)))


async def test_embedded_without_a_setting(tmp_path: Path) -> None:
    """With nothing configured there is a migrated database under the data folder, kept over a restart."""
    async with open_postgres(embedded(tmp_path)) as pool:
        await pool.execute("INSERT INTO ibid.tenant (id) VALUES ('kept')")
    async with open_postgres(embedded(tmp_path)) as pool:
        assert await pool.fetchval("SELECT count(*) FROM ibid.tenant") == 2
    assert (tmp_path / "postgres" / "data").is_dir()


async def test_the_embedded_servers_superuser_is_ours_alone(dsn: str, tmp_path: Path) -> None:
    async with open_postgres(embedded(tmp_path)) as pool:
        assert pool.superuser
        connection = await asyncpg.connect(pool.superuser)
        assert await connection.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        assert not await pool.fetchval("SELECT rolsuper FROM pg_roles WHERE rolname = current_user")
        await connection.close()
    async with open_postgres(configured(dsn, tmp_path)) as pool:
        assert pool.superuser is None


async def kept(pool: Pool) -> bool:
    """True if the server is there, with the row that was written to it."""
    try:
        with postgres_faults():
            return bool(await pool.fetchval("SELECT true FROM ibid.tenant WHERE id = 'kept'"))
    except Unavailable:
        return False


async def test_configured_server(dsn: str, tmp_path: Path) -> None:
    admin = await asyncpg.connect(dsn)
    await admin.execute("DROP SCHEMA ibid CASCADE")
    await admin.close()
    async with open_postgres(configured(dsn, tmp_path)) as pool:
        assert await pool.fetchval("SELECT id FROM ibid.tenant") == "default"
    assert not (tmp_path / "postgres").exists()


@pytest.mark.parametrize(
    "dsn",
    ["postgresql://x@127.0.0.1:1/none", "postgresql://x@/none?host=/nowhere"],
    ids=["refused", "no socket"],
)
async def test_configured_server_that_is_not_there(dsn: str, tmp_path: Path) -> None:
    with pytest.raises(StartError, match="Postgres cannot be opened"):
        async with open_postgres(configured(dsn, tmp_path)):
            pass


@pytest.mark.parametrize("dsn", ["postgresql://me:secret:x/y@h/d", "mysql://me:secret@h/d"])
async def test_unreadable_dsn_is_not_shown(dsn: str, tmp_path: Path) -> None:
    """A DSN that cannot be read is told by its form; nothing of it, perhaps a password, is repeated."""
    with pytest.raises(StartError, match="POSTGRES_DSN is not of the form") as caught:
        async with open_postgres(configured(dsn, tmp_path)):
            pass
    assert "secret" not in str(caught.value)


async def test_probe_tells_the_version(pool: Pool) -> None:
    probe: Probe = PostgresProbe(pool)
    facts = await probe.check()
    assert probe.name == "postgres"
    assert str(facts["version"]).split(".")[0].isdigit()


@pytest.fixture
async def admin(cluster: Cluster, pool: Pool) -> asyncpg.Connection:
    return await asyncpg.connect(
        cluster.places.dsn("postgres", await pool.fetchval("SELECT current_database()"))
    )


async def test_a_copy_is_another_database(cluster: Cluster, pool: Pool, admin: asyncpg.Connection) -> None:
    """Row for row the same, tenants and their times included: as a restored dump is."""
    await admin.execute("CREATE DATABASE twin TEMPLATE ibid OWNER ibid")
    made = "SELECT created_at FROM ibid.tenant WHERE id = 'default'"
    try:
        async with open_pool(cluster.places.dsn("ibid", "twin")) as twin:
            assert await twin.fetchval(made) == await pool.fetchval(made)
            assert await identity(twin) != await identity(pool)
    finally:
        await admin.execute("DROP DATABASE twin WITH (FORCE)")
        await admin.close()


async def execute(dsn: str, sql: str) -> None:
    connection = await asyncpg.connect(dsn)
    await connection.execute(sql)
    await connection.close()


@pytest.mark.parametrize(
    "sql",
    [
        pytest.param("UPDATE ibid.alembic_version SET version_num = '0001'", id="older"),
        pytest.param("DELETE FROM ibid.alembic_version", id="none recorded"),
        pytest.param("DROP TABLE ibid.alembic_version", id="no table"),
        pytest.param("DROP SCHEMA ibid CASCADE", id="no schema"),
    ],
)
async def test_any_other_is_for_alembic(dsn: str, sql: str) -> None:
    await execute(dsn, sql)
    assert not await is_newest(dsn)


@pytest.mark.parametrize(
    ("sql", "said"),
    [
        pytest.param(
            "UPDATE ibid.alembic_version SET version_num = '0001'", "the schema 0001, this", id="older"
        ),
        pytest.param(
            "UPDATE ibid.alembic_version SET version_num = '9999'", "the schema 9999, this", id="newer"
        ),
        pytest.param("DROP SCHEMA ibid CASCADE", "no tables of Ibid yet", id="none"),
    ],
)
async def test_who_only_looks_is_told_of_another(dsn: str, sql: str, said: str) -> None:
    await check_revision(dsn)
    await execute(dsn, sql)
    before = await recorded(dsn)
    with pytest.raises(Behind, match=said):
        await check_revision(dsn)
    assert await recorded(dsn) == before


async def test_a_newer_one_is_refused(dsn: str) -> None:
    await execute(dsn, "UPDATE ibid.alembic_version SET version_num = '9999'")
    with pytest.raises(StartError, match="another version of Ibid"):
        await migrate_if_needed(dsn)


CANARY = "the canary of Sankt Andreasberg sings at dawn"
TABLE = "CREATE TABLE public.kept (id integer PRIMARY KEY, words text)"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """As a service runs it, but for the disk's promise."""
    home = tmp_path_factory.mktemp("vacuum") / "postgres"
    with (
        start_blocking_portal() as portal,
        portal.wrap_async_context_manager(open_cluster(home, {"fsync": "off"})) as cluster,
    ):
        yield cluster


@pytest.fixture
async def connection(server: Cluster) -> object:
    """Our own role's, on a database with one table of our own."""
    opened = await asyncpg.connect(server.dsn)
    await opened.execute("DROP TABLE IF EXISTS public.kept")
    await opened.execute(TABLE)
    try:
        yield opened
    finally:
        await opened.close()


def found(home: Path, words: str = CANARY) -> list[str]:
    files = [path for path in home.rglob("*") if path.is_file()]
    return [str(path.relative_to(home)) for path in files if words.encode() in path.read_bytes()]


async def test_deleted_words_are_in_no_file(server: Cluster, connection: asyncpg.Connection) -> None:
    """Not in the table, nor in an index, the statistics or the log; what others keep stays."""
    await connection.executemany(
        "INSERT INTO public.kept VALUES ($1, $2)", [(n, CANARY if n % 3 else "others") for n in range(3_000)]
    )
    await connection.execute("CREATE INDEX ON public.kept (words)")
    await connection.execute("ANALYZE public.kept")
    before = found(server.places.home)
    await connection.execute("DELETE FROM public.kept WHERE words = $1", CANARY)

    await compact(superuser(server.dsn), ["public.kept"])

    assert len(before) > 1
    assert found(server.places.home) == []
    assert await connection.fetchval("SELECT count(*) FROM public.kept WHERE words = 'others'") == 1_000


async def test_a_statement_that_still_sees_it_is_waited_for(
    server: Cluster, connection: asyncpg.Connection
) -> None:
    await connection.execute("INSERT INTO public.kept VALUES (1, $1)", CANARY)
    reader = await asyncpg.connect(server.dsn)
    reading = reader.transaction(isolation="repeatable_read")
    await reading.start()
    await reader.fetchval("SELECT 1")
    await connection.execute("DELETE FROM public.kept")

    compacting = asyncio.create_task(compact(superuser(server.dsn), ["public.kept"]))
    await asyncio.sleep(0.3)
    waited = not compacting.done()
    await reading.rollback()
    await reader.close()
    await compacting

    assert waited
    assert found(server.places.home) == []


async def test_a_table_in_use_is_not_waited_for_at_length(
    server: Cluster, connection: asyncpg.Connection, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Everybody who came later would wait behind: it is tried again, and then left for another time."""
    monkeypatch.setattr(postgres, "TRIES", 2)
    monkeypatch.setattr(postgres, "LOCK_SECONDS", 0.1)
    async with connection.transaction():
        await connection.execute("LOCK TABLE public.kept IN ACCESS SHARE MODE")
        with pytest.raises(Unavailable, match=r"public\.kept is in use"):
            await compact(superuser(server.dsn), ["public.kept"])


@pytest.fixture
async def elevated(dsn: str) -> str:
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


async def test_failed_migration_leaves_nothing(empty: str) -> None:
    await fetch(empty, "CREATE VIEW public.chat_log AS SELECT 1")
    with pytest.raises(StartError, match="cannot be migrated"):
        await migrate(empty)
    assert await fetch(empty, "SELECT to_regnamespace('ibid')") == [(None,)]


async def test_server_without_pgvector(elevated: str, empty: str) -> None:
    """Where the extension is missing and we may not create it, the start says who must do what."""
    await fetch(elevated, "DROP EXTENSION vector CASCADE")
    with pytest.raises(StartError, match="CREATE EXTENSION vector"):
        await migrate(empty)


async def test_prepared_by_someone_with_more_rights(elevated: str, empty: str) -> None:
    """A role that may not create schemas is enough where schema and extension are there."""
    (name,) = (await fetch(elevated, "SELECT current_database()"))[0]
    await fetch(elevated, "CREATE SCHEMA ibid AUTHORIZATION ibid")
    await fetch(elevated, f"ALTER DATABASE {name} OWNER TO postgres")
    await fetch(elevated, "GRANT CREATE ON SCHEMA public TO ibid")
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
