"""uvicorn on uvloop and httptools as an `async with`: ready inside, stopped outside, on a bound socket.

Stopping closes the listener, gives open requests `GRACE_SECONDS`, then cancels them; each still says so
itself (`app/problems.py`, `app/api/sse.py`). Raises `StartError`
where the address cannot be had.
"""

import asyncio
import errno
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager, suppress

import uvicorn
from fastapi import FastAPI
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api.protocol import Protocol
from app.errors import StartError
from app.settings import LOOPBACK

GRACE_SECONDS = 2
"""What answers under way are given to end. Closing the stores takes half a second more, three on a machine
with four times the work it can do; the whole stop is to stay under 5."""
BACKLOG = 2_048


class Server(uvicorn.Server):
    """Without signal handling of its own: uvicorn raises the signal again before our stores are closed."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave the signals alone."""
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """As uvicorn's; `ready` is set when connections are accepted."""
        await super().startup(sockets)
        self.ready.set()


def bind(host: str, port: int) -> socket.socket:
    """A socket bound to the address, not listening yet. Early, so that a taken port is told at once."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise StartError(f"IBID_HOST={host} is no address of this machine: {error.strerror}") from error
    bound = socket.socket(family, kind, proto)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise refusal(error, host, port) from error
    return bound


def refusal(error: OSError, host: str, port: int) -> StartError:
    """Why the address cannot be had, and which setting gives another."""
    if error.errno == errno.EADDRINUSE:
        return StartError(f"port {port} on {host} is taken; set IBID_PORT (or --port) to another, 0 for any")
    if error.errno == errno.EACCES:
        return StartError(f"port {port} is not allowed to this user; set IBID_PORT to one above 1023")
    return StartError(f"cannot listen on {host} (IBID_HOST), port {port}: {error.strerror}")


def url(bound: socket.socket, host: str) -> str:
    """The address as a person on this machine can open it."""
    port = bound.getsockname()[1]
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def is_loopback(bound: socket.socket) -> bool:
    """Whether only this machine can reach it, by the address and not by what it is called."""
    return bound.getsockname()[0] in LOOPBACK or bound.getsockname()[0].startswith("127.")


def ending(app: ASGIApp) -> ASGIApp:
    """The app as uvicorn calls it: nobody awaits its tasks, and one it has cancelled it would log as an
    error with the traceback. So a cancellation, which has been told by now, ends here."""

    async def ended(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        with suppress(asyncio.CancelledError):
            await app(scope, receive, send)

    return ended


@asynccontextmanager
async def serving(app: FastAPI, bound: socket.socket) -> AsyncIterator[None]:
    """Serve the app while the block lasts. The app's services are the caller's, opened and closed by it."""
    config = uvicorn.Config(
        ending(app),
        http=Protocol,
        ws="none",
        log_config=None,  # app/logging.py has set them up
        access_log=False,
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = Server(config)
    task = asyncio.create_task(server.serve(sockets=[bound]))
    ready = asyncio.create_task(server.ready.wait())
    try:
        await asyncio.wait({task, ready}, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            await task
            raise StartError("the web server ended before it was ready")
        yield
    finally:
        ready.cancel()
        server.should_exit = True
        await task
