"""A project's source behind the breaker of Postgres."""

import pytest

from app.domain.breaker import Breaker
from app.domain.errors import RetrievalError
from app.domain.passage import Passage, Scope
from app.services.rows import GuardedRows
from tests.fakes.projects import FakeRows

ROW = Passage("code", "1", "x", 1, "a.py#L1-1")


async def test_what_is_there_passes() -> None:
    """Rows, by time and by cosine, and how the source stands."""
    rows = GuardedRows(FakeRows("code", [ROW]), Breaker(lambda: 0.0))

    assert await rows.newest(Scope(), 5) == [ROW]
    assert await rows.most_similar(Scope(), b"1234", 5) == [ROW]
    assert (await rows.reach(Scope())).standing == "1"
    assert rows.name == "code"


@pytest.mark.parametrize("ask", ["newest", "nearest"])
async def test_a_dead_postgres_is_not_asked_again_and_again(ask: str) -> None:
    """After some failures in a row the refused are told the same at once; other questions too."""
    source = FakeRows("code", error=RetrievalError("unavailable"))
    rows = GuardedRows(source, Breaker(lambda: 0.0))

    for _ in range(20):
        with pytest.raises(RetrievalError) as caught:
            await (rows.newest(Scope(), 5) if ask == "newest" else rows.most_similar(Scope(), b"1234", 5))
        assert caught.value.reason == "unavailable"

    assert len(source.asked) < 20
    asked = len(source.asked)
    with pytest.raises(RetrievalError):
        await rows.newest(Scope(), 5)
    assert len(source.asked) == asked
