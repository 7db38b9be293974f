"""How a user's memories stand in the record: their version, and whether an erasure is under way. Raises
`RetrievalError`.
"""

from dataclasses import dataclass

from app.clients.pool import Pool

# Until an erasure is whole (alembic 0009) nothing of the user is told but what was written since: the record
# knows that, while points that were to go may be there yet, or have outlived it in an engine that was down.
USER = """
    SELECT coalesce(known.version, 0) AS version,
        CASE WHEN known.erased_at IS NOT NULL AND known.ended_at IS NULL THEN ARRAY(SELECT id FROM ibid.memory
            WHERE tenant = $1 AND user_id = $2 ORDER BY id) END AS since
    FROM (SELECT) AS one
    LEFT JOIN ibid.memory_user AS known ON known.tenant = $1 AND known.user_id = $2
"""


@dataclass(frozen=True, slots=True)
class Standing:
    """What the record says."""

    version: int
    """Grows with every write that a search would see."""
    since: tuple[str, ...] | None = None
    """All that may be told; None: whatever is there."""


async def of_user(pool: Pool, tenant: str, user_id: str) -> Standing:
    """A user's memories."""
    with pool.reading():
        row = await pool.fetchrow(USER, tenant, user_id)
    assert row is not None  # noqa: S101 - it joins to one row of its own
    since = row["since"]
    return Standing(row["version"], None if since is None else tuple(since))
