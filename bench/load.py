"""The load: clients that ask one question after another, in a process of their own.

A `Job` as JSON comes in by stdin, a `Tally` leaves by stdout. Clients start spread over a cycle, so that they
do not march in step; what happens in the warm-up is not counted. A response counts only if it is whole: 200,
all of the model's tokens, the protocol's end. Times are milliseconds.
"""

import asyncio
import itertools
import json
import sys
from dataclasses import asdict, dataclass, field
from time import perf_counter
from typing import Any

import uvloop

from bench.corpus import SESSION, question
from bench.stub import MARK, TOKENS
from bench.wire import Connection, Response, connect, post

TAIL = 400
"""Bytes at the end of an answer that hold the protocol's last word."""
SPREAD_SECONDS = 0.4
BROKEN_MOST = 20
"""Broken answers after which a load is given up."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Job:
    """Address and body of a request."""

    port: int
    path: str
    ends: str
    """Occurs in the last event of a whole answer."""
    clients: int
    seconds: float = 6.0
    """How long is counted, after the warm-up."""
    warm: float = 1.0
    requests: int = 0
    """Not 0: this many in all, whatever time they take, and nothing is warm-up."""
    first: int = 0
    """Number of the first question: no two runs ask the same."""
    messages: int = 0
    """Not 0: only this many messages, again and again."""
    tag: str = "run"
    """Goes as `user_id`, by which the answers of a run are found in the record."""


@dataclass(slots=True)
class Tally:
    """The outcome."""

    asked: int = 0
    """All requests, warm-up and the last ones included."""
    counted: int = 0
    """Those that ended within the window."""
    broken: int = 0
    seconds: float = 0.0
    """The window's length."""
    firsts: list[float] = field(default_factory=list)
    """Milliseconds to the first byte of the body."""
    lasts: list[float] = field(default_factory=list)
    """Milliseconds to the last."""
    problem: str = ""
    """The beginning of a broken answer."""


class Crowd:
    """The clients of a job."""

    def __init__(self, job: Job) -> None:
        self.job, self.tally = job, Tally()
        self.numbers = itertools.count(job.first)
        began = perf_counter()
        self.opens = began + (0 if job.requests else job.warm)
        self.closes = self.opens + (86_400 if job.requests else job.seconds)

    def request(self, n: int) -> bytes:
        """The body of any client, in a thread of its own: a new conversation each time."""
        said = question(n % self.job.messages if self.job.messages else n)
        body = {"message": said, "session_id": SESSION, "thread_id": f"t{n}", "user_id": self.job.tag}
        return post(self.job.path, body)

    async def one(self, number: int) -> None:
        """A client's life."""
        await asyncio.sleep(SPREAD_SECONDS * number / self.job.clients)
        connection = await connect(self.job.port)
        while perf_counter() < self.closes and not self.enough():
            self.tally.asked += 1
            try:
                self.count(await connection.ask(self.request(next(self.numbers))))
            except ConnectionError as error:
                self.spoil(str(error).encode())
                connection = await again(connection, self.job.port)
        connection.close()

    def enough(self) -> bool:
        """True while a job by number is to be done and nothing failed."""
        return 0 < self.job.requests <= self.tally.asked or self.tally.broken >= BROKEN_MOST

    def count(self, response: Response) -> None:
        """Count an answer if it is whole and ended within the window."""
        if not whole(response, self.job.ends.encode()):
            self.spoil(response.body)
        elif self.opens <= response.ended <= self.closes:
            self.tally.counted += 1
            self.tally.firsts.append((response.first - response.began) * 1000)
            self.tally.lasts.append((response.ended - response.began) * 1000)

    def spoil(self, body: bytes) -> None:
        """A broken answer."""
        self.tally.broken += 1
        self.tally.problem = self.tally.problem or body[:300].decode(errors="replace")

    async def run(self) -> Tally:
        """All of them."""
        began = perf_counter()
        await asyncio.gather(*(self.one(number) for number in range(self.job.clients)))
        spent = perf_counter() - began
        self.tally.seconds = spent if self.job.requests else self.job.seconds
        return self.tally


async def again(connection: Connection, port: int) -> Connection:
    """A new connection for a broken one."""
    connection.close()
    await asyncio.sleep(0.05)
    return await connect(port)


def whole(response: Response, ends: bytes) -> bool:
    """True if nothing is missing."""
    body = response.body
    return response.status == 200 and body.count(MARK) == TOKENS and ends in body[-TAIL:]


async def spawn(job: Job) -> Tally:
    """Run a job in a process of its own. `SystemExit` if an answer was broken."""
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "bench.load", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    out, _ = await process.communicate(json.dumps(asdict(job)).encode())
    told: dict[str, Any] = json.loads(out)
    tally = Tally(**told)
    if tally.broken:
        raise SystemExit(f"{tally.broken} of {tally.asked} answers were broken, the first: {tally.problem}")
    return tally


async def main() -> None:
    """One job."""
    job = Job(**json.load(sys.stdin))
    print(json.dumps(asdict(await Crowd(job).run())))


if __name__ == "__main__":
    uvloop.run(main())
