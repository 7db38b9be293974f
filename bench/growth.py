"""How the cost of a search grows with what is in reach: 1,000 to 30,000 passages, with `full` to 100,000.

Half of them in the session, half shared. Parts (a session, or what is shared) are searched exactly up to
`stacks.exact_most`; the last line of a full run puts more in one session, which Chroma's index then searches.
"""

import asyncio
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import server
from bench.figures import keep, machine

SIZES = (1_000, 3_000, 10_000, 30_000)
FULL, INDEXED = 100_000, 120_000


async def size(rows: int, layout: str) -> dict[str, Any]:
    """One size in a folder of its own."""
    with TemporaryDirectory(prefix="ibid-bench-") as folder:
        await server.run("filing", "ibid", folder, rows, layout, IBID_DATA_DIR=folder)
        told = await server.told("scale", rows, IBID_DATA_DIR=folder)
        taken = await asyncio.to_thread(disk, Path(folder))
    return told | {"layout": layout, "disk_mb": round(taken / 1_000_000)}


def disk(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def measure(*, full: bool, sizes: tuple[int, ...] = SIZES) -> dict[str, Any]:
    """All sizes."""
    plan = [(rows, "reach") for rows in sizes] + ([(FULL, "reach"), (INDEXED, "one")] if full else [])
    found = []
    for rows, layout in plan:
        found.append(await size(rows, layout))
        print(f"  {rows:7,} passages in reach: {found[-1]['search']} ms", flush=True)
    return {"machine": machine(), "sizes": found}


if __name__ == "__main__":
    keep("growth", asyncio.run(measure(full="--full" in sys.argv)))
