"""A child's life, in real processes."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.fakes.processes import is_alive, wait_for

ROOT = Path(__file__).parents[2]
SLEEPS = """
import sys, time
from app.clients.bond import settle
settle(int(sys.argv[1]))
print("settled", flush=True)
time.sleep(60)
"""


def begun(program: str, parent: int) -> "subprocess.Popen[bytes]":
    """A child of this process that believes in `parent`."""
    return subprocess.Popen(
        [sys.executable, "-c", program, str(parent)], cwd=ROOT, stdout=subprocess.PIPE, process_group=0
    )


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_what_is_meant_for_the_parent_does_not_end_it(number: signal.Signals) -> None:
    """Ctrl-C and a service manager's stop: the parent ends it when it is done with it."""
    with begun(SLEEPS, os.getpid()) as child:
        assert child.stdout
        assert child.stdout.readline() == b"settled\n"
        child.send_signal(number)
        time.sleep(0.1)
        assert child.poll() is None
        child.kill()


def test_it_does_not_begin_when_its_parent_has_gone() -> None:
    """Between fork and the first line."""
    with begun(SLEEPS, os.getpid() + 1) as child:
        assert child.wait(10) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells")
def test_it_ends_with_its_parent() -> None:
    """Even with one that is killed."""
    program = (
        "import os, subprocess, sys, time\n"
        f"child = subprocess.Popen([sys.executable, '-c', {SLEEPS!r}, str(os.getpid())])\n"
        "print(child.pid, flush=True)\ntime.sleep(60)"
    )
    with begun(program, 0) as parent:
        assert parent.stdout
        child = int(parent.stdout.readline())
        assert parent.stdout.readline() == b"settled\n"
        assert is_alive(child)
        parent.kill()
        wait_for(lambda: not is_alive(child))
