"""Who holds a lease: a worker's name, which tells other workers of this machine whether it still lives.

`<host>:<pid namespace>:<pid>:<random>`. The namespace keeps containers that share a host's name apart: of a
process that cannot be seen from here nothing is said. Nothing here raises.
"""

import os
import secrets
import socket
from pathlib import Path

NAMESPACE = Path("/proc/self/ns/pid")


def here() -> str:
    """What the names of all workers that can be seen from here begin with."""
    try:
        namespace = NAMESPACE.stat().st_ino
    except OSError:  # not Linux: there are no namespaces
        namespace = 0
    return f"{socket.gethostname()}:{namespace}:"


def new_worker() -> str:
    """A name for a worker of this process."""
    return f"{here()}{os.getpid()}:{secrets.token_hex(4)}"


def gone(worker: str) -> bool:
    """Whether a worker of this machine is dead. A pid that was given anew counts as alive: its lease runs
    out by itself."""
    if not worker.startswith(here()):
        return False
    pid = worker.removeprefix(here()).partition(":")[0]
    try:
        os.kill(int(pid), 0)  # signal 0 only asks
    except ProcessLookupError:
        return True
    except (PermissionError, ValueError, OverflowError):
        return False
    return False
