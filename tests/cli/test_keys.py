"""`ibid keys`: made, listed and revoked beside a running service."""

import json

import httpx
import pytest

from tests.cli.conftest import Ibid, Running, lines


def test_keys_are_made_listed_and_revoked_while_a_service_runs(held: Ibid, service: Running) -> None:
    """A key is shown once, works at once, and stops working when it is revoked."""
    made = held("keys", "create", "--tenant", "acme", "--user", "ann", "--name", "laptop")
    key = made.out.strip()
    [listed] = [row for row in lines(held("keys", "list", "--json").out) if row["tenant"] == "acme"]
    head = {"Authorization": f"Bearer {key}"}

    before = httpx.get(f"{service.url}/api/documents", headers=head, trust_env=False).status_code
    revoked = held("keys", "revoke", listed["id"])

    assert (made.code, before, revoked.code) == (0, 200, 0)
    assert (listed["tenant"], listed["user"], listed["name"]) == ("acme", "ann", "laptop")
    assert key not in json.dumps(listed)
    assert held("keys", "revoke", listed["id"]).code == 1


def test_people_read_a_table(held: Ibid, service: Running) -> None:
    """Every key with what it is for; never the key."""
    made = held("keys", "create", "--tenant", "table", "--name", "kiosk")
    key = made.out.strip()
    [row] = [row for row in lines(held("keys", "list", "--json").out) if row["tenant"] == "table"]

    shown = held("keys", "list").out
    held("keys", "revoke", row["id"])

    assert row["id"] in shown
    assert "kiosk" in shown
    assert key not in shown
    assert "It is not shown again." in made.err


def test_machines_read_which_key_is_revoked(held: Ibid, service: Running) -> None:
    """With --json stdout holds JSON alone, and nothing if there is no such key."""
    [made] = lines(held("keys", "create", "--tenant", "machines", "--json").out)

    [revoked] = lines(held("keys", "revoke", made["id"], "--json").out)
    again = held("keys", "revoke", made["id"], "--json")

    assert revoked == {"id": made["id"], "revoked": True}
    assert (again.code, again.out) == (1, "")


@pytest.mark.parametrize("tenant", ["", "two\nlines", "x" * 201], ids=["empty", "line break", "long"])
def test_a_tenant_has_a_name_of_one_line(ibid: Ibid, tenant: str) -> None:
    """Anything else is wrong usage: exit code 2."""
    refused = ibid("keys", "create", "--tenant", tenant)

    assert refused.code == 2
    assert "printable" in refused.err
