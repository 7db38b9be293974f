"""Two databases are told apart, however much alike they look from inside."""

import asyncpg
import pytest

from app.db.embedded import Cluster
from app.db.pool import Pool, open_pool
from app.db.postgres import SERVER, identity


@pytest.fixture
async def admin(cluster: Cluster, pool: Pool) -> asyncpg.Connection:
    """A superuser in this test's database."""
    return await asyncpg.connect(
        cluster.quarters.dsn("postgres", await pool.fetchval("SELECT current_database()"))
    )


async def test_it_stays_the_same(pool: Pool, dsn: str) -> None:
    """For every replica, and after every start."""
    async with open_pool(dsn) as other:
        assert await identity(other) == await identity(pool)


async def test_a_copy_is_another_database(cluster: Cluster, pool: Pool, admin: asyncpg.Connection) -> None:
    """Row for row the same, tenants and their times included: as a restored dump is."""
    await admin.execute("CREATE DATABASE twin TEMPLATE ibid OWNER ibid")
    made = "SELECT created_at FROM ibid.tenant WHERE id = 'default'"
    try:
        async with open_pool(cluster.quarters.dsn("ibid", "twin")) as twin:
            assert await twin.fetchval(made) == await pool.fetchval(made)
            assert await identity(twin) != await identity(pool)
    finally:
        await admin.execute("DROP DATABASE twin WITH (FORCE)")
        await admin.close()


async def test_tables_made_anew_are_another_database(pool: Pool) -> None:
    """Its number and name stay, what it held is gone."""
    before = await identity(pool)
    await pool.execute("UPDATE ibid.tenant SET created_at = created_at + interval '1 microsecond'")
    assert await identity(pool) != before


async def test_a_server_that_does_not_say_which_it_is_will_do(pool: Pool, admin: asyncpg.Connection) -> None:
    """The right to ask may be missing: then the rest tells."""
    before = await identity(pool)
    await admin.execute("REVOKE EXECUTE ON FUNCTION pg_control_system() FROM PUBLIC")
    await admin.close()
    with pytest.raises(asyncpg.InsufficientPrivilegeError):
        await pool.fetchval(SERVER)
    assert len(await identity(pool)) == len(before)
    assert await identity(pool) != before
