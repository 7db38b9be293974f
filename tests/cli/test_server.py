"""uvicorn as an `async with`: addresses, and why they cannot be had."""

import asyncio
import errno
import socket
from contextlib import closing

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from app.cli import server
from app.cli.server import bind, is_loopback, refusal, serving, url
from app.errors import StartError
from app.logging import RequestLog
from app.problems import LastResort
from tests.fakes.checks import told
from tests.fakes.logged import captured
from tests.fakes.server import connected


def app() -> FastAPI:
    """Answers `here`."""
    made = FastAPI()
    made.add_api_route("/", lambda: PlainTextResponse("here"))
    return made


async def test_inside_the_block_it_answers_and_outside_it_does_not() -> None:
    """Ready on entering, gone on leaving."""
    bound = bind("127.0.0.1", 0)
    address = url(bound, "127.0.0.1")

    async with serving(app(), bound), httpx.AsyncClient() as client:
        answered = (await client.get(address)).text

    assert answered == "here"
    async with httpx.AsyncClient() as client:
        with pytest.raises(httpx.ConnectError):
            await client.get(address)


async def test_what_is_no_http_is_refused_as_a_problem() -> None:
    """The server that `ibid serve` runs answers with ours, not uvicorn's, last word."""
    bound = bind("127.0.0.1", 0)

    async with serving(app(), bound), connected(url(bound, "127.0.0.1")) as wire:
        await wire.send(b"FOO / HTTP/1.1\r\n\r\n")
        answer = await wire.answer()

    assert (answer.status, answer.headers["content-type"]) == (400, "application/problem+json")
    assert answer.json()["instance"] == answer.headers["x-request-id"]


async def test_an_error_inside_the_block_comes_out_and_the_server_stops() -> None:
    """The block's own error is not hidden by the server's end."""
    bound = bind("127.0.0.1", 0)

    with pytest.raises(LookupError):
        async with serving(app(), bound):
            raise LookupError

    assert bound.fileno() == -1


async def test_a_request_cut_short_by_the_stop_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the app says it; the server neither answers itself nor logs a fault."""
    monkeypatch.setattr(server, "GRACE_SECONDS", 0.1)
    made, bound = FastAPI(), bind("127.0.0.1", 0)
    made.add_middleware(LastResort)
    made.add_middleware(RequestLog)
    begun = asyncio.Event()

    @made.get("/")
    async def endless() -> None:
        begun.set()
        await asyncio.Event().wait()

    with captured() as lines:
        async with httpx.AsyncClient() as client:
            async with serving(made, bound):
                asked = asyncio.create_task(client.get(url(bound, "127.0.0.1")))
                await begun.wait()
            answered = await asked

    assert told(answered, 503, "unavailable")
    assert answered.headers["retry-after"] == "2"
    assert "Traceback" not in lines.getvalue()
    assert "ASGI" not in lines.getvalue()


def test_a_taken_port_is_told_with_the_setting_that_gives_another() -> None:
    """The message names the port and IBID_PORT."""
    with closing(socket.create_server(("127.0.0.1", 0))) as other:
        port = other.getsockname()[1]

        with pytest.raises(StartError, match=f"port {port} on 127.0.0.1 is taken; set IBID_PORT"):
            bind("127.0.0.1", port)


def test_a_host_that_is_no_address_is_told_with_its_setting() -> None:
    """The message names IBID_HOST."""
    with pytest.raises(StartError, match=r"IBID_HOST=::1%none is no address of this machine"):
        bind("::1%none", 0)


@pytest.mark.parametrize(
    ("number", "said"),
    [
        pytest.param(errno.EACCES, "above 1023", id="privileged port"),
        pytest.param(errno.EADDRNOTAVAIL, "IBID_HOST", id="another machine's address"),
    ],
)
def test_other_refusals_name_their_setting(number: int, said: str) -> None:
    """Whatever the kernel says, the reader learns what to change."""
    assert said in refusal(OSError(number, "no"), "127.0.0.1", 80).detail


@pytest.mark.parametrize(
    ("host", "shown"),
    [
        pytest.param("127.0.0.1", "http://127.0.0.1:", id="address"),
        pytest.param("localhost", "http://localhost:", id="name"),
        pytest.param("0.0.0.0", "http://127.0.0.1:", id="every address"),  # noqa: S104 - not bound
        pytest.param("::1", "http://[::1]:", id="IPv6"),
        pytest.param("::", "http://[::1]:", id="every address of IPv6"),
    ],
)
def test_the_address_shown_can_be_opened_on_this_machine(host: str, shown: str) -> None:
    """A wildcard is no address to call; IPv6 stands in brackets."""
    with closing(bind("127.0.0.1", 0)) as bound:
        assert url(bound, host) == f"{shown}{bound.getsockname()[1]}"


def test_loopback_is_told_by_the_address_not_the_name() -> None:
    """All of 127/8 is this machine."""
    with closing(bind("127.0.0.2", 0)) as bound:
        assert is_loopback(bound)
