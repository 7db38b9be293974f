"""Votes and activity, for those who cannot do without."""

from collections.abc import Sequence
from dataclasses import dataclass

import pytest

from app.db.memories import Moment, Tallies, Tally
from app.errors import IbidError, Missing, Rejected, RetrievalError, Unavailable
from app.services.feedback import SignalService
from app.types import Scope

ADA = Scope(user_id="ada")


@dataclass
class Store:
    """Votes on `m1`, and a moment; or a fault."""

    error: IbidError | None = None

    async def cast(self, scope: Scope, memory_id: str, signal: int, *, answer_id: str | None) -> bool:
        """Taken."""
        self._fault()
        return answer_id is None

    async def judge(self, scope: Scope, ids: Sequence[str], signal: int, *, answer_id: str) -> list[str]:
        """All."""
        return list(ids)

    async def tallies(self, scope: Scope, ids: Sequence[str]) -> Tallies:
        """Those there are."""
        self._fault()
        return Tallies({"m1": Tally(1, 2)})

    async def last(self, scope: Scope) -> Moment:
        """Days ago."""
        self._fault()
        return Moment("days")

    def _fault(self) -> None:
        if self.error:
            raise self.error


async def test_what_is_there() -> None:
    """Each memory that was asked for has its votes, if none."""
    service = SignalService(Store(), Store())
    assert await service.tallies(ADA, ["m2", "m1"]) == {"m2": Tally(), "m1": Tally(1, 2)}
    assert await service.last(ADA) == Moment("days")
    assert [await service.cast(ADA, "m1", 1, answer_id=key) for key in (None, "a")] == [True, False]


@pytest.mark.parametrize(
    ("error", "kind"),
    [(RetrievalError("timeout"), Unavailable), (RetrievalError("unavailable", rejected=True), Rejected)],
    ids=["away", "refused"],
)
async def test_faults_of_reading_are_told(error: IbidError, kind: type[IbidError]) -> None:
    """There is no answer to fall back on here."""
    service = SignalService(Store(error), Store(error))
    with pytest.raises(kind):
        await service.tallies(ADA, ["m1"])
    with pytest.raises(kind):
        await service.last(ADA)


async def test_another_s_memory_is_missing() -> None:
    """As the store says."""
    with pytest.raises(Missing):
        await SignalService(Store(Missing()), Store()).cast(ADA, "m1", 1, answer_id=None)
