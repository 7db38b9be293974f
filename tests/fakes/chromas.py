"""The vendor's own Chroma server (`chroma run`) on a free port of loopback, and damage to a Chroma folder."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import numpy as np

from app.retrieval.retrievers.chroma import Chroma
from app.retrieval.retrievers.chroma_child import EmbeddedChroma, Json, Matrix, perform

START_SECONDS = 30.0
CHROMA = str(Path(sys.executable).with_name("chroma"))
FILE = "chroma.sqlite3"


@dataclass
class RunningChroma:
    """A running one; it may be killed and started again on the same port and folder."""

    folder: Path
    port: int
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        arguments = ("run", "--path", str(self.folder), "--host", "127.0.0.1", "--port", str(self.port))
        environment = {"PATH": os.environ["PATH"], "HOME": str(self.folder), "ANONYMIZED_TELEMETRY": "False"}
        quiet = subprocess.DEVNULL
        self.process = subprocess.Popen([CHROMA, *arguments], stdout=quiet, stderr=quiet, env=environment)
        end = time.monotonic() + START_SECONDS
        while not self.answers():
            assert time.monotonic() < end, "chroma run does not answer"
            time.sleep(0.05)

    def answers(self) -> bool:
        with suppress(httpx.HTTPError):
            return httpx.get(f"{self.url}/api/v2/heartbeat", timeout=1).is_success
        return False

    def signal(self, number: int) -> None:
        """Stop it, let it go on, …"""
        assert self.process
        self.process.send_signal(number)

    def kill(self) -> None:
        if self.process:
            self.process.kill()
            self.process.wait()


@contextmanager
def chroma_server(folder: Path) -> Iterator[RunningChroma]:
    """A server on its own folder, dead after the block."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = RunningChroma(folder, port)
    try:
        server.start()
        yield server
    finally:
        server.kill()


class InProcess(Chroma):
    """The engine in this process: no child to start, and any number of event loops may use it."""

    embedded = False

    def __init__(self, engine: EmbeddedChroma) -> None:
        super().__init__()
        self._engine = engine

    async def _ask(self, do: str, matrix: Matrix | None = None, **arguments: Json) -> Json:
        data = b"" if matrix is None else np.ascontiguousarray(matrix, dtype="<f4").tobytes()
        return await asyncio.to_thread(perform, self._engine, do, data, arguments)

    async def _open(self) -> None:
        """It is open."""


def segment(folder: Path) -> Path:
    """The folder of the documents' index: a collection of a few vectors has no files of its own yet."""
    return min(path.parent for path in folder.glob("*/index_metadata.pickle"))


def halve(path: Path) -> None:
    os.truncate(path, path.stat().st_size // 2)


def spoil(path: Path) -> None:
    """Noise in a file's place, the same each time and of the same size."""
    size = path.stat().st_size
    path.write_bytes((bytes(range(7, 251, 3)) * (size // 80 + 1))[:size])


def mingle(folder: Path) -> None:
    """Noise in the middle of the database: its first pages are as they were."""
    path = folder / FILE
    size = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(size // 8)
        file.write(bytes(range(7, 251, 3)) * (size // 100))


def foreign(folder: Path) -> None:
    """Another program's database in the place of Chroma's."""
    import sqlite3

    (folder / FILE).unlink()
    with sqlite3.connect(folder / FILE) as database:
        database.execute("CREATE TABLE migrations (a)")
    database.close()


DAMAGES: Mapping[str, Callable[[Path], object]] = {
    "the database is noise": lambda folder: spoil(folder / FILE),
    "pages of the database are noise": mingle,
    "the database is another program's": foreign,
    "the database is gone": lambda folder: (folder / FILE).unlink(),
    "the vectors are cut": lambda folder: halve(segment(folder) / "data_level0.bin"),
    "the metadata are gone": lambda folder: (segment(folder) / "index_metadata.pickle").unlink(),
}
"""Ways in which a folder is damaged, each found at the start or at the first use (docs/adr/0005)."""
