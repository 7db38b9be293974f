"""A project's knowledge, as those who keep it see it."""

from contextlib import suppress
from dataclasses import replace

import pytest

from app.domain.breaker import Breaker
from app.domain.errors import Forbidden, Missing, RetrievalError, Unavailable
from app.domain.passage import Scope
from app.domain.project import Knowledge, KnowledgeChange, KnowledgeNote
from app.services.knowledge import BarredKnowledge, KnowledgeService
from tests.fakes.talks import FakeKnowledge

THN = Scope("acme", project="THN")
ADA = replace(THN, owner="ada", user_id="ada")
ALL = Knowledge("Overview.", "Rules.", (KnowledgeNote("A", "b"),))


@pytest.fixture
def record() -> FakeKnowledge:
    """Nothing is told yet."""
    return FakeKnowledge()


@pytest.fixture
def service(record: FakeKnowledge) -> KnowledgeService:
    """As wiring builds it."""
    return KnowledgeService(BarredKnowledge(record, Breaker(lambda: 0.0)))


async def test_it_is_written_whole_or_in_parts(service: KnowledgeService) -> None:
    """And told as it is then."""
    assert await service.put(THN, ALL) == ALL
    assert await service.merge(THN, KnowledgeChange(rules="")) == replace(ALL, rules="")
    assert await service.get(THN) == replace(ALL, rules="")


async def test_it_is_the_tenant_s_to_write(service: KnowledgeService) -> None:
    """A user key reads it."""
    await service.put(THN, ALL)

    assert await service.get(ADA) == ALL
    for asked in (service.put(ADA, ALL), service.merge(ADA, KnowledgeChange()), service.remove(ADA)):
        with pytest.raises(Forbidden):
            await asked
    assert await service.get(THN) == ALL


async def test_where_nothing_is_told_there_is_nothing(service: KnowledgeService) -> None:
    """To read or to remove; another project's is not this one's."""
    await service.put(THN, ALL)
    await service.remove(THN)

    for asked in (service.get(THN), service.remove(THN), service.get(replace(THN, project="DAAS"))):
        with pytest.raises(Missing):
            await asked


async def test_a_postgres_that_fails_is_unavailable(service: KnowledgeService, record: FakeKnowledge) -> None:
    """Who asks for it cannot do without."""
    record.error = RetrievalError("timeout")

    with pytest.raises(Unavailable) as caught:
        await service.get(THN)
    assert caught.value.retry_after


async def test_nobody_waits_for_a_postgres_that_is_down(record: FakeKnowledge) -> None:
    """Refused at once while the breaker is open."""
    breaker = Breaker(lambda: 0.0)
    while breaker.closed:
        with suppress(Unavailable), breaker.attempt():
            raise Unavailable
    barred = BarredKnowledge(record, breaker)

    for asked in (
        barred.get(THN),
        barred.put(THN, ALL),
        barred.merge(THN, KnowledgeChange()),
        barred.remove(THN),
        barred.projects(THN),
    ):
        with pytest.raises(Unavailable):
            await asked
    assert record.rows == {}
