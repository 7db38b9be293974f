"""A project's knowledge, as those who keep it see it."""

from dataclasses import replace

import pytest

from app.db.projects import Knowledge, KnowledgeChange, KnowledgeNote
from app.errors import Forbidden, InvalidField, Missing, RetrievalError, Unavailable
from app.services.projects import KnowledgeService
from app.types import Scope
from tests.fakes.answering import Words
from tests.fakes.talks import FakeKnowledge

THN = Scope("acme", project="THN")
ADA = replace(THN, owner="ada", user_id="ada")
ALL = Knowledge("Overview.", "Rules.", (KnowledgeNote("A", "b"),))


@pytest.fixture
def record() -> FakeKnowledge:
    return FakeKnowledge()


@pytest.fixture
def service(record: FakeKnowledge) -> KnowledgeService:
    return KnowledgeService(record, Words().count, 100)


async def test_it_is_written_whole_or_in_parts(service: KnowledgeService) -> None:
    assert await service.put(THN, ALL) == ALL
    assert await service.merge(THN, KnowledgeChange(rules="")) == replace(ALL, rules="")
    assert await service.get(THN) == replace(ALL, rules="")


async def test_it_is_the_tenant_s_to_write(service: KnowledgeService) -> None:
    await service.put(THN, ALL)

    assert await service.get(ADA) == ALL
    for asked in (service.put(ADA, ALL), service.merge(ADA, KnowledgeChange()), service.remove(ADA)):
        with pytest.raises(Forbidden):
            await asked
    assert await service.get(THN) == ALL


@pytest.mark.parametrize(
    ("told", "field"),
    [
        (Knowledge("word " * 30), "body.overview"),
        (Knowledge("word " * 9, "word " * 15), "body.rules"),
        (Knowledge(notes=tuple(KnowledgeNote(str(n), "word " * 9) for n in range(3))), "body.notes"),
    ],
    ids=["overview", "rules", "notes"],
)
async def test_it_may_take_a_quarter_of_the_window(
    service: KnowledgeService, record: FakeKnowledge, told: Knowledge, field: str
) -> None:
    """Together; what is too much is refused with the limit and the largest field, and nothing is kept."""
    with pytest.raises(InvalidField, match=r"take \d+ tokens together, and may take 25") as caught:
        await service.put(THN, told)
    assert caught.value.field == field
    assert record.rows == {}


async def test_what_is_added_counts_with_what_is_there(
    service: KnowledgeService, record: FakeKnowledge
) -> None:
    """The largest field that was sent is named; less of what is too much already is taken."""
    record.rows["acme", "THN"] = Knowledge("word " * 18)
    with pytest.raises(InvalidField) as caught:
        await service.merge(THN, KnowledgeChange(notes=(KnowledgeNote("A", "word " * 9),)))
    assert caught.value.field == "body.notes"
    record.rows["acme", "THN"] = Knowledge("word " * 90, "word " * 90)
    assert (await service.merge(THN, KnowledgeChange(rules="word"))).rules == "word"
    with pytest.raises(InvalidField):
        await service.merge(THN, KnowledgeChange(rules="word word"))


async def test_where_nothing_is_told_there_is_nothing(service: KnowledgeService) -> None:
    await service.put(THN, ALL)
    await service.remove(THN)

    for asked in (service.get(THN), service.remove(THN), service.get(replace(THN, project="DAAS"))):
        with pytest.raises(Missing):
            await asked


async def test_a_postgres_that_fails_is_unavailable(service: KnowledgeService, record: FakeKnowledge) -> None:
    record.error = RetrievalError("timeout")

    with pytest.raises(Unavailable) as caught:
        await service.get(THN)
    assert caught.value.retry_after
    with pytest.raises(Unavailable):
        await service.merge(THN, KnowledgeChange("Overview."))
