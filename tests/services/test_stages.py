"""The stopwatch of an answer's stages."""

import time

from app.services.stages import Stages


def test_each_lap_counts_from_the_last() -> None:
    """Milliseconds, by name, in order."""
    stages = Stages()
    time.sleep(0.02)
    stages.lap("first")
    stages.lap("second")
    assert list(stages.took) == ["first", "second"]
    assert stages.took["first"] >= 20
    assert stages.took["second"] < 20
