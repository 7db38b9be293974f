"""The embedded Postgres lives and dies with us, keeps what it acknowledged, and goes anywhere we may."""

import asyncio
import os
import pwd
import signal
import subprocess
import sys
from pathlib import Path

import asyncpg
import pytest

from app.db import embedded as module
from app.db import launcher
from app.db.embedded import Cluster, open_cluster
from app.errors import StartError
from tests.fakes.servers import alive, ask, pid

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's server changes its user")


async def back(cluster: Cluster, sql: str) -> object:
    """The same, waiting up to a minute for a server that was killed."""
    async with asyncio.timeout(60):
        while True:
            try:
                return await ask(cluster, sql)
            except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
                await asyncio.sleep(0.02)


def left(home: Path) -> list[Path]:
    """What a stopped server should have taken with it."""
    return [*(home / "run").iterdir(), *home.glob("data/postmaster.pid")]


async def test_starts_from_nothing(tmp_path: Path) -> None:
    """A missing folder becomes a server with pgvector, without TCP, and our role has no power over it."""
    async with open_cluster(tmp_path / "new" / "pg") as cluster:
        assert await ask(cluster, "SELECT '[1,2]'::vector <=> '[1,2]'::vector") == 0
        assert await ask(cluster, "SHOW listen_addresses") == ""
        assert await ask(cluster, "SELECT rolsuper FROM pg_roles WHERE rolname = current_user") is False
        assert (tmp_path / "new" / "pg").stat().st_mode & 0o777 == 0o700


async def test_ends_with_the_block(settled: Path) -> None:
    """Leaving the block stops the server in good order: nothing to recover, no process, no socket."""
    async with open_cluster(settled) as cluster:
        number = pid(cluster)
    assert not alive(number)
    assert not left(settled)
    assert "shut down" in cluster.quarters.tail(1)


async def test_restart_keeps_rows(settled: Path) -> None:
    """What was written before is there after, and our own role wrote it."""
    async with open_cluster(settled) as cluster:
        assert await ask(cluster, "SELECT n FROM kept") == 7


async def test_killed_server_comes_back(settled: Path) -> None:
    """A postmaster that dies while we live is started again by itself, twice too."""
    async with open_cluster(settled) as cluster:
        for _ in range(2):
            first = pid(cluster)
            os.kill(first, signal.SIGKILL)
            assert await back(cluster, "SELECT n FROM kept") == 7
            assert pid(cluster) != first


def kill_while_writing(home: Path, *before: str) -> tuple[int, int]:
    """(postmaster, last acknowledged row) of an owner that was killed in the middle of its work."""
    command = [*before, sys.executable, "-m", "tests.fakes.owner", str(home)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as owner:
        assert owner.stdout
        said = [int(owner.stdout.readline()) for _ in range(40)]
        owner.kill()
        said += [int(line) for line in owner.stdout if line.endswith("\n")]
    return said[0], said[-1]


async def test_killed_owner_takes_the_server_along(tmp_path: Path) -> None:
    """After kill -9 of us the postmaster ends, and a start at once finds every acknowledged row."""
    for _ in range(2):
        postmaster, last = kill_while_writing(tmp_path)
        async with open_cluster(tmp_path) as cluster:
            assert not alive(postmaster)
            assert await ask(cluster, "SELECT max(n) - count(*) FROM kept") == 0
            assert await ask(cluster, "SELECT count(*) FROM kept") in (last, last + 1)
            await ask(cluster, "DROP TABLE kept")


@as_root
async def test_recycled_process_number(settled: Path) -> None:
    """A postmaster.pid left by a crash, whose number another program of that user has now, is no obstacle."""
    nobody = pwd.getpwnam("nobody").pw_uid
    page = settled / "data" / "postmaster.pid"
    with subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, user=nobody) as other:  # noqa: ASYNC220 - a moment
        page.write_text(f"{other.pid}\n{page.parent}\n1\n5432\n\n\n")
        async with open_cluster(settled) as cluster:
            assert await ask(cluster, "SELECT n FROM kept") == 7


async def test_half_made_cluster_is_made_anew(tmp_path: Path) -> None:
    """A crash in the middle of the first start leaves nothing that the second would use."""
    (tmp_path / "data.new").mkdir()
    (tmp_path / "data.new" / "PG_VERSION").write_text("18")
    async with open_cluster(tmp_path) as cluster:
        assert await ask(cluster, "SELECT 1") == 1
    assert not (tmp_path / "data.new").exists()


@pytest.mark.parametrize("name", ["x" * 120, "a b, c'd\"%é"], ids=["long", "odd"])
async def test_any_path_will_do(settled: Path, tmp_path: Path, name: str) -> None:
    """Where a socket's path would be too long or need quoting, it lies in a private folder, removed after."""
    os.rename(settled, tmp_path / name)  # noqa: PTH104 - pathlib is not for coroutines
    async with open_cluster(tmp_path / name) as cluster:
        run = cluster.quarters.run
        assert await ask(cluster, "SELECT 1") == 1
        assert not run.is_relative_to(tmp_path)
        assert run.stat().st_mode & 0o777 == 0o700
    assert not run.exists()


async def test_relative_folder(settled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The default, `.ibid`, is relative: a later change of directory does not matter."""
    monkeypatch.chdir(settled.parent)
    async with open_cluster(Path(settled.name)) as cluster:
        monkeypatch.chdir("/")
        os.kill(pid(cluster), signal.SIGKILL)
        assert await back(cluster, "SELECT 1") == 1


@as_root
async def test_ordinary_user(open_folder: Path) -> None:
    """Whoever is not root runs the server as himself, and loses as little when he is killed."""
    user = pwd.getpwnam("nobody").pw_uid
    home = open_folder / "own"
    home.mkdir()
    os.chown(home, user, user)
    # Our own launcher makes an ordinary user who can reach this Python, wherever it is.
    become = (sys.executable, launcher.__file__, str(os.getpid()), str(user), str(user), sys.executable, "--")
    _, last = kill_while_writing(home, *become)
    async with open_cluster(home) as cluster:
        assert await ask(cluster, "SELECT count(*) FROM kept") in (last, last + 1)


async def test_broken_cluster_says_why(settled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that will not start is given up in time, with its own words."""
    monkeypatch.setattr(module, "STALE_SECONDS", 0.3)
    (settled / "data" / "PG_VERSION").write_text("17\n")
    with pytest.raises(StartError, match="incompatible"):
        async with open_cluster(settled):
            pass


async def test_folder_that_cannot_be_made(tmp_path: Path) -> None:
    """A file in the way is a plain refusal."""
    (tmp_path / "file").write_text("")
    with pytest.raises(StartError, match="cannot be made"):
        async with open_cluster(tmp_path / "file" / "pg"):
            pass


async def test_hung_server_is_killed(settled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not react to a polite signal is gone within the deadlines all the same."""
    monkeypatch.setattr(module, "STOP_SECONDS", (0.1, 0.1, 5.0))
    async with open_cluster(settled) as cluster:
        number = pid(cluster)
        os.kill(number, signal.SIGSTOP)
    assert not alive(number)


@pytest.mark.parametrize("after", [0.05, 0.3])
async def test_cancelled_start_leaves_nothing(settled: Path, after: float) -> None:
    """Giving up in the middle of a start leaves no process, and the next start works."""

    async def start() -> None:
        async with open_cluster(settled):
            await asyncio.sleep(60)

    starting = asyncio.create_task(start())
    await asyncio.sleep(after)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    async with open_cluster(settled) as cluster:
        assert await ask(cluster, "SELECT n FROM kept") == 7
