"""`ibid erase`: the receipt of a person's erasure. Through a service: tests/integration/test_erasure.py."""

from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from app.cli import erase as command
from app.cli.erase import remarks, table
from tests.cli.conftest import Ibid, lines

RECEIPT: dict[str, Any] = {
    "user_id": "[bold]ada",
    "erased_at": "2026-11-21T09:30:00Z",
    "counts": {"memories": 1_200, "votes": 0},
    "files": {"compacted": True, "at": "2026-11-21T09:31:00Z", "by": None, "external": []},
    "cached_until": None,
}


def test_without_a_service_the_stores_are_opened(ibid: Ibid) -> None:
    """Of whom nothing is kept there is a receipt with zeros."""
    done = ibid("erase", "nobody at all", "--yes", "--json")

    (receipt,) = lines(done.out)
    assert (done.code, receipt["user_id"], receipt["files"]["compacted"]) == (0, "nobody at all", True)
    assert set(receipt["counts"].values()) == {0}


def test_it_asks_before_it_erases(ibid: Ibid, monkeypatch: pytest.MonkeyPatch) -> None:
    """And does nothing unless told so."""
    monkeypatch.setattr("sys.stdin", StringIO("n\n"))

    done = ibid("erase", "ada")

    assert (done.code, done.out.strip()) == (1, "")
    assert "Erase everything of 'ada' for good?" in done.err
    assert not ibid.data.exists()


def test_the_receipt_is_a_table() -> None:
    """Names stand as they are, also such as look like markup."""
    out = StringIO()

    Console(file=out, width=100, markup=False).print(table(RECEIPT))

    assert "[bold]ada" in out.getvalue()
    assert [line.split() for line in out.getvalue().splitlines()[-2:]] == [
        ["memories", "1,200"],
        ["votes", "0"],
    ]


def test_what_is_not_done_or_not_ours_is_told() -> None:
    """Files that are yet to be rewritten, servers', the shared cache; else nothing."""
    files = {"compacted": False, "at": None, "by": "10:00", "external": ["postgres", "qdrant"]}

    told = " / ".join(remarks({**RECEIPT, "files": files, "cached_until": "09:35"}))

    assert remarks(RECEIPT) == []
    assert "10:00" in told
    assert "postgres, qdrant" in told
    assert "09:35" in told
    assert command.PATIENCE_SECONDS >= 60
