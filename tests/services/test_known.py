"""Knowledge behind Postgres' breaker."""

import asyncio
import time

import pytest

from app.domain.breaker import Breaker
from app.domain.errors import RetrievalError
from app.domain.passage import Scope
from app.domain.project import Knowledge
from app.services.known import GuardedKnowledge
from tests.fakes.projecting import FakeKnowledge

THN = Scope(project="THN")


async def test_what_is_known_is_handed_on() -> None:
    """Of the scope's project."""
    record = FakeKnowledge(Knowledge("O"))
    assert await GuardedKnowledge(record, Breaker(time.monotonic)).get(THN) == Knowledge("O")
    assert record.asked == [THN]


async def test_nobody_waits_for_a_postgres_that_is_down() -> None:
    """Once several in a row have failed for long enough, the record is not even asked."""
    record, breaker = FakeKnowledge(error=RetrievalError("timeout")), Breaker(time.monotonic, failures=2)
    guarded = GuardedKnowledge(record, breaker)
    for _ in range(3):
        with pytest.raises(RetrievalError):
            await guarded.get(THN)
    assert len(record.asked) == 2


async def test_who_gives_up_waiting_counts() -> None:
    """A hung Postgres opens the breaker too."""
    record, breaker = FakeKnowledge(delay=30), Breaker(time.monotonic, failures=1)
    guarded = GuardedKnowledge(record, breaker, patience=0.01)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await guarded.get(THN)
    with pytest.raises(RetrievalError):
        await guarded.get(THN)
    assert len(record.asked) == 1
