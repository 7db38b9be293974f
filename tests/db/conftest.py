"""Data folders of an embedded Postgres: one made and copied, one that every user reaches."""

import asyncio
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from app.db.embedded import open_cluster
from tests.fakes.postgres import ask


@pytest.fixture(scope="module")
def open_folder() -> Iterator[Path]:
    """A folder that every user reaches, unlike pytest's own."""
    with tempfile.TemporaryDirectory(dir="/tmp") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A stopped cluster's home with one row in it."""

    async def make(home: Path) -> None:
        async with open_cluster(home) as cluster:
            await ask(cluster, "CREATE TABLE kept AS SELECT 7 AS n")

    home = tmp_path_factory.mktemp("made") / "pg"
    with asyncio.Runner() as runner:
        runner.run(make(home))
    return home


@pytest.fixture
def settled(made: Path, tmp_path: Path) -> Path:
    subprocess.run(["cp", "-a", made, tmp_path / "pg"], check=True)  # noqa: S607 - any cp will do
    return tmp_path / "pg"
