"""The record of answers: kept at once, kept later, never at the answer's cost."""

import asyncio
from dataclasses import replace

import pytest

from app.answer import Answer, Finish, Role, Turn, Usage
from app.answering import recorder as recorder_
from app.answering.recorder import AnswerRecord, Recorder
from app.types import Reason, Scope, Trace
from tests.fakes.answering import NOW, FakeLog


def kept(key: str = "a") -> AnswerRecord:
    trace, turns = Trace(Reason.EMPTY), [Turn(Role.USER, "hi", NOW)]
    answer = Answer(key, "/api/chat", "hi", "ho", "m", Finish.STOP, (), (), (), "0", trace, Usage(), NOW)
    return AnswerRecord(Scope(thread_id="t"), answer, turns)


async def test_keeps_the_answer_and_its_turns() -> None:
    log = FakeLog()
    await Recorder(log).keep(kept())
    assert [answer.id for answer in log.answers] == ["a"]
    assert [turn.content for _, turn in log.rows] == ["hi"]


async def test_a_store_that_is_down_does_not_raise() -> None:
    log = FakeLog(down=True)
    recorder = Recorder(log)
    await recorder.keep(kept())
    assert recorder.waiting == 1
    log.down = False
    assert await recorder.drain()
    assert (recorder.waiting, len(log.answers)) == (0, 1)


async def test_a_store_that_hangs_costs_a_bounded_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_, "PATIENCE", 0.05)
    log = FakeLog(hang=30)
    recorder = Recorder(log)
    async with asyncio.timeout(5):
        await recorder.keep(kept())
    assert recorder.waiting == 1


async def test_order_is_kept_and_run_drains(monkeypatch: pytest.MonkeyPatch) -> None:
    """The backlog is written oldest first by run(), once the store is back."""
    monkeypatch.setattr(recorder_, "PAUSE", 0.01)
    log = FakeLog(down=True)
    recorder = Recorder(log)
    for key in "abc":
        recorder.later(kept(key))
    task = asyncio.create_task(recorder.run())
    await asyncio.sleep(0.05)
    log.down = False
    await asyncio.sleep(0.2)
    task.cancel()
    assert [answer.id for answer in log.answers] == ["a", "b", "c"]


async def test_a_full_backlog_drops_the_oldest_and_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_, "BACKLOG", 2)
    log = FakeLog()
    recorder = Recorder(log)
    for key in "abc":
        recorder.later(kept(key))
    assert (recorder.lost, recorder.waiting) == (1, 2)
    await recorder.drain()
    assert [answer.id for answer in log.answers] == ["b", "c"]


async def test_a_cancelled_write_is_written_later() -> None:
    """A client that leaves while its answer is written does not lose it."""
    log = FakeLog(hang=30)
    recorder = Recorder(log)
    task = asyncio.create_task(recorder.keep(kept()))
    await asyncio.sleep(0.01)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert recorder.waiting == 1


async def test_what_waits_is_found_by_who_asked() -> None:
    """An answer can be looked up before it is written; another's is not there."""
    recorder = Recorder(FakeLog())
    recorder.later(kept("a"))
    assert recorder.find(Scope(), "a") == kept("a")
    assert recorder.find(Scope(), "b") is None
    assert recorder.find(Scope(owner="ada"), "a") is None
    assert recorder.find(Scope(tenant="other"), "a") is None


async def test_what_waits_is_written_once_for_all_who_come() -> None:
    """Those who ask in its thread at the same time."""
    log = FakeLog(hang=0.01)
    recorder = Recorder(log)
    for key in "ab":
        recorder.later(kept(key))
    await asyncio.gather(*(recorder.written(Scope(thread_id="t")) for _ in range(3)))
    assert [answer.id for answer in log.answers] == ["a", "b"]
    assert recorder.waiting == 0


async def test_what_waits_is_forgotten_with_its_session() -> None:
    log = FakeLog()
    recorder = Recorder(log)
    for key, session in (("a", "s"), ("b", "t"), ("c", "s")):
        recorder.later(replace(kept(key), scope=Scope(session_id=session)))
    assert recorder.forget(Scope(session_id="s"))
    assert not recorder.forget(Scope(session_id="s"))
    assert await recorder.drain()
    assert [answer.id for answer in log.answers] == ["b"]


async def test_what_the_store_will_not_take_does_not_fail_the_answer() -> None:
    log = FakeLog(poison="a")
    recorder = Recorder(log)
    await recorder.keep(kept("a"))
    log.poison = ""
    assert await recorder.drain()
    assert [answer.id for answer in log.answers] == ["a"]


async def test_what_the_store_will_not_take_holds_up_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    """TRIES times, then it is dropped and counted, and what stands behind it is written."""
    monkeypatch.setattr(recorder_, "PAUSE", 0.01)
    log = FakeLog(poison="b")
    recorder = Recorder(log)
    for key in "abc":
        recorder.later(kept(key))
    assert [await recorder.drain() for _ in range(recorder_.TRIES - 1)] == [False] * (recorder_.TRIES - 1)
    assert (recorder.waiting, recorder.lost) == (2, 0)
    assert await recorder.drain()
    assert [answer.id for answer in log.answers] == ["a", "c"]
    assert (recorder.waiting, recorder.lost) == (0, 1)


async def test_tries_are_counted_for_each(monkeypatch: pytest.MonkeyPatch) -> None:
    """An outage between them is no try, and the next one begins anew."""
    log = FakeLog(poison="a")
    recorder = Recorder(log)
    for key in "ab":
        recorder.later(kept(key))
    for _ in range(recorder_.TRIES - 1):
        await recorder.drain()
        log.down = True
        assert not await recorder.drain()
        log.down = False
    log.poison = "b"
    assert not await recorder.drain()
    assert ([answer.id for answer in log.answers], recorder.lost) == (["a"], 0)


async def test_the_end_waits_for_a_store_that_comes_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stopped in the middle of an outage: what waits is written if the store is back within seconds."""
    monkeypatch.setattr(recorder_, "PAUSE", 0.01)
    log = FakeLog(down=True)
    recorder = Recorder(log)
    recorder.later(kept())
    ending = asyncio.create_task(recorder.finish())
    await asyncio.sleep(0.05)
    log.down = False
    await ending
    assert (recorder.waiting, len(log.answers)) == (0, 1)


async def test_the_end_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder_, "FINISH_SECONDS", 0.05)
    recorder = Recorder(FakeLog(down=True))
    recorder.later(kept())
    async with asyncio.timeout(5):
        await recorder.finish()
    assert recorder.waiting == 1


async def test_what_waits_of_a_user_is_dropped() -> None:
    """Asked in his name or with his key; another tenant's user of the name keeps his."""
    recorder = Recorder(FakeLog())
    his = [Scope(user_id="ada"), Scope(owner="ada", user_id="ada"), Scope(owner="ada")]
    others = [Scope(), Scope(user_id="bob"), Scope(tenant="other", user_id="ada")]
    for scope in (*his, *others):
        recorder.later(replace(kept(), scope=scope))
    assert (recorder.forget_user(Scope(user_id="ada")), recorder.waiting) == (3, 3)


async def test_it_tells_how_many_wait_and_how_many_were_lost() -> None:
    log = FakeLog(down=True)
    recorder = Recorder(log)
    assert await recorder.check() == {"waiting": 0, "lost": 0}

    one: AnswerRecord = kept("a")
    await recorder.keep(one)
    assert await recorder.check() == {"waiting": 1, "lost": 0}

    log.down = False
    await recorder.drain()
    assert (recorder.name, await recorder.check()) == ("answers", {"waiting": 0, "lost": 0})
