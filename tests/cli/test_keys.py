"""`ibid keys`, `ibid profiles` and `ibid erase` beside a running service."""

import json
from io import StringIO
from typing import Any

import httpx
import pytest

from app.cli.users import erased_remarks
from app.db.folder import read_lock
from tests.cli.conftest import Ibid, Running, lines
from tests.cli.test_asking import Screen


def test_keys_are_made_listed_and_revoked_while_a_service_runs(held: Ibid, service: Running) -> None:
    """A key is shown once, works at once, and stops working when it is revoked."""
    made = held("keys", "create", "--tenant", "acme", "--user", "ann", "--name", "laptop")
    key = made.out.strip()
    [listed] = [row for row in lines(held("keys", "list", "--json").out) if row["tenant"] == "acme"]
    head = {"Authorization": f"Bearer {key}"}

    before = httpx.get(f"{service.url}/api/documents", headers=head, trust_env=False).status_code
    revoked = held("keys", "revoke", listed["id"])

    assert (made.code, before, revoked.code) == (0, 200, 0)
    prefix, today = listed["prefix"], listed["created_at"][:10]
    row = f"{listed['id']}\tacme\tann\tlaptop\t{prefix}\t{today}\t{today}"
    assert row in held("keys", "list").out.splitlines()
    narrow = Screen(held, "keys", "list", COLUMNS="60")
    assert narrow.ended() == 0
    assert f"{listed['id']}  acme" in narrow.shown
    assert (listed["tenant"], listed["user"], listed["name"]) == ("acme", "ann", "laptop")
    assert key not in json.dumps(listed)
    assert held("keys", "revoke", listed["id"]).code == 1


@pytest.mark.parametrize("tenant", ["", "two\nlines", "x" * 201], ids=["empty", "line break", "long"])
def test_a_tenant_has_a_name_of_one_line(ibid: Ibid, tenant: str) -> None:
    """Anything else is wrong usage: exit code 2."""
    refused = ibid("keys", "create", "--tenant", tenant)

    assert refused.code == 2
    assert "printable" in refused.err


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


RECEIPT: dict[str, Any] = {
    "tenant": "acme",
    "user_id": "[bold]ada",
    "erased_at": "2026-11-21T09:30:00Z",
    "counts": {"memories": 1_200, "votes": 0},
    "files": {"compacted": True, "at": "2026-11-21T09:31:00Z", "by": None, "pending": [], "external": []},
    "engines": [],
    "cached_until": None,
    "notes": [],
}


def test_without_a_service_the_stores_are_opened(begun: Ibid) -> None:
    """Of whom nothing is kept there is a receipt with zeros."""
    done = begun("erase", "nobody at all", "--yes", "--json")

    (receipt,) = lines(done.out)
    assert receipt["tenant"] == "default"
    assert (done.code, receipt["user_id"], receipt["files"]["compacted"]) == (0, "nobody at all", True)
    assert set(receipt["counts"].values()) == {0}


def test_it_asks_before_it_erases(ibid: Ibid, monkeypatch: pytest.MonkeyPatch) -> None:
    """And does nothing unless told so."""
    monkeypatch.setattr("sys.stdin", StringIO("n\n"))

    done = ibid("erase", "ada")

    assert (done.code, done.out.strip()) == (1, "")
    assert "Erase everything of 'ada' in tenant 'default' for good?" in done.err
    assert not ibid.data.exists()


def test_another_tenants_user_is_erased_through_the_service(held: Ibid, service: Running) -> None:
    """Only theirs: of a name in `default` nothing is kept, and that is said."""
    key = held("keys", "create", "--tenant", "guild").out.strip()
    note = {"user_id": "eve", "text": "Prefers tea."}
    head = {"Authorization": f"Bearer {key}"}
    kept = httpx.post(f"{service.url}/memories", json=note, headers=head, trust_env=False)

    other = held("erase", "eve", "--yes")
    hers = held("erase", "eve", "--tenant=guild", "--yes")

    assert kept.status_code < 300, kept.text
    assert "Nothing was kept of eve in tenant default." in other.err
    assert hers.out.startswith("eve in tenant guild, ")
    assert "Nothing was kept" not in hers.err
    assert ["memories", "1"] in [line.split() for line in hers.out.splitlines()]


def test_what_is_not_done_or_not_ours_is_told() -> None:
    """Files that are yet to be rewritten, or too large, servers', the shared cache; else nothing."""
    files = {"compacted": False, "at": None, "by": "10:00", "pending": ["chroma"], "external": ["postgres"]}

    told = " / ".join(
        erased_remarks({**RECEIPT, "files": files, "engines": ["qdrant"], "cached_until": "09:35"})
    )

    assert not list(erased_remarks(RECEIPT))
    assert list(erased_remarks({**RECEIPT, "notes": ["Another keeps votes."]})) == ["Another keeps votes."]
    assert "10:00" in told
    assert "chroma (numbers" in told
    assert "qdrant: what is held" in told
    assert "postgres are" in told
    assert "09:35" in told
