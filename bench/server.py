"""The servers of a run, each a process of its own on a free loopback port, ended by its own id."""

import asyncio
import json
import os
import socket
import sys
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from app.db.folder import read_lock
from bench.wire import connect, get

START_SECONDS = 120.0
KEPT = ("PATH", "HOME", "LANG", "TMPDIR", "TZ")
"""Of the environment: no key or setting of whoever runs this may change what is measured."""


@dataclass(frozen=True, slots=True)
class Server:
    """A running server."""

    name: str
    port: int
    pid: int
    path: str
    """The request."""
    ends: str
    """Occurs in the last event of a whole answer."""


def clean(**settings: str) -> dict[str, str]:
    """An environment of these settings alone."""
    return {name: os.environ[name] for name in KEPT if name in os.environ} | settings


def free_port() -> int:
    """A port that nobody listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


async def stop(process: asyncio.subprocess.Process) -> None:
    """End it, and see it end."""
    if process.returncode is None:
        process.terminate()
    await process.wait()


async def answering(port: int, path: str, process: asyncio.subprocess.Process) -> None:
    """Wait until it answers."""
    async with asyncio.timeout(START_SECONDS):
        while process.returncode is None:
            try:
                connection = await connect(port)
                await connection.ask(get(path))
            except OSError:
                await asyncio.sleep(0.05)
            else:
                connection.close()
                return
    raise SystemExit(f"a server of the benchmark did not start (exit code {process.returncode})")


@asynccontextmanager
async def module(
    name: str, *arguments: object, probe: str, path: str, **settings: str
) -> AsyncIterator[Server]:
    """`python -m bench.NAME PORT …`, ready when `probe` is answered."""
    port = free_port()
    command = [sys.executable, "-m", f"bench.{name}", str(port), *map(str, arguments)]
    process = await asyncio.create_subprocess_exec(*command, env=clean(**settings))
    try:
        await answering(port, probe, process)
        yield Server(name, port, process.pid, path, "[DONE]")
    finally:
        await stop(process)


def stub(scale: float = 1.0, *tokens: int) -> AbstractAsyncContextManager[Server]:
    """The bare model."""
    return module("stub", scale, *tokens, probe="/stats", path="/v1/chat/completions")


def relay(model: Server, *mode: str) -> AbstractAsyncContextManager[Server]:
    """The relay of it."""
    return module("relay", model.port, *mode, probe="/", path="/")


def byhand(folder: Path, model: Server) -> AbstractAsyncContextManager[Server]:
    """The by-hand app on a filed folder."""
    settings = {"BYHAND_FOLDER": str(folder), "BYHAND_MODEL": url(model)}
    return module("byhand", probe="/healthz", path="/api/chat", **settings)


def url(model: Server) -> str:
    """The model's base URL."""
    return f"http://127.0.0.1:{model.port}/v1"


@asynccontextmanager
async def ibid(folder: Path, model: Server, name: str = "ibid", **settings: str) -> AsyncIterator[Server]:
    """`ibid serve` on a data folder, as in production: no debug data in the replies."""
    process = await asyncio.create_subprocess_exec(
        str(Path(sys.executable).with_name("ibid")),
        "serve",
        "--port=0",
        f"--data-dir={folder}",
        env=clean(CHAT_BASE_URL=url(model), RAG_DEBUG_MODE="0", **settings),
        cwd=folder,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
    )
    try:
        port = int((await listening(folder, process)).rpartition(":")[2])
        yield Server(name, port, process.pid, "/api/chat", "event: done")
    finally:
        await stop(process)


async def listening(folder: Path, process: asyncio.subprocess.Process) -> str:
    """The service's address, once it listens."""
    async with asyncio.timeout(START_SECONDS):
        while process.returncode is None:
            lock = read_lock(folder)
            if lock and lock.pid == process.pid and lock.url:
                return lock.url
            await asyncio.sleep(0.05)
    raise SystemExit(f"the service did not start (exit code {process.returncode})")


async def run(name: str, *arguments: object, **settings: str) -> bytes:
    """`python -m bench.NAME …` to its end; what it printed. `SystemExit` if it failed."""
    command = [sys.executable, "-m", f"bench.{name}", *map(str, arguments)]
    process = await asyncio.create_subprocess_exec(
        *command, env=clean(**settings), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise SystemExit(f"bench.{name} failed")
    return out


async def told(name: str, *arguments: object, **settings: str) -> dict[str, Any]:
    """The JSON that such a module prints last; logs may come before it."""
    found: dict[str, Any] = json.loads((await run(name, *arguments, **settings)).splitlines()[-1])
    return found
