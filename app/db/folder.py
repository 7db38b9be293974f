"""The lock of the data folder: `ibid.lock`, flocked by the process that has the stores open.

The kernel releases a flock with its holder, so a file left by a crash is harmless. A service writes {pid,
url, token} into it (mode 0600), and commands work through it. Times are in seconds. Raises `StartError`.
"""

import asyncio
import fcntl
import json
import os
import secrets
import shutil
import stat
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path

import structlog

from app import disk
from app.errors import NoRoom, StartError
from app.settings import OURS, SCRATCH

log = structlog.get_logger(__name__)

NAME = "ibid.lock"

PATIENCE_SECONDS = 1.0
"""A start retries this long, since `read_lock` takes the lock for an instant to see whether it is free."""


@dataclass(frozen=True, slots=True)
class Lock:
    pid: int
    url: str
    """`http://127.0.0.1:8000`; "" while a service starts or a command holds the folder."""
    token: str
    """Token that the holder accepts as a key; new at every start."""


class Held:
    def __init__(self, descriptor: int) -> None:
        self.descriptor = descriptor
        self.token = secrets.token_urlsafe(32)

    def publish(self, url: str) -> None:
        """Publish the service's URL to commands. One write of less than a page, so a reader sees all or none
        of it; a rename would replace the flocked inode."""
        lock = Lock(os.getpid(), url, self.token)
        os.ftruncate(self.descriptor, os.pwrite(self.descriptor, json.dumps(asdict(lock)).encode(), 0))


def read_lock(data_dir: Path) -> Lock | None:
    try:
        descriptor = os.open(data_dir / NAME, os.O_RDONLY)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StartError(f"the data folder {data_dir} cannot be read: {error}") from error
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return parsed(os.pread(descriptor, 4096, 0))
    else:
        return None
    finally:
        os.close(descriptor)


def parsed(content: bytes) -> Lock:
    try:
        return Lock(**json.loads(content))
    except (ValueError, TypeError):
        return Lock(pid=0, url="", token="")


def take(data_dir: Path) -> int:
    """A locked descriptor of the file, which children do not inherit. `BlockingIOError`: it is locked."""
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    descriptor = os.open(data_dir / NAME, os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.fchmod(descriptor, 0o600)
        os.ftruncate(descriptor, 0)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def sweep(folder: Path) -> None:
    """Create the folder of temporary files (0700), or delete ours in it. `StartError` if it is a link or the
    machine's own `/tmp` (IBID_DATA_DIR=/), which must not be emptied."""
    try:
        folder.mkdir(mode=0o700, exist_ok=True)
        mode = folder.lstat().st_mode
        if not stat.S_ISDIR(mode) or mode & stat.S_ISVTX:
            raise StartError(f"{folder} is no folder of Ibid's alone: remove it, or set IBID_DATA_DIR")
        folder.chmod(0o700)
        for path in folder.glob(f"{OURS}*"):
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink()
    except OSError as error:
        raise StartError(f"the folder of temporary files cannot be used: {error}") from error


def refusal(data_dir: Path) -> StartError:
    lock = read_lock(data_dir)
    where = f" at {lock.url}" if lock and lock.url else ""
    who = f"process {lock.pid}{where}" if lock and lock.pid else "another process"
    return StartError(f"{data_dir} is in use by {who}: stop it, or give this one another IBID_DATA_DIR")


@asynccontextmanager
async def hold(data_dir: Path) -> AsyncIterator[Held]:
    """Lock the folder, created (0700) if missing, until the end of the block. Deletes a killed holder's
    temporary files."""
    patience = time.monotonic() + PATIENCE_SECONDS
    while True:
        try:
            descriptor = take(data_dir)
            break
        except BlockingIOError:
            if time.monotonic() > patience:
                raise refusal(data_dir) from None
            await asyncio.sleep(0.05)
        except OSError as error:
            raise StartError(f"the data folder {data_dir} cannot be used: {error}") from error
    try:
        try:
            disk.check(data_dir, disk.LEAST_FREE)
        except NoRoom as error:
            advice = f"make room on the disk of {data_dir}, or set IBID_DATA_DIR to another disk"
            raise StartError(f"{error.detail}: {advice}") from None
        await asyncio.to_thread(sweep, data_dir / SCRATCH)
        held = Held(descriptor)
        held.publish("")
        yield held
    finally:
        os.ftruncate(descriptor, 0)
        os.close(descriptor)
