"""The stopwatch of a question: whose stages it counts, and what it costs nobody."""

import asyncio

import pytest

from app.stopwatch import STAGES, UNWATCHED, stage, watched


def test_nobody_watches_nothing_is_counted() -> None:
    """A stage is then the same empty block for all."""
    assert stage(STAGES[0]) is UNWATCHED
    assert stage(STAGES[1]) is UNWATCHED


async def test_stages_of_tasks_made_inside_count() -> None:
    """They run beside each other, so each has its own time."""

    async def work(name: str) -> None:
        with stage(name):
            await asyncio.sleep(0.02)

    with watched() as took, stage("total"):
        await asyncio.gather(work("words"), work("meaning"))

    assert set(took) == {"words", "meaning", "total"}
    assert took["words"] + took["meaning"] > took["total"] >= 19


def test_parts_of_a_stage_are_added_up_however_they_end() -> None:
    """A stage that fails has taken its time too."""
    with watched() as took:
        for _ in range(2):
            with pytest.raises(ValueError, match="late"), stage("texts"):
                raise ValueError("late")
            first = took.setdefault("first", took["texts"])

    assert took["texts"] > first > 0


async def test_two_who_watch_see_their_own() -> None:
    """Questions are asked side by side."""

    async def asked(name: str) -> set[str]:
        with watched() as took:
            await asyncio.sleep(0)
            with stage(name):
                await asyncio.sleep(0)
        return set(took)

    assert list(await asyncio.gather(asked("a"), asked("b"))) == [{"a"}, {"b"}]
    assert stage("a") is UNWATCHED
