"""A bare server in a process of its own: what the machine itself makes whoever asks it wait.

A promise about time, "at most 50 ms longer than before", is ours only while the processor is: on a machine
that is shared, everybody waits longer. So this is asked in turns with the service, from the same loop, for as
much work of a processor; what it takes longer than before is nobody's fault. It shares nothing with the
service: a loop of ours that is blocked does not make it wait. Seconds.
"""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import httpx  # the server itself starts without

TRIPS = 2
"""Of an answer that asks a model: the asker's own loop has its part in each."""


class Worker(BaseHTTPRequestHandler):
    """`GET /0.005`: spends so many seconds of a processor, and says so."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        """Work, and answer."""
        until = time.thread_time() + float(self.path[1:])
        while time.thread_time() < until:
            pass
        self.send_response(204)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base class's name
        """Nothing is told."""


@contextmanager
def control() -> Iterator[str]:
    """Its address; ended after the block."""
    process = subprocess.Popen([sys.executable, "-E", "-S", __file__], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout
        with process.stdout:
            yield process.stdout.readline().strip()
    finally:
        process.kill()
        process.wait()


async def waited(client: httpx.AsyncClient, work: float) -> float:
    """Seconds that as many trips take as an answer has, for so much work in all."""
    began = time.perf_counter()
    for _ in range(TRIPS):
        assert (await client.get(f"/{work / TRIPS:.6f}")).status_code == 204
    return time.perf_counter() - began


if __name__ == "__main__":
    with ThreadingHTTPServer(("127.0.0.1", 0), Worker) as server:
        sys.stdout.write(f"http://127.0.0.1:{server.server_port}\n")
        sys.stdout.flush()
        server.serve_forever()
