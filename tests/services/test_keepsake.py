"""A person's own words, kept when the answer has ended."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime

import pytest

from app.answering.recorder import ORIGIN, SECONDS, Keepsake, Remembered
from app.db.memories import Outcome
from app.errors import Overloaded, Unavailable
from app.text.greeting import is_pure_reentry_greeting
from app.types import Scope
from tests.fakes.keeping import ADA, NOON, FakeMemories


def keepsake(memories: FakeMemories) -> Keepsake:
    """On a scripted service."""
    return Keepsake(memories, is_pure_reentry_greeting)


@pytest.mark.parametrize("outcome", list(Outcome))
async def test_the_reply_tells_what_became_of_it(outcome: Outcome) -> None:
    """In the same word."""
    assert await keepsake(FakeMemories([outcome])).of(ADA, "I moved.", NOON)() == outcome.value


async def test_the_words_are_kept_as_they_were_said() -> None:
    """With their thread and namespace, as of when they came, as the person's."""
    memories = FakeMemories()
    await keepsake(memories).keep(replace(ADA, vantage_id="work"), " Did I move? ", NOON)

    ((scope, (draft,)),) = memories.asks
    assert scope.user_id == "ada"
    assert (draft.text, draft.origin, draft.thread_id) == (" Did I move? ", ORIGIN, "t1")
    assert (draft.vantage_id, draft.created_at) == ("work", NOON)


async def test_without_a_thread_it_was_said_in_the_session() -> None:
    """Else in the user's default thread."""
    memories = FakeMemories()
    for scope in (Scope("acme", user_id="ada", session_id="s1"), Scope("acme", user_id="ada")):
        await keepsake(memories).keep(scope, "I moved.", NOON)

    assert [draft.thread_id for _, (draft,) in memories.asks] == ["s1", None]


async def test_a_greeting_is_not_kept() -> None:
    """It says nothing; one with something to say is."""
    memories = FakeMemories()

    assert await keepsake(memories).keep(ADA, "hey again!", NOON) is Remembered.SKIPPED
    assert await keepsake(memories).keep(ADA, "hey, I moved to Lyon", NOON) is Remembered.CREATED
    assert len(memories.asks) == 1


@pytest.mark.parametrize("error", [Unavailable("down"), Overloaded()], ids=["down", "busy"])
async def test_a_failure_is_told_and_fails_nothing(error: Unavailable | Overloaded) -> None:
    """The answer has been given."""
    assert await keepsake(FakeMemories(error=error)).keep(ADA, "I moved.", NOON) is Remembered.FAILED


async def test_it_has_a_moment() -> None:
    """The end of the answer waits for it."""

    class Timed(FakeMemories):
        """Notes how long it may take."""

        given: Sequence[float] = ()

        async def remember(self, *args: object, seconds: float = 0, **named: object) -> list[object]:  # type: ignore[override] # as given
            """Nothing."""
            self.given = [*self.given, seconds]
            return await super().remember(*args)  # type: ignore[return-value, arg-type] # as given

    memories = Timed()
    await keepsake(memories).keep(ADA, "I moved.", NOON)
    assert memories.given == [SECONDS]
    assert isinstance(NOON, datetime)
