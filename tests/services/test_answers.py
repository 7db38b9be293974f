"""An answer looked up, written or waiting."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from app.domain.errors import Missing, Unavailable
from app.domain.passage import Scope
from app.services import answers
from app.services.answers import AnswerService
from app.services.recorder import Recorder
from tests.fakes.answering import FakeLog
from tests.services.test_recorder import kept

HERE = Scope(owner="ada")


class Away(FakeLog):
    """Postgres does not answer."""

    async def get(self, scope: Scope, answer_id: str) -> None:
        """Never."""
        raise Unavailable

    async def removed(self, scope: Scope, since: datetime) -> bool:
        """Never."""
        raise Unavailable


async def test_a_written_answer_is_found() -> None:
    """In the store."""
    log = FakeLog()
    await log.keep(HERE, kept().answer)
    found = await AnswerService(log, Recorder(log)).get(HERE, "a")
    assert found == kept().answer


async def test_one_that_waits_is_found_too() -> None:
    """Also while the store is away; for who asked it, and nobody else."""
    log = Away()
    recorder = Recorder(log)
    recorder.later(replace(kept(), scope=HERE))
    service = AnswerService(log, recorder)
    assert (await service.get(HERE, "a")).id == "a"
    for stranger in (replace(HERE, owner=""), replace(HERE, tenant="other")):
        with pytest.raises(Unavailable):
            await service.get(stranger, "a")


async def test_one_that_waits_of_a_removed_session_is_not_there() -> None:
    """It was removed through another replica, and will not be written."""
    log = FakeLog(gone={"s"})
    recorder = Recorder(log)
    for key, session in (("a", "s"), ("b", "t")):
        recorder.later(replace(kept(key), scope=replace(HERE, session_id=session)))
    service = AnswerService(log, recorder)
    assert (await service.get(HERE, "b")).id == "b"
    with pytest.raises(Missing):
        await service.get(HERE, "a")


async def test_one_that_waits_is_shown_while_the_store_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody can say then that its session was removed; and it is not waited for long."""
    monkeypatch.setattr(answers, "ASKING_SECONDS", 0.05)
    log = FakeLog(hang=30)
    recorder = Recorder(log)
    recorder.later(replace(kept(), scope=HERE))
    async with asyncio.timeout(5):
        assert (await AnswerService(log, recorder).get(HERE, "a")).id == "a"


async def test_none_is_told() -> None:
    """As another's is."""
    with pytest.raises(Missing):
        await AnswerService(FakeLog(), Recorder(FakeLog())).get(HERE, "b")
