"""The breaker: when it refuses, and that nothing wedges it."""

import asyncio
from contextlib import suppress
from contextvars import copy_context
from dataclasses import dataclass, field

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.breaker import CALLER, Breaker


class Down(Exception):
    """The dependency failed."""


class Refused(Exception):
    """The dependency answered, with a refusal."""


class Full(Exception):
    """We could not even ask."""


def judge(error: Exception) -> bool | None:
    """As a user of the breaker would tell them apart."""
    return None if isinstance(error, Full) else isinstance(error, Down)


@dataclass
class Watched:
    """A breaker and its clock."""

    now: float = 100.0
    lasting: float = 0.0
    breaker: Breaker = field(init=False)

    def __post_init__(self) -> None:
        self.breaker = Breaker(lambda: self.now, failures=3, seconds=5.0, lasting=self.lasting)

    def ask(self, error: Exception | None = None, asker: str = "", user: str = "") -> bool:
        """One attempt if it is allowed; whether it was."""
        return copy_context().run(self._ask, error, asker, user)

    def _ask(self, error: Exception | None, asker: str, user: str) -> bool:
        CALLER.set((asker, user))
        if self.breaker.refuses:
            return False
        with suppress(Down, Refused, Full), self.breaker.attempt(judge):
            if error:
                raise error
        return True

    def dead(self) -> "Watched":
        """Three failures in a row."""
        for _ in range(3):
            assert self.ask(Down())
        return self


def test_one_asker_s_failures_refuse_no_other() -> None:
    """However many: a server may fail on a tenant's texts and be well. The others' successes do not let it in
    either."""
    watched = Watched()
    for _ in range(12):
        watched.ask(Down(), "mallory")
        assert watched.ask(None, "ann")
        assert watched.ask(None, "ben")
    assert not watched.ask(None, "mallory")


def test_what_is_down_for_two_askers_is_asked_by_nobody() -> None:
    """For a while; then each of the two probes for itself, and one success lets the others in."""
    watched = Watched()
    for asker in ("ann", "ben"):
        for _ in range(3):
            assert watched.ask(Down(), asker)
    assert not watched.ask(None, "cid")
    watched.now += 5
    assert watched.ask(Down(), "ann")
    assert watched.ask(None, "ben")
    assert watched.ask(None, "cid")
    assert not watched.ask(None, "ann")


def test_three_failures_in_a_row_open_it() -> None:
    """Two are not enough; after the third nobody asks for five seconds."""
    watched = Watched()
    for _ in range(2):
        watched.ask(Down())
    assert watched.breaker.closed
    watched.ask(Down())
    assert not watched.breaker.closed
    assert (watched.ask(), watched.breaker.wait) == (False, 5.0)


def test_a_row_must_last() -> None:
    """Failures that come at once, however many, cost nobody a deadline: a store that restarts in a moment is
    asked all the time. One that is silent for longer is not."""
    watched = Watched(lasting=3.0)
    for _ in range(20):
        watched.ask(Down())
    watched.now += 2.9
    assert watched.ask(Down())
    watched.now += 0.2
    assert watched.ask(Down())
    assert not watched.ask(Down())


@pytest.mark.parametrize("error", [Refused(), Full()], ids=["an answer", "our own pool"])
def test_what_says_nothing_bad_of_it_does_not_count(error: Exception) -> None:
    """A refusal is an answer; a full pool of ours is neither."""
    watched = Watched()
    for _ in range(10):
        watched.ask(error)
    assert watched.breaker.closed


def test_one_probe_after_the_time_is_up() -> None:
    """While the probe is under way everybody else is refused; its success lets all in again."""
    watched = Watched().dead()
    watched.now += 5.0
    assert not watched.breaker.refuses
    with watched.breaker.attempt(judge):
        assert watched.breaker.refuses
    assert watched.breaker.closed


async def test_a_cancelled_probe_makes_room_for_another() -> None:
    """A client that leaves during the probe has said nothing: the next one asks, at once."""
    watched = Watched().dead()
    watched.now += 5.0

    async def probe() -> None:
        with watched.breaker.attempt(judge):
            await asyncio.sleep(30)

    task = asyncio.create_task(probe())
    await asyncio.sleep(0)
    assert watched.breaker.refuses
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert (watched.breaker.refuses, watched.breaker.closed) == (False, False)


def test_a_probe_that_never_ends_gives_way() -> None:
    """After as long again another one is let through."""
    watched = Watched().dead()
    watched.now += 5.0
    with watched.breaker.attempt(judge):
        watched.now += 5.0
        assert watched.ask()
        assert watched.breaker.closed


@pytest.mark.parametrize(("waited", "closed"), [(0.5, True), (2.0, False)], ids=["it left", "a deadline"])
async def test_a_cancellation_counts_only_as_a_deadline(waited: float, closed: bool) -> None:
    """Cancelled before `patience` is somebody's leaving; after it, the caller's deadline on a silent peer."""
    watched = Watched()
    for _ in range(3):
        with suppress(asyncio.CancelledError), watched.breaker.attempt(judge, patience=1.5):
            watched.now += waited
            raise asyncio.CancelledError
    assert watched.breaker.closed is closed


def test_what_began_before_it_opened_does_not_open_it_again() -> None:
    """Sixty requests hang; three fail and open it; the dependency is back; the others' late failures say
    nothing about now."""
    watched = Watched()
    late = [watched.breaker.attempt(judge) for _ in range(3)]
    for attempt in late:
        attempt.__enter__()
    watched.dead()
    watched.now += 5.0
    assert watched.ask()
    for attempt in late:
        attempt.__exit__(Down, Down(), None)
    assert watched.breaker.closed


@given(st.lists(st.sampled_from(["ok", "down", "full", "refused", "wait", "left"]), max_size=60))
def test_it_is_never_wedged(story: list[str]) -> None:
    """Whatever happened: after five seconds one may ask, and a success lets everybody in."""
    watched = Watched()
    outcomes: dict[str, Exception | None] = {"ok": None, "down": Down(), "full": Full(), "refused": Refused()}
    for step in story:
        if step == "wait":
            watched.now += 2.0
        elif step == "left":
            with suppress(asyncio.CancelledError), watched.breaker.attempt(judge):
                raise asyncio.CancelledError
        else:
            watched.ask(outcomes[step])
    watched.now += 5.0
    assert watched.ask()
    assert watched.breaker.closed
