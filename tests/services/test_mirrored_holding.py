"""A holding in the record and in an index: no row or point of it is forgotten."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest

from app.errors import Unavailable
from app.services.users import MirroredHolding
from app.types import Scope
from tests.fakes.holdings import FakeHolding

ADA = Scope(user_id="ada")
WHO = ("default", "ada")


@dataclass
class Record:
    """Rows, and whether the engine was given back what was written meanwhile."""

    rows: list[Mapping[str, object]] = field(default_factory=lambda: [{"id": "a"}, {"id": "b"}])
    entered: bool = False

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """All of them."""
        for row in self.rows:
            yield row

    async def erase(self, scope: Scope) -> int:
        """Gone."""
        count = len(self.rows)
        self.rows.clear()
        return count

    async def enter(self, scope: Scope) -> None:
        """Told."""
        self.entered = True


async def test_points_that_others_wrote_are_told_too() -> None:
    """After the rows, each thing once."""
    index = FakeHolding("memories", {WHO: [{"id": "b", "of": "index"}, {"id": "z"}]})

    told = [row async for row in MirroredHolding(Record(), index).export(ADA)]

    assert told == [{"id": "a"}, {"id": "b"}, {"id": "z"}]


@pytest.mark.parametrize(
    ("points", "count"),
    [pytest.param(5, 5, id="others' points too"), pytest.param(0, 2, id="an index that lost them")],
)
async def test_what_either_had_counts(points: int, count: int) -> None:
    """A point is its row's, so the two are not added."""
    index = FakeHolding("memories", {WHO: [{"id": str(n)} for n in range(points)]})
    record = Record()

    assert await MirroredHolding(record, index).erase(ADA) == count
    assert (record.rows, record.entered) == ([], True)


async def test_an_engine_that_is_away_keeps_no_row() -> None:
    """What others wrote there goes when it is asked for again."""
    record = Record()

    with pytest.raises(Unavailable):
        await MirroredHolding(record, FakeHolding("memories", error=Unavailable("down"))).erase(ADA)

    assert (record.rows, record.entered) == ([], False)
