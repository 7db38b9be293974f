"""Rows of conversation_index as others left them, and as statements write them."""

import json

import pytest

from app.db.conversations import Draft, New, assigned, entry, given, words
from app.db.projects import Column

ROW = New("id", entry(Draft(title="a\0", tags=("é\ud800",), summary_short="x")), b"\0" * 32)


@pytest.mark.parametrize(
    ("stored", "told"),
    [
        (None, ()),
        ("null", ()),
        ('["a", 1, null, true]', ("a", "1", "True")),
        ('"[\\"in text\\"]"', ("in text",)),
        ('"\\"[1]\\""', ()),
        ('"a, b"', ()),
        ('{"a": 1}', ()),
        ("[" * 100_000, ()),
        ("[1", ()),
    ],
)
def test_lists_are_read_or_none(stored: str | None, told: tuple[str, ...]) -> None:
    """Also where they stand in a text as JSON."""
    assert words(stored) == told


def test_what_postgres_cannot_hold_is_replaced() -> None:
    """In texts and in lists; null stays null."""
    _, [title], [tags], [entities], [short], [detailed], [snippet], [at], [sha256], [vector] = given([ROW])

    assert (title, short, detailed, snippet, entities, at) == ("a\ufffd", "x", None, None, None, None)
    assert json.loads(str(tags)) == ["é\ufffd"]
    assert (sha256, vector) == (ROW.entry.sha256, ROW.vector)


def test_values_are_cast_to_their_columns() -> None:
    """Cut to their length; lists as the column has them; never null where that is not allowed."""
    kinds = {
        "title": Column("title", "character varying(9)", required=True, filled=False),
        "tags": Column("tags", "jsonb", required=True, filled=False),
        "key_entities": Column("key_entities", "text[]", required=False, filled=False),
        "indexed_at": Column("indexed_at", "timestamp without time zone", required=False, filled=True),
        "embedding": Column("embedding", "vector(1536)", required=False, filled=False),
        **{name: Column(name, "text", required=False, filled=False) for name in SUMMARIES},
    }

    told = assigned(kinds, 8)

    assert told["title"] == "coalesce(given.title::character varying(9), '')"
    assert told["tags"] == "coalesce(given.tags, '[]')::jsonb"
    assert "jsonb_array_elements_text(given.key_entities::jsonb)" in told["key_entities"]
    assert told["indexed_at"].endswith("::timestamp without time zone")
    assert (told["summary_short"], told["embedding_ibid"]) == ("given.summary_short::text", "given.vector")


SUMMARIES = ("summary_short", "summary_detailed", "memory_snippet")
