"""select() and why(): verdicts for all, matches only, and the reason in its precedence."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest

from app.answering.budget import Budget, Meter, Selection, select, why
from app.types import Candidate, Hit, Passage, Reason, Verdict


def candidate(key: str, similarity: float, *, words: Hit | None = None, length: int = 2) -> Candidate:
    """A candidate of so many words; its line in the prompt has three more."""
    text = " ".join([key] * length)
    return Candidate(Passage("documents", key, text, length, f"{key}.pdf#1", similarity, similarity), words)


def count(text: str) -> int:
    """Words instead of tokens."""
    return len(text.split())


def chosen(message: str, *found: Candidate, tokens: int = 100, passages: int = 40) -> Selection:
    """The selection among `found` at threshold 0.2."""
    budget = Budget(tokens, passages)
    return select(message, found, (), threshold=0.2, budget=budget, meter=Meter(count))


def verdicts(selection: Selection) -> dict[str, Verdict]:
    """Verdict by id."""
    return {entry.id: entry.verdict for entry in selection.entries}


def test_every_candidate_gets_a_verdict() -> None:
    """Packed, below the threshold, over the budget, duplicate: each is told."""
    found = [candidate("a", 0.9), candidate("big", 0.8, length=99), candidate("c", 0.1)]
    selection = select(
        "a long question",
        found,
        [candidate("twin", 0.9)],
        threshold=0.2,
        budget=Budget(50, 40),
        meter=Meter(count),
    )
    assert verdicts(selection) == {
        "a": Verdict.PACKED,
        "big": Verdict.OVER_BUDGET,
        "c": Verdict.BELOW_THRESHOLD,
        "twin": Verdict.DUPLICATE,
    }


def test_what_cut_a_passage_is_told() -> None:
    """The tokens, while there was room for another passage; then their number."""
    found = [candidate("big", 0.9, length=99), *(candidate(key, 0.8) for key in "abc")]
    selection = chosen("a long question", *found, tokens=80, passages=2)
    assert verdicts(selection) == {
        "big": Verdict.OVER_BUDGET,
        "a": Verdict.PACKED,
        "b": Verdict.PACKED,
        "c": Verdict.OVER_LIMIT,
    }


def test_the_threshold_is_strict() -> None:
    """A passage exactly at the threshold is not above it."""
    assert verdicts(chosen("a long question", candidate("a", 0.2)))["a"] is Verdict.BELOW_THRESHOLD


def test_words_vouch_for_what_meaning_missed() -> None:
    """A passage that holds the query's rare words is a match at any similarity."""
    found = candidate("a", -0.1, words=Hit("a", 9.0, coverage=1.0, rare=True))
    assert verdicts(chosen("invoice 4711-B", found))["a"] is Verdict.PACKED


def test_a_short_message_without_a_match_is_skipped() -> None:
    """Nothing is packed, and the selection says that the skip rule held."""
    selection = chosen("hi", candidate("a", 0.1))
    assert (selection.short, selection.passages) == (True, ())


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        pytest.param({"asked": 1, "answered": 1, "timed_out": False, "stored": 0}, Reason.EMPTY, id="empty"),
        pytest.param({"asked": 0, "answered": 0, "timed_out": False, "stored": 0}, Reason.EMPTY, id="none"),
        pytest.param(
            {"asked": 1, "answered": 0, "timed_out": True, "stored": 0}, Reason.TIMEOUT, id="timeout"
        ),
        pytest.param(
            {"asked": 1, "answered": 0, "timed_out": False, "stored": 0}, Reason.UNAVAILABLE, id="down"
        ),
        pytest.param({"asked": 2, "answered": 1, "timed_out": True, "stored": 9}, Reason.OK, id="partial"),
    ],
)
def test_the_reason_follows_its_precedence(case: dict[str, int], reason: Reason) -> None:
    """`empty`, `timeout`, `unavailable`, `skipped_short_query`, `no_match`, `ok`."""
    selection = chosen("a long question", candidate("a", 0.9))
    assert why(selection, **case) is reason  # type: ignore[arg-type] # a table of keyword arguments


def test_the_ledger_tells_how_old_a_passage_is() -> None:
    """A mix may ask for what is recent."""
    at = datetime(2026, 11, 1, tzinfo=UTC)
    found = candidate("a", 0.9)
    dated = replace(found, passage=replace(found.passage, created_at=at))
    assert [entry.created_at for entry in chosen("a long question", dated).entries] == [at]


def test_the_ledger_tells_what_words_vouched_for() -> None:
    """Of what was left out too: no threshold could keep it out."""
    rare = Hit("b", 3.0, rare=True)
    selection = chosen("a long question", candidate("a", 0.9), candidate("b", 0.1, words=rare))
    assert {entry.id: entry.vouched for entry in selection.entries} == {"a": False, "b": True}
