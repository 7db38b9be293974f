"""The whole service as its users meet it: `ibid serve` in a process of its own, real stores, real HTTP.

The process is forked from one that has imported the program, which saves 1.5 s of a processor. `tests/golden`
starts the installed program. A new folder is a copy of one that `ibid migrate` has made, once a run."""

import asyncio
import fcntl
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import httpx

from app.cli.main import main
from app.cli.store import held_dsn
from app.db.folder import Lock, read_lock
from app.db.keys import KeyStore
from app.db.pool import open_pool


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Run `work` in a thread beside the block, and wait for it at the end."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(60)
        assert not thread.is_alive()


START_SECONDS = 60.0
STOP_SECONDS = 10.0
COMMAND_SECONDS = 90.0

forks = multiprocessing.get_context("forkserver")
forks.set_forkserver_preload([__name__, "tests.fakes.preloaded"])


class Program:
    """A running `ibid`; the same methods as `subprocess.Popen`."""

    def __init__(self, *arguments: str, cwd: Path, out: Path, err: Path, **settings: str) -> None:
        self.process = forks.Process(target=become, args=(arguments, cwd, out, err, environment(**settings)))
        self.process.start()
        assert self.process.pid
        self.pid = self.process.pid

    @property
    def returncode(self) -> int | None:
        return self.process.exitcode

    def poll(self) -> int | None:
        return self.process.exitcode

    def wait(self, seconds: float | None = None) -> int:
        self.process.join(seconds)
        if self.process.exitcode is None:
            raise TimeoutError(f"still running after {seconds} s")
        return self.process.exitcode

    def send_signal(self, number: int) -> None:
        if self.process.is_alive():
            os.kill(self.pid, number)

    def kill(self) -> None:
        self.process.kill()


def become(arguments: tuple[str, ...], cwd: Path, out: Path, err: Path, environ: Mapping[str, str]) -> None:
    for descriptor, path in ((1, out), (2, err)):
        os.dup2(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND), descriptor)
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(environ)
    sys.argv = ["ibid", *arguments]
    main()


@dataclass(frozen=True)
class Done:
    code: int
    out: str
    err: str


def run(cwd: Path, *arguments: str, **settings: str) -> Done:
    """Run a command in a folder to its end."""
    with tempfile.TemporaryDirectory() as place:
        out, err = Path(place, "out"), Path(place, "err")
        code = Program(*arguments, cwd=cwd, out=out, err=err, **settings).wait(COMMAND_SECONDS)
        return Done(code, out.read_text(), err.read_text())


def ibid(folder: Path, *arguments: str, **settings: str) -> Done:
    """Run a command on a data folder to its end."""
    return run(folder.parent, *arguments, f"--data-dir={folder}", **settings)


@dataclass
class Service:
    """A service that answers, and a client of it."""

    folder: Path
    lock: Lock
    client: httpx.Client
    dsn: str
    """Of a Postgres that is not its own; else ""."""

    def chat(self, message: str, **fields: Any) -> dict[str, Any]:
        """The whole reply to a message."""
        body = {"message": message, "session_id": "s", "stream": False} | fields
        response = self.client.post("/api/chat", json=body)
        assert response.status_code == 200, response.text
        return dict(response.json())

    def upload(self, name: str, content: bytes, **form: str) -> httpx.Response:
        """Send a file; into session `s` unless the form says where."""
        where = form if "scope" in form or "session_id" in form else {"session_id": "s"} | form
        return self.client.post("/api/documents", files={"file": (name, content)}, data=where)

    def key(self, tenant: str = "default", user: str | None = None) -> str:
        """A new one, made while it runs."""

        async def made() -> str:
            async with open_pool(self.dsn or held_dsn(self.folder / "postgres"), max_size=1) as pool:
                return (await KeyStore(pool).create(tenant, user=user))[1]

        return asyncio.run(made())

    def child(self, engine: str) -> int:
        """The process that has the embedded engine, once there is one."""
        program, folder = f"app.retrieval.retrievers.{engine}".encode(), str(self.folder).encode()
        found: list[int] = []

        def looked() -> bool:
            commands = {pid: Path(f"/proc/{pid}/cmdline").read_bytes() for pid in family(self.lock.pid)}
            found[:] = [pid for pid, command in commands.items() if program in command and folder in command]
            return bool(found)

        wait_for(looked)
        return found[0]


@dataclass
class Running(Service):
    """One in a process of its own."""

    process: Program


def environment(**settings: str) -> Mapping[str, str]:
    """The machine's, without any setting of ours but the given."""
    return {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "PYTHONWARNINGS": ""} | settings


def pattern(folder: Path) -> Path:
    """What a new folder begins as: a migrated database and nothing else. The first worker that needs it makes
    it, beside the folders of all workers; under `--basetemp`, which may have any name, beside `folder`."""
    ours = (place.parent for place in folder.parents if place.name.startswith("popen-"))
    alone = (place for place in folder.parents if place.name.startswith("pytest-"))
    return made(next(ours, None) or next(alone, folder.parent))


@cache
def made(place: Path) -> Path:
    data = place / "pattern" / "data"
    with (place / "pattern.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not data.parent.exists():
            data.parent.mkdir()
            done = ibid(data, "migrate")
            assert done.code == 0, done.err
    return data


def furnish(folder: Path) -> None:
    """Begin a folder that is not there."""
    subprocess.run(["/bin/cp", "-a", pattern(folder), folder], check=True)  # with their owners


@contextmanager
def service(folder: Path, **settings: str) -> Iterator[Running]:
    """Serve `folder` on a free port; stopped by SIGTERM, and dead after the block whatever happened."""
    if not folder.exists() and "POSTGRES_DSN" not in settings:
        furnish(folder)
    log = folder.parent / f"{folder.name}.log"
    process = Program(
        "serve", "--port=0", f"--data-dir={folder}", cwd=folder.parent, out=log, err=log, **settings
    )
    try:
        lock = listening(folder, process)
        with httpx.Client(base_url=lock.url, timeout=120, trust_env=False) as client:
            yield Running(folder, lock, client, settings.get("POSTGRES_DSN", ""), process)
        process.send_signal(signal.SIGTERM)
        process.wait(STOP_SECONDS)
    finally:
        process.kill()
        process.wait()


def listening(folder: Path, process: Program | subprocess.Popen[bytes]) -> Lock:
    """The lock once this very process has written its address there. One that was killed while it started
    another program leaves the lock to that child until the child's `exec`, 27 ms on a busy machine: the file
    then still says what the dead one wrote."""
    patience = time.monotonic() + START_SECONDS
    while time.monotonic() < patience and process.poll() is None:
        lock = read_lock(folder)
        if lock and lock.pid == process.pid and lock.url:
            return lock
        time.sleep(0.05)
    raise AssertionError((folder.parent / f"{folder.name}.log").read_text())


def children() -> set[int]:
    """The processes this one has started that still run."""
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with suppress(FileNotFoundError):  # the thread has just ended
            found |= {int(pid) for pid in (task / "children").read_text().split()}
    return {pid for pid in found if is_alive(pid)}


def is_alive(pid: int) -> bool:
    """True if a process runs: there, and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False


def wait_for(condition: Callable[[], object], seconds: float = 10) -> None:
    """Wait until it is true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.02)


def memory_limit(pid: int) -> int:
    """A process's limit of address space in MiB; 0 before it has one."""
    lines = Path(f"/proc/{pid}/limits").read_text().splitlines()
    [said] = [line.split()[3] for line in lines if line.startswith("Max address space")]
    return int(said) >> 20 if said.isdigit() else 0


def family(pid: int) -> set[int]:
    """A process and all that descend from it, whatever their sessions and groups."""
    found, new = {pid}, [pid]
    while new:
        with suppress(FileNotFoundError, ProcessLookupError):
            for task in Path(f"/proc/{new.pop()}/task").iterdir():
                born = {int(child) for child in (task / "children").read_text().split()} - found
                found |= born
                new += born
    return found


def kill(pids: set[int]) -> None:
    """kill -9 to each, parents first, and wait until none of them runs."""
    for pid in sorted(pids):
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    wait_for(lambda: not any(is_alive(pid) for pid in pids))
