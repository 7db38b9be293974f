"""What the database last said, for a while: saves a look-up a request, and bridges a short outage.

Times are seconds of a monotonic clock. At most SIZE entries; the one least lately confirmed goes first.
"""

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

SIZE = 10_000

Name = TypeVar("Name", bound=Hashable)
Value = TypeVar("Value")


class Memo(Generic[Name, Value]):
    """Confirmed values and when each was confirmed."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._kept: OrderedDict[Name, tuple[Value, float]] = OrderedDict()

    def keep(self, name: Name, value: Value) -> None:
        """The database said so just now."""
        self._kept[name] = (value, self._clock())
        self._kept.move_to_end(name)
        if len(self._kept) > SIZE:
            self._kept.popitem(last=False)

    def drop(self, name: Name) -> None:
        """The database says otherwise."""
        self._kept.pop(name, None)

    def clear(self) -> None:
        """Something changed that may touch any of them."""
        self._kept.clear()

    def get(self, name: Name, *, seconds: float) -> Value | None:
        """What was confirmed at most `seconds` ago."""
        value, at = self._kept.get(name, (None, 0.0))
        return value if self._clock() - at <= seconds else None
