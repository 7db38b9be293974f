"""A holding in the record and in an index: no row or point of it is forgotten."""

from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass, field

import pytest

from app.domain.errors import Unavailable
from app.domain.passage import Scope
from app.services.twofold import Twofold
from tests.fakes.holdings import FakeHolding

ADA = Scope(user_id="ada")
WHO = ("default", "ada")


@dataclass
class Record:
    """Rows that are withdrawn before they are forgotten."""

    rows: list[Mapping[str, object]] = field(default_factory=lambda: [{"id": "a"}, {"id": "b"}])
    withdrawn: bool = False
    forgotten: bool = False

    async def export(self, scope: Scope) -> AsyncIterator[Mapping[str, object]]:
        """All of them."""
        for row in self.rows:
            yield row

    async def withdraw(self, scope: Scope) -> int:
        """Unseen."""
        self.withdrawn = True
        return len(self.rows)

    async def forget(self, scope: Scope) -> None:
        """Gone."""
        self.forgotten = True


async def test_points_that_others_wrote_are_told_too() -> None:
    """After the rows, each thing once."""
    index = FakeHolding("memories", {WHO: [{"id": "b", "of": "index"}, {"id": "z"}]})

    told = [row async for row in Twofold(Record(), index).export(ADA)]

    assert told == [{"id": "a"}, {"id": "b"}, {"id": "z"}]


@pytest.mark.parametrize(
    ("points", "count"),
    [pytest.param(5, 5, id="others' points too"), pytest.param(0, 2, id="an index that lost them")],
)
async def test_what_either_had_counts(points: int, count: int) -> None:
    """A point is its row's, so the two are not added."""
    index = FakeHolding("memories", {WHO: [{"id": str(n)} for n in range(points)]})
    record = Record()

    assert await Twofold(record, index).erase(ADA) == count
    assert (record.withdrawn, record.forgotten) == (True, True)


async def test_an_index_that_is_away_leaves_the_rows_removed() -> None:
    """Unseen already; a repair, or asking again, clears them away."""
    record = Record()

    with pytest.raises(Unavailable):
        await Twofold(record, FakeHolding("memories", error=Unavailable("down"))).erase(ADA)

    assert (record.withdrawn, record.forgotten) == (True, False)
