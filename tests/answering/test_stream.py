"""A reply under way: its events, its end, and its record, kept at once or later, never at the answer's
cost."""

import asyncio
from dataclasses import replace
from datetime import datetime
from typing import Any

import pytest

from app.answer import Answer, Finish, Prompt, Role, Span, Support, Turn, Usage
from app.answering import recorder
from app.answering import recorder as recorder_
from app.answering.budget import Meter
from app.answering.question import Context, Question
from app.answering.recorder import AnswerRecord, Recorder
from app.answering.replay import recipe_of
from app.answering.stream import Opening, Remembered, Reply
from app.errors import ModelBusy, ModelError
from app.models.base import Delta
from app.types import Reason, Scope, Trace
from tests.fakes.answering import NOW, FakeLog, FakeModel, FakeStream, Words, passage


def reply(model: FakeModel, log: FakeLog | None = None, *, context: bool = True) -> Reply:
    log = log or FakeLog()
    passages = (passage("a"),) if context else ()
    prompt = Prompt("system", "why?", passages)
    return Reply(
        question=Question(Scope(session_id="s", thread_id="t"), "why?"),
        context=Context(
            prompt=prompt,
            trace=Trace(Reason.OK if context else Reason.EMPTY),
            recipe=recipe_of(prompt, ranking=1),
            tokens=Meter(Words().count).prompt(prompt),
        ),
        answer_id="x",
        endpoint="/api/chat",
        name="fake",
        opening=Opening(model.open(prompt), "fake"),
        recorder=Recorder(log),
        tokens=Words(),
        clock=lambda: NOW,
        started=NOW,
    )


async def events(
    stream: FakeStream, log: FakeLog | None = None, *, context: bool = True
) -> list[tuple[str, Any]]:
    told = reply(FakeModel(stream), log, context=context)
    return [event async for event in told.events()]


async def test_the_grammar_is_tokens_citations_done() -> None:
    names = [name for name, _ in await events(FakeStream(["One ", "two [a.pdf#1]", "."]))]
    assert names[-2:] == ["citations", "done"]
    assert set(names[:-2]) == {"token"}


async def test_an_unknown_label_never_leaves() -> None:
    """A label outside the packed set is dropped, split over deltas too, and listed."""
    told = await events(FakeStream(["Yes [b.p", "df#9] and [a.", "pdf#1]."]))
    text = "".join(data["text"] for name, data in told if name == "token")
    assert text == "Yes and [a.pdf#1]."
    marks = dict(told)["citations"]
    assert (marks["cited"], marks["unknown"], marks["appended"]) == (["a.pdf#1"], ["b.pdf#9"], False)
    assert [text[span.start : span.end] for span in marks["spans"]] == ["[a.pdf#1]"]


async def test_what_was_streamed_and_taken_back_leaves_no_spans() -> None:
    """More citations than the answer has were judged while the reasoning was sent."""
    log = FakeLog()
    thought = [f"Point {n} is so [a.pdf#1]. " for n in range(4)]
    said: list[str | Delta] = [*thought, Delta(restart=True), "Blue [a.pdf#1]. Yes."]
    told = await events(FakeStream(said), log)
    assert told[-1][0] == "done"
    assert [(span.start, span.end) for span in dict(told)["citations"]["spans"]] == [(5, 14)]
    assert log.answers[0].text == "Blue [a.pdf#1]. Yes."


async def test_what_the_model_takes_back_is_not_the_answer() -> None:
    """Its reasoning, labels included, is neither in the record nor in a reply that is sent whole."""
    log = FakeLog()
    said: list[str | Delta] = ["I see [b.pdf#9] in [a.pdf#1].\n", Delta(restart=True), "Blue [a.pdf#1]."]
    told = await reply(FakeModel(FakeStream(said)), log).whole()
    assert (told["answer"], told["cited"], told["unknown"]) == ("Blue [a.pdf#1].", ["a.pdf#1"], [])
    assert log.answers[0].text == "Blue [a.pdf#1]."


async def test_sources_are_appended_when_nothing_was_cited() -> None:
    """Context used and nothing cited: one last token names the sources."""
    log = FakeLog()
    told = await events(FakeStream(["Blue."]), log=log)
    assert told[1] == ("token", {"text": " Sources: [a.pdf#1]"})
    assert dict(told)["citations"]["appended"] is True
    assert dict(told)["citations"]["spans"] == (Span(15, 24, "a.pdf#1", 1),)
    assert log.answers[0].appended, "whoever reads the answer later must know it too"
    assert log.answers[0].spans == dict(told)["citations"]["spans"]


@pytest.mark.parametrize("said", [[], [""], [" ", "\n"], ["[b.pdf#9]"], [" [b.p", "df#9] "]])
async def test_nothing_is_appended_where_the_model_said_nothing(said: list[str]) -> None:
    """Sources alone are no answer; a label that was never packed is nothing said."""
    told = await events(FakeStream(said))
    assert "Sources" not in "".join(data["text"] for name, data in told if name == "token")
    assert (dict(told)["citations"]["appended"], dict(told)["citations"]["cited"]) == (False, [])


async def test_sources_do_not_stand_in_code() -> None:
    """A fence that the model, or its budget, left open is closed before them."""
    told = await events(FakeStream(["Run:\n```sh\nls"]))
    text = "".join(data["text"] for name, data in told if name == "token")
    assert text == "Run:\n```sh\nls\n```\n Sources: [a.pdf#1]"


async def test_nothing_is_appended_without_context() -> None:
    told = await events(FakeStream(["Hello."]), context=False)
    assert [data["text"] for name, data in told if name == "token"] == ["Hello."]
    assert dict(told)["citations"] == {"cited": [], "unknown": [], "appended": False, "spans": ()}


async def test_done_has_usage_of_the_server_or_counted() -> None:
    """The server's figures are passed on; without them the tokens are counted."""
    told = dict(await events(FakeStream(["Blue [a.pdf#1]."])))
    assert told["done"]["usage"] == Usage(7, 3)
    told = dict(await events(FakeStream(["Blue [a.pdf#1]."], ended=None)))
    assert told["done"]["usage"].completion_tokens == 2
    assert told["done"]["finish_reason"] == "stop"


async def test_the_turns_are_kept_before_done() -> None:
    """When `done` leaves, the next question already finds this one in the log."""
    log = FakeLog()
    told = reply(FakeModel(FakeStream(["Blue [a.pdf#1]."])), log)
    async for name, _ in told.events():
        if name == "done":
            assert [turn.content for _, turn in log.rows] == ["why?", "Blue [a.pdf#1]."]
    assert (log.answers[0].finish, log.answers[0].cited) == (Finish.STOP, ("a.pdf#1",))


async def test_leaving_midway_closes_the_model_and_keeps_the_turn() -> None:
    """aclose() lets the model go and keeps what was said as cancelled."""
    log, model = FakeLog(), FakeModel(FakeStream(["one ", "two "], pause=0.01))
    told = reply(model, log)
    stream = told.events()
    await anext(stream)
    await told.aclose()
    await told.recorder.drain()
    assert model.closed == 1
    assert (log.answers[0].finish, log.answers[0].text) == (Finish.CANCELLED, "one")


async def test_a_late_fault_is_raised_and_what_was_said_kept() -> None:
    """The model failing midway: the error comes through, the record has no finish."""
    log = FakeLog()
    told = reply(FakeModel(FakeStream(["half "], error=ModelError("gone"))), log)
    with pytest.raises(ModelError):
        _ = [event async for event in told.events()]
    assert [(answer.finish, answer.text) for answer in log.answers] == [(None, "half")]
    assert [turn.content for _, turn in log.rows] == ["why?", "half"]
    await told.aclose()
    await told.recorder.drain()
    assert len(log.answers) == 1


async def test_a_store_that_hangs_holds_back_no_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recorder, "PATIENCE", 0.05)
    told = reply(FakeModel(FakeStream(["half "], error=ModelError("gone"))), FakeLog(hang=60))
    async with asyncio.timeout(10):
        with pytest.raises(ModelError):
            _ = [event async for event in told.events()]
    assert told.recorder.waiting == 1


async def test_what_came_before_a_fault_leaves() -> None:
    told = reply(FakeModel(FakeStream([Delta("half")], error=ModelError("gone"))))
    stream = told.events()
    assert await anext(stream) == ("token", {"text": "half"})
    with pytest.raises(ModelError):
        await anext(stream)


async def test_a_whole_answer_tells_what_a_stream_does() -> None:
    told = reply(FakeModel())

    whole = await told.whole()

    assert told.meta.keys() <= whole.keys()
    assert whole["session_id"] == told.meta["session_id"] is not None


async def test_a_verbatim_quote_is_told_with_its_place() -> None:
    log = FakeLog()
    told = await reply(FakeModel(FakeStream(["“The sky is ", "blue.” [a.p", "df#1] Why?"])), log).whole()
    assert told["spans"] == (Span(19, 28, "a.pdf#1", 1, "The sky is blue.", Support.STRONG),)
    assert log.answers[0].spans == told["spans"]


async def test_the_spans_of_a_broken_off_answer_are_kept() -> None:
    """Those of the text that was sent."""
    log = FakeLog()
    told = reply(FakeModel(FakeStream(["Blue [a.pdf#1]", " and so", "."])), log)
    stream = told.events()
    await anext(stream)
    await anext(stream)
    await told.aclose()
    await told.recorder.drain()
    text, [span] = log.answers[0].text, log.answers[0].spans
    assert (log.answers[0].finish, text[span.start : span.end]) == (Finish.CANCELLED, "[a.pdf#1]")


async def test_the_stages_are_kept() -> None:
    log = FakeLog()
    await reply(FakeModel(), log).whole()
    assert {"stream", "total", "retrieval"} <= log.answers[0].timings.keys()


class Memory:
    """Keeps words, and notes what had been kept of the answer by then."""

    def __init__(self, log: FakeLog) -> None:
        self.log = log
        self.kept: list[int] = []

    async def __call__(self, scope: Scope, message: str, asked: datetime) -> Remembered:
        self.kept.append(len(self.log.answers))
        return Remembered.CREATED


async def test_words_are_remembered_once_the_answer_has_ended() -> None:
    """After the last word and the record, before `done`, which says what became of them."""
    log = FakeLog()
    memory = Memory(log)
    told = reply(FakeModel(FakeStream(["Blue."])), log)
    told.remember = memory
    seen = [(name, data, len(memory.kept)) async for name, data in told.events()]

    assert memory.kept == [1]
    assert [count for _, _, count in seen] == [0, 0, 0, 1]
    assert seen[-1][1]["remembered"] == "created"


async def test_an_answer_that_breaks_off_remembers_nothing() -> None:
    """Nobody could be told; and where nobody asked, `done` says null."""
    log = FakeLog()
    memory = Memory(log)
    told = reply(FakeModel(FakeStream(["Blue."], error=ModelError())), log)
    told.remember = memory
    with pytest.raises(ModelError):
        [event async for event in told.events()]

    assert memory.kept == []
    assert dict(await events(FakeStream(["Blue."])))["done"]["remembered"] is None


PROMPT = Prompt("system", "why?")


def opening(model: FakeModel) -> Opening:
    return Opening(model.open(PROMPT), "asked for")


async def test_the_head_tells_the_models_name() -> None:
    """Before the head the name asked for, after it the server's own."""
    begun = opening(FakeModel())
    assert begun.model == "asked for"
    await begun.head(1)
    assert begun.model == "fake"
    await begun.close()


async def test_a_fault_at_the_head_is_raised() -> None:
    begun = opening(FakeModel(error=ModelBusy()))
    with pytest.raises(ModelBusy):
        await begun.head(1)
    await begun.close()


async def test_a_slow_head_is_waited_for_again() -> None:
    """head() gives up after its seconds; stream() gets what comes later."""
    model = FakeModel(head=0.1)
    begun = opening(model)
    await begun.head(0.01)
    assert await begun.stream() is model.stream
    await begun.close()


async def test_closing_is_once() -> None:
    model = FakeModel()
    begun = opening(model)
    await begun.stream()
    await begun.close()
    await begun.close()
    assert model.closed == 1


async def test_closing_before_the_head_leaves_no_task() -> None:
    """A client that leaves before the model's head leaves nothing behind."""
    before = asyncio.all_tasks()
    begun = opening(FakeModel(head=30))
    await asyncio.sleep(0.01)
    await begun.close()
    assert asyncio.all_tasks() == before


async def test_a_closing_that_is_cancelled_closes_all_the_same() -> None:
    """Cancelled twice, as a request is that ends while it is ending: the connection does not stay."""
    model = FakeModel()
    begun = opening(model)
    await begun.stream()
    closing = asyncio.create_task(begun.close())
    await asyncio.sleep(0)
    closing.cancel()
    with pytest.raises(asyncio.CancelledError):
        await closing
    await begun.close()
    assert model.closed == 1


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


async def test_a_later_record_of_an_answer_replaces_the_one_that_waits() -> None:
    """The older one would be written over it."""
    log = FakeLog(down=True)
    recorder = Recorder(log)
    await recorder.keep(kept())
    log.down = False
    newer = kept()
    await recorder.keep(replace(newer, answer=replace(newer.answer, text="newer")))
    await recorder.drain()
    assert [answer.text for answer in log.answers] == ["newer"]


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


@pytest.mark.parametrize("times", [1, 2])
async def test_stopping_ends_a_silent_answer_in_good_order(times: int) -> None:
    """Before the first token, between two, more than once."""
    log, model = FakeLog(), FakeModel(FakeStream(["one ", "two "], pause=30))
    told = reply(model, log)
    for _ in range(times):
        asyncio.get_running_loop().call_later(0.01, told.stop)
    async with asyncio.timeout(5):
        names = [(name, data.get("finish_reason")) async for name, data in told.events()]
    await told.aclose()
    assert names == [("citations", None), ("done", "cancelled")]
    assert (model.closed, log.answers[0].finish) == (1, Finish.CANCELLED)


async def test_an_answer_that_was_stopped_at_once_asks_for_nothing() -> None:
    told = reply(FakeModel(FakeStream(["one"], pause=30)))
    told.stop()
    async with asyncio.timeout(5):
        assert [name async for name, _ in told.events()] == ["citations", "done"]
    await told.aclose()
