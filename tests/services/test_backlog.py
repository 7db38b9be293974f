"""Answers that wait to be kept, as `/readyz` shows them."""

from app.answering.recorder import Backlog, Kept, Recorder
from tests.fakes.answering import FakeLog
from tests.services.test_recorder import kept


async def test_it_tells_how_many_wait_and_how_many_were_lost() -> None:
    """And when they are written, that none do."""
    log = FakeLog(down=True)
    recorder = Recorder(log)
    probe = Backlog(recorder)
    assert await probe.check() == {"waiting": 0, "lost": 0}

    one: Kept = kept("a")
    await recorder.keep(one)
    assert await probe.check() == {"waiting": 1, "lost": 0}

    log.down = False
    await recorder.drain()
    assert (probe.name, await probe.check()) == ("answers", {"waiting": 0, "lost": 0})
