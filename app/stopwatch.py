"""How long each stage of an answer took: milliseconds, as the record keeps them and `bench/` shows them."""

import time
from datetime import datetime


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
