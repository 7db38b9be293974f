"""An answer's candidates under another mix, from the answer alone."""

from dataclasses import replace
from datetime import timedelta
from typing import cast

import pytest

from app.answering.ruling import Ruling, SplitRecord, written
from app.services.answers import AnswerService
from app.services.vantage import MOMENT, MixService
from app.types import Entry, Reason, Scope, Trace, Verdict
from app.vantage.terms import Decision, Descriptors, Mix, Params, ResponseClass
from tests.db.test_answers import ANSWER
from tests.fakes.services import NOW, FakeAnswers

ASKER = Scope("acme", user_id="ada")
ENTRIES = (
    Entry("memories", "m1", "m#1", 0.6, 0.8, Verdict.PACKED, relevance=0.8, sha256="m1"),
    Entry("memories", "m2", "m#2", 0.6, 0.78, Verdict.PACKED, relevance=0.78, sha256="m2", created_at=NOW),
    Entry("corpus", "c1", "c#1", 0.35, 0.7, Verdict.PACKED, relevance=0.7, sha256="c1"),
    Entry("corpus", "c2", "c#2", 0.2, 0.5, Verdict.BELOW_THRESHOLD, relevance=0.5, sha256="c2"),
)
RULING = Ruling(
    Descriptors(),
    Params(400, 2, 1, 0.5, 0.5),
    Decision(ResponseClass.COMPLY, ("default",), "1"),
    split=SplitRecord(8, 8, 8),
    threshold=0.3,
)
RULED = replace(
    ANSWER,
    endpoint="/vantage/query",
    created_at=NOW,
    trace=Trace(Reason.OK, ENTRIES),
    ruling=written(RULING),
)


def service(answers: FakeAnswers, *, personal: bool = True, threshold: float = 0.3) -> MixService:
    return MixService(cast(AnswerService, answers), threshold=threshold, personal=personal)


async def packed(mix: Mix, *, personal: bool = True, threshold: float = 0.3, **changes: object) -> list[str]:
    answers = FakeAnswers(replace(RULED, **changes))  # type: ignore[arg-type] # changes are its fields
    found = await service(answers, personal=personal, threshold=threshold).mix(ASKER, RULED.id, mix)
    return [each.entry.id for each in found.standings if each.place]


@pytest.mark.parametrize(
    ("mix", "ids"),
    [
        pytest.param(Mix(), ["m1", "m2", "c1"], id="as it was"),
        pytest.param(Mix(memory_cards=0), ["c1"], id="no memories"),
        pytest.param(Mix(corpus=0), ["m1", "m2"], id="no texts"),
        pytest.param(Mix(memory_cards=0, corpus=0), [], id="nothing"),
        pytest.param(Mix(memory_cards=0.01, corpus=0.01), ["m1", "c1"], id="one of each"),
        pytest.param(Mix(recency_bias=1), ["m2", "m1", "c1"], id="the recent first"),
        pytest.param(Mix(similarity_threshold=0.5), ["m1", "m2"], id="the similar alone"),
        pytest.param(Mix(similarity_threshold=0.0), ["m1", "m2", "c1", "c2"], id="whatever is similar"),
        pytest.param(Mix(conversation=9, lens_fm=True), ["m1", "m2", "c1"], id="what weighs nothing"),
    ],
)
async def test_candidates_are_weighed_anew(mix: Mix, ids: list[str]) -> None:
    assert await packed(mix) == ids


async def test_recency_is_reckoned_from_the_question() -> None:
    entries = (ENTRIES[0], replace(ENTRIES[1], created_at=NOW - timedelta(days=30)))
    found = await service(FakeAnswers(replace(RULED, trace=Trace(Reason.OK, entries)))).mix(
        ASKER, RULED.id, Mix(recency_bias=1)
    )
    assert [each.recency for each in found.standings] == [1.05, 1.0]


async def test_what_was_not_looked_for_is_told() -> None:
    """It has no candidates, which does not mean that there are none."""
    ruling = written(replace(RULING, split=SplitRecord(8, 0, 4)))
    answers = FakeAnswers(replace(RULED, ruling=ruling, trace=Trace(Reason.OK, ENTRIES[2:])))
    found = await service(answers).mix(ASKER, RULED.id, Mix())
    assert found.unsearched == ["memories"]
    assert (await service(answers).mix(ASKER, RULED.id, Mix(memory_cards=0))).unsearched == []


async def test_a_long_ledger_is_weighed_apart() -> None:
    entries = tuple(
        replace(ENTRIES[2], id=f"c{n}", sha256=f"c{n}", relevance=0.7 - n / 10_000)
        for n in range(MOMENT + 20)
    )
    answers = FakeAnswers(replace(RULED, trace=Trace(Reason.OK, entries)))
    found = await service(answers).mix(ASKER, RULED.id, Mix(corpus=0.5))
    assert len(found.standings) == len(entries)
    assert sum(each.place is not None for each in found.standings) <= 4
