"""Points of ours among others', on the real engine."""

from pathlib import Path

import pytest

from app.clients.edge import open_edge
from app.clients.points import Where
from app.domain.errors import RetrievalError
from app.index.census import Census
from tests.fakes.points import DIM, point

OURS = [point(n, tenant=tenant, space="s1") for n, tenant in enumerate(["a", "a", "b"])]
THEIRS = [point(7, tenant="a"), point(8, tenant="a", space="s0"), point(9, tenant="c", space="s1")]


async def test_ours_are_counted_whatever_else_is_there(tmp_path: Path) -> None:
    """Others' points do not hide that one of ours is lost."""
    async with open_edge(tmp_path) as engine:
        await engine.create("memory_raw", DIM, keys=("kind",), tenants=("tenant",))
        await engine.put("memory_raw", [*OURS, *THEIRS])
        census = Census(engine)

        assert await census.ours("memory_raw", "s1", ["a", "b"]) == 3
        await engine.remove("memory_raw", Where(ids=(OURS[0].id,)))
        assert await census.ours("memory_raw", "s1", ["a", "b"]) == 2
        assert await census.ours("nothing", "s1", ["a"]) == 0


async def test_an_engine_that_is_away_is_no_loss() -> None:
    """It is said."""

    class Away:
        """Does not answer."""

        async def count(self, name: str, where: Where) -> int:
            """Never."""
            raise RetrievalError("unavailable")

    with pytest.raises(RetrievalError):
        await Census(Away()).ours("memory_raw", "s1", ["a"])  # type: ignore[arg-type] # the part that is asked
