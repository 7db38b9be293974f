"""Cost of a process and its children, read from /proc: CPU seconds and resident megabytes. Linux only.

A dead child's time is its parent's `cutime` once it is waited for, so both are summed over the living tree.
"""

import os
from dataclasses import dataclass
from pathlib import Path

PROC = Path("/proc")
TICK = os.sysconf("SC_CLK_TCK")
PAGE = os.sysconf("SC_PAGE_SIZE")
MB = 1_000_000


@dataclass(frozen=True, slots=True)
class Stat:
    """One process."""

    pid: int
    parent: int
    name: str
    own: float
    """CPU seconds of its own."""
    reaped: float
    """CPU seconds of children that it has waited for."""
    resident: int
    """Bytes, shared ones counted in full."""


def parse(line: str) -> Stat:
    """A line of /proc/PID/stat (proc(5)); the name may hold blanks and brackets."""
    before, _, after = line.rpartition(")")
    pid, _, name = before.partition(" (")
    rest = after.split()
    ticks = [int(value) / TICK for value in rest[11:15]]
    return Stat(int(pid), int(rest[1]), name, sum(ticks[:2]), sum(ticks[2:]), int(rest[21]) * PAGE)


def everybody() -> dict[int, Stat]:
    """All processes there are."""
    found = {}
    for entry in PROC.iterdir():
        if entry.name.isdigit():
            try:
                stat = parse((entry / "stat").read_text())
            except OSError:  # ended meanwhile
                continue
            found[stat.pid] = stat
    return found


def tree(pid: int) -> list[Stat]:
    """A process, first, and all that descend from it."""
    everyone = everybody()
    found = [everyone[pid]] if pid in everyone else []
    for stat in found:
        found += [child for child in everyone.values() if child.parent == stat.pid]
    return found


def cpu(pid: int) -> tuple[float, float]:
    """(the process's, its children's) CPU seconds so far."""
    stats = tree(pid)
    own = sum(stat.own for stat in stats[:1])
    return own, sum(stat.own + stat.reaped for stat in stats) - own


def proportional(pid: int) -> int:
    """Bytes, what is shared divided by those who share it; else resident ones, where that is not told."""
    try:
        lines = (PROC / str(pid) / "smaps_rollup").read_text().splitlines()
    except OSError:
        return next((stat.resident for stat in tree(pid)), 0)
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:")), 0)


def memory(pid: int) -> dict[str, float]:
    """Megabytes: `service` is the process's resident ones, the others by name with a fair share of what they
    share (Postgres's buffers would count once a connection)."""
    stats = tree(pid)
    found = {"service": stats[0].resident / MB} if stats else {}
    for stat in stats[1:]:
        found[stat.name] = found.get(stat.name, 0.0) + proportional(stat.pid) / MB
    return found
