"""What the database last said, for a while."""

from app.db import keys as memos
from app.db.keys import Memo


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
    memo = Memo[str, int](clock)
    memo.keep("a", 1)
    clock.now += 5
    assert memo.get("a", seconds=5) == 1
    assert memo.get("a", seconds=4.9) is None


def test_unknown_is_none() -> None:
    """Whatever the clock says."""
    assert Memo[str, int](lambda: 0.0).get("a", seconds=1e9) is None


def test_dropped_is_forgotten() -> None:
    """One, or all."""
    memo = Memo[str, int](lambda: 0.0)
    memo.keep("a", 1)
    memo.keep("b", 2)
    memo.drop("a")
    memo.drop("never there")
    assert (memo.get("a", seconds=1), memo.get("b", seconds=1)) == (None, 2)
    memo.clear()
    assert memo.get("b", seconds=1) is None


def test_the_least_lately_confirmed_goes_first() -> None:
    """Guessed keys cannot fill the memory."""
    memo = Memo[int, int](lambda: 0.0)
    for n in range(memos.SIZE):
        memo.keep(n, n)
    memo.keep(0, 0)
    memo.keep(-1, -1)
    assert memo.get(0, seconds=1) == 0
    assert memo.get(1, seconds=1) is None
