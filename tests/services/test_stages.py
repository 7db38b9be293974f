"""The stopwatch of an answer's stages."""

import time
from datetime import UTC, datetime, timedelta

from app.stopwatch import Stages, elapsed


def test_each_lap_counts_from_the_last() -> None:
    """Milliseconds, by name, in order."""
    stages = Stages()
    time.sleep(0.02)
    stages.lap("first")
    stages.lap("second")
    assert list(stages.took) == ["first", "second"]
    assert stages.took["first"] >= 20


def test_time_between_two_times_is_in_milliseconds() -> None:
    """Rounded."""
    began = datetime(2026, 1, 1, tzinfo=UTC)
    assert elapsed(began, began + timedelta(seconds=1, microseconds=1_600)) == 1_002
