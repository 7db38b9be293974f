"""One service a data folder, and commands find it by the lock file."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from app.db import folder as module
from app.db.folder import Lock, hold, read_lock
from app.errors import StartError

HOLDER = """
import asyncio, pathlib, sys
from app.db.folder import hold
async def main():
    async with hold(pathlib.Path(sys.argv[1])) as held:
        held.publish("http://127.0.0.1:8123")
        print("held", flush=True)
        await asyncio.sleep(60)
asyncio.run(main())
"""


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PATIENCE_SECONDS", 0.2)


async def test_holder_is_told_with_its_address(tmp_path: Path) -> None:
    """While a service holds the folder, a command reads where it is and the token to show."""
    async with hold(tmp_path) as held:
        assert read_lock(tmp_path) == Lock(os.getpid(), "", held.token)
        held.publish("http://127.0.0.1:8000")
        assert read_lock(tmp_path) == Lock(os.getpid(), "http://127.0.0.1:8000", held.token)
    assert read_lock(tmp_path) is None


async def test_nobody_else_reads_the_token(tmp_path: Path) -> None:
    """Folder and lock file are their owner's alone, also where an older file was not."""
    old = tmp_path / "data" / "ibid.lock"
    async with hold(old.parent):
        assert old.parent.stat().st_mode & 0o777 == 0o700
    old.chmod(0o644)
    async with hold(old.parent):
        assert old.stat().st_mode & 0o777 == 0o600


async def test_token_is_new_at_every_start(tmp_path: Path) -> None:
    """A token that leaked is worth nothing after a restart, and none stays in the file."""
    async with hold(tmp_path) as first:
        pass
    assert not (tmp_path / "ibid.lock").read_text()
    async with hold(tmp_path) as second:
        assert first.token != second.token
        assert len(second.token) >= 32


async def test_second_service_is_refused_plainly(tmp_path: Path) -> None:
    """Who comes second is told who is in the way, where, and what to do."""
    async with hold(tmp_path) as held:
        held.publish("http://127.0.0.1:8000")
        with pytest.raises(
            StartError, match=rf"process {os.getpid()} at http://127.0.0.1:8000.*IBID_DATA_DIR"
        ):
            async with hold(tmp_path):
                pass


async def test_killed_holder_holds_nothing(tmp_path: Path) -> None:
    with subprocess.Popen(  # noqa: ASYNC220 - a moment
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout
        holder.stdout.readline()
        lock = read_lock(tmp_path)
        assert lock
        assert (lock.pid, lock.url) == (holder.pid, "http://127.0.0.1:8123")
        holder.kill()
    assert json.loads((tmp_path / "ibid.lock").read_text())["pid"] == holder.pid
    assert read_lock(tmp_path) is None
    async with hold(tmp_path) as held:
        assert read_lock(tmp_path) == Lock(os.getpid(), "", held.token)


async def test_what_a_kill_left_is_swept_away(tmp_path: Path) -> None:
    """Temporary files and folders of ours, private from then on; what another put there stays."""
    scratch = tmp_path / "tmp"
    (scratch / "ibid-folder").mkdir(parents=True)
    (scratch / "ibid-folder" / "document.pdf").write_bytes(b"%PDF-")
    (scratch / "ibid-file").write_bytes(b"%PDF-")
    (scratch / "ibid-link").symlink_to(tmp_path)
    (scratch / "mine").write_text("")
    async with hold(tmp_path):
        assert [path.name for path in scratch.iterdir()] == ["mine"]
        assert scratch.stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "ibid.lock").stat()


@pytest.mark.parametrize("kind", ["link", "file", "shared"])
async def test_nothing_is_swept_that_is_not_ours_alone(tmp_path: Path, kind: str) -> None:
    """A link, a file, a machine's `/tmp`: no start, nothing is touched, the folder is free again."""
    scratch, other = tmp_path / "data" / "tmp", tmp_path / "other"
    scratch.parent.mkdir()
    other.mkdir()
    (other / "ibid-file").write_text("")
    if kind == "link":
        scratch.symlink_to(other)
    elif kind == "file":
        scratch.write_text("")
    else:
        other.rename(scratch)
        scratch.chmod(0o1777)
    with pytest.raises(StartError, match=r"tmp|temporary"):
        async with hold(scratch.parent):
            pass
    assert kind == "file" or (scratch / "ibid-file").exists()
    assert read_lock(scratch.parent) is None


async def test_looking_does_not_stop_a_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    tries = iter([BlockingIOError(), None])
    take = module.take

    def taken_once(data_dir: Path) -> int:
        if error := next(tries):
            raise error
        return take(data_dir)

    monkeypatch.setattr(module, "take", taken_once)
    async with hold(tmp_path) as held:
        assert held.token


async def test_children_do_not_hold_the_folder(tmp_path: Path) -> None:
    """A child that outlives the service does not keep the folder from the next one."""
    async with hold(tmp_path):
        child = subprocess.Popen(["sleep", "60"], close_fds=False)  # noqa: S607, ASYNC220 - a moment
    assert read_lock(tmp_path) is None
    child.kill()
    child.wait()
