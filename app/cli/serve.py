"""`ibid serve`: opens everything, prints the address when it is ready, closes everything on a signal.

uvicorn runs on uvloop and httptools. SIGINT and SIGTERM end it with exit code 0 within `STOP_SECONDS`, open
streams or not: the listener closes, open requests get `GRACE_SECONDS`, then they are cancelled, and each
still reports that to its client. Whatever has not closed by then is left to the kernel, which ends our
children with us, and to the next start, which recovers. The thread for that exists from the start, so it
works without memory too. Raises `StartError`.
"""

import asyncio
import errno
import gc
import logging
import os
import resource
import signal
import socket
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager, nullcontext, suppress
from typing import Annotated, Any

import structlog
import typer
import uvicorn
from starlette.types import ASGIApp, Receive, Scope, Send

from app.api import metrics
from app.api.http_limits import Protocol
from app.cli.terminal import DataDir, configured, remark, run, safe, screen, tell
from app.db.folder import read_lock
from app.db.folder import refusal as held
from app.db.keys import KeyStore
from app.errors import StartError
from app.main import create_app
from app.settings import LOOPBACK, Settings
from app.tasks import crew
from app.wiring import open_services

STOP_SECONDS = 5.0
GRACE_SECONDS = 2
"""For open requests. Closing the stores takes half a second more, three on a machine with four times the work
it can do; the whole stop must stay under STOP_SECONDS."""
BACKLOG = 2_048
LOOK_SECONDS, AGAIN_SECONDS = 1.0, 30.0
"""Between two checks for a free file descriptor; after one that failed."""
COLLECTED = 50_000, 10, 10
"""Thresholds of the garbage collector's generations. With Python's defaults an answer takes 7 % more CPU at
64 clients (10.5 instead of 9.8 ms, on a busy machine)."""

log = structlog.get_logger(__name__)


def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on.", show_default="IBID_HOST or 127.0.0.1")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="0 for a free one.", show_default="IBID_PORT or 8000")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Start the service. Ctrl-C stops it."""
    run(served(configured(data_dir, log_level=None, host=host, port=port)))
    logging.shutdown()
    sys.stdout.flush()
    # The interpreter would take 0.6 s more to free what the kernel frees at once, three times that on a busy
    # machine, and a vendor's thread could keep it alive for ever.
    os._exit(0)


async def served(config: Settings) -> None:
    loop, work, stopping = asyncio.get_running_loop(), asyncio.current_task(), threading.Event()
    threading.Thread(target=exit_late, args=(stopping,), name="deadline", daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, work, stopping)
    # Checked before the port, which a running service would occupy too: this message is clearer.
    if read_lock(config.ibid.data_dir):
        raise held(config.ibid.data_dir)
    with (
        suppress(asyncio.CancelledError),
        closing(bind(config.ibid.host, config.ibid.port)) as bound,
        metrics_socket(config) as beside,
    ):
        remark(f"Starting, with data in {config.ibid.data_dir.absolute()} ...")
        report = StartReport()
        async with open_services(config, apart=True, report=report) as services:
            await require_key(services.keys, loopback=is_loopback(bound))
            settle()
            async with (
                serving(create_app(config, services), bound),
                serving(metrics.apart(services), beside) if beside else nullcontext(),
                crew({"descriptors": watch_descriptors}),
            ):
                address = url(bound, config.ibid.host)
                if beside:
                    remark(f"Metrics: {url(beside, config.ibid.metrics_host)}/metrics")
                services.publish(address)
                tell(f"Ibid is ready: {address} (endpoints: {address}/docs). Ctrl-C stops it.")
                try:
                    await asyncio.Event().wait()
                finally:
                    services.hurry()


class StartReport:
    """Prints each dependency when it is ready, with the seconds that it took."""

    def __init__(self) -> None:
        self._began: dict[str, float] = {}

    def __call__(self, name: str, what: str | None) -> None:
        if what is None:
            self._began[name] = time.monotonic()
            return
        took = time.monotonic() - self._began.pop(name)
        screen(stderr=True).print(f"  {name:<16} {safe(what)}  ({took:.1f} s)", soft_wrap=True)


async def require_key(keys: KeyStore, *, loopback: bool) -> None:
    """Raises unless there is a key or the address is loopback: without a key the service is open."""
    if not loopback and not await keys.any():
        raise StartError(
            "without an API key Ibid serves this machine only: make one first (ibid keys create --tenant "
            "default), set IBID_BOOTSTRAP_KEY, or leave IBID_HOST at 127.0.0.1"
        )


def settle() -> None:
    """Exempt everything loaded by now from garbage collection, and collect less often: nearly all that a
    request allocates frees itself."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED)


def stop(work: asyncio.Task[Any] | None, stopping: threading.Event) -> None:
    stopping.set()
    if work:
        work.cancel()


def exit_late(stopping: threading.Event) -> None:
    """In a thread: end the process STOP_SECONDS after it was asked to, whatever hangs."""
    stopping.wait()
    time.sleep(STOP_SECONDS)
    log.error("not everything was closed in time; ended all the same", seconds=STOP_SECONDS)
    os._exit(1)


async def watch_descriptors() -> None:
    """Log, for ever, when no file descriptor is left. The event loop then drops new connections silently, and
    stores that need another one do not answer."""
    while True:
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            log.error("no file descriptor is left: new connections are dropped", limit=most)
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            await asyncio.sleep(LOOK_SECONDS)


class ReadyServer(uvicorn.Server):
    """uvicorn without signal handling: it raises the signal again before our stores are closed."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = asyncio.Event()

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.ready.set()


def bind(host: str, port: int, prefix: str = "IBID_") -> socket.socket:
    """A listening socket. Opened early, so that a taken port is reported at once. `prefix`: its settings'."""
    try:
        family, kind, proto, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    except OSError as error:
        raise StartError(f"{prefix}HOST={host} is no address of this machine: {error.strerror}") from error
    bound = socket.socket(family, kind, proto)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(BACKLOG)
    except OSError as error:
        bound.close()
        raise refusal(error, host, port, prefix) from error
    return bound


@contextmanager
def metrics_socket(config: Settings) -> Iterator[socket.socket | None]:
    """The listening socket of IBID_METRICS_PORT; None without that setting."""
    port = config.ibid.metrics_port
    if port is None:
        yield None
        return
    with closing(bind(config.ibid.metrics_host, port, "IBID_METRICS_")) as bound:
        yield bound


def refusal(error: OSError, host: str, port: int, prefix: str = "IBID_") -> StartError:
    """Why the address cannot be used, and which setting gives another."""
    if error.errno == errno.EADDRINUSE:
        or_port = " (or --port)" if prefix == "IBID_" else ""
        return StartError(f"port {port} on {host} is taken; set {prefix}PORT{or_port} to another, 0 for any")
    if error.errno == errno.EACCES:
        return StartError(f"port {port} is not allowed to this user; set {prefix}PORT to one above 1023")
    return StartError(f"cannot listen on {host} ({prefix}HOST), port {port}: {error.strerror}")


def url(bound: socket.socket, host: str) -> str:
    port = bound.getsockname()[1]
    name = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104 - read, not bound
    return f"http://[{name}]:{port}" if ":" in name else f"http://{name}:{port}"


def is_loopback(bound: socket.socket) -> bool:
    """True if only this machine can reach it, by the address and not by its name."""
    return bound.getsockname()[0] in LOOPBACK or bound.getsockname()[0].startswith("127.")


def without_cancellation(app: ASGIApp) -> ASGIApp:
    """Ends a cancellation that was already answered: uvicorn would log it as an error with its traceback."""

    async def wrapped(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await app(scope, receive, send)
            return
        with suppress(asyncio.CancelledError):
            await app(scope, receive, send)

    return wrapped


@asynccontextmanager
async def serving(app: ASGIApp, bound: socket.socket) -> AsyncIterator[None]:
    """Serve the app on a bound socket while the block lasts. The caller opens and closes its services."""
    config = uvicorn.Config(
        without_cancellation(app),
        http=Protocol,
        ws="none",
        log_config=None,  # app/logging.py has set them up
        access_log=False,
        log_level="warning",  # the start is reported by us
        proxy_headers=False,
        server_header=False,
        backlog=BACKLOG,
        timeout_graceful_shutdown=GRACE_SECONDS,
    )
    server = ReadyServer(config)
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
