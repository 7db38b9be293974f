"""How long an answer's first byte takes, and how much longer while something is broken for somebody else.

Wall-clock on a busy machine, whose bad moments are not the fault's: what a fault costs it costs every time,
so the quicker requests of a few rounds are compared, never single ones.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from statistics import median, quantiles
from typing import Any

from tests.fakes.process import Service

ROUNDS, ASKED = 3, 5


def first_byte(service: Service, **body: Any) -> float:
    """Milliseconds until the first byte of an answer; the rest is read too."""
    began = time.perf_counter()
    with service.client.stream("POST", "/api/chat", json=body) as response:
        pieces = response.iter_raw()
        next(pieces)
        took = (time.perf_counter() - began) * 1000
        assert response.status_code == 200
        for _ in pieces:
            pass
    return took


def delayed(
    ask: Callable[[], float], broken: Callable[[], AbstractContextManager[object]], *, rounds: int = ROUNDS
) -> float:
    """Milliseconds by which `ask` takes longer inside `broken` than right before it, in the best round."""
    ask()
    longer = []
    for _ in range(rounds):
        quiet = median(ask() for _ in range(ASKED))
        with broken():
            longer.append(median(ask() for _ in range(ASKED)) - quiet)
    return min(longer)


def usual(ask: Callable[[], float]) -> float:
    """Milliseconds that three of four are above."""
    return quantiles([ask() for _ in range(2 * ASKED)], n=4)[0]


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[threading.Thread]:
    """Something that goes on beside the block, and is waited for."""
    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield thread
    finally:
        thread.join(60)
        assert not thread.is_alive()
