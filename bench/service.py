"""A service of its own for a measurement: a process on a free port over a temporary data folder."""

import asyncio
import os
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from app.db.folder import read_lock

START_SECONDS = 60.0


@asynccontextmanager
async def service(**environment: str) -> AsyncIterator[httpx.AsyncClient]:
    """A client of a fresh Ibid; `environment` adds settings. Everything is gone after the block."""
    with tempfile.TemporaryDirectory(prefix="ibid-bench-") as folder:
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("ibid")),
            "serve",
            "--port=0",
            f"--data-dir={folder}",
            env=os.environ | environment,
            stdout=asyncio.subprocess.DEVNULL,
        )
        try:
            url = await started(Path(folder), process)
            limits = httpx.Limits(max_connections=None)
            async with httpx.AsyncClient(base_url=url, timeout=600, limits=limits) as client:
                yield client
        finally:
            process.terminate()
            await process.wait()


async def started(folder: Path, process: asyncio.subprocess.Process) -> str:
    """The service's address, once it listens."""
    async with asyncio.timeout(START_SECONDS):
        while process.returncode is None:
            lock = read_lock(folder)
            if lock and lock.pid == process.pid and lock.url:
                return lock.url
            await asyncio.sleep(0.1)
    raise SystemExit("the service did not start")
