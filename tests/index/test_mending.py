"""Chroma filled from the record in the background, again and again until it is done; the real stores are in
tests/sources."""

import asyncio
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from typing import cast

import pytest

from app.domain.document import Part
from app.domain.errors import RetrievalError, Unavailable
from app.domain.space import Space
from app.index import mending as room
from app.index.mending import Mending
from app.index.place import Listed
from app.index.record import Record
from app.index.stacks import Stacks
from app.index.vectors import VectorIndex

SPACE = Space("bag@32", "bag", 32, 0.0)
PART = Part("default")


class Few:
    """A record of three documents, a Chroma that lacks them, and what was done; all three in one."""

    def __init__(self) -> None:
        self.current = True
        self.faults: list[Exception] = []
        self.mended_ids: list[str] = []
        self.dropped = 0
        self.told_filled = 0

    async def is_current(self, space: str) -> bool:
        """As set."""
        return self.current

    async def ready(self, after: str) -> list[tuple[Part, Listed]]:
        """One document a page."""
        documents = [Listed(key, key, key, "", 1, datetime.now(UTC)) for key in "abc" if key > after]
        return [(PART, document) for document in documents[:1]]

    async def mended(self, part: Part, item: Listed) -> bool:
        """Once each; fails first as often as told."""
        if self.faults:
            raise self.faults.pop()
        had_to = item.id not in self.mended_ids
        self.mended_ids.append(item.id)
        await asyncio.sleep(0.01)
        return had_to

    async def filled(self) -> None:
        """Noted."""
        self.told_filled += 1

    async def forget_others(self) -> int:
        """One."""
        self.dropped += 1
        return 1


@pytest.fixture
def few() -> Few:
    """Fresh."""
    return Few()


@pytest.fixture
async def mending(few: Few, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Mending]:
    """Over these, without patience."""
    monkeypatch.setattr(room, "AGAIN_SECONDS", 0.0)
    made = Mending(cast(Record, few), cast(VectorIndex, few), cast(Stacks, few), SPACE)
    yield made
    await made.aclose()


async def done(mending: Mending) -> None:
    """Until the refill has ended."""
    assert mending._filling
    await mending._filling


async def test_a_refill_looks_at_every_document_and_drops_nothing(few: Few, mending: Mending) -> None:
    """Page by page; other spaces may be another replica's."""
    mending.begin()
    await done(mending)
    assert (few.mended_ids, few.dropped) == (["a", "b", "c"], 0)
    assert few.told_filled == 1


@pytest.mark.parametrize("fault", [RetrievalError("unavailable"), Unavailable("down")])
async def test_a_refill_that_fails_is_tried_again(few: Few, mending: Mending, fault: Exception) -> None:
    """Until it is whole."""
    few.faults = [fault, fault]
    mending.begin()
    await done(mending)
    assert few.mended_ids == ["a", "b", "c"]


async def test_of_a_space_that_is_not_current_nothing_is_filled(few: Few, mending: Mending) -> None:
    """Its vectors are still to be made: the record would give zeros."""
    few.current = False
    mending.begin()
    await done(mending)
    assert (few.mended_ids, few.told_filled) == ([], 0)


async def test_begun_again_it_starts_over(few: Few, mending: Mending) -> None:
    """What was written before the loss is looked at again."""
    mending.begin()
    await asyncio.sleep(0.015)
    mending.begin()
    await done(mending)
    assert few.mended_ids[0] == "a"
    assert few.mended_ids[-3:] == ["a", "b", "c"]


async def test_it_ends_when_it_is_closed(few: Few, mending: Mending) -> None:
    """Also while it waits to try again; closing what never began is no error."""
    few.faults = [RetrievalError("timeout")] * 1_000_000
    mending.begin()
    await asyncio.sleep(0.02)
    await mending.aclose()
    assert mending._filling
    assert mending._filling.cancelled()
    assert few.told_filled == 0


async def test_a_rebuild_counts_and_drops(few: Few, mending: Mending) -> None:
    """How many documents had to be mended; other spaces go."""
    assert [await mending.rebuild(), await mending.rebuild()] == [3, 0]
    assert few.dropped == 2
