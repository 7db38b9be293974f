"""An answer looked up, written or waiting."""

import asyncio
from dataclasses import replace
from datetime import datetime

import pytest

from app.answering.recorder import AnswerRecord, Recorder
from app.errors import Missing, Unavailable
from app.services import answers
from app.services.answers import AnswerService
from app.types import Scope
from tests.answering.test_recorder import kept
from tests.fakes.answering import FakeLog

HERE = Scope(owner="ada")


class Away(FakeLog):
    async def get(self, scope: Scope, answer_id: str) -> None:
        raise Unavailable

    async def removed(self, scope: Scope, since: datetime) -> bool:
        raise Unavailable


async def test_a_written_answer_is_found() -> None:
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
    for stranger in (Scope(owner="bob", user_id="bob"), Scope(user_id="bob"), replace(HERE, tenant="other")):
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
    with pytest.raises(Missing):
        await AnswerService(FakeLog(), Recorder(FakeLog())).get(HERE, "b")


def said(key: str, scope: Scope, text: str = "Yes.") -> AnswerRecord:
    found = kept(key)
    return replace(found, scope=scope, answer=replace(found.answer, text=text))


async def test_the_last_may_wait() -> None:
    """Whichever is the newer, of that user and thread, the stored one or the one that waits."""
    log, ada = FakeLog(), replace(HERE, user_id="ada", thread_id="t")
    recorder = Recorder(log)
    service = AnswerService(log, recorder)
    with pytest.raises(Missing):
        await service.last(ada)
    await log.keep(ada, kept("b").answer)
    recorder.later(said("a", ada))
    assert (await service.last(ada)).id == "b"
    recorder.later(said("c", ada))
    assert (await service.last(ada)).id == "c"
    recorder.later(said("d", ada, text=""))
    for stranger in (replace(ada, user_id="bob"), replace(ada, thread_id="u"), replace(ada, owner="")):
        recorder.later(said("e", stranger))
    assert (await service.last(ada)).id == "c"


async def test_the_last_of_a_removed_session_is_gone() -> None:
    log = FakeLog(gone={"s"})
    recorder = Recorder(log)
    scope = replace(HERE, user_id="ada", session_id="s")
    recorder.later(said("a", scope))
    with pytest.raises(Missing):
        await AnswerService(log, recorder).last(scope)


async def test_one_that_waits_is_of_its_user() -> None:
    """Whichever key asked, and whichever looks; a key that acts for all and names nobody sees it too."""
    named, own = Scope(user_id="ada"), Scope(owner="ada", user_id="ada")
    for asked in (named, own):
        log = FakeLog()
        recorder = Recorder(log)
        recorder.later(said("a", asked))
        service = AnswerService(log, recorder)
        assert [(await service.get(asker, "a")).id for asker in (Scope(), named, own)] == ["a"] * 3
        for stranger in (Scope(user_id="bob"), Scope(owner="bob", user_id="bob"), replace(own, tenant="b")):
            with pytest.raises(Missing):
                await service.get(stranger, "a")
