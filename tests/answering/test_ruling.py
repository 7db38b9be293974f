"""The decision of /vantage as stored JSON, and back."""

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from app.answering.ruling import Ruling, SplitRecord, read, written
from app.vantage.terms import (
    Check,
    Decision,
    Descriptors,
    Finding,
    Limits,
    Mix,
    Params,
    ResponseClass,
    Routing,
)

CLASSES = st.sampled_from(list(ResponseClass))
SHARES = st.floats(0, 1)
NAMES = st.text(max_size=20)
ROWS = st.lists(NAMES, max_size=4).map(tuple)
COUNTS = st.integers(0, 4_000)
RULINGS = st.builds(
    Ruling,
    sd=st.builds(
        Descriptors,
        clarity=SHARES,
        specificity=SHARES,
        risk=st.dictionaries(NAMES, SHARES, max_size=3),
        stakes=st.dictionaries(NAMES, SHARES, max_size=3),
        pressure=SHARES,
        affect=SHARES,
        breadth=SHARES,
        terms=st.just(()),
        findings=st.lists(st.builds(Finding, NAMES, NAMES, SHARES), max_size=3).map(tuple),
    ),
    params=st.builds(Params, COUNTS, COUNTS, COUNTS, SHARES, SHARES),
    decision=st.builds(Decision, CLASSES, ROWS, NAMES, final=st.booleans()),
    limits=st.builds(Limits, ROWS, ROWS, st.none() | COUNTS, st.none() | COUNTS, st.none() | COUNTS),
    routing=st.builds(
        Routing,
        st.none() | CLASSES,
        st.lists(CLASSES, max_size=5).map(tuple),
        st.dictionaries(CLASSES, CLASSES, max_size=3),
    ),
    mix=st.builds(Mix, SHARES, SHARES, st.none() | SHARES, SHARES, COUNTS, st.booleans() | NAMES),
    split=st.builds(SplitRecord, COUNTS, COUNTS, COUNTS),
    threshold=SHARES,
    thread=COUNTS,
    vantage_id=st.none() | NAMES,
    inspect_only=st.booleans(),
    policy_sha256=NAMES,
    check=st.none() | st.builds(Check, st.booleans(), ROWS, COUNTS, COUNTS, COUNTS, st.booleans()),
)
PLAIN = Ruling(
    Descriptors(terms=("secret", "words")),
    Params(800, 3, 2, 0.5, 0.4),
    Decision(ResponseClass.COMPLY, (), "1"),
)


@given(RULINGS)
def test_what_was_kept_is_read_again(ruling: Ruling) -> None:
    assert read(json.loads(json.dumps(written(ruling)))) == ruling


def grown(kept: Any) -> Any:
    named = {"params", "mix", "split", "limits", "sd", "class_check", "routing"}
    added = {name: value | {"newer": [1]} for name, value in kept.items() if name in named and value}
    added["sd"] |= {"findings": [finding | {"newer": 1} for finding in kept["sd"]["findings"]]}
    return kept | added | {"newer": {}}


@given(RULINGS)
def test_what_a_newer_version_added_is_passed_over(ruling: Ruling) -> None:
    assert read(grown(json.loads(json.dumps(written(ruling))))) == ruling


def test_no_word_of_the_message_is_kept() -> None:
    kept = json.dumps(written(PLAIN))
    assert "secret" not in kept
    assert read(json.loads(kept)).sd == Descriptors()


def test_the_traces_columns_are_there_by_name() -> None:
    """public.vantage_answer_trace is filled from them (alembic 0011)."""
    columns = {
        "response_class", "rules", "policy_version", "policy_sha256", "params", "mix", "sd", "class_check",
        "vantage_id", "inspect_only",
    }  # fmt: skip
    assert columns <= set(written(PLAIN))
