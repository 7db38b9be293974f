"""Which files of the indexes are rewritten after an erasure."""

import pytest

from app.domain.errors import RetrievalError
from app.domain.memory import RAW
from app.index.files import PointFiles


class Engine:
    """Remembers, or fails."""

    def __init__(self, error: RetrievalError | None = None) -> None:
        self.compacted: list[str] = []
        self.error = error

    async def compact(self, name: str) -> None:
        """Once more."""
        if self.error:
            raise self.error
        self.compacted.append(name)


@pytest.mark.parametrize(
    ("holdings", "compacted"),
    [pytest.param({"memories", "votes"}, [RAW], id="memories"), pytest.param({"answers"}, [], id="others")],
)
async def test_memories_alone_are_points_of_a_person(holdings: set[str], compacted: list[str]) -> None:
    """Their collection is rewritten when one of them went."""
    engine = Engine()

    await PointFiles(engine, external=False).compact(holdings)

    assert engine.compacted == compacted


async def test_a_collection_that_is_not_there_has_no_files() -> None:
    """Nobody ever kept a memory."""
    await PointFiles(Engine(RetrievalError("unavailable", rejected=True)), external=False).compact(
        ["memories"]
    )


async def test_an_engine_that_is_away_is_told() -> None:
    """So that it is tried again."""
    with pytest.raises(RetrievalError):
        await PointFiles(Engine(RetrievalError("timeout")), external=False).compact(["memories"])
