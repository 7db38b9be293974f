"""What the database last said, for a while."""

from app.db import keys as timed_cache
from app.db.keys import TimedCache


class Hand:
    """A clock moved by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        """Seconds."""
        return self.now


def test_is_known_for_as_long_as_asked() -> None:
    """The asker says how fresh it must be."""
    clock = Hand()
    cache = TimedCache[str, int](clock)
    cache.put("a", 1)
    clock.now += 5
    assert cache.get("a", seconds=5) == 1
    assert cache.get("a", seconds=4.9) is None


def test_unknown_is_none() -> None:
    """Whatever the clock says."""
    assert TimedCache[str, int](lambda: 0.0).get("a", seconds=1e9) is None


def test_dropped_is_forgotten() -> None:
    """One, or all."""
    cache = TimedCache[str, int](lambda: 0.0)
    cache.put("a", 1)
    cache.put("b", 2)
    cache.drop("a")
    cache.drop("never there")
    assert (cache.get("a", seconds=1), cache.get("b", seconds=1)) == (None, 2)
    cache.clear()
    assert cache.get("b", seconds=1) is None


def test_the_least_lately_confirmed_goes_first() -> None:
    """Guessed keys cannot fill the memory."""
    cache = TimedCache[int, int](lambda: 0.0)
    for n in range(timed_cache.SIZE):
        cache.put(n, n)
    cache.put(0, 0)
    cache.put(-1, -1)
    assert cache.get(0, seconds=1) == 0
    assert cache.get(1, seconds=1) is None
