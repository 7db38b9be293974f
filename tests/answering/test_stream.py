"""A reply under way: its events, its end, its record."""

import asyncio
import time
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.answer import Finish, Prompt, Usage
from app.answering import recorder
from app.answering.budget import Meter
from app.answering.question import Context, Question
from app.answering.recorder import Recorder
from app.answering.replay import recipe_of
from app.answering.stream import Opening, Remembered, Reply
from app.errors import ModelBusy, ModelError
from app.models.base import Delta
from app.tasks import Stages, elapsed
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
    assert dict(told)["citations"] == {"cited": ["a.pdf#1"], "unknown": ["b.pdf#9"], "appended": False}


async def test_sources_are_appended_when_nothing_was_cited() -> None:
    """Context used and nothing cited: one last token names the sources."""
    log = FakeLog()
    told = await events(FakeStream(["Blue."]), log=log)
    assert told[1] == ("token", {"text": " Sources: [a.pdf#1]"})
    assert dict(told)["citations"]["appended"] is True
    assert log.answers[0].appended, "whoever reads the answer later must know it too"


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
    assert dict(told)["citations"] == {"cited": [], "unknown": [], "appended": False}


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


async def test_closing_twice_is_one_close() -> None:
    """aclose() may be called again, after the end too: one record, one close."""
    log, model = FakeLog(), FakeModel()
    told = reply(model, log)
    await told.whole()
    await told.aclose()
    await told.recorder.drain()
    assert (model.closed, len(log.answers)) == (1, 1)


async def test_it_tells_what_may_leave_in_one_piece() -> None:
    """Appended sources wait for `citations`, and `done` for the end."""
    told = reply(FakeModel(FakeStream([Delta("a["), Delta("1] b"), Delta("c")])))
    found = [(data.get("text", name), told.more) async for name, data in told.events()]
    texts = [("a", False), ("[1] b", False), ("c", False), (" Sources: [a.pdf#1]", True)]
    assert found == [*texts, ("citations", False), ("done", True)]


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


def test_each_lap_counts_from_the_last() -> None:
    stages = Stages()
    time.sleep(0.02)
    stages.lap("first")
    stages.lap("second")
    assert list(stages.took) == ["first", "second"]
    assert stages.took["first"] >= 20


def test_time_between_two_times_is_in_milliseconds() -> None:
    began = datetime(2026, 1, 1, tzinfo=UTC)
    assert elapsed(began, began + timedelta(seconds=1, microseconds=1_600)) == 1_002
