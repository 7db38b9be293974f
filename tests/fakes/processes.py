"""Processes as the kernel sees them (Linux): which run, whose they are, what they may use."""

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path


def children() -> set[int]:
    """The processes this one has started that still run."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # the thread has just ended
            found |= {int(pid) for pid in (task / "children").read_text().split()}
    return {pid for pid in found if is_alive(pid)}


def is_alive(pid: int) -> bool:
    """True if a process runs: there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except FileNotFoundError:
        return False


def wait_for(condition: Callable[[], object], seconds: float = 10) -> None:
    """Wait until it is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def memory_limit(pid: int) -> int:
    """A process's limit of address space in MiB; 0 before it has one."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    [said] = [line.split()[3] for line in lines if line.startswith("Max address space")]
    return int(said) >> 20 if said.isdigit() else 0


def family(pid: int) -> set[int]:
    """A process and all that descend from it, whatever their sessions and groups."""
    found, new = {pid}, [pid]
    while new:
        with suppress(FileNotFoundError, ProcessLookupError):
            for task in Path(f"/proc/{new.pop()}/task").iterdir():
                born = {int(child) for child in (task / "children").read_text().split()} - found
                found |= born
                new += born
    return found


def kill(pids: set[int]) -> None:
    """kill -9 to each, parents first, and wait until none of them runs."""
    for pid in sorted(pids):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(is_alive(pid) for pid in pids))
