"""Free space of a disk, checked before writes that must not meet a full one. Sizes are bytes.

The embedded Qdrant writes to memory-mapped files: if the disk has no room for a page, the kernel ends its
process (SIGBUS). PostgreSQL stops if it cannot create the next segment of its log. So both need a reserve,
and a write that would use it is refused (`NoRoom`) beforehand.
"""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from app.errors import NoRoom

RESERVE = 64 << 20
"""Kept free of new content, for deletes, the log of answers and a restart. A new collection of the engine
takes 14 MiB on some file systems, a batch of its largest points some more."""
LEAST_FREE = 24 << 20
"""Below it nothing is written, and no service starts: a segment of PostgreSQL's log has 16 MiB."""


def free(place: Path) -> int:
    """Free bytes on the disk of `place`, which need not exist yet."""
    while True:
        try:
            found = os.statvfs(place)
        except (FileNotFoundError, NotADirectoryError):
            place = place.absolute().parent
        else:
            return found.f_bavail * found.f_frsize


def check(place: Path, least: int, size: int = 0) -> None:
    """Raise `NoRoom` unless `least` bytes stay free once `size` are written."""
    left = free(place)
    if left - size < least:
        raise NoRoom(
            f"The disk of the data folder has {left >> 20} MiB free, and {least >> 20} are to stay free"
        )


def mapped(folder: Path) -> int:
    """Bytes needed to map a folder's files; only tmpfs allocates unwritten pages when they are read."""
    if not folder.is_dir() or not in_memory(folder):
        return 0
    found = [path.stat() for path in folder.rglob("*") if path.is_file()]
    return sum(max(0, each.st_size - each.st_blocks * 512) for each in found)


def in_memory(folder: Path) -> bool:
    """True if it is on a tmpfs (proc_pid_mountinfo(5): the device, then after a dash the type)."""
    device = folder.stat().st_dev
    number = f"{os.major(device)}:{os.minor(device)}"
    try:
        lines = Path("/proc/self/mountinfo").read_text(errors="replace").splitlines()
    except OSError:  # not Linux
        return False
    return any(line.split()[2] == number and " - tmpfs " in line for line in lines)


@contextmanager
def room(place: Path, least: int = RESERVE) -> Iterator[None]:
    """Hold the process-wide write lock and require `least` free bytes. For each write to memory-mapped files:
    the lock keeps two writes from counting the same free space."""
    with _WRITING:
        check(place, least)
        yield


_WRITING = threading.Lock()
