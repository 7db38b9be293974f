"""A circuit breaker: a dependency that failed several times in a row is not asked for some seconds. Pure;
seconds of a clock passed in; for one event loop.

closed -> open after `failures` in a row over `lasting` seconds (with no pause longer than PAUSE) -> one probe
after `seconds` -> closed, or open again. Each caller (a tenant, a user key, the service) has its own circuit:
a text on which a server fails must not stop others' requests. If the circuits of two tenants are open, all
are refused; if those of two users of a tenant, that tenant. Source: M. Nygard, Release It!, "Circuit
Breaker".
"""

import math
from collections import OrderedDict
from collections.abc import Callable
from contextvars import ContextVar
from functools import partial
from types import TracebackType

from app.errors import Damaged, NoRoom, RetrievalError, Unavailable

Judge = Callable[[Exception], bool | None]
"""Classifies an error. True: the dependency failed. False: it answered, if only with a refusal. None:
unknown, as when our own pool is full."""


LASTING = 3.0
"""Failures within less (seconds) open nothing: the dependency may be restarting (docs/adr/0013)."""
PAUSE = 30.0
"""Seconds between a failure and the start of the next failed attempt. A longer pause starts a new count."""


CALLER: ContextVar[tuple[str, str]] = ContextVar("caller", default=("", ""))
"""The request's tenant and the user of its key; empty: the service itself."""
MAX_CIRCUITS = 1_024
"""Circuits kept; the least recently used is dropped first."""
DOWN_AT = 2
"""If this many tenants have an open circuit, the dependency counts as down for all; if this many users of one
tenant, for all of that tenant."""


def is_down(error: Exception) -> bool | None:
    """The judge of stores. An exhausted pool of ours is unknown (None). A store that refuses a request has
    answered, and so has one with a full disk or a damaged file."""
    if isinstance(error, RetrievalError):
        missed = error.reason in {"timeout", "unavailable"} and not error.rejected
        return None if error.reason == "overloaded" else missed
    return isinstance(error, Unavailable) and not isinstance(error, (NoRoom, Damaged))


def every(_error: Exception) -> bool:
    """The judge of dependencies whose every error is a failure."""
    return True


class Breaker:
    """Opens only after failures without a success, so slow spells under load do not open it; and only if they
    last: a short restart, or failures that come at once, cost no deadlines.

        if breaker.refuses:
            raise RetrievalError("unavailable")
        with breaker.attempt(judge):
            return await ask()
    """

    def __init__(
        self, clock: Callable[[], float], failures: int = 3, seconds: float = 5.0, lasting: float = 0.0
    ) -> None:
        self._opened: set[Circuit] = set()
        self._new = partial(Circuit, clock, failures, seconds, lasting, self._opened)
        self._circuits: OrderedDict[tuple[str, str], Circuit] = OrderedDict()
        self._failed = False
        self.on_recovery: Callable[[], None] | None = None
        """Called at the first success after a failure, for any caller."""

    @property
    def closed(self) -> bool:
        return self._circuit_of_caller().closed and not self.refuses

    @property
    def circuits(self) -> int:
        """Callers whose circuit is open, or waits for a probe's outcome."""
        return len(self._opened)

    @property
    def refuses(self) -> bool:
        """True if an attempt would be refused; check before every attempt."""
        return self.wait > 0

    @property
    def wait(self) -> float:
        """Seconds until the caller's next attempt; 0: now."""
        if not self._opened:
            return 0.0
        own, waits = self._circuit_of_caller(), dict[object, float]()
        for circuit in self._opened - {own}:
            tenant, _ = circuit.caller
            witness = circuit.caller if tenant == own.caller[0] else tenant
            waits[witness] = max(circuit.wait, waits.get(witness, 0.0))
        others = sorted(waits.values(), reverse=True)
        return max(own.wait, others[DOWN_AT - 1] if len(others) >= DOWN_AT else 0.0)

    @property
    def retry_after(self) -> int:
        """The same in whole seconds, for Retry-After."""
        return max(1, math.ceil(self.wait))

    @property
    def last(self) -> Exception | None:
        """The newest failure that was an error; None after a success."""
        return self._circuit_of_caller().last or next((each.last for each in self._opened), None)

    def attempt(self, judge: Judge = every, *, patience: float | None = None) -> "Attempt":
        """Wraps one call. Errors pass through. A cancellation counts as a failure only after `patience`
        seconds: then it is the caller's deadline."""
        return Attempt(self, self._circuit_of_caller(), judge, patience)

    def note(self, failed: bool | None) -> None:
        """Record the end of an attempt, and call `on_recovery` at the first success after a failure."""
        recovered = self._failed and failed is False
        self._failed = self._failed if failed is None else failed
        if recovered and self.on_recovery:
            self.on_recovery()

    def _circuit_of_caller(self) -> "Circuit":
        caller = CALLER.get()
        if caller not in self._circuits:
            self._circuits[caller] = self._new(caller=caller)
        self._circuits.move_to_end(caller)
        if len(self._circuits) > MAX_CIRCUITS:
            self._opened.discard(self._circuits.popitem(last=False)[1])
        return self._circuits[caller]


class Circuit:
    def __init__(
        self,
        clock: Callable[[], float],
        failures: int,
        seconds: float,
        lasting: float,
        opened: "set[Circuit]",
        *,
        caller: tuple[str, str],
    ) -> None:
        self._clock = clock
        self._failures = failures
        self._seconds = seconds
        self._lasting = lasting
        self.caller = caller
        self._opened = opened
        """The dependency's open circuits; this one adds and removes itself."""
        self._consecutive = 0
        self._since = math.inf
        """When the first of these consecutive attempts began."""
        self._latest = -math.inf
        """When the newest of these consecutive failures ended."""
        self._probe_at: float | None = None
        """When the next attempt may be made; None: closed."""
        self._openings = 0
        """Counts openings: failures of attempts begun before the last opening are ignored."""
        self.last: Exception | None = None
        """The newest failure that was an error; None after a success."""

    @property
    def closed(self) -> bool:
        return self._probe_at is None

    @property
    def wait(self) -> float:
        return 0.0 if self._probe_at is None else max(0.0, self._probe_at - self._clock())

    def begin(self) -> tuple[int, float]:
        begun = self._clock()
        if not self.closed:
            # The probe. Calls meanwhile are refused; a probe that never ends is replaced by another.
            self._probe_at = begun + self._seconds
        return self._openings, begun

    def waited(self, begun: float) -> float:
        return self._clock() - begun

    def record(self, failed: bool | None, openings: int, begun: float, error: BaseException | None) -> None:
        if failed and isinstance(error, Exception):
            self.last = error
        if failed is False:
            self._consecutive, self._since, self._probe_at, self.last = 0, math.inf, None, None
            self._opened.discard(self)
        elif openings == self._openings and failed:
            self._count(begun)
        elif openings == self._openings and not self.closed:
            self._probe_at = self._clock()

    def _count(self, begun: float) -> None:
        """Count a failure. A failed probe always counts, however long ago the failure before it was."""
        now = self._clock()
        if self.closed and begun - self._latest > PAUSE:
            self._consecutive, self._since = 0, begun
        self._consecutive, self._since, self._latest = self._consecutive + 1, min(self._since, begun), now
        if self._consecutive >= self._failures and now - self._since >= self._lasting:
            self._open()

    def _open(self) -> None:
        self._consecutive = self._failures - 1
        self._openings += 1
        self._opened.add(self)
        self._probe_at = self._clock() + self._seconds


class Attempt:
    """A context manager for one call; reports the outcome to the breaker. Used once."""

    def __init__(self, breaker: Breaker, circuit: Circuit, judge: Judge, patience: float | None) -> None:
        self._breaker = breaker
        self._circuit = circuit
        self._judge = judge
        self._patience = patience
        self._openings, self._begun = 0, 0.0

    def __enter__(self) -> None:
        self._openings, self._begun = self._circuit.begin()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        failed = self._verdict(error)
        self._circuit.record(failed, self._openings, self._begun, error)
        self._breaker.note(failed)

    def _verdict(self, error: BaseException | None) -> bool | None:
        if error is None:
            return False
        if isinstance(error, Exception):
            return self._judge(error)
        late = self._patience is not None and self._circuit.waited(self._begun) >= self._patience
        return True if late else None
