"""Where the time of one question goes: milliseconds of each stage of its retrieval, by the clock on the wall.

Off unless somebody watches (`ibid eval`, `bench/query.py`): then every stage that runs in his context, tasks
made there included, is added up under its name. Stages may run beside each other, so they need not add up to
the whole. Not watched, a stage costs a look at a context variable. Nothing here raises.

How long each stage of an answer took: milliseconds, as the record keeps them and `bench/` shows them.
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from contextvars import ContextVar
from datetime import datetime
from typing import TypeAlias

REACH, EMBEDDING, LEXICAL, DENSE, BOTH, WEIGHING, TEXTS, FUSION = STAGES = (
    "reach",
    "embedding",
    "lexical",
    "dense",
    "both legs",
    "weighing",
    "texts",
    "fusion",
)
"""In the order in which they come. `reach`: how the sources stand; `both legs`: by an engine, in one round
trip, and `weighing` what words say of all that it found; a source has these two or `lexical` and `dense`."""

Took: TypeAlias = dict[str, float]
"""Milliseconds by stage."""

WATCHED: ContextVar[Took | None] = ContextVar("WATCHED", default=None)
UNWATCHED = nullcontext()


@contextmanager
def watched() -> Iterator[Took]:
    """What runs inside is timed; the stages stand in what this gives, as they end."""
    took: Took = {}
    token = WATCHED.set(took)
    try:
        yield took
    finally:
        WATCHED.reset(token)


def stage(name: str) -> AbstractContextManager[None]:
    """What runs inside is this stage, or a part of it."""
    took = WATCHED.get()
    return UNWATCHED if took is None else timed(took, name)


@contextmanager
def timed(took: Took, name: str) -> Iterator[None]:
    """Added up, however it ends."""
    began = time.perf_counter()
    try:
        yield
    finally:
        took[name] = took.get(name, 0.0) + (time.perf_counter() - began) * 1000


class Stages:
    """A stopwatch with names."""

    def __init__(self) -> None:
        self.took: dict[str, int] = {}
        """Milliseconds by stage, in the order of their ends."""
        self._since = time.perf_counter()

    def lap(self, name: str) -> None:
        """What ran since the last lap is called so."""
        now = time.perf_counter()
        self.took[name] = round((now - self._since) * 1000)
        self._since = now


def elapsed(since: datetime, now: datetime) -> int:
    """Milliseconds between two times."""
    return round((now - since).total_seconds() * 1000)
