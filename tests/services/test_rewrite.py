"""A question in the chat model's words: in time and of the right shape, or not at all."""

import asyncio
import json
import time

import pytest

from app.breaker import Breaker
from app.errors import ModelBusy, ModelError, ModelTimeout
from app.retrieval.rewrite import SAID, Rewriter
from app.types import Degraded, Query, Scope
from tests.fakes.answering import FakeModel, FakeStream

ASKED = Query("and what does that cost?", Scope(), before=("Where does the ferry go?",))
REPLY = json.dumps({"search": "what does the ferry cost", "questions": []})
SECONDS = 0.5


def breaker() -> Breaker:
    """That opens at the third failure."""
    return Breaker(time.monotonic)


def rewriter(model: FakeModel) -> Rewriter:
    """With half a second for everything."""
    return Rewriter(model, breaker(), seconds=SECONDS)


def until(seconds: float = SECONDS) -> float:
    """The loop's time then."""
    return asyncio.get_running_loop().time() + seconds


async def test_the_models_words_are_searched() -> None:
    """It is shown the message and what came before it, once."""
    model = FakeModel(FakeStream([REPLY[:9], REPLY[9:]]))
    assert await rewriter(model).texts(ASKED, until()) == (("what does the ferry cost",), ())
    [prompt] = model.prompts
    told = json.loads(prompt.message)
    assert told == {"message": ASKED.text, "before": list(ASKED.before)}
    assert model.closed == 1


async def test_a_short_message_is_not_asked_about() -> None:
    """The skip rule has its say."""
    model = FakeModel()
    assert await rewriter(model).texts(Query("hello", Scope()), until()) == ((), ())
    assert model.prompts == []


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        pytest.param(FakeModel(head=30), "timeout", id="no head"),
        pytest.param(FakeModel(FakeStream(["a", "b"], pause=30)), "timeout", id="silent"),
        pytest.param(FakeModel(error=ModelTimeout(down=True)), "timeout", id="its own timeout"),
        pytest.param(FakeModel(error=ModelError(down=True)), "unavailable", id="down"),
        pytest.param(FakeModel(error=ModelBusy()), "unavailable", id="busy"),
        pytest.param(FakeModel(FakeStream(["a"], error=ModelError())), "unavailable", id="breaks off"),
        pytest.param(FakeModel(FakeStream(["It costs a crown."])), "rewrite", id="an answer"),
        pytest.param(FakeModel(FakeStream(["x" * SAID] * 9 + [REPLY])), "rewrite", id="too much"),
    ],
)
async def test_without_a_rewording_there_is_a_reason(model: FakeModel, reason: str) -> None:
    """It comes within the rewording's part of the time, and the model is let go."""
    assert await rewriter(model).texts(ASKED, until()) == ((), (Degraded("rewrite", reason),))


async def test_a_model_that_is_always_late_is_not_waited_for() -> None:
    """After the third question; and its refusals and its nonsense are no lateness."""
    late = FakeModel(head=30)
    asking = rewriter(late)
    for _ in range(3):
        await asking.texts(ASKED, until())
    assert await asking.texts(ASKED, until()) == ((), (Degraded("rewrite", "unavailable"),))
    assert len(late.prompts) == 3

    for model in (FakeModel(FakeStream(["no"])), FakeModel(error=ModelBusy())):
        asking = rewriter(model)
        for _ in range(5):
            await asking.texts(ASKED, until())
        assert len(model.prompts) == 5


@pytest.mark.parametrize(("left", "asked"), [(0.5 * SECONDS, 0), (0.65 * SECONDS, 5)], ids=["none", "little"])
async def test_what_was_left_no_time_has_not_failed(left: float, asked: int) -> None:
    """A follow-up's turns came late: the model was not slow."""
    model = FakeModel(head=30)
    asking = rewriter(model)
    for _ in range(5):
        assert await asking.texts(ASKED, until(left)) == ((), (Degraded("rewrite", "timeout"),))
    assert len(model.prompts) == asked


async def test_who_leaves_says_nothing_of_the_model() -> None:
    """The call is ended with them, and others are still let through."""
    model = FakeModel(head=30)
    asking = rewriter(model)
    for _ in range(5):
        task = asyncio.create_task(asking.texts(ASKED, until()))
        await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert len(model.prompts) == 5
    assert rewriter(FakeModel()).name.startswith("fake ")
