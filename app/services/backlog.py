"""How many answers wait to be kept, as `/readyz` tells it: the answers themselves do without (DESIGN §6)."""

from collections.abc import Mapping
from typing import Protocol


class Keeps(Protocol):
    """The part of `services/recorder.Recorder` that is looked at."""

    lost: int

    @property
    def waiting(self) -> int:
        """Answers in the backlog."""


class Backlog:
    """Keeps `ports.Probe`. It never fails: what waits is a figure, and the store has a line of its own."""

    name = "answers"

    def __init__(self, recorder: Keeps) -> None:
        self._recorder = recorder

    async def check(self) -> Mapping[str, str | int | float]:
        """`waiting` and `lost`."""
        return {"waiting": self._recorder.waiting, "lost": self._recorder.lost}
