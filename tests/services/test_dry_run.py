"""An answer that is not given: what is told of it, and what is kept."""

import pytest

from app.answering.question import Question
from app.answering.ruling import read
from app.answering.stream import Reply
from tests.services.test_vantage import ADA, SLEEP, House


async def inspected(house: House, *, debug: bool = False) -> Reply:
    """Prepared."""
    return await house.vantage.prepare(Question(ADA, SLEEP, inspect_only=True, debug=debug))


async def test_it_is_kept_when_it_is_told() -> None:
    """Marked, with its trace and recipe, and no turn."""
    house = House()
    reply = await inspected(house)
    assert house.log.answers == []
    told = await reply.whole()
    (kept,) = house.log.answers
    assert (kept.id, kept.endpoint, house.log.rows) == (told["answer_id"], "/vantage/query", [])
    assert read(kept.ruling or {}).inspect_only
    assert kept.trace.packed
    assert kept.recipe
    assert kept.usage.completion_tokens == 0 < kept.usage.prompt_tokens


async def test_a_store_that_is_down_fails_nothing() -> None:
    """It waits as answers do."""
    house = House()
    house.log.down = True
    reply = await inspected(house)
    assert (await reply.whole())["answer"] is None
    assert reply.recorder.waiting == 1


async def test_who_leaves_before_it_is_told_leaves_nothing() -> None:
    """Closing it writes nothing."""
    house = House()
    reply = await inspected(house)
    await reply.aclose()
    assert (house.log.answers, reply.recorder.waiting) == ([], 0)


@pytest.mark.parametrize("debug", [False, True])
async def test_candidates_are_for_who_debugs(debug: bool) -> None:
    """The system prompt is shown in any case."""
    meta = (await inspected(House(), debug=debug)).meta
    assert ("debug" in meta, "system_prompt" in meta) == (debug, True)
