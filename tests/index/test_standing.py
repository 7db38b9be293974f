"""What the record says of a user, in one statement."""

import pytest

from app.db.pool import Pool
from app.errors import RetrievalError
from app.index.remembered import Standing, standing_of

MEMORY = """
    INSERT INTO ibid.memory (id, tenant, user_id, text, kind, origin, place, tokens, space, embedding)
    VALUES ($1, $2, $3, 'words', 'note', 'api', 1, 1, 's', '[1]')
"""


async def test_nobody_knows_of_a_stranger(pool: Pool) -> None:
    """Version 0, and everything may be told."""
    assert await standing_of(pool, "t", "ann") == Standing(0)


async def test_a_user_is_known_by_tenant_and_name(pool: Pool) -> None:
    """His version; no other's, and no other tenant's."""
    for tenant, user in (("t", "ann"), ("t", "ben"), ("u", "ann")):
        version = len(tenant + user) + (user == "ben")
        await pool.execute("INSERT INTO ibid.memory_user VALUES ($1, $2, $3)", tenant, user, version)
    assert await standing_of(pool, "t", "ann") == Standing(4)


async def test_of_an_erased_user_the_record_knows_the_living(pool: Pool) -> None:
    """In their order; none is none, not all. Once every engine has dropped its own, all there is may be."""
    await pool.execute("INSERT INTO ibid.memory_user (tenant, user_id, erased_at) VALUES ('t', 'ann', now())")
    assert (await standing_of(pool, "t", "ann")).since == ()
    for key in ("b", "a"):
        await pool.execute(MEMORY, key, "t", "ann")
    assert await standing_of(pool, "t", "ann") == Standing(0, ("a", "b"))
    await pool.execute("UPDATE ibid.memory_user SET ended_at = now()")
    assert await standing_of(pool, "t", "ann") == Standing(0)


async def test_without_postgres_nobody_can_say(pool: Pool) -> None:
    """A search without it might tell what was removed."""
    await pool.close()
    with pytest.raises(RetrievalError):
        await standing_of(pool, "t", "ann")
