"""A child's life, bound to its parent's: it ends with it, and not before.

Called by the children themselves (`clients/child.py`, `models/child.py`) before anything else. Linux tells
of the parent's death; elsewhere the end of the socket does.
"""

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def settle(parent: int) -> None:
    """End with the parent and not before it: Ctrl-C and a service manager's signals reach the whole group."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, *map(ctypes.c_ulong, (signal.SIGKILL, 0, 0, 0)))
    if os.getppid() != parent:
        sys.exit(1)
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
