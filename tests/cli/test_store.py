"""The record as `keys` and `migrate` reach it."""

from pathlib import Path

import pytest

from app.cli.store import held_dsn, open_store
from app.clients.cluster import Cluster
from app.clients.folder import hold
from app.config import Ibid, Settings
from app.domain.errors import Unavailable
from app.stores.keys import KeyStore


async def test_the_record_of_a_held_folder_is_reached_over_its_socket(
    cluster: Cluster, tmp_path: Path
) -> None:
    """While another process runs the embedded server, its keys can be read."""
    (tmp_path / "postgres").symlink_to(cluster.quarters.home)

    async with hold(tmp_path), open_store(Settings(ibid=Ibid(data_dir=tmp_path))) as pool:
        assert await KeyStore(pool).list() == []


def test_a_server_that_is_not_up_yet_is_told_plainly(tmp_path: Path) -> None:
    """Between the lock and the server's start there is nothing to connect to."""
    with pytest.raises(Unavailable, match="starting or stopping"):
        held_dsn(tmp_path)
