"""Which collection stands for which."""

from app.clients.pool import Pool
from app.stores.homes import HomeStore


async def test_a_home_is_kept_once_for_all(pool: Pool) -> None:
    """What was written to the first one is not lost to a second."""
    store = HomeStore(pool)
    assert await store.all() == {}
    assert [await store.keep("a", home) for home in ("a_ibid", "elsewhere")] == ["a_ibid", "a_ibid"]
    await store.keep("b", "b_ibid")
    assert await store.all() == {"a": "a_ibid", "b": "b_ibid"}
