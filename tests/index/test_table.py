"""Who may see which rows."""

import pytest

from app.clients.pool import Pool
from app.domain.passage import Scope
from app.index.table import CONVERSATION, owners, rows_of
from tests.fakes.rows import conversation, insert

ROWS = [("", "THN"), ("", "DAAS"), ("", None), ("ann", "THN"), ("ben", "THN")]


@pytest.mark.parametrize(
    ("scope", "inside", "seen"),
    [
        (Scope(), False, ["/-", "/THN"]),
        (Scope(), True, ["/DAAS"]),
        (Scope(project="THN"), False, ["/THN"]),
        (Scope(project="DAAS"), False, []),
        (Scope(project="DAAS"), True, ["/DAAS"]),
        (Scope(project="THN"), True, []),
        (Scope(project=""), False, ["/-"]),
        (Scope(owner="ann"), False, ["/-", "/THN", "ann/THN"]),
        (Scope(tenant="other"), False, []),
    ],
    ids=["talks", "dreams", "THN", "no talks", "DAAS", "no dreams", "of none", "ann's too", "strangers"],
)
async def test_rows_in_reach(pool: Pool, scope: Scope, *, inside: bool, seen: list[str]) -> None:
    """The tenant's shared ones and the asker's own, of the scope's project or of all that the source has."""
    for owner, project in ROWS:
        await insert(pool, CONVERSATION.name, conversation(Scope(owner=owner), project, "x"))
    where = rows_of(scope, {"DAAS"}, inside=inside)
    found = await pool.fetch(
        f"SELECT owner || '/' || coalesce(project, '-') FROM public.conversation_index WHERE {where.sql}",  # noqa: S608 - ours
        *where.values,
    )
    assert sorted(row[0] for row in found) == seen


def test_owners_are_each_named_once() -> None:
    """A tenant key's own rows are the shared ones."""
    assert owners(Scope()) == [""]
    assert owners(Scope(owner="ann")) == ["", "ann"]
