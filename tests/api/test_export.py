"""The document of an export, written while it is read."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence

import pytest

from app.api import export
from app.api.export import told

HEAD = {"user_id": "ada", "exported_at": "2026-11-21T09:30:00Z"}
NAMES = ("memories", "votes", "answers", "activity")


async def rows(
    given: Sequence[tuple[str, Mapping[str, object]]],
) -> AsyncIterator[tuple[str, Mapping[str, object]]]:
    """One by one."""
    for row in given:
        yield row


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({}, id="nothing"),
        pytest.param({"memories": [1]}, id="the first"),
        pytest.param({"activity": [1]}, id="the last"),
        pytest.param({"votes": [1, 2], "answers": [3]}, id="two in the middle"),
        pytest.param({name: [1, 2, 3] for name in NAMES}, id="all"),
    ],
)
@pytest.mark.parametrize("size", [pytest.param(1, id="small pieces"), pytest.param(1 << 16, id="one piece")])
async def test_it_is_one_json_document(
    given: Mapping[str, Sequence[int]], size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With every holding, also an empty one, and `complete` at its end; however it is cut into pieces."""
    monkeypatch.setattr(export, "PIECE_BYTES", size)
    flat = [(name, {"id": item}) for name, items in given.items() for item in items]

    document = b"".join([piece async for piece in told(HEAD, NAMES, rows(flat))])

    expected = {name: [{"id": item} for item in given.get(name, [])] for name in NAMES}
    assert json.loads(document) == {**HEAD, "holdings": expected, "complete": True}
    assert document.endswith(b'"complete":true}')


async def test_words_are_told_as_they_are() -> None:
    """Quotes, other scripts, halves of pairs."""
    words = 'so "she" said: å 象 \ud83d'

    document = b"".join([piece async for piece in told(HEAD, NAMES, rows([("votes", {"text": words})]))])

    assert json.loads(document)["holdings"]["votes"][0]["text"] == words
