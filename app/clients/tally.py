"""What was counted in a collection, until the next write: the points of a filter, what a word weighs there.

To count 10,000 filtered points takes the engine 7 ms, and every question needs it; the IDF of each of its
words .25. Safe in threads; nothing here raises.
"""

import threading
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

MOST = 4_096
"""Counts kept; beyond them the oldest go."""

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Tally(Generic[Key, Value]):
    """Counts by what was counted."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._lock = threading.Lock()
        self._found: dict[Key, Value] = {}

    def known(self, key: Key) -> Value | None:
        """As it was counted last; None: it was not since the last write."""
        return self._found.get(key)

    def keep(self, key: Key, value: Value, current: Callable[[], bool]) -> None:
        """`current`: nobody wrote since the counting began."""
        with self._lock:
            if not current():
                return
            while len(self._found) >= self._most:
                del self._found[next(iter(self._found))]
            self._found[key] = value

    def forget(self) -> None:
        """Somebody wrote."""
        with self._lock:
            self._found.clear()
