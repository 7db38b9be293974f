"""Who holds a lease, and whether they live."""

import subprocess
import sys

import pytest

from app.db.jobs import gone, here, new_worker


def dead_pid() -> int:
    """The id of a process that has just ended."""
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    return process.pid


def test_names_are_unlike_each_other() -> None:
    """Two workers of one process have two leases."""
    assert new_worker() != new_worker()


def test_this_process_lives() -> None:
    """Whatever worker of it."""
    assert not gone(new_worker())


def test_an_ended_process_is_gone() -> None:
    """Of this machine."""
    assert gone(f"{here()}{dead_pid()}:0")


@pytest.mark.parametrize(
    "worker",
    [
        pytest.param(f"elsewhere:0:{2**22}:0", id="another machine"),
        pytest.param(f"{here()}not a number:0", id="no pid"),
        pytest.param(f"{here()}{10**30}:0", id="no possible pid"),
        pytest.param(f"{here()}1:0", id="another user's"),
        pytest.param("", id="empty"),
    ],
)
def test_of_what_it_cannot_see_nothing_is_said(worker: str) -> None:
    """A lease of doubt runs out by itself."""
    assert not gone(worker)
