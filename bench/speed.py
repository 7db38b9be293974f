"""First byte, requests a second and processor a request at 1, 16 and 64 clients, beside what else there is.

In one run, turn about: the bare model stub, a bare ASGI relay of it, the by-hand app, Ibid with its cache
off and every message another one, and both with 20 messages repeated (Ibid's cache on). Every request of a
service opens a conversation of its own, so that prompts are of one size: Ibid looks for earlier turns, finds
none, and keeps the new ones. Figures are medians over the rounds, ratios taken within one. Milliseconds.
"""

import asyncio
import itertools
import json
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from bench import meter, server
from bench.figures import machine, median, percentile
from bench.load import Job, spawn
from bench.sample import LEGS, Sample, ratios, summary
from bench.server import Server
from bench.wire import connect, get

REPEATED = 20
"""Messages of the loads that repeat themselves."""
RUN = 1_000_000
"""Question numbers of a run."""


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    rows: int = 10_000
    clients: Sequence[int] = (1, 16, 64)
    rounds: int = 3
    seconds: float = 6.0
    warm: float = 2.0
    """Not counted: 64 clients that begin together take a second or two to fall out of step."""


QUICK = Plan(rows=1_000, clients=(1, 64), rounds=1, seconds=1.5, warm=1.5)


@dataclass(frozen=True, slots=True)
class Turn:
    """The next measurement."""

    number: int
    """Of the whole run, from 1: no two turns ask the same questions."""
    round: int
    clients: int
    leg: str


@dataclass(frozen=True, slots=True)
class Fleet:
    """All servers of a run."""

    legs: Mapping[str, Server]
    model: Server


@asynccontextmanager
async def fleet(folder: Path) -> AsyncIterator[Fleet]:
    """Everything up, on folders that are filed."""
    async with AsyncExitStack() as up:
        model = await up.enter_async_context(server.stub())
        relay = await up.enter_async_context(server.relay(model))
        byhand = await up.enter_async_context(server.byhand(folder / "byhand", model))
        plain = await up.enter_async_context(server.ibid(folder / "plain", model, RAG_CACHE_TTL_SECONDS="0"))
        cached = await up.enter_async_context(server.ibid(folder / "cached", model))
        yield Fleet(dict(zip(LEGS, (model, relay, byhand, plain, byhand, cached), strict=True)), model)


async def filed(folder: Path, rows: int) -> None:
    """The corpus for both apps; Ibid's twice, because a data folder has one service."""
    await server.run("filing", "byhand", folder / "byhand", rows)
    await server.run("filing", "ibid", folder / "plain", rows, IBID_DATA_DIR=str(folder / "plain"))
    copy = await asyncio.create_subprocess_exec("cp", "-a", str(folder / "plain"), str(folder / "cached"))
    if await copy.wait():
        raise SystemExit("the data folder could not be copied")


async def asked_bytes(model: Server) -> tuple[int, int]:
    """(requests, bytes) that the model was asked so far."""
    connection = await connect(model.port)
    told = json.loads((await connection.ask(get("/stats"))).body)
    connection.close()
    return told["requests"], told["bytes"]


async def sample(fleet: Fleet, plan: Plan, turn: Turn) -> Sample:
    """One leg, measured."""
    asked = fleet.legs[turn.leg]
    before, (requests, size) = meter.cpu(asked.pid), await asked_bytes(fleet.model)
    tally = await spawn(job(asked, plan, turn))
    after, (requests_after, size_after) = meter.cpu(asked.pid), await asked_bytes(fleet.model)
    firsts = tally.firsts or [plan.seconds * 1000]  # nothing ended in time: it took that long at least
    own, children = ((b - a) / tally.asked * 1000 for a, b in zip(before, after, strict=True))
    return Sample(
        leg=turn.leg,
        clients=turn.clients,
        round=turn.round,
        requests_s=tally.counted / tally.seconds,
        first_p50=median(firsts),
        first_p95=percentile(firsts, 0.95),
        last_p50=median(tally.lasts),
        cpu=own,
        cpu_children=children,
        prompt=(size_after - size) / max(1, requests_after - requests),
    )


def job(asked: Server, plan: Plan, turn: Turn) -> Job:
    """The load of a turn; twice as long for a single client, who asks but three times a second."""
    return Job(
        port=asked.port,
        path=asked.path,
        ends=asked.ends,
        clients=turn.clients,
        seconds=plan.seconds * (2 if turn.clients == 1 else 1),
        warm=plan.warm,
        first=turn.number * RUN,
        messages=REPEATED if turn.leg.endswith("repeated") else 0,
        tag=f"{turn.leg}/{turn.clients}",
    )


async def warmed(fleet: Fleet) -> None:
    """Caches of the processes filled and lazy parts loaded, before anything counts."""
    for leg in LEGS:
        asked = fleet.legs[leg]
        await spawn(
            Job(port=asked.port, path=asked.path, ends=asked.ends, clients=8, requests=24, tag="warm")
        )


def turns(plan: Plan) -> Iterator[Turn]:
    """Every leg at every load; each round begins with another leg."""
    numbers = itertools.count(1)
    for turn, clients in itertools.product(range(plan.rounds), plan.clients):
        for place in range(len(LEGS)):
            yield Turn(next(numbers), turn, clients, LEGS[(place + turn) % len(LEGS)])


async def rounds(fleet: Fleet, plan: Plan) -> list[Sample]:
    """All of them, one after another."""
    found = []
    for turn in turns(plan):
        found.append(await sample(fleet, plan, turn))
        print(told(found[-1]), flush=True)
    return found


def told(sample: Sample) -> str:
    """A line, so that whoever waits sees it go on."""
    what = f"round {sample.round + 1}, {sample.clients:2} clients, {sample.leg:18}"
    first = f"first byte {sample.first_p50:7.1f} / {sample.first_p95:7.1f} ms"
    return f"  {what} {sample.requests_s:6.1f} requests/s, {first}, {sample.cpu:5.1f} ms of processor"


async def measure(plan: Plan) -> tuple[dict[str, Any], dict[str, Any]]:
    """(speed, stages) of one run."""
    with TemporaryDirectory(prefix="ibid-bench-") as name:
        folder, where = Path(name), machine()
        await filed(folder, plan.rows)
        async with fleet(folder) as up:
            await warmed(up)
            samples = await rounds(up, plan)
            megabytes = {
                leg: {part: round(value) for part, value in meter.memory(up.legs[leg].pid).items()}
                for leg in LEGS
            }
        parts = await server.told("parts", IBID_DATA_DIR=str(folder / "plain"))
        await asyncio.to_thread(shutil.rmtree, folder / "cached")
    speed = {
        "machine": where,
        "plan": asdict(plan),
        "figures": summary(samples),
        "ratios": ratios(samples),
        "megabytes": megabytes,
        "samples": [asdict(item) for item in samples],
    }
    return speed, parts
