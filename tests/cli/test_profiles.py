"""`ibid profiles` through a running service: cards computed from what people said, and used."""

import httpx
import pytest

from app.db.embedded import read_lock
from tests.cli.conftest import Ibid, Running, lines

SAID = ("I need more sleep and rest.", "My workout as a list.", "Rest days matter to my training plan.")
ALL = ["gravity_profile", "vb_desire_profile", "style", "persona"]


def local(held: Ibid, service: Running) -> httpx.Client:
    """Speaks as commands do, whether another test has closed the service by a key or not."""
    lock = read_lock(held.data)
    assert lock
    return httpx.Client(
        base_url=service.url, headers={"Authorization": f"Bearer {lock.token}"}, timeout=60, trust_env=False
    )


@pytest.fixture(scope="module")
def spoken(held: Ibid, service: Running) -> None:
    """Two users said something."""
    with local(held, service) as client:
        for user, texts in (("profiled-ada", SAID), ("profiled-bob", SAID[:1])):
            memories = [{"user_id": user, "text": text} for text in texts]
            assert client.post("/memories", json=memories).status_code == 201


def test_one_user_s_cards_are_told(held: Ibid, spoken: None) -> None:
    """In a line, with how much they were made of."""
    done = held("profiles", "--user", "profiled-ada")
    assert done.code == 0
    assert done.out.splitlines() == [f"profiled-ada: 3 messages; {', '.join(ALL)}", "1 user, 3 messages."]


def test_all_users_are_told_to_machines(held: Ibid, spoken: None) -> None:
    """An object a user; computed again, the cards are not counted as messages."""
    found = {item["user_id"]: item for item in lines(held("profiles", "--json").out)}
    assert found["profiled-ada"] == {"user_id": "profiled-ada", "messages": 3, "kinds": ALL}
    assert found["profiled-bob"]["messages"] == 1


def test_cards_are_memories_that_answers_use(held: Ibid, service: Running, spoken: None) -> None:
    """One of each kind, however often they are computed; their weights rank the next answer."""
    for _ in range(2):
        held("profiles", "--user", "profiled-ada")
    with local(held, service) as client:
        kept = client.get("/memories", params={"user_id": "profiled-ada"}).json()["items"]
        asked = {"user_id": "profiled-ada", "message": "How much rest and sleep did I want?"}
        told = client.post("/rag/query", json=asked).json()
    assert sorted(item["kind"] for item in kept if item["kind"] != "note") == sorted(ALL)
    assert told["meta_explanation"]["gravity"]["label"] != "unknown"
    assert {item["kind"] for item in told["memory_used"]} == {"note"}
    assert any(item["boosts"]["vb_desire"] > 1 for item in told["memory_used"])


def test_another_tenant_has_its_own_users(held: Ibid, spoken: None) -> None:
    """Here: none."""
    done = held("profiles", "--tenant", "elsewhere")
    assert (done.code, done.out) == (0, "0 users, 0 messages.\n")


def test_nobody_known_gets_no_cards(held: Ibid, spoken: None) -> None:
    """That is no failure."""
    done = held("profiles", "--user", "stranger")
    assert (done.code, done.out.splitlines()[0]) == (0, "stranger: 0 messages; no cards: nothing said")
