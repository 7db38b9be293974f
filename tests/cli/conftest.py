"""The command as people run it: the installed `ibid`, in a process of its own, in an empty folder."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PROGRAM = Path(sys.executable).with_name("ibid")
READY_SECONDS = 60.0
COMMAND_SECONDS = 60.0


@dataclass(frozen=True)
class Ibid:
    """The command line with one data folder."""

    place: Path
    program: Path = PROGRAM

    def environment(self, **settings: str) -> dict[str, str]:
        """Nothing of the developer's but the path; the data folder is this test's."""
        here = {"HOME": str(self.place), "IBID_DATA_DIR": str(self.place / "data")}
        return {"PATH": os.environ["PATH"], "COLUMNS": "200", **here, **settings}

    def __call__(self, *arguments: str | Path, **settings: str) -> subprocess.CompletedProcess[str]:
        """Run one command to its end."""
        return subprocess.run(
            [PROGRAM, *arguments],
            cwd=self.place,
            env=self.environment(**settings),
            capture_output=True,
            text=True,
            timeout=COMMAND_SECONDS,
            check=False,
        )

    def start(self, *arguments: str, **settings: str) -> "Running":
        """Start `ibid serve` on a free port and wait until it says where it is."""
        process = subprocess.Popen(
            [PROGRAM, "serve", "--port", "0", *arguments],
            cwd=self.place,
            env=self.environment(**settings),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        return Running(process)


class Running:
    """A service under way; its stderr is collected, so that it never blocks on a full pipe."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process
        self.errors: list[str] = []
        assert process.stdout
        assert process.stderr
        self.reader = threading.Thread(target=self.errors.extend, args=(process.stderr,), daemon=True)
        self.reader.start()
        alarm = threading.Timer(READY_SECONDS, process.kill)
        alarm.start()
        self.greeting = process.stdout.readline()
        alarm.cancel()
        told = re.search(r"http://\S+:\d+", self.greeting)
        self.url = told[0] if told else ""
        assert self.url, "".join(self.errors)

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> float:
        """Seconds that it took to end after the signal."""
        started = time.monotonic()
        self.process.send_signal(sign)
        try:
            self.process.wait(10)
        finally:
            self.process.kill()
            self.process.communicate()
        return time.monotonic() - started


@pytest.fixture
def ibid(tmp_path: Path) -> Ibid:
    """The command with a fresh data folder."""
    return Ibid(tmp_path)


@pytest.fixture(scope="module")
def held(tmp_path_factory: pytest.TempPathFactory) -> Ibid:
    """The command with the data folder that `service` holds."""
    return Ibid(tmp_path_factory.mktemp("held"))


@pytest.fixture(scope="module")
def service(held: Ibid) -> Iterator[Running]:
    """One service for the tests of a module."""
    running = held.start()
    yield running
    running.stop()
