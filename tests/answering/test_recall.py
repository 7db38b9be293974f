"""What is told of what was found: chosen by relevance, ordered by boosts, every candidate in the ledger."""

import math
from collections import Counter
from dataclasses import replace
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import MEMORY_FORM as FORM
from app.answering.budget import Budget, Meter, ledger, pack_recalled, packed_passages
from app.answering.recall import (
    CONSIDERED,
    TOLD,
    rerank_personal,
    retrieve_personal_memory,
    running,
    unified_retrieve,
)
from app.db.memories import Tally
from app.retrieval.ranking import Wants
from app.types import Candidate, Passage, Verdict
from tests.fakes.remembering import memory, reference

ROOMY = Budget(100_000, 100)
NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
NOTHING = Wants()


def candidate(passage: Passage, score: float | None = None, *, evidence: float | None = None) -> Candidate:
    """A passage in the running; its relevance is its similarity unless given."""
    scored = Passage(
        passage.source, passage.id, passage.text, passage.tokens, passage.label, passage.similarity,
        passage.similarity or 0.0 if score is None else score, fields=passage.fields, evidence=evidence,
    )  # fmt: skip
    return Candidate(scored)


def memories(count: int) -> list[Candidate]:
    return [candidate(memory(f"m{n}", f"Walk number {n}", 0.9 - n / 100)) for n in range(count)]


def ids(drawn: list[Candidate]) -> list[str]:
    return [item.passage.id for item in running(drawn)]


def meter() -> Meter:
    return Meter(len, form=FORM)


def recalled(found: list[Candidate], top_k: int = 50) -> list[Candidate]:
    return retrieve_personal_memory(found, "where did I walk", top_k=top_k, threshold=0.3)


@given(st.integers(0, 20), st.integers(0, 50))
def test_at_most_eight_memories_are_considered(count: int, top_k: int) -> None:
    """min(8, top_k) by relevance; every other one is in the ledger."""
    drawn = recalled(memories(count), top_k)
    assert ids(drawn) == [f"m{n}" for n in range(min(count, top_k, CONSIDERED))]
    assert len(drawn) == count


def test_a_question_is_no_answer_to_itself() -> None:
    """Asked before, and kept: however near it lies, it takes nobody's place. What was stated may be asked for
    in its own words."""
    found = [candidate(memory("q", "Where did I  walk?")), candidate(memory("m", "I walked by the canal"))]
    told = {
        message: ids(retrieve_personal_memory(found, message, top_k=2, threshold=0.3))
        for message in ("Where did I walk? ", "i walked by the canal")
    }
    assert told == {"Where did I walk? ": ["m"], "i walked by the canal": ["q", "m"]}


@pytest.mark.parametrize(
    ("message", "kept", "told"),
    [
        pytest.param("where did I walk", "Where did I walk?", False, id="asked without a mark"),
        pytest.param("Where did I walk?", "where did I walk ?!", False, id="kept with two"),
        pytest.param("我在哪里走路", "我在哪里走路？", False, id="a wide mark"),
        pytest.param("I walked by the canal?", "I walked by the canal.", True, id="a statement"),
        pytest.param("where did I walk?", "Where did I walk on Monday?", True, id="another question"),
    ],
)
def test_a_kept_question_is_known_by_its_own_mark(message: str, kept: str, *, told: bool) -> None:
    """Not by the message's: a statement asked for in its own words is found."""
    drawn = retrieve_personal_memory([candidate(memory("m", kept))], message, top_k=2, threshold=0.3)
    assert bool(running(drawn)) is told


def test_a_copy_of_a_told_memory_is_no_reference_text() -> None:
    """However near it lies, and it takes no other text's place; of a memory that is not told the copy is."""
    mine = candidate(memory("m", "I sleep  well"))
    texts = [candidate(reference("c", "i sleep well", 0.9)), candidate(reference("d", "Sleep is rest", 0.5))]
    drawn = unified_retrieve([*texts, mine], (), top_k=1, threshold=0.3, told=[mine])
    assert ids(drawn) == ["d"]
    assert drawn[1:] == [replace(texts[0], verdict=Verdict.DUPLICATE)]
    assert ids(unified_retrieve([*texts, mine], (), top_k=1, threshold=0.3)) == ["c"]


def test_each_source_is_drawn_alone() -> None:
    found = [candidate(memory("m", "One")), candidate(reference("c", "Two"))]
    assert ids(recalled(found)) == ["m"]
    assert ids(unified_retrieve(found, (), top_k=5, threshold=0.3)) == ["c"]


def test_the_threshold_looks_at_evidence() -> None:
    """It may be more than the similarity; at the threshold is below it."""
    words = candidate(memory("words", "Kestrel", 0.1), evidence=0.31)
    found = [words, candidate(memory("edge", "Owl", 0.3))]
    drawn = recalled(found)
    assert ids(drawn) == ["words"]
    assert [item.verdict for item in drawn if item.verdict] == [Verdict.BELOW_THRESHOLD]


def test_reference_texts_have_one_global_top_k() -> None:
    """Over all collections, by boosted score; what is over it is told so."""
    texts = [
        candidate(reference(f"c{n}", "plain", 0.8 - n / 100, collection=f"shelf{n % 2}")) for n in range(5)
    ]
    drawn = unified_retrieve(texts, (), top_k=3, threshold=0.3)
    assert ids(drawn) == ["c0", "c1", "c2"]
    assert [item.verdict for item in drawn if item.verdict] == [Verdict.OVER_LIMIT] * 2


def test_a_tag_of_the_question_lifts_a_reference_text() -> None:
    """Over one a little more relevant; its factor is named and bounded."""
    tagged = candidate(reference("tagged", "how to knit", 0.75, tags="intent:instruct"))
    drawn = unified_retrieve(
        [candidate(reference("plain", "wool", 0.78)), tagged], ("intent:instruct",), top_k=2, threshold=0.3
    )
    assert ids(drawn) == ["tagged", "plain"]
    assert drawn[0].boosts == {"tags": 1.1}


def test_a_thousand_votes_saturate() -> None:
    """They lift by no more than ten percent, and hardly more than a hundred did."""
    found = [candidate(memory("old", "walk", 0.70)), candidate(memory("new", "walk more", 0.80))]
    for net in (1_000, 1_000_000):
        drawn = rerank_personal(recalled(found), {"old": Tally(net)}, NOTHING, keep=TOLD)
        assert ids(drawn) == ["new", "old"]  # 0.70 × 1.1 < 0.80, however many vote
    hundred, thousand = (
        rerank_personal(recalled(found), {"old": Tally(net)}, NOTHING, keep=TOLD)[1].score
        for net in (100, 1_000)
    )
    assert 0 < thousand - hundred < 0.001


def test_a_vote_taken_back_restores_the_ranking_exactly() -> None:
    """As many bad as good are none: scores are equal to the last bit."""
    without, undone = (
        rerank_personal(recalled(memories(5)), tallies, NOTHING, keep=TOLD)
        for tallies in ({}, {"m3": Tally(7, 7)})
    )
    assert without == undone


@given(st.integers(0, 12), st.integers(0, 12), st.integers(0, 900), st.integers(0, 20))
def test_every_candidate_is_in_the_ledger_once(own: int, others: int, tokens: int, passages: int) -> None:
    found = [*memories(own), *(candidate(reference(f"c{n}", f"text {n}", 0.5)) for n in range(others))]
    twin = candidate(memory("twin", "walk number 0"))
    drawn = [
        *rerank_personal(recalled(found), {}, NOTHING, keep=TOLD),
        *unified_retrieve(found, (), top_k=5, threshold=0.3),
    ]
    counter = meter()
    selection = pack_recalled(drawn, (twin,), budget=Budget(tokens, passages), meter=counter)
    assert Counter(item.passage.id for item in selection) == Counter(
        [item.passage.id for item in found] + ["twin"]
    )
    packed = packed_passages(selection)
    assert [item.passage.id for item in selection[: len(packed)]] == [passage.id for passage in packed]
    assert len(packed) <= passages
    assert not packed or counter.head() + sum(map(counter.line, packed)) <= tokens


def test_a_packed_passage_carries_its_boosted_score() -> None:
    drawn = rerank_personal(recalled(memories(1)), {"m0": Tally(1)}, NOTHING, keep=TOLD)
    (passage,) = packed_passages(pack_recalled(drawn, (), budget=ROOMY, meter=meter()))
    assert math.isclose(passage.score, 0.9 * 1.05)


def test_the_ledger_tells_how_old_each_is() -> None:
    old = [replace(each, passage=replace(each.passage, created_at=NOON)) for each in memories(5)]
    drawn = rerank_personal(recalled(old), {}, NOTHING, keep=TOLD)
    entries = ledger(pack_recalled(drawn, (), budget=ROOMY, meter=meter()), boosted=True)
    assert [entry.created_at for entry in entries] == [NOON] * 5
