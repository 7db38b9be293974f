"""The command line on a data folder of its own: in this process where that is enough, else as a program."""

import io
import json
import os
import re
import signal
import sys
from collections.abc import Iterator
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from structlog.testing import capture_logs

from app.cli import terminal
from app.cli.main import main
from tests.fakes.pdfs import encrypted_pdf, text_pdf
from tests.fakes.process import Done, Program, furnish, run, wait_for

PROGRAM = Path(sys.executable).with_name("ibid")
READY_SECONDS = 60.0

HARBOUR = "The harbour of Esbjerg was dredged in 1987 because larger ferries could no longer dock there."
ORCHARD = "The orchard keeps forty varieties of apple, and the oldest tree was planted by the bishop's cook."


@dataclass(frozen=True)
class Ibid:
    """The command line with one data folder."""

    place: Path

    def __call__(self, *arguments: str | Path) -> Done:
        """Run one command to its end, in this process. Logging stays as the tests have it."""
        out, err = io.StringIO(), io.StringIO()
        words = ["ibid", *map(str, arguments), "--data-dir", str(self.data)]
        with (
            chdir(self.place),
            redirect_stdout(out),
            redirect_stderr(err),
            patch.object(sys, "argv", words),
            patch.dict(os.environ, COLUMNS="200"),
            patch.object(terminal, "configure", lambda _level: None),
            capture_logs(),
            pytest.raises(SystemExit) as ended,
        ):
            main()
        return Done(int(ended.value.code or 0), out.getvalue(), err.getvalue())

    @property
    def data(self) -> Path:
        return self.place / "data"

    def environment(self, **settings: str) -> dict[str, str]:
        """Nothing of the developer's but the path."""
        here = {"HOME": str(self.place), "IBID_DATA_DIR": str(self.data)}
        return {"PATH": os.environ["PATH"], **here, **settings}

    def process(self, *arguments: str, **settings: str) -> Done:
        """Run one command in a process of its own."""
        return run(self.place, *arguments, **self.environment(**settings))

    def start(self, **settings: str) -> "Running":
        """Start `ibid serve` on a free port and wait until it says where it is. It is forked from a process
        that has imported the program; tests/golden starts the installed one."""
        out, err = (self.place / name for name in ("serve.out", "serve.err"))
        out.touch()
        err.touch()
        environ = self.environment(**settings)
        return Running(Program("serve", "--port", "0", cwd=self.place, out=out, err=err, **environ), out, err)


class Running:
    """A service under way, with its output in files."""

    def __init__(self, process: Program, out: Path, err: Path) -> None:
        self.process = process
        self._err = err
        wait_for(lambda: "\n" in out.read_text() or process.poll() is not None, READY_SECONDS)
        self.greeting = out.read_text()
        told = re.search(r"http://\S+:\d+", self.greeting)
        self.url = told[0] if told else ""
        assert self.url, "".join(self.errors)

    @property
    def errors(self) -> list[str]:
        return self._err.read_text().splitlines(keepends=True)

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def stop(self, sign: signal.Signals = signal.SIGTERM) -> None:
        """Send the signal and wait; the exit code is then `process.returncode`."""
        self.process.send_signal(sign)
        try:
            self.process.wait(10)
        finally:
            self.process.kill()
            self.process.wait()


@pytest.fixture
def ibid(tmp_path: Path) -> Ibid:
    """The command with a fresh data folder."""
    return Ibid(tmp_path)


@pytest.fixture
def begun(ibid: Ibid) -> Ibid:
    """The command with a data folder that has been made, for what is no matter of the first start."""
    furnish(ibid.data)
    return ibid


@pytest.fixture(scope="session")
def held(tmp_path_factory: pytest.TempPathFactory) -> Ibid:
    """The command with the data folder that `service` holds."""
    return Ibid(tmp_path_factory.mktemp("held"))


@pytest.fixture(scope="session")
def service(held: Ibid) -> Iterator[Running]:
    """One service for this worker's tests: a start takes seconds."""
    furnish(held.data)
    running = held.start()
    yield running
    running.stop()
    assert running.process.returncode == 0, "".join(running.errors)


@pytest.fixture(scope="session")
def folder(held: Ibid) -> Path:
    """Two PDFs, of which one cannot be read, and a file of another kind."""
    place = held.place / "papers"
    place.mkdir()
    (place / "harbour.pdf").write_bytes(text_pdf([HARBOUR, ORCHARD], title="On harbours"))
    (place / "LOCKED.PDF").write_bytes(encrypted_pdf())
    (place / "notes.txt").write_text("not a PDF")
    return place


@pytest.fixture(scope="session")
def ingested(held: Ibid, folder: Path, service: Running) -> Done:
    """The folder and one named file, ingested for all sessions."""
    return held("ingest", folder, folder / "notes.txt")


def lines(output: str) -> list[dict[str, Any]]:
    """JSON objects, one a line."""
    return [json.loads(line) for line in output.splitlines()]
