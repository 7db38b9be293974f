"""`ibid serve`: everything opened, the address printed when it is ready, everything closed on a signal.

SIGINT and SIGTERM end it with exit code 0 within `STOP_SECONDS`, open streams or not; what has not closed
by then is left to the kernel, which ends our children with us, and to the next start, which recovers. That
holds without memory too: the thread that sees to it is there from the start.
"""

import asyncio
import gc
import logging
import os
import resource
import signal
import sys
import threading
import time
from contextlib import closing, suppress
from typing import Annotated, Any

import structlog
import typer

from app.cli.server import bind, is_loopback, serving, url
from app.cli.terminal import DataDir, configured, remark, run, tell
from app.db.embedded import read_lock, refusal
from app.db.keys import KeyStore
from app.errors import StartError
from app.main import create_app
from app.settings import Settings
from app.tasks import crew
from app.wiring import open_services

STOP_SECONDS = 5.0
LOOK_SECONDS, AGAIN_SECONDS = 1.0, 30.0
"""Between two looks for a free file descriptor; after one in vain."""
COLLECTED = 50_000, 10, 10
"""Allocations, and collections of the younger generation, after which each generation is collected. At 5,000
each of 64 answers under way was looked through again every twenty answers: 4 % of the processor, in vain."""

log = structlog.get_logger(__name__)


def serve(
    host: Annotated[
        str | None, typer.Option(help="Address to listen on. [default: IBID_HOST or 127.0.0.1]")
    ] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="0 for a free one. [default: IBID_PORT or 8000]")
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Start the service. Ctrl-C stops it."""
    config = configured(data_dir, log_level=None, host=host, port=port)
    run(served(config))
    leave()


async def served(config: Settings) -> None:
    """Serve until a signal comes. `StartError` says what stands in the way."""
    loop, work, asked = asyncio.get_running_loop(), asyncio.current_task(), threading.Event()
    threading.Thread(target=deadline, args=(asked,), name="deadline", daemon=True).start()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop, work, asked)
    # Asked before the port, which the same service would hold too: this answer is the better one.
    if read_lock(config.ibid.data_dir):
        raise refusal(config.ibid.data_dir)
    with suppress(asyncio.CancelledError), closing(bind(config.ibid.host, config.ibid.port)) as bound:
        remark(f"Starting, with data in {config.ibid.data_dir.absolute()} ...")
        async with open_services(config, apart=True) as services:
            await guarded(services.keys, loopback=is_loopback(bound))
            settle()
            async with serving(create_app(config, services), bound), crew({"descriptors": descriptors}):
                address = url(bound, config.ibid.host)
                services.publish(address)
                tell(f"Ibid is ready: {address} (endpoints: {address}/docs). Ctrl-C stops it.")
                try:
                    await asyncio.Event().wait()
                finally:
                    services.hurry()


async def guarded(keys: KeyStore, *, loopback: bool) -> None:
    """Without a key the service is open, and then only for this machine."""
    if not loopback and not await keys.any():
        raise StartError(
            "without an API key Ibid serves this machine only: make one first (ibid keys create --tenant "
            "default), set IBID_BOOTSTRAP_KEY, or leave IBID_HOST at 127.0.0.1"
        )


def settle() -> None:
    """What is loaded by now stays: the collector need not look at it again, nor so often at what comes and
    goes with each request, nearly all of which frees itself."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(*COLLECTED)


def leave() -> None:
    """End the process now that all of ours is closed. The interpreter would take 0.6 s more to free what the
    kernel frees at once, three times that on a busy machine, and a vendor's thread could keep it for ever."""
    logging.shutdown()
    sys.stdout.flush()
    os._exit(0)


def stop(work: asyncio.Task[Any] | None, asked: threading.Event) -> None:
    """Begin to close; `deadline` sees to it that it ends, whatever hangs."""
    asked.set()
    if work:
        work.cancel()


def deadline(asked: threading.Event) -> None:
    """In a thread: end the process STOP_SECONDS after it was asked to."""
    asked.wait()
    time.sleep(STOP_SECONDS)
    os._exit(1)


async def descriptors() -> None:
    """For ever: say when no file descriptor is left. The event loop then drops new connections without a
    word, and stores that need another one do not answer."""
    while True:
        try:
            os.close(os.open(os.devnull, os.O_RDONLY))
        except OSError:
            most, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
            log.error("no file descriptor is left: new connections are dropped", limit=most)
            await asyncio.sleep(AGAIN_SECONDS)
        else:
            await asyncio.sleep(LOOK_SECONDS)
