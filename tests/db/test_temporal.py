"""When somebody last said something."""

import math
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Role, Turn
from app.db.answers import AnswerStore
from app.db.memories import Moment
from app.db.pool import Pool
from app.db.votes import TemporalStore, bucket
from app.errors import RetrievalError
from app.types import Scope
from tests.fakes.kept import answered

ADA = Scope("acme", user_id="ada")
HOUR, DAY = 3_600.0, 86_400.0
ORDER = ("minutes", "hours", "days", "weeks", "months")


@pytest.mark.parametrize(
    ("seconds", "name"),
    [
        (None, "new"),
        (0.0, "minutes"),
        (HOUR - 0.001, "minutes"),
        (HOUR, "hours"),
        (24 * HOUR - 0.001, "hours"),
        (24 * HOUR, "days"),
        (7 * DAY - 0.001, "days"),
        (7 * DAY, "weeks"),
        (31 * DAY - 0.001, "weeks"),
        (31 * DAY, "months"),
        (math.inf, "months"),
    ],
)
def test_buckets_end_where_the_contract_says(seconds: float | None, name: str) -> None:
    """Each just before its hour or day."""
    assert bucket(seconds) == name


@given(st.floats(0, 1e10), st.floats(0, 1e10))
def test_law_longer_ago_is_no_nearer_bucket(one: float, other: float) -> None:
    """In their order."""
    nearer, farther = sorted((one, other))
    assert ORDER.index(bucket(nearer)) <= ORDER.index(bucket(farther))


async def test_a_new_user_is_new(pool: Pool) -> None:
    """As is a scope without one."""
    store = TemporalStore(pool)
    assert await store.last(ADA) == await store.last(replace(ADA, user_id=None)) == Moment("new")


async def test_an_answer_marks_its_user(pool: Pool) -> None:
    """From its record on, for that user of that tenant alone."""
    await AnswerStore(pool).keep(ADA, answered(), [Turn(Role.USER, "hello")])
    found = await TemporalStore(pool).last(ADA)
    assert found.bucket == "minutes"
    assert found.last_message_at is not None
    assert (datetime.now(UTC) - found.last_message_at).total_seconds() < 60
    assert 0 <= (found.seconds_since or 0) < 60
    for other in (replace(ADA, user_id="bob"), replace(ADA, tenant="other")):
        assert await TemporalStore(pool).last(other) == Moment("new")


async def test_the_time_is_the_database_s(pool: Pool) -> None:
    """Two days and a bit ago; a clock that was ahead is not in the future."""
    await pool.execute("INSERT INTO ibid.activity VALUES ('acme', 'ada', now() - interval '49 hours')")
    found = await TemporalStore(pool).last(ADA)
    assert found.bucket == "days"
    assert found.seconds_since == pytest.approx(49 * HOUR, abs=60)
    await pool.execute("UPDATE ibid.activity SET last_message_at = now() + interval '1 hour'")
    assert (await TemporalStore(pool).last(ADA)).seconds_since == 0


async def test_postgres_away_costs_no_answer(pool: Pool) -> None:
    """It is a fault of reading."""
    await pool.close()
    with pytest.raises(RetrievalError):
        await TemporalStore(pool).last(ADA)
