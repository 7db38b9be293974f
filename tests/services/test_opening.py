"""The opening of a model's stream: waited for, given up, closed once."""

import asyncio

import pytest

from app.answer import Prompt
from app.answering.stream import Opening
from app.errors import ModelBusy
from tests.fakes.answering import FakeModel

PROMPT = Prompt("system", "why?")


def opening(model: FakeModel) -> Opening:
    """The opening of a scripted model."""
    return Opening(model.open(PROMPT), "asked for")


async def test_the_head_tells_the_models_name() -> None:
    """Before the head the name asked for, after it the server's own."""
    begun = opening(FakeModel())
    assert begun.model == "asked for"
    await begun.head(1)
    assert begun.model == "fake"
    await begun.close()


async def test_a_fault_at_the_head_is_raised() -> None:
    """What the model refuses by then can still be a status."""
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
    """Two closes, one leaving of the model's context."""
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
