"""The record as `keys` and `migrate` reach it."""

from pathlib import Path

import pytest
from pydantic import SecretStr

from app.cli.store import held_dsn, open_store
from app.db.embedded import Cluster
from app.db.folder import hold
from app.db.keys import KeyStore
from app.db.pool import open_pool
from app.db.postgres import Behind, recorded
from app.errors import StartError, Unavailable
from app.settings import Ibid, Postgres, Settings


async def test_the_record_of_a_held_folder_is_reached_over_its_socket(
    cluster: Cluster, tmp_path: Path
) -> None:
    """While another process runs the embedded server, its keys can be read."""
    (tmp_path / "postgres").symlink_to(cluster.places.home)

    async with hold(tmp_path), open_store(Settings(ibid=Ibid(data_dir=tmp_path))) as pool:
        assert await KeyStore(pool).list() == []


async def test_a_held_folder_without_a_server_of_its_own_is_told(tmp_path: Path) -> None:
    """The service was given POSTGRES_DSN, the command was not."""
    async with hold(tmp_path) as held:
        held.publish("http://127.0.0.1:9")
        with pytest.raises(StartError, match="set its POSTGRES_DSN"):
            async with open_store(Settings(ibid=Ibid(data_dir=tmp_path))):
                pass


async def test_who_only_looks_leaves_an_older_schema(dsn: str, tmp_path: Path) -> None:
    """A running service of that version could not start again."""
    config = Settings(ibid=Ibid(data_dir=tmp_path), postgres=Postgres(dsn=SecretStr(dsn)))
    async with open_pool(dsn) as pool:
        await pool.execute("UPDATE ibid.alembic_version SET version_num = '0001'")
    with pytest.raises(Behind):
        async with open_store(config, migrate=False):
            pass
    assert await recorded(dsn) == ["0001"]


def test_a_server_that_is_not_up_yet_is_told_plainly(tmp_path: Path) -> None:
    """Between the lock and the server's start there is nothing to connect to."""
    with pytest.raises(Unavailable, match="starting or stopping"):
        held_dsn(tmp_path)
