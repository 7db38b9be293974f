"""A session removed, with what still waits to be written of it."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from app.answering import recorder as recorder_
from app.answering.recorder import Recorder
from app.db.sessions import Session, SessionStore, Utterance
from app.errors import Missing, Unavailable
from app.services.answers import SessionService
from app.types import Scope
from tests.answering.test_recorder import kept
from tests.fakes.answering import NOW, FakeLog

HERE = Scope(owner="ada", session_id="s")


@dataclass
class Store(SessionStore):
    there: bool = True
    down: bool = False
    removed: list[Scope] = field(default_factory=list)

    async def recent(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Session], str | None]:
        return [Session("s", 1, 2, NOW, NOW)][:limit], cursor

    async def turns(
        self, scope: Scope, *, cursor: str | None, limit: int
    ) -> tuple[list[Utterance], str | None]:
        return [Utterance("s", "user", "why", NOW, None)][:limit], cursor

    async def remove(self, scope: Scope) -> bool:
        if self.down:
            raise Unavailable
        self.removed.append(scope)
        return self.there


async def test_lists_are_the_store_s() -> None:
    service = SessionService(Store(), Recorder(FakeLog()))
    sessions, after = await service.recent(HERE, cursor="c", limit=9)
    turns, then = await service.turns(HERE, cursor="d", limit=9)
    assert ([item.session_id for item in sessions], after) == (["s"], "c")
    assert ([item.content for item in turns], then) == (["why"], "d")


async def test_what_waits_is_written_before_the_turns_are_read() -> None:
    """Whoever left an answer finds its turn; another's is not waited for."""
    log = FakeLog()
    recorder = Recorder(log)
    for n, scope in enumerate((HERE, replace(HERE, owner="bob"), replace(HERE, session_id="t"))):
        recorder.later(replace(kept(f"a{n}"), scope=scope))
    await SessionService(Store(), recorder).turns(HERE, cursor=None, limit=9)
    assert ([answer.id for answer in log.answers], recorder.waiting) == (["a0"], 2)


@pytest.mark.parametrize("log", [FakeLog(down=True), FakeLog(hang=60)], ids=["down", "hangs"])
async def test_a_store_that_takes_nothing_holds_up_no_reader(
    log: FakeLog, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(recorder_, "PATIENCE", 0.05)
    recorder = Recorder(log)
    recorder.later(replace(kept(), scope=HERE))
    async with asyncio.timeout(10):
        turns, _ = await SessionService(Store(), recorder).turns(HERE, cursor=None, limit=9)
    assert ([turn.content for turn in turns], recorder.waiting) == (["why"], 1)


async def test_what_waits_to_be_written_goes_too() -> None:
    """Else the session would come back with it; another's record stays."""
    log = FakeLog()
    recorder = Recorder(log)
    for n, scope in enumerate((HERE, replace(HERE, owner="bob"), replace(HERE, session_id="t"))):
        recorder.later(replace(kept(f"a{n}"), scope=scope))
    await SessionService(Store(), recorder).remove(HERE)
    await recorder.drain()
    assert [answer.id for answer in log.answers] == ["a1", "a2"]


async def test_a_session_that_only_waits_is_a_session() -> None:
    recorder = Recorder(FakeLog())
    recorder.later(replace(kept(), scope=HERE))
    await SessionService(Store(there=False), recorder).remove(HERE)
    assert recorder.waiting == 0


async def test_nothing_there_is_told() -> None:
    with pytest.raises(Missing):
        await SessionService(Store(there=False), Recorder(FakeLog())).remove(HERE)


async def test_a_store_that_is_away_keeps_all() -> None:
    recorder = Recorder(FakeLog())
    recorder.later(replace(kept(), scope=HERE))
    with pytest.raises(Unavailable):
        await SessionService(Store(down=True), recorder).remove(HERE)
    assert recorder.waiting == 1
