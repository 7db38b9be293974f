"""API keys: look-ups, the cache that bridges an outage, bootstrap keys."""

import asyncio
import hashlib
import re
import string
from random import Random

import pytest

from app.db import keys as keys_
from app.db.keys import FRESH, OUTAGE, PAUSE, Caller, KeyStore
from app.db.pool import Pool
from app.errors import StartError, Unavailable


class Hand:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


STRONG = "strong-9f3c71e0b28d46a5"


@pytest.fixture
def clock() -> Hand:
    return Hand()


@pytest.fixture
def keys(pool: Pool, clock: Hand) -> KeyStore:
    return KeyStore(pool, clock)


async def test_a_key_stands_for_its_tenant_or_user(keys: KeyStore) -> None:
    _, tenant_key = await keys.create("acme")
    _, user_key = await keys.create("acme", user="alice")
    assert await keys.find(tenant_key) == Caller("acme", None)
    assert await keys.find(user_key) == Caller("acme", "alice")


async def test_the_key_itself_is_not_kept(keys: KeyStore, pool: Pool) -> None:
    """Its SHA-256 is, and its first characters, which tell it apart but give nothing away."""
    made, key = await keys.create("Acme & Sons", name="laptop")
    assert re.fullmatch(r"ibid_acmesons_[0-9a-f]{48}", key)
    row = await pool.fetchrow("SELECT * FROM ibid.api_key")
    assert row is not None
    assert row["sha256"] == hashlib.sha256(key.encode()).digest()
    assert key not in str(dict(row))
    assert (made.prefix, made.name) == (key[: len("ibid_acmesons_") + 4], "laptop")


async def test_the_first_key_closes_the_service_for_good(keys: KeyStore, pool: Pool) -> None:
    assert not await keys.any()
    made, _ = await keys.create("acme")
    assert await keys.any()
    assert await keys.revoke(made.id)
    assert await keys.any()
    assert await KeyStore(pool).any()


async def test_revoked_here_is_revoked_at_once(keys: KeyStore) -> None:
    made, key = await keys.create("acme")
    assert await keys.find(key)
    assert await keys.revoke(made.id)
    assert await keys.find(key) is None
    assert not await keys.revoke(made.id)
    (listed,) = await keys.list()
    assert listed.revoked_at is not None


async def test_revoked_elsewhere_is_seen_within_seconds(keys: KeyStore, pool: Pool, clock: Hand) -> None:
    made, key = await keys.create("acme")
    assert await keys.find(key)
    await KeyStore(pool).revoke(made.id)
    clock.now += FRESH + 0.1
    assert await keys.find(key) is None


async def test_a_tenant_revokes_its_own_only(keys: KeyStore) -> None:
    made, key = await keys.create("acme")
    assert not await keys.revoke(made.id, "other")
    assert not await keys.revoke("a\0b")
    assert await keys.find(key)


async def test_a_key_seen_lately_bridges_an_outage(keys: KeyStore, pool: Pool, clock: Hand) -> None:
    """For 60 seconds from its last confirmation; so does the answer whether there are keys."""
    _, key = await keys.create("acme")
    assert await keys.find(key)
    assert await keys.any()
    await pool.close()
    clock.now += OUTAGE - 1
    assert await keys.find(key) == Caller("acme", None)
    assert await keys.any()
    clock.now += 2
    with pytest.raises(Unavailable):
        await keys.find(key)
    with pytest.raises(Unavailable):
        await keys.any()


async def test_an_outage_lets_no_unknown_key_in(keys: KeyStore, pool: Pool) -> None:
    await pool.close()
    with pytest.raises(Unavailable):
        await keys.find("ibid_acme_unknown")


async def test_in_an_outage_not_every_request_asks(
    keys: KeyStore, pool: Pool, clock: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, key = await keys.create("acme")
    await keys.find(key)
    await pool.close()
    clock.now += FRESH + 1
    asked = 0

    async def away(*_: object, **__: object) -> None:
        nonlocal asked
        asked += 1
        raise ConnectionRefusedError

    monkeypatch.setattr(keys, "_pool", type("Away", (), {"fetch": staticmethod(away)}))
    for _ in range(10):
        assert await keys.find(key)
        with pytest.raises(Unavailable):
            await keys.find("ibid_acme_unknown")
    assert asked == 1
    clock.now += PAUSE
    assert await keys.find(key)
    assert asked == 2


async def test_a_silent_database_holds_up_one_request(
    keys: KeyStore, clock: Hand, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While one waits for its look-up, the others are served at once by what was known."""
    _, key = await keys.create("acme")
    await keys.find(key)
    clock.now += FRESH + 1
    away = type("Silent", (), {"fetch": staticmethod(lambda *_: asyncio.sleep(30))})
    monkeypatch.setattr(keys, "_pool", away)
    monkeypatch.setattr(keys_, "LOOKUP_SECONDS", 0.2)
    with pytest.raises(Unavailable):
        await keys.find("ibid_acme_unknown")
    clock.now += PAUSE
    waiting = asyncio.create_task(keys.find(key))
    await asyncio.sleep(0)
    async with asyncio.timeout(0.1):
        assert await keys.find(key)
    assert not waiting.done()
    assert await waiting


async def test_bootstrap_makes_one_tenant_key(keys: KeyStore) -> None:
    await keys.bootstrap(STRONG)
    await keys.bootstrap(STRONG)
    assert await keys.find(STRONG) == Caller("default", None)
    assert len(await keys.list()) == 1


async def test_bootstrap_does_not_revive(keys: KeyStore) -> None:
    await keys.bootstrap(STRONG)
    (made,) = await keys.list()
    await keys.revoke(made.id)
    await keys.bootstrap(STRONG)
    assert await keys.find(STRONG) is None


WEAK = [
    "hunter2",
    "a" * 60,
    "ab" * 30,
    "0123456789" * 6,
    "abcdefghijklmnopqrstuvwxyz0123456789",
    "qwertyuiopasdfghjklzxcvbnm",
    "changeme-changeme-changeme",
    "changemechangeme1234567",
    "Changeme-Bootstrap-Key",
    "change-me-in-production",
    "passwordpassword1234",
    "correct-horse-battery",
    "my-super-secret-api-key-2024",
    "admin_admin_root_secret_token_value",
    "this-is-a-long-passphrase-with-many-words",
    "xK9!xK9!xK9!xK9!xK9!xK9!",
]


@pytest.mark.parametrize("key", WEAK)
async def test_bootstrap_refuses_a_weak_key(keys: KeyStore, key: str) -> None:
    with pytest.raises(StartError, match="IBID_BOOTSTRAP_KEY"):
        await keys.bootstrap(key)

    assert await keys.list() == []


async def test_random_keys_are_strong(keys: KeyStore) -> None:
    random = Random(0)  # noqa: S311 - the same in each run
    for alphabet in (string.hexdigits[:16], string.ascii_letters + string.digits + "-_"):
        for _ in range(20):
            await keys.bootstrap("".join(random.choices(alphabet, k=32)))

    assert len(await keys.list()) == 40
