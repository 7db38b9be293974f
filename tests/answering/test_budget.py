"""The token budget: counting, packing, verdicts for every candidate, the reason."""

from dataclasses import replace
from datetime import UTC, datetime
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Role, Turn
from app.answering.budget import (
    TURN_TOKENS,
    Budget,
    Meter,
    PromptLimits,
    answered,
    fit,
    ledger,
    newest_turns,
    scaled,
    select,
    share,
)
from app.answering.reason import reason_of
from app.errors import InvalidField
from app.types import Candidate, Degraded, Found, Passage, Verdict
from tests.fakes.answering import passage

COSTS = st.lists(st.integers(0, 60), max_size=30)


def candidates(costs: list[int]) -> list[Candidate]:
    return [Candidate(Passage("documents", str(n), "", cost, f"{n}.pdf#1")) for n, cost in enumerate(costs)]


def cost(passage: Passage) -> int:
    return passage.tokens


def tokens(found: list[Candidate]) -> list[int]:
    return [item.passage.tokens for item in found]


@given(COSTS, st.integers(0, 300), st.integers(0, 40), st.integers(0, 20))
def test_the_budget_is_never_exceeded(costs: list[int], limit: int, passages: int, overhead: int) -> None:
    """Whatever is found, the packed cost at most the tokens and are at most as many as allowed."""
    packed, _ = fit(candidates(costs), cost, Budget(limit, passages), overhead)
    assert len(packed) <= passages
    assert not packed or sum(tokens(packed)) + overhead <= limit


@given(COSTS, st.integers(0, 300), st.integers(0, 40), st.integers(0, 20))
def test_nothing_is_left_out_that_would_still_fit(
    costs: list[int], limit: int, passages: int, overhead: int
) -> None:
    """After packing, no candidate left out fits in what is left, unless the count is reached."""
    packed, over = fit(candidates(costs), cost, Budget(limit, passages), overhead)
    left = limit - overhead - sum(tokens(packed))
    assert len(packed) == passages or all(price > left for price in tokens(over))


@given(COSTS, st.integers(0, 300), st.integers(0, 40))
def test_every_candidate_is_told_once_in_rank_order(costs: list[int], limit: int, passages: int) -> None:
    """Packed and over are the candidates, parted, each in the order of the rank."""
    found = candidates(costs)
    packed, over = fit(found, cost, Budget(limit, passages))
    assert sorted([*packed, *over], key=found.index) == found
    assert packed == sorted(packed, key=found.index)
    assert over == sorted(over, key=found.index)


@given(COSTS, st.integers(0, 300), st.integers(0, 40), st.integers(0, 20), st.integers(0, 3))
def test_a_bound_on_the_costs_changes_nothing(
    costs: list[int], limit: int, passages: int, overhead: int, more: int
) -> None:
    """Where the bounds fit nothing is counted, and what is packed is the same."""
    found, budget = candidates(costs), Budget(limit, passages)
    bounded = fit(
        found,
        cost,
        budget,
        overhead,
        most=lambda some: overhead + (1 + more) * sum(each.tokens for each in some),
    )
    assert bounded == fit(found, cost, budget, overhead)


def test_an_oversized_passage_is_passed_over() -> None:
    packed, over = fit(candidates([30, 80, 20]), cost, Budget(60, 40))
    assert (tokens(packed), tokens(over)) == ([30, 20], [80])


@pytest.mark.parametrize(
    ("count", "factor", "told"), [(10, 1.0, 10), (10, 1.3, 13), (1, 1.3, 2), (0, 1.3, 0)]
)
def test_a_scaled_count_rounds_up(count: int, factor: float, told: int) -> None:
    """Rather a passage less than one too many; a product that is whole stays whole."""
    assert scaled(count, factor) == told


@given(st.lists(st.text(max_size=20), max_size=12), st.integers(0, 100))
def test_the_newest_whole_turns_are_kept(contents: list[str], limit: int) -> None:
    """They are a tail of the thread, within the limit, and one more would not fit."""
    turns = [Turn(Role.USER, content) for content in contents]
    kept = newest_turns(turns, len, limit)
    assert tuple(turns[len(turns) - len(kept) :]) == kept
    used = sum(len(turn.content) for turn in kept)
    assert used <= limit
    assert len(kept) == len(turns) or used + len(turns[-len(kept) - 1].content) > limit


USER, ASSISTANT = Role.USER, Role.ASSISTANT


def words_of(text: str) -> int:
    return len(text.split())


def limits(window: int, *, budget: int = 10_000, history: int = 1_000, answer: int = 20) -> PromptLimits:
    return PromptLimits(budget=budget, top_k=40, threshold=0.2, window=window, history=history, answer=answer)


def talk(pairs: int, length: int) -> list[Turn]:
    return [Turn(role, "w " * length) for _ in range(pairs) for role in (USER, ASSISTANT)]


def shared(
    knobs: PromptLimits, turns: list[Turn], message: str = "what?", notes: tuple[str, ...] = ()
) -> tuple[int, list[Turn]]:
    budget, kept = share(knobs, words_of, system="be kind", message=message, notes=notes, turns=turns)
    return budget, list(kept)


def test_turns_never_crowd_out_the_context() -> None:
    """In a small window the history takes at most half of what is free."""
    budget, kept = shared(limits(200), talk(20, 10))
    assert kept
    assert budget >= 80


def test_a_cut_history_begins_with_a_question() -> None:
    _, kept = shared(limits(100_000, history=3 * (10 + TURN_TOKENS)), talk(5, 10))
    assert [turn.role for turn in kept] == [USER, ASSISTANT]


@pytest.mark.parametrize(
    ("message", "notes", "field"),
    [("w " * 500, (), "body.message"), ("what?", ("w " * 500,), "body.notes")],
    ids=["message", "notes"],
)
def test_what_cannot_fit_is_refused(message: str, notes: tuple[str, ...], field: str) -> None:
    with pytest.raises(InvalidField) as caught:
        shared(limits(300), [], message, notes)
    assert caught.value.field == field


@given(
    window=st.integers(40, 500),
    budget=st.integers(1, 500),
    lengths=st.lists(st.integers(0, 60), max_size=12),
    message=st.integers(1, 15),
)
def test_the_window_is_never_overfull(window: int, budget: int, lengths: list[int], message: int) -> None:
    """System, message, turns, context and answer together fit, whatever the lengths."""
    turns = [Turn(USER if n % 2 == 0 else ASSISTANT, "w " * length) for n, length in enumerate(lengths)]
    words = "w " * message
    tokens, kept = shared(limits(window, budget=budget, answer=8), turns, words)
    taken = sum(words_of(turn.content) for turn in kept) + words_of("be kind") + message
    assert taken + tokens + 8 <= window
    assert tokens <= budget


def test_questions_without_an_answer_are_left_out() -> None:
    """Cancelled turns would put two questions in a row before the model."""
    turns = [Turn(USER, "a"), Turn(USER, "b"), Turn(ASSISTANT, "B"), Turn(USER, "c")]
    assert [turn.content for turn in answered(turns)] == ["b", "B"]


@given(st.lists(st.sampled_from([USER, ASSISTANT]), max_size=12))
def test_no_two_questions_stand_together(roles: list[Role]) -> None:
    """And the last stored turn is never a question: the message comes next."""
    kept = [turn.role for turn in answered([Turn(role, "x") for role in roles])] + [USER]
    assert (USER, USER) not in list(pairwise(kept))


def candidate(key: str, similarity: float, *, evidence: float | None = None, length: int = 2) -> Candidate:
    """A candidate of so many words; its line in the prompt has three more."""
    text = " ".join([key] * length)
    passage = Passage("documents", key, text, length, f"{key}.pdf#1", similarity, similarity)
    return Candidate(replace(passage, evidence=evidence))


def count_words(text: str) -> int:
    return len(text.split())


def chosen(*found: Candidate, tokens: int = 100, passages: int = 40, short: bool = False) -> list[Candidate]:
    budget = Budget(tokens, passages)
    return select(found, (), short=short, threshold=0.2, budget=budget, meter=Meter(count_words))


def verdicts(candidates: list[Candidate]) -> dict[str, Verdict | None]:
    return {item.passage.id: item.verdict for item in candidates}


def test_the_threshold_is_strict() -> None:
    assert verdicts(chosen(candidate("a", 0.2)))["a"] is Verdict.BELOW_THRESHOLD


def test_the_threshold_looks_at_evidence() -> None:
    """Where some was found, whatever the similarity."""
    found = chosen(candidate("a", 0.15, evidence=0.25), candidate("b", 0.9, evidence=-1.0))
    assert verdicts(found) == {"a": Verdict.PACKED, "b": Verdict.BELOW_THRESHOLD}
    assert [entry.evidence for entry in ledger(found)] == [0.25, -1.0]


def test_a_short_message_skips_what_matches() -> None:
    found = chosen(candidate("a", 0.3), candidate("b", 0.1), short=True)
    assert verdicts(found) == {"a": Verdict.SKIPPED, "b": Verdict.BELOW_THRESHOLD}


def test_the_ledger_tells_how_old_a_passage_is() -> None:
    at = datetime(2026, 11, 1, tzinfo=UTC)
    found = candidate("a", 0.9)
    dated = replace(found, passage=replace(found.passage, created_at=at))
    assert [entry.created_at for entry in ledger(chosen(dated))] == [at]


NOTHING: list[Candidate] = []
SOME = [Candidate(passage("a"), verdict=Verdict.PACKED)]


@pytest.mark.parametrize(
    ("found", "candidates", "reason"),
    [
        pytest.param(Found(stored=1, answered=1), SOME, "ok", id="ok"),
        pytest.param(Found(stored=1, answered=1, cached=True), SOME, "ok", id="ok, cached"),
        pytest.param(Found(stored=1, answered=1), NOTHING, "no_match", id="nothing fits"),
        pytest.param(Found(stored=0, answered=1), NOTHING, "empty", id="nothing stored"),
        pytest.param(Found(degraded=(Degraded("documents", "timeout"),)), NOTHING, "timeout", id="late"),
        pytest.param(
            Found(degraded=(Degraded("documents", "unavailable"),)), NOTHING, "unavailable", id="down"
        ),
        pytest.param(
            Found(stored=1, answered=1, degraded=(Degraded("embedding", "timeout"),)),
            SOME,
            "ok",
            id="partial",
        ),
        pytest.param(
            Found(answered=1, degraded=(Degraded("corpus", "unavailable"),)),
            NOTHING,
            "unavailable",
            id="who knows what the other has",
        ),
        pytest.param(
            Found(answered=1, degraded=(Degraded("rewrite", "timeout"),)),
            NOTHING,
            "empty",
            id="nothing stored, nor reworded",
        ),
        pytest.param(
            Found(degraded=(Degraded("documents", "unavailable"), Degraded("rewrite", "timeout"))),
            NOTHING,
            "unavailable",
            id="down, and a late rewording",
        ),
        pytest.param(
            Found(answered=1, degraded=(Degraded("code", "not_available"),)),
            NOTHING,
            "empty",
            id="no such source",
        ),
    ],
)
def test_the_reason_follows_from_what_answered(
    found: Found, candidates: list[Candidate], reason: str
) -> None:
    """One source was asked; that the result was kept makes no difference."""
    assert reason_of(found, 1, candidates) == reason
