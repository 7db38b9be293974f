"""Processor time a token of the endpoints that stream, beside a relay that reads and writes each event.

usage: python -m bench.tokens [--clients 64] [--tokens 2000] [--pace 10] [--rounds 1]. `--pace`: milliseconds
between two tokens. Every client asks once; turn about, all asked the same model stub. The cost of an answer
before its first token is measured with answers of a few tokens, and taken off. The clients ask one after the
other, within `--pace`: of a relay that all ask at once the tokens of all answers arrive together, which costs
a fifth less than tokens that arrive alone, and which no service sees that searches first.
"""

import argparse
import asyncio
import json
import time
from collections.abc import Mapping
from contextlib import AsyncExitStack
from pathlib import Path
from tempfile import TemporaryDirectory

from bench import meter, server
from bench.figures import median
from bench.server import Server
from bench.stub import MARK, NEXT_SECONDS
from bench.wire import Response, connect, post

SHORT = 50
"""Tokens of the answers whose cost is taken off."""
QUESTION = "How many beehives are behind the orchard, and what colour do they have?"
CHAT = {"model": "ibid/docs", "messages": [{"role": "user", "content": QUESTION}], "stream": True}
BODIES: Mapping[str, object] = {
    "/": {},
    "/api/chat": {"message": QUESTION, "history": []},
    "/v1/chat/completions": CHAT,
    "/v1/responses": {"model": "ibid/docs", "input": QUESTION, "stream": True},
}
"""By path; the relay's is `/`."""


async def seconds(asked: Server, path: str, clients: int, tokens: int, pace: float) -> float:
    """Processor seconds of one crowd's answers."""
    connections = [await connect(asked.port) for _ in range(clients)]

    async def ask(n: int) -> Response:
        await asyncio.sleep(n * pace / clients)
        return await connections[n].ask(post(path, BODIES[path]))

    before = sum(meter.cpu(asked.pid))
    answers = await asyncio.gather(*map(ask, range(clients)))
    await asyncio.sleep(0.5)  # what is written after the answer counts too
    after = sum(meter.cpu(asked.pid))
    for each, answer in zip(connections, answers, strict=True):
        each.close()
        # A response has its text four times more at its end.
        if answer.status != 200 or answer.body.count(MARK) < tokens:
            raise SystemExit(f"{path}: {answer.status}, {answer.body[-300:]!r}")
    return after - before


async def measured(arguments: argparse.Namespace) -> dict[str, float]:
    """Microseconds a token, by path: medians of the rounds."""
    pace, folder = arguments.pace / 1000, TemporaryDirectory(prefix="ibid-bench-")
    costs: dict[str, dict[int, list[float]]] = {path: {} for path in BODIES}
    with folder as where:
        for tokens in (SHORT, arguments.tokens):
            async with AsyncExitStack() as up:
                model = await up.enter_async_context(server.stub(pace / NEXT_SECONDS, tokens))
                relay = await up.enter_async_context(server.relay(model, "parse"))
                ibid = await up.enter_async_context(server.ibid(Path(where), model))
                for path in BODIES:
                    await seconds(relay if path == "/" else ibid, path, 4, 0, pace)
                for _ in range(arguments.rounds):
                    for path in BODIES:
                        asked = relay if path == "/" else ibid
                        cost = await seconds(asked, path, arguments.clients, tokens, pace)
                        costs[path].setdefault(tokens, []).append(cost)
    more = arguments.clients * (arguments.tokens - SHORT) / 1e6
    return {
        path: (median(found[arguments.tokens]) - median(found[SHORT])) / more for path, found in costs.items()
    }


def main() -> None:
    parser = argparse.ArgumentParser(description="Processor time a token.")
    for name, value in (("clients", 64), ("tokens", 2_000), ("pace", 10), ("rounds", 1)):
        parser.add_argument(f"--{name}", type=int, default=value)
    started = time.perf_counter()
    found = asyncio.run(measured(parser.parse_args()))
    for path, cost in found.items():
        name = "relay" if path == "/" else path
        print(f"{name:22} {cost:6.1f} µs a token   {cost / found['/']:.2f}")
    print(json.dumps({"seconds": round(time.perf_counter() - started), **found}))


if __name__ == "__main__":
    main()
