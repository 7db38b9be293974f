"""An embedded engine serves one service: the claim on the engines of a shared Postgres."""

import asyncio

import pytest

from app.db.claim import EngineClaim
from app.db.outbox import Outbox
from app.db.pool import Pool
from app.errors import Unavailable
from tests.db.test_outbox import Failing
from tests.fakes.keeping import say

LOSE = """
    SELECT pg_terminate_backend(pid) FROM pg_locks JOIN pg_database AS base ON base.oid = database
    WHERE locktype = 'advisory' AND datname = current_database()
"""


@pytest.mark.parametrize(
    ("first", "second", "missing"),
    [
        pytest.param(True, True, ["qdrant"], id="two embedded engines"),
        pytest.param(True, False, ["qdrant"], id="embedded, then a server"),
        pytest.param(False, True, ["qdrant"], id="a server, then embedded"),
        pytest.param(False, False, [], id="one server for both"),
    ],
)
async def test_an_embedded_engine_is_claimed_by_one_service(
    pool: Pool, first: bool, second: bool, missing: list[str]
) -> None:
    one, other = EngineClaim(pool, {"qdrant": first}), EngineClaim(pool, {"qdrant": second})
    assert await one.missing() == []
    assert await other.missing() == missing

    await one.release()

    assert await retried(other) == []
    await other.release()


async def test_a_claim_is_taken_anew_after_its_connection_was_lost(pool: Pool) -> None:
    """Whoever claims meanwhile has it; the first then takes nothing from the outbox."""
    one, other = EngineClaim(pool, {"qdrant": True}), EngineClaim(pool, {"qdrant": True})
    assert await one.missing() == []
    await pool.fetch(LOSE)
    assert await retried(other) == []
    await say(pool, "I moved.")
    with pytest.raises(Unavailable, match="another service"):
        await Outbox(pool, Failing(), "me", one).drain()

    await other.release()
    assert await retried(one) == []
    copy = Failing()
    await Outbox(pool, copy, "me", one).drain()

    assert len(copy.applied) == 1
    await one.release()


async def retried(claim: EngineClaim) -> list[str]:
    """What it still lacks after a moment: a backend takes some time to end."""
    missing = await claim.missing()
    for _ in range(50):
        if not missing:
            break
        await asyncio.sleep(0.1)
        missing = await claim.missing()
    return missing
