"""The golden record: today's service answers as recorded, and what was changed on purpose is listed."""

from typing import Any

import pytest

from tests.golden.__main__ import PROGRAM
from tests.golden.listed import listed, needless, unlisted
from tests.golden.record import Difference, Entry, Names, differences, events, now, same
from tests.golden.run import CONFIGURATIONS, run, uncovered
from tests.golden.script import PARTS
from tests.golden.shelf import read
from tests.golden.show import shown

CHANGES = {each: differences(read("first", each), read("today", each)) for each in CONFIGURATIONS}
PAGE = """
## Small talk is not searched
- `talk-*` in `body.rag.*`
- `new-*`, `gone`
"""


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_every_difference_from_the_first_edition_is_listed(configuration: str) -> None:
    """`differences.md` has a reason for each place at which today's record is not the first one."""
    left = unlisted(listed(), CHANGES[configuration])
    assert not left, shown(configuration, left, len(left))


def test_every_listed_difference_is_there() -> None:
    """No item of `differences.md` has outlived what it explains."""
    assert not needless(listed(), [each for changes in CHANGES.values() for each in changes])


def test_names_of_requests_are_unique() -> None:
    """`differences.md` refers to a request by its name."""
    names = [ask.name for part in PARTS.values() for ask in part]
    assert sorted(names) == sorted(set(names))


@pytest.mark.timeout(600)
def test_the_service_answers_as_recorded() -> None:
    """Every request of the `stub` configuration; and no operation of the service is without a request."""
    entries, forgotten = run(PROGRAM, "stub")
    found = differences(read("today", "stub"), entries)
    assert not found, shown("stub", found, len(entries))
    assert not forgotten


def test_an_item_explains_places_in_requests() -> None:
    """Globs on both sides; without places, all of them."""
    talk, gone = listed(PAGE)
    assert talk.reason == gone.reason == "Small talk is not searched"
    reason = Difference("talk-hi", "body.rag.reason", "no_match", "small_talk")
    status = Difference("talk-hi", "status", 200, 422)
    fresh = Difference("new-search", "request", "(not there)", "POST /v1/search")
    assert unlisted([talk, gone], [reason, status, fresh]) == [status]
    assert needless([talk, gone], [reason]) == [gone]


def test_an_item_that_cannot_be_read_is_an_error() -> None:
    """A typing error must not explain nothing in silence."""
    for page in ("## Reason\n- talk-*", "- `talk-*`", "## Reason\n- `talk-*` on `status`"):
        with pytest.raises(ValueError, match=r"differences\.md"):
            listed(page)


def test_scores_are_compared_as_numbers() -> None:
    """A score at the edge of its rounding is no difference; a count is one."""
    assert same(0.412, 0.413)
    assert same(1, 1.0005)
    assert not same(0.412, 0.415)
    assert not same(1, 2)
    assert not same(1, True)
    assert not same("a", None)


def test_differences_name_the_place() -> None:
    """Fields, items and requests that only one record has are differences, too."""
    before: list[Entry] = [
        {"name": "a", "request": "GET /a", "body": {"items": [1], "old": 1}},
        {"name": "b", "request": "GET /b"},
    ]
    after: list[Entry] = [
        {"name": "a", "request": "GET /a", "body": {"items": [1, 2]}},
        {"name": "c", "request": "GET /c"},
    ]
    assert [(each.name, each.path) for each in differences(before, after)] == [
        ("a", "body.items.+1"),
        ("a", "body.old"),
        ("c", "request"),
        ("b", "request"),
    ]


def test_what_no_two_runs_share_gets_a_name() -> None:
    """Ids by where they first appear, times of the run by a word; other times stay, with their zone."""
    start = now()
    names = Names(start, (3,), here="chat")
    one, other = "11111111-2222-7333-8444-555555555555", "99999999-2222-7333-8444-555555555555"
    at = start.isoformat()
    body = {
        "id": one,
        "also": f"/x/{one}:3",
        "other": [other],
        "took_ms": 12,
        "score": 0.12345,
        "next": "A" * 24,
    }
    assert names.value(body) == {
        "also": "/x/<chat.also>:3",
        "id": "<chat.also>",
        "next": "<cursor>",
        "other": ["<chat.other>"],
        "score": 0.123,
        "took_ms": "<ms>",
    }
    assert names.value([at, at.replace("+00:00", "Z"), "2026-05-07T08:00:00+02:00"]) == [
        "<time>+00:00",
        "<time>Z",
        "2026-05-07T08:00:00+02:00",
    ]


def test_tokens_that_follow_one_another_are_one() -> None:
    """How a model's deltas are grouped is chance; the count of the events is checked all the same."""
    said = [("token", '{"text": "a"}'), ("token", '{"text": "b"}'), ("done", "{}")]
    text = "".join(f"id: x:{n}\nevent: {name}\ndata: {data}\n\n" for n, (name, data) in enumerate(said, 1))
    assert events(text) == [
        {"event": "token", "data": {"text": "ab"}},
        {"event": "done", "data": {}},
        {"event": "(ids)", "data": "counted from 1"},
    ]
    assert events(text.replace("x:2", "x:7"))[-1]["data"] == ["x:1", "x:7", "x:3"]


def test_an_operation_that_no_request_is_for_is_told() -> None:
    """A path's fixed parts decide before its parameters."""
    document: dict[str, Any] = {
        "paths": {"/a/{id}": {"get": {}, "delete": {}}, "/a/files": {"get": {}}, "/b": {"post": {}}}
    }
    asked = [("GET", "/a/7?x=1"), ("GET", "/a/files")]
    assert uncovered(document, asked) == ["DELETE /a/{id}", "POST /b"]
