"""Does a client over its limit delay another? Ten keys over theirs, one under; the p95 of the one's answers.

usage: python -m bench.limits [SECONDS [RATE]]. The one asks PER_SECOND questions a second, turn about alone
and beside ten others, each of which asks RATE times a second (0: again as soon as it is refused) from another
process. `moved` is the difference of the medians of both p95s, `differ` the largest difference of two runs
alone: that is what a run without load moves by itself. Milliseconds.
"""

import asyncio
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

from bench import server
from bench.figures import keep, machine, median, percentile
from bench.server import Server
from bench.wire import Connection, connect, post

LIMIT, OTHERS = 1_000, 10
"""Requests an hour of each key; keys over that."""
PER_SECOND = 8
ROUNDS = 3
"""Pairs of a run alone and one beside the others; another run alone ends them."""


def question(key: str, number: int) -> bytes:
    body = {"message": f"What is known of ferry {number}?", "session_id": "s", "history": []}
    return post("/api/chat", body).replace(b"\r\n", f"\r\nAuthorization: Bearer {key}\r\n".encode(), 1)


async def asked(port: int, key: str, seconds: float, first: int) -> list[float]:
    """The milliseconds of each answer; `SystemExit` if one was refused."""
    loop, found = asyncio.get_running_loop(), list[float]()
    connection = await connect(port)
    try:
        begun = loop.time()
        for number in range(round(seconds * PER_SECOND)):
            await asyncio.sleep(max(0.0, begun + number / PER_SECOND - loop.time()))
            sent = perf_counter()
            response = await connection.ask(question(key, first + number))
            if response.status != 200:
                raise SystemExit(f"the one under its limit was answered {response.status}")
            found.append((perf_counter() - sent) * 1000)
    finally:
        connection.close()
    return found


async def flood(port: int, key: str, pause: float) -> None:
    """Ask for ever, whatever is answered. A refusal closes the connection: its body was not read."""
    connection: Connection | None = None
    number = 0
    while True:
        number += 1
        try:
            connection = connection or await connect(port)
            response = await connection.ask(question(key, number))
        except OSError:
            connection = None
            continue
        if response.status != 200:
            connection.close()
            connection = None
            await asyncio.sleep(pause)


async def floods(port: int, pause: float, *keys: str) -> None:
    async with asyncio.TaskGroup() as group:
        for key in keys:
            group.create_task(flood(port, key, pause))


async def made(folder: Path) -> str:
    """A new tenant key."""
    command = [str(Path(sys.executable).with_name("ibid")), "keys", "create", "--tenant=default", "--json"]
    process = await asyncio.create_subprocess_exec(
        *command, f"--data-dir={folder}", env=server.clean(), stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate()
    return str(json.loads(out)["key"])


async def used_up(service: Server, key: str) -> None:
    connection = await connect(service.port)
    raw = f"GET /api/sessions HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer {key}\r\n\r\n".encode()
    while (await connection.ask(raw)).status == 200:
        pass
    connection.close()


async def measure(seconds: float, rate: float) -> dict[str, Any]:
    alone, beside = list[float](), list[float]()
    with TemporaryDirectory(prefix="ibid-bench-") as name:
        folder = Path(name)
        async with (
            server.stub(0) as model,
            server.ibid(folder, model, IBID_LIMIT_REQUESTS=f"{LIMIT}/hour") as service,
        ):
            one, *others = [await made(folder) for _ in range(OTHERS + 1)]
            for key in others:
                await used_up(service, key)
            await asked(service.port, one, 2, 0)
            for turn in range(1, 2 * ROUNDS + 2):
                if turn % 2:
                    alone.append(percentile(await asked(service.port, one, seconds, turn * 10_000), 0.95))
                    continue
                pause = 1 / rate if rate else 0
                loud = await asyncio.create_subprocess_exec(
                    sys.executable, "-m", "bench.limits", "flood", str(service.port), str(pause), *others
                )
                await asyncio.sleep(1)
                beside.append(percentile(await asked(service.port, one, seconds, turn * 10_000), 0.95))
                loud.kill()
                await loud.wait()
    return {
        "machine": machine(),
        "rate": rate,
        "alone_p95": [round(value, 1) for value in alone],
        "beside_p95": [round(value, 1) for value in beside],
        "moved": round(median(beside) - median(alone), 1),
        "differ": round(max(alone) - min(alone), 1),
    }


async def main(seconds: float, rate: float) -> None:
    found = await measure(seconds, rate)
    keep("limits", found)
    print(found)


if __name__ == "__main__":
    if sys.argv[1:2] == ["flood"]:
        asyncio.run(floods(int(sys.argv[2]), float(sys.argv[3]), *sys.argv[4:]))
    else:
        asyncio.run(main(*map(float, [*sys.argv[1:], "10", "20"][:2])))
