"""`/temporal/{user_id}`: when a person last said something (`domain/memory.Temporal`, `ibid.activity`).

The clock is Postgres's, which also wrote the time: replicas need not agree with each other. Seconds.
A request marks its user active with its record, at its end: what it reads at its beginning is what was before
it. Raises `RetrievalError`. Source: CONTRACT §2 (buckets).
"""

from app.clients.pool import Pool
from app.domain.memory import Moment
from app.domain.passage import Scope

DAY = 86_400.0
BUCKETS = (("minutes", 3_600.0), ("hours", DAY), ("days", 7 * DAY), ("weeks", 31 * DAY))
"""Each with the seconds it ends before."""
LAST = """
    SELECT last_message_at, greatest(extract(epoch FROM now() - last_message_at), 0)::float8 AS seconds
    FROM ibid.activity WHERE tenant = $1 AND user_id = $2
"""


class TemporalStore:
    """The activity."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool

    async def last(self, scope: Scope) -> Moment:
        """Of the scope's user."""
        if not scope.user_id:
            return Moment(bucket(None))
        with self._pool.reading():
            row = await self._pool.fetchrow(LAST, scope.tenant, scope.user_id)
        if row is None:
            return Moment(bucket(None))
        return Moment(bucket(row["seconds"]), row["last_message_at"], row["seconds"])


def bucket(seconds: float | None) -> str:
    """How long ago that is, in a word; None: never."""
    if seconds is None:
        return "new"
    return next((name for name, end in BUCKETS if seconds < end), "months")
