"""The client of a Chroma server: its deadlines, and what it gives back."""

import socket
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import httpx
import pytest

from app.clients import chroma_client as room
from app.clients.chroma_client import Remote, remote
from tests.fakes.chromas import ChromaServer


def test_a_server_that_says_nothing_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """It accepts and never answers; the vendor's own client would wait for ever while it is made."""
    monkeypatch.setattr(room, "GREET_SECONDS", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(httpx.ReadTimeout):
        remote(f"http://127.0.0.1:{silent.getsockname()[1]}")


def test_a_server_of_another_kind_is_refused() -> None:
    """Whatever has the port; a proxy before a server that is away, too."""

    class Proxy(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            """Away."""
            self.send_error(502)

        def log_message(self, *args: Any) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Proxy) as proxy:
        Thread(target=proxy.serve_forever, daemon=True).start()
        with pytest.raises(httpx.HTTPStatusError):
            remote(f"http://127.0.0.1:{proxy.server_port}")
        proxy.shutdown()


def test_every_call_has_a_deadline_and_connections_are_given_back(chroma_run: ChromaServer) -> None:
    """The vendor has neither; an unclosed connection would warn, and warnings are errors."""
    client = remote(chroma_run.url)
    assert isinstance(client, Remote)
    assert client.heartbeat() > 0
    assert [session.timeout.read for session in client._sessions] == [room.ANSWER_SECONDS] * 2
    client.close()
    assert all(session.is_closed for session in client._sessions)


def test_a_name_in_brackets_is_an_address(tmp_path: Path) -> None:
    """IPv6, as a URL has it."""
    with pytest.raises(httpx.ConnectError):
        remote("http://[::1]:9")
