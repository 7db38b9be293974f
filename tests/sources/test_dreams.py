"""Dreams: rows of projects that keep them."""

from app.db.pool import Pool
from app.types import Query, Scope
from app.wiring import Rows
from tests.fakes.filing import bag
from tests.fakes.recollections import given
from tests.fakes.rows import CONVERSATION, conversation, insert, told

DAAS = Scope(project="DAAS")


async def test_dreams_are_what_their_projects_have(pool: Pool, rows: Rows) -> None:
    """No conversation among them, whether the project is named or not."""
    await told(pool, Scope(), "DAAS", ["sea dream"])
    await told(pool, Scope(), "THN", ["sea talk"])
    await told(pool, Scope(), None, ["sea note"])
    for scope in (DAAS, Scope()):
        assert [each.text for each in await rows.dreams.most_similar(scope, bag("sea"), 5)] == ["sea dream"]
        assert [each.text for each in await rows.dreams.newest(scope, 5)] == ["sea dream"]
    assert await rows.dreams.newest(Scope(project="THN"), 5) == []


async def test_a_dream_is_told_by_its_short_summary(pool: Pool, rows: Rows) -> None:
    """As it is shown; found by the detailed one, too."""
    columns = {"title": "Flying", "summary_short": "over an ocean", "memory_snippet": "free"}
    await insert(pool, CONVERSATION, conversation(Scope(), "DAAS", "unburdened", **columns))
    legs = await (await rows.dreams.reach(DAAS)).search(Query("unburdened", DAAS), given(None))
    [found] = legs.passages.values()
    assert found.text == "Flying\nover an ocean\nfree"
    assert found.fields["summary_detailed"] == "unburdened"
    assert found.label.startswith("dream#")
