"""An answer as JSON, and back."""

import json
from dataclasses import asdict, replace
from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.answer import Role, Turn, Usage
from app.answering.replay import BROUGHT, turn_blocks
from app.db.answers import COLUMNS, entry, mended, picked, plain, recipe, restored, traced, written
from app.db.rows import storable
from app.types import Scope
from tests.db.test_answers import ANSWER, HERE, RULED


def row(body: str, question: str = "why?") -> Any:
    """As it is kept."""
    facts = asdict(ANSWER) | {"question": storable(question), "text": ANSWER.text}
    return facts | {"finish": "stop", "body": body}


@pytest.mark.parametrize(
    "text", ["plain", "a\\u0000b", "\0", "\ud800"], ids=["plain", "escape", "nul", "half"]
)
@pytest.mark.parametrize("answer", [ANSWER, RULED], ids=["chat", "ruled"])
def test_the_quick_way_writes_what_the_careful_one_would(answer: Any, text: str) -> None:
    """Of all that it does not leave to it; times and recipes alike."""
    answer = replace(answer, cited=(text,))
    quick, careful = json.loads(written(answer)), json.loads(mended(answer))
    assert restored(row(json.dumps(quick))) == restored(row(json.dumps(careful)))


def test_the_turns_of_a_thread_are_short() -> None:
    """A hash, an id, who spoke: a long thread must not outweigh the answer. Each comes back."""
    assert ANSWER.recipe is not None
    turns = turn_blocks(
        [Turn(Role.USER, f"turn {n}", id=str(n)) for n in range(180)]
        + [Turn(Role.ASSISTANT, text) for text in ("x" * BROUGHT, "hi")]
    )
    answer = replace(ANSWER, recipe=replace(ANSWER.recipe, turns=turns))
    body = written(answer)
    assert len(body) - len(written(ANSWER)) < 182 * 100
    assert restored(row(body)) == answer


def test_what_an_older_version_kept_is_restored() -> None:
    """Without recipe, ruling, times of passages, or who vouched for them."""
    body = json.loads(written(ANSWER))
    del body["recipe"], body["ruling"]
    for line in body["trace"]["entries"]:
        del line["created_at"], line["vouched"]
    entries = tuple(replace(line, created_at=None, vouched=False) for line in ANSWER.trace.entries)
    found = restored(row(json.dumps(body)))
    assert found == replace(ANSWER, recipe=None, trace=replace(ANSWER.trace, entries=entries))


def test_what_a_newer_version_added_is_passed_over() -> None:
    """Two versions may run beside each other."""
    assert picked(Usage, {"prompt_tokens": 1, "cached_tokens": 5}) == Usage(1, 0)
    body = json.loads(written(ANSWER))
    body["recipe"] |= {"sauce": 1}
    body["recipe"]["system"] |= {"spice": 2}
    body["recipe"]["turns"][0].append("pepper")
    assert recipe(body["recipe"]) == ANSWER.recipe
    assert entry(body["trace"]["entries"][0] | {"new": 1}) == ANSWER.trace.entries[0]


def test_a_trace_holds_no_text() -> None:
    """Neither question nor answer; an answer that was not ruled has none."""
    told = json.loads(traced(HERE, RULED) or "")
    assert set(told) == set(COLUMNS)
    assert not any(text in str(told) for text in (RULED.question, RULED.text))
    assert traced(Scope(), ANSWER) is None


def test_any_mapping_is_an_object() -> None:
    """Also a read-only one."""
    assert plain(MappingProxyType({"a": (1, 2)})) == {"a": [1, 2]}


@given(st.dictionaries(st.text(), st.floats() | st.text(st.characters(codec=None))))
def test_law_plain_is_utf8_json(data: dict[str, object]) -> None:
    """Whatever goes in, strict JSON without NUL comes out."""
    kept = plain(data)
    assert isinstance(kept, dict)
    assert all("\0" not in text for text in map(str, [*kept, *kept.values()]))
    assert repr(kept).encode() is not None


def test_a_project_is_kept_with_the_recipe() -> None:
    """By it a replay looks things up; an answer of an older version named none."""
    assert ANSWER.recipe is not None
    answer = replace(ANSWER, recipe=replace(ANSWER.recipe, project="THN"))
    assert restored(row(written(answer))) == answer
    body = json.loads(written(answer))
    del body["recipe"]["project"]
    assert restored(row(json.dumps(body))).recipe == ANSWER.recipe
