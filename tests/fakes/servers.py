"""Looking at an embedded server from outside: a question over a connection of its own, its process's page."""

from pathlib import Path

import asyncpg

from app.db.embedded import Cluster


async def ask(cluster: Cluster, sql: str) -> object:
    """One value, over a connection of its own."""
    connection = await asyncpg.connect(cluster.dsn)
    try:
        return await connection.fetchval(sql)
    finally:
        await connection.close()


def pid(cluster: Cluster) -> int:
    """The postmaster's."""
    assert cluster.process
    return cluster.process.pid


def status(number: int) -> dict[str, str]:
    """/proc's page on a process; empty if there is none."""
    page = Path(f"/proc/{number}/status")
    lines = page.read_text().splitlines() if page.exists() else []
    return {name: value.strip() for name, value in (line.split(":", 1) for line in lines)}


def alive(number: int) -> bool:
    """True if a process runs; one that only waits to be reaped does not."""
    return status(number).get("State", "Z")[0] != "Z"
