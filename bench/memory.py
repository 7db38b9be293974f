"""Does memory stay where it is? 20,000 requests against one service with 10,000 passages, its size all along.

usage: python -m bench.memory [REQUESTS]. The model answers at once, so that it takes minutes; every message
is another one and every request a conversation of its own, the cache is on. Megabytes resident; the children
(Postgres, Chroma's process) apart. Flat: under 5 % more at the end than after a fifth of the requests.
"""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench import meter, server
from bench.figures import keep, machine, median
from bench.load import Job, spawn
from bench.picture import chart
from bench.speed import asked_bytes

REQUESTS, CLIENTS, ROWS = 20_000, 16, 10_000
EVERY_SECONDS = 1.0
FLAT, MOST_MB = 1.05, 600
SETTLED = 0.2
"""Share of the requests after which memory is to stay."""

Point = tuple[int, float, float]
"""Requests so far, megabytes of the service, megabytes of its children."""


async def watched(service: server.Server, model: server.Server, series: list[Point]) -> None:
    """A point every second, until cancelled."""
    while True:
        requests, _ = await asked_bytes(model)
        sizes = await asyncio.to_thread(meter.memory, service.pid)
        own = sizes.pop("service")
        series.append((requests, own, sum(sizes.values())))
        await asyncio.sleep(EVERY_SECONDS)


def verdict(series: list[Point], requests: int) -> dict[str, Any]:
    """Flat or not, and how large. Medians of five points, because a sample may meet a moment's peak."""
    settled = [own for asked, own, _ in series if asked >= requests * SETTLED]
    start, end = median(settled[:5]), median(settled[-5:])
    return {
        "start_mb": round(start, 1),
        "end_mb": round(end, 1),
        "peak_mb": round(max(own for _, own, _ in series), 1),
        "children_mb": round(median(beside for _, _, beside in series[-5:]), 1),
        "growth": round(end / start - 1, 4) if start else 0.0,
        "flat": end < FLAT * start,
        "small": end < MOST_MB,
    }


async def measure(requests: int, rows: int) -> dict[str, Any]:
    """The series and what it says."""
    where = machine()
    with TemporaryDirectory(prefix="ibid-bench-") as name:
        folder, series = Path(name) / "data", list[Point]()
        await server.run("filing", "ibid", folder, rows, IBID_DATA_DIR=str(folder))
        async with server.stub(0) as model, server.ibid(folder, model) as service:
            job = Job(
                port=service.port, path=service.path, ends=service.ends, clients=CLIENTS, requests=requests
            )
            watch, began = asyncio.create_task(watched(service, model, series)), perf_counter()
            await spawn(job)
            watch.cancel()
            await asyncio.gather(watch, return_exceptions=True)
            sizes = {part: round(size) for part, size in meter.memory(service.pid).items()}
    spent = round(perf_counter() - began)
    told = {"machine": where, "requests": requests, "rows": rows, "seconds": spent, "megabytes": sizes}
    return told | verdict(series, requests) | {"series": series}


async def main(requests: int) -> None:
    """Measure, keep, draw, judge."""
    found = await measure(requests, ROWS)
    keep("memory", found)
    chart(found["series"], requests)
    for asked, own, children in found["series"][:: max(1, len(found["series"]) // 20)]:
        print(f"  {asked:6} requests: {own:5.0f} MB, children {children:5.0f} MB")
    print({key: value for key, value in found.items() if key != "series"})


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]) if len(sys.argv) > 1 else REQUESTS))
