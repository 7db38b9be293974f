"""`ibid erase`: the receipt of a person's erasure. Through a service: tests/integration/test_erasure.py."""

from io import StringIO
from typing import Any

import httpx
import pytest
from rich.console import Console

from app.cli import erase as command
from app.cli.erase import remarks, table
from tests.cli.conftest import Ibid, Running, lines

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


def test_the_receipt_is_a_table() -> None:
    """Of holdings and counts."""
    out = StringIO()

    Console(file=out, width=100, markup=False).print(table(RECEIPT))

    assert [line.split() for line in out.getvalue().splitlines()[-2:]] == [
        ["memories", "1,200"],
        ["votes", "0"],
    ]


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

    told = " / ".join(remarks({**RECEIPT, "files": files, "engines": ["qdrant"], "cached_until": "09:35"}))

    assert remarks(RECEIPT) == []
    assert remarks({**RECEIPT, "notes": ["Another keeps votes."]}) == ["Another keeps votes."]
    assert "10:00" in told
    assert "chroma (numbers" in told
    assert "qdrant: what is held" in told
    assert "postgres are" in told
    assert "09:35" in told
    assert command.PATIENCE_SECONDS >= 60
