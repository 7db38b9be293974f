"""Postgres, opened: embedded or configured, ready to be used, and told when it is not."""

import asyncio
import os
import signal
from pathlib import Path

import asyncpg
import pytest
from pydantic import SecretStr

from app.db.pool import Pool, postgres_faults
from app.db.postgres import PostgresProbe, open_postgres
from app.errors import StartError, Unavailable
from app.settings import Ibid, Postgres, Settings
from app.types import Probe


def embedded(folder: Path) -> Settings:
    """Settings without a DSN."""
    return Settings(_env_file=None, ibid=Ibid(data_dir=folder))


def configured(dsn: str, folder: Path) -> Settings:
    """Settings with one."""
    return Settings(_env_file=None, ibid=Ibid(data_dir=folder), postgres=Postgres(dsn=SecretStr(dsn)))


async def test_embedded_without_a_setting(tmp_path: Path) -> None:
    """With nothing configured there is a migrated database under the data folder, kept over a restart."""
    async with open_postgres(embedded(tmp_path)) as pool:
        await pool.execute("INSERT INTO ibid.tenant (id) VALUES ('kept')")
    async with open_postgres(embedded(tmp_path)) as pool:
        assert await pool.fetchval("SELECT count(*) FROM ibid.tenant") == 2
    assert (tmp_path / "postgres" / "data").is_dir()


async def test_the_embedded_servers_superuser_is_ours_alone(dsn: str, tmp_path: Path) -> None:
    """Its files can be rewritten; a configured server's are another's, whoever we are there."""
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


async def until(pool: Pool, *, there: bool) -> None:
    """Wait up to a minute for the server to go or to come back."""
    for _ in range(3000):
        if await kept(pool) is there:
            return
        await asyncio.sleep(0.02)
    pytest.fail(f"the server never was {there=}")


async def test_pool_outlives_a_killed_server(tmp_path: Path) -> None:
    """kill -9 of the server costs a moment of `Unavailable`; then the same pool works again."""
    async with open_postgres(embedded(tmp_path)) as pool:
        await pool.execute("INSERT INTO ibid.tenant (id) VALUES ('kept')")
        page = tmp_path / "postgres" / "data" / "postmaster.pid"
        os.kill(int(page.read_text().split()[0]), signal.SIGKILL)
        await until(pool, there=False)
        await until(pool, there=True)


async def test_configured_server(dsn: str, tmp_path: Path) -> None:
    """With POSTGRES_DSN no server of our own is started, and that one is migrated."""
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
    """A server that cannot be reached stops the start with a reason."""
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


async def test_database_that_is_not_there(dsn: str, tmp_path: Path) -> None:
    """A wrong name of a database is told in the server's words."""
    with pytest.raises(StartError, match="does not exist"):
        async with open_postgres(configured(dsn.replace("/test_", "/no_"), tmp_path)):
            pass


async def test_probe_tells_the_version(pool: Pool) -> None:
    """A living server says which it is."""
    probe: Probe = PostgresProbe(pool)
    facts = await probe.check()
    assert probe.name == "postgres"
    assert str(facts["version"]).split(".")[0].isdigit()


async def test_probe_of_a_dead_server(pool: Pool) -> None:
    """A server that does not answer is `Unavailable`."""
    await pool.close()
    with pytest.raises(Unavailable):
        await PostgresProbe(pool).check()
