"""The line to a chat server: what it is made of; how it behaves is in `test_chat.py` and `test_stream.py`."""

import asyncio
import time

import pytest

from app.models.line import Bytes, Refused, code, open_line, proxy
from app.models.openai import Server
from tests.fakes.model import Fault, model_server


@pytest.mark.parametrize(
    ("body", "found"),
    [
        (b'{"error": {"code": "context_length_exceeded"}}', "context_length_exceeded"),
        (b'{"error": "no"}', None),
        (b"[]", None),
        (b"<html>", None),
        (b"", None),
    ],
    ids=["code", "text", "list", "html", "nothing"],
)
def test_a_refusals_code(body: bytes, found: object) -> None:
    """Whatever the server says with it."""
    assert code(body) == found
    assert Refused(400, {}, body).code == found


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({}, None),
        ({"https_proxy": "http://proxy:3128"}, "http://proxy:3128"),
        ({"all_proxy": "http://proxy:3128"}, "http://proxy:3128"),
        ({"http_proxy": "http://proxy:3128"}, None),
        ({"https_proxy": "http://proxy:3128", "no_proxy": "models.example"}, None),
        ({"https_proxy": "socks5://proxy:1080"}, None),
    ],
    ids=["none", "its scheme", "all", "another scheme", "left out", "not http"],
)
def test_the_proxy_is_the_environments(
    monkeypatch: pytest.MonkeyPatch, environment: dict[str, str], found: str | None
) -> None:
    """As other clients find it."""
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert proxy("https://models.example/v1") == found


async def test_a_server_of_https_has_its_certificate_checked() -> None:
    """One that speaks plainly on that port is refused, not believed."""
    async with (
        model_server() as fake,
        open_line(Server(fake.url.replace("http:", "https:"), "k")) as line,
    ):
        with pytest.raises(line.faults):
            async with line.post(b"{}", 5):
                pass


async def test_the_key_is_not_shown() -> None:
    """Nor where it is asked, in a log or a traceback."""
    async with open_line(Server("http://127.0.0.1:1/v1", "secret")) as line:
        assert "secret" not in repr(line)
        assert line.address == "http://127.0.0.1:1/v1/chat/completions"


async def test_a_reader_in_no_hurry_is_not_cut_off() -> None:
    """The limit is on the server's silence, not on what its reader does between two pieces."""
    async with (
        model_server("one two three", fault=Fault(pace=0.01)) as fake,
        open_line(Server(fake.url, "k")) as line,
        line.post(b'{"stream": true, "model": "m", "messages": []}', 5) as response,
    ):
        pieces = Bytes(response, 0.1)
        got = await pieces.next()
        await asyncio.sleep(0.3)
        while piece := await pieces.next():
            got += piece
        pieces.close()
    assert got.endswith(b"data: [DONE]\n\n")


async def test_hurrying_shortens_the_wait() -> None:
    """Once the answer is whole, nobody waits long for what else may come."""
    async with (
        model_server("one", fault=Fault(stall_after=0)) as fake,
        open_line(Server(fake.url, "k")) as line,
        line.post(b'{"stream": true, "model": "m", "messages": []}', 5) as response,
    ):
        pieces = Bytes(response, 60)
        pieces.hurry(0.05)
        began = time.monotonic()
        with pytest.raises(TimeoutError):
            await pieces.next()
        pieces.close()
    assert time.monotonic() - began < 10
