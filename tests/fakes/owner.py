"""A process that owns an embedded Postgres, to be killed: `python -m tests.fakes.owner HOME`.

Prints the postmaster's pid, then writes rows 1, 2, … and prints each number once it is acknowledged.
"""

import asyncio
import itertools
import sys
from pathlib import Path

import asyncpg

from app.db.embedded import open_cluster


def say(number: int) -> None:
    sys.stdout.write(f"{number}\n")
    sys.stdout.flush()


async def own(home: Path) -> None:
    async with open_cluster(home) as cluster:
        assert cluster.process
        say(cluster.process.pid)
        connection = await asyncpg.connect(cluster.dsn)
        await connection.execute("CREATE TABLE kept (n int)")
        for n in itertools.count(1):
            await connection.execute("INSERT INTO kept VALUES ($1)", n)
            say(n)


if __name__ == "__main__":
    asyncio.run(own(Path(sys.argv[1])))
