"""`ibid serve` from its first word to its last, and what it refuses to start with."""

import signal
import socket
from contextlib import closing

import httpx

from tests.cli.conftest import Ibid


def test_it_says_where_it_is_and_stops_on_a_signal(ibid: Ibid) -> None:
    """The address is printed once it answers; SIGTERM ends it with 0 within 5 s, whatever is open."""
    running = ibid.start()
    with httpx.Client(base_url=running.url, trust_env=False) as client:
        alive = client.get("/healthz").status_code
        page = client.get("/")
        with closing(socket.create_connection(("127.0.0.1", int(running.url.rpartition(":")[2])))) as idle:
            # A request that never ends: headers without their blank line.
            idle.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n")
            took = running.stop(signal.SIGTERM)

    assert (alive, page.status_code) == (200, 200)
    assert running.process.returncode == 0, "".join(running.errors)
    assert took < 5
