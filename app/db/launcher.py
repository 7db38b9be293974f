"""A tiny program that becomes another: drops root, asks to die with its parent, then execs.

Run as `python -I launcher.py PARENT USER GROUP REACH... -- COMMAND...` by `embedded.py`; standard library
only. (A `preexec_fn` would run in a copy of a threaded process.) PostgreSQL refuses to run as root; if its
user cannot reach REACH, the process keeps CAP_DAC_READ_SEARCH: list folders and read, never write.

A change of user clears the parent-death signal, so that is set last, and the parent is checked once more
(prctl(2), capabilities(7)). Exits with 97 and a line on stderr if a step fails.
"""

import ctypes
import os
import signal
import struct
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
PR_SET_KEEPCAPS = 8
PR_SET_SECUREBITS = 28
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT = 47
PR_CAP_AMBIENT_RAISE = 2

CAP_SETPCAP = 1 << 8
CAP_DAC_READ_SEARCH = 1 << 2
DAC_READ_SEARCH_NUMBER = 2

NO_SETUID_FIXUP = 1 << 2
"""Without this securebit access(2), with which PostgreSQL checks its files, ignores capabilities."""

CAPABILITY_VERSION_3 = 0x20080522
FAILED = 97


def call(name: str, *arguments: object) -> None:
    """A libc function that returns -1 and sets errno. Raises `OSError`."""
    libc = ctypes.CDLL(None, use_errno=True)
    if getattr(libc, name)(*arguments) == -1:
        code = ctypes.get_errno()
        raise OSError(code, f"{name}: {os.strerror(code)}")


def prctl(option: int, first: int, second: int = 0) -> None:
    call("prctl", option, *(ctypes.c_ulong(value) for value in (first, second, 0, 0)))


def hold(permitted: int, inheritable: int) -> None:
    """capset(2): exactly these capabilities, effective too. All that we use are below 32."""
    header = struct.pack("Ii", CAPABILITY_VERSION_3, 0)
    call("capset", header, struct.pack("6I", permitted, permitted, inheritable, 0, 0, 0))


def drop(user: int, group: int) -> None:
    """Become `user` permanently; capabilities stay permitted but are not in effect."""
    prctl(PR_SET_KEEPCAPS, 1)
    os.setgroups([group])
    os.setresgid(group, group, group)
    os.setresuid(user, user, user)


def reaches(paths: Sequence[str]) -> bool:
    return all(os.access(path, os.R_OK | os.X_OK) for path in paths)


def carry() -> None:
    hold(CAP_SETPCAP | CAP_DAC_READ_SEARCH, CAP_DAC_READ_SEARCH)
    prctl(PR_SET_SECUREBITS, NO_SETUID_FIXUP)
    hold(CAP_DAC_READ_SEARCH, CAP_DAC_READ_SEARCH)
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_RAISE, DAC_READ_SEARCH_NUMBER)


def leave_root(user: int, group: int, paths: Sequence[str]) -> None:
    """Become `user`, with CAP_DAC_READ_SEARCH if it cannot reach `paths` otherwise."""
    drop(user, group)
    if reaches(paths):
        return
    try:
        carry()
    except OSError as error:
        raise PermissionError(f"user {user} cannot reach {' and '.join(paths)} ({error})") from error


def bind_life(parent: int) -> None:
    """End with the parent: SIGQUIT, PostgreSQL's immediate shutdown. Linux only; does nothing elsewhere."""
    if sys.platform != "linux":
        return
    prctl(PR_SET_NO_NEW_PRIVS, 1)
    # A shell starts background processes with SIGQUIT ignored, and exec passes that on.
    signal.signal(signal.SIGQUIT, signal.SIG_DFL)
    prctl(PR_SET_PDEATHSIG, signal.SIGQUIT)
    if os.getppid() != parent:
        raise ProcessLookupError(f"process {parent} ended before its server began")


def main(arguments: Sequence[str]) -> None:
    parent, user, group = map(int, arguments[:3])
    split = arguments.index("--")
    command = arguments[split + 1 :]
    try:
        if os.geteuid() == 0:
            leave_root(user, group, arguments[3:split])
        bind_life(parent)
        os.execv(command[0], list(command))  # noqa: S606 - this program's purpose
    except OSError as error:
        sys.stderr.write(f"{error.strerror or error}\n")
        sys.exit(FAILED)


if __name__ == "__main__":
    main(sys.argv[1:])
