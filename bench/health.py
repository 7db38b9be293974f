"""Does the service stay alive to its watchers? /healthz while a 180 MB PDF comes in and 32 clients chat.

usage: python -m bench.health [MEGABYTES [PAGES]]. Asked every 20 ms over one kept connection: first with the
32 clients alone, then from the upload's first byte until the document is searchable. Milliseconds.
"""

import asyncio
import sys
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench import server
from bench.figures import keep, machine, median, percentile
from bench.load import Job, spawn
from bench.server import Server
from bench.wire import connect, get

EVERY_SECONDS = 0.02
CLIENTS, ROWS = 32, 10_000
ALONE_SECONDS = 10.0
PIECE_SECONDS = 5.0
"""A load's length: loads follow one another until the upload is done."""


@dataclass(slots=True)
class Watch:
    """Observations meanwhile."""

    health: list[float] = field(default_factory=list)
    firsts: list[float] = field(default_factory=list)
    answers: int = 0

    def told(self) -> dict[str, float]:
        """Of /healthz, and of the chats' first bytes."""
        return {
            "asked": len(self.health),
            "p50": round(median(self.health), 1),
            "p99": round(percentile(self.health, 0.99), 1),
            "max": round(max(self.health), 1),
            "answers": self.answers,
            "first_p50": round(median(self.firsts), 1),
            "first_p95": round(percentile(self.firsts, 0.95), 1),
        }


async def probed(service: Server, watch: Watch) -> None:
    """/healthz again and again, until cancelled."""
    connection = await connect(service.port)
    try:
        while True:
            began = perf_counter()
            response = await connection.ask(get("/healthz"))
            if response.status != 200:
                raise SystemExit(f"/healthz answered {response.status}")
            watch.health.append((perf_counter() - began) * 1000)
            await asyncio.sleep(EVERY_SECONDS)
    finally:
        connection.close()


async def chatted(service: Server, watch: Watch, first: int) -> None:
    """A load of some seconds."""
    job = Job(
        port=service.port,
        path=service.path,
        ends=service.ends,
        clients=CLIENTS,
        seconds=PIECE_SECONDS,
        warm=0.0,
        first=first,
    )
    tally = await spawn(job)
    watch.firsts += tally.firsts
    watch.answers += tally.counted


async def watched(service: Server, until: "asyncio.Task[Any]", first: int) -> Watch:
    """Chat and probe until a task is done."""
    watch = Watch()
    probe = asyncio.create_task(probed(service, watch))
    try:
        while not until.done():
            first += 1_000_000
            await chatted(service, watch, first)
    finally:
        probe.cancel()
        await asyncio.gather(probe, return_exceptions=True)
    return watch


async def measure(megabytes: int, pages: int) -> dict[str, Any]:
    """Both phases."""
    where = machine()
    with TemporaryDirectory(prefix="ibid-bench-") as name:
        folder, path = Path(name) / "data", Path(name) / "volume.pdf"
        await server.run("volume", path, megabytes, pages)
        await server.run("filing", "ibid", folder, ROWS, IBID_DATA_DIR=str(folder))
        async with server.stub() as model, server.ibid(folder, model) as service:
            await watched(service, asyncio.create_task(asyncio.sleep(1)), 0)
            alone = await watched(service, asyncio.create_task(asyncio.sleep(ALONE_SECONDS)), 10**9)
            upload = asyncio.create_task(server.told("upload", service.port, path, "bench-volume"))
            beside = await watched(service, upload, 2 * 10**9)
            sent = await upload
        size = round(path.stat().st_size / 1_000_000)
    return {
        "machine": where,
        "clients": CLIENTS,
        "megabytes": size,
        "seconds": round(sent["seconds"], 1),
        "state": sent["document"]["state"],
        "chunks": sent["document"]["chunks"],
        "alone": alone.told(),
        "beside": beside.told(),
    }


async def main(megabytes: int, pages: int) -> None:
    """Measure, keep, print."""
    found = await measure(megabytes, pages)
    keep("health", found)
    print(found)


if __name__ == "__main__":
    asyncio.run(main(*map(int, [*sys.argv[1:], "180", "300"][:2])))
