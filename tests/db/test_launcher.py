"""The launcher becomes another program that dies with its parent, as another user where it must."""

import os
import pwd
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from app.db import launcher

LAUNCH = [sys.executable, "-I", "-S", launcher.__file__]
NOBODY = pwd.getpwnam("nobody")

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root changes its user")

WITHOUT_CAPABILITY = """
import ctypes, os, sys
PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH = 24, 2
ctypes.CDLL(None).prctl(PR_CAPBSET_DROP, CAP_DAC_READ_SEARCH, 0, 0, 0)
os.execv(sys.argv[1], sys.argv[1:])
"""
"""A container's root: Docker leaves CAP_DAC_READ_SEARCH out."""


def launched(*command: str, parent: int | None = None, reach: str = "/") -> list[str]:
    """How the supervisor would run `command`."""
    who = (str(parent or os.getpid()), str(NOBODY.pw_uid), str(NOBODY.pw_gid))
    return [*LAUNCH, *who, reach, "--", *command]


def run(command: list[str]) -> subprocess.CompletedProcess[str]:
    """To its end."""
    return subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)


def test_becomes_the_command() -> None:
    """The command's output and exit code are the launcher's."""
    done = run(launched("/bin/sh", "-c", "echo $0 out; exit 3", "a b"))
    assert (done.stdout, done.returncode) == ("a b out\n", 3)


def test_signals_reach_the_command() -> None:
    """It is the same process: nothing stands between the supervisor and its server."""
    with subprocess.Popen(
        launched("/bin/sh", "-c", "echo $$; exec sleep 60"), stdout=subprocess.PIPE
    ) as child:
        assert child.stdout
        assert int(child.stdout.readline()) == child.pid
        child.send_signal(signal.SIGINT)
    assert child.returncode == -signal.SIGINT


def test_dies_with_its_parent() -> None:
    """The kernel ends it when the parent is killed, however that happens."""
    script = "import os, subprocess, sys; subprocess.run([*sys.argv[1:5], str(os.getpid()), *sys.argv[5:]])"
    rest = launched("/bin/sh", "-c", "echo $$; exec sleep 60")[len(LAUNCH) + 1 :]
    with subprocess.Popen([sys.executable, "-c", script, *LAUNCH, *rest], stdout=subprocess.PIPE) as parent:
        assert parent.stdout
        child = Path(f"/proc/{int(parent.stdout.readline())}/stat")
        parent.kill()
    deadline = time.monotonic() + 30
    while child.exists() and ") Z" not in child.read_text() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not child.exists() or ") Z" in child.read_text()


def test_parent_that_is_gone_already() -> None:
    """If the parent died before the kernel was asked, nothing is started."""
    done = run(launched("/bin/echo", "never", parent=2**22 - 1))
    assert (done.returncode, done.stdout) == (launcher.FAILED, "")


def test_command_that_is_not_there() -> None:
    """What cannot be run is said in one line, with an exit code of its own."""
    done = run(launched("/nowhere/postgres"))
    assert done.returncode == launcher.FAILED
    assert done.stderr == "No such file or directory\n"


@as_root
def test_root_is_left_for_good() -> None:
    """All ids and groups are the other user's, and nothing of root can be had back."""
    done = run(launched("/bin/cat", "/proc/self/status"))
    facts = dict(line.split(":\t", 1) for line in done.stdout.splitlines())
    assert facts["Uid"].split() == [str(NOBODY.pw_uid)] * 4
    assert facts["Gid"].split() == facts["Groups"].split() * 4 == [str(NOBODY.pw_gid)] * 4
    assert {int(facts[name], 16) for name in ("CapInh", "CapPrm", "CapEff", "CapAmb")} == {0}
    assert facts["NoNewPrivs"] == "1"


@as_root
def test_private_folders_are_read_never_written(tmp_path: Path) -> None:
    """The one capability that goes along looks into root's folders; it cannot write there."""
    (tmp_path / "secret").write_text("seen")
    tmp_path.chmod(0o700)
    reading = run(launched("/bin/cat", str(tmp_path / "secret"), reach=str(tmp_path)))
    writing = run(launched("/usr/bin/touch", str(tmp_path / "new"), reach=str(tmp_path)))
    assert reading.stdout == "seen"
    assert writing.returncode == 1
    assert "Permission denied" in writing.stderr


@as_root
def test_root_without_the_capability_says_so(tmp_path: Path) -> None:
    """Where the capability is not to be had and is needed, it says which path is out of reach."""
    tmp_path.chmod(0o700)
    needed = run([sys.executable, "-c", WITHOUT_CAPABILITY, *launched("/bin/true", reach=str(tmp_path))])
    needless = run([sys.executable, "-c", WITHOUT_CAPABILITY, *launched("/bin/true")])
    assert needed.returncode == launcher.FAILED
    assert f"cannot reach {tmp_path}" in needed.stderr
    assert needless.returncode == 0
