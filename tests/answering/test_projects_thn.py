"""THN's two formats, byte for byte, and what they promise."""

import json

import pytest

from app.answering.projects import _format_code_snippet, _format_conversation_entry

TAGS = ["networking", "vlan", "firewall"]
ENTITIES = ["Firewalla", "Mac Mini"]
ENTRY = """\
- **Title:** THN Network Setup
- **Tags:** networking, vlan, firewall
- **Key Entities:** Firewalla, Mac Mini
- **Summary:** Long summary text...
- **Memory Snippet:** Memory text..."""
CHUNK = {
    "file_path": "brain_core/context_builder.py",
    "language": "python",
    "chunk_text": "def build_project_context(...):\n    ...",
    "chunk_metadata": {"function_name": "build_project_context"},
}
SNIPPET = """\
**File:** brain_core/context_builder.py
**Language:** python
**Description:** build_project_context
```python
def build_project_context(...):
    ...
```"""


@pytest.mark.parametrize(
    ("tags", "entities"),
    [(TAGS, ENTITIES), (json.dumps(TAGS), json.dumps(ENTITIES)), (json.dumps(json.dumps(TAGS)), ENTITIES)],
    ids=["lists", "JSON", "JSON in JSON"],
)
def test_a_conversation_is_written_as_the_seed_writes_it(tags: object, entities: object) -> None:
    """All fields present, whatever form the driver gives JSONB in."""
    row = ("THN Network Setup", tags, entities, "Long summary text...", "Memory text...")

    assert _format_conversation_entry(row) == ENTRY


@pytest.mark.parametrize("place", range(5))
def test_a_null_field_is_left_out(place: int) -> None:
    """Its line alone."""
    row: list[object] = ["THN Network Setup", TAGS, ENTITIES, "Long summary text...", "Memory text..."]
    row[place] = None
    lines = ENTRY.split("\n")
    del lines[place]

    assert _format_conversation_entry(row) == "\n".join(lines)


@pytest.mark.parametrize(
    "broken", ["[1, ", "", "null", "{}", '{"a": 1}', '"x', "networking, vlan", "[]", "[" * 9_999]
)
def test_broken_tags_give_nothing(broken: str) -> None:
    """JSON that is none, or no list, is no line; the others stay."""
    row = ("THN Network Setup", broken, ENTITIES, "Long summary text...", "Memory text...")
    lines = ENTRY.split("\n")

    assert _format_conversation_entry(row) == "\n".join([lines[0], *lines[2:]])


@pytest.mark.parametrize(("length", "end"), [(499, ""), (500, ""), (501, "..."), (10_000_000, "...")])
def test_summaries_are_cut_at_500(length: int, end: str) -> None:
    """The first characters and `...`; nothing is added to what fits."""
    row = (None, None, None, "s" * length, None)

    assert _format_conversation_entry(row) == f"- **Summary:** {'s' * min(length, 500)}{end}"


@pytest.mark.parametrize(("length", "end"), [(300, ""), (301, "...")])
def test_memory_snippets_are_cut_at_300(length: int, end: str) -> None:
    """Likewise."""
    row = (None, None, None, None, "m" * length)

    assert _format_conversation_entry(row) == f"- **Memory Snippet:** {'m' * min(length, 300)}{end}"


def test_a_row_of_nulls_is_nothing() -> None:
    """Not even a line."""
    assert _format_conversation_entry((None,) * 5) == ""


@pytest.mark.parametrize(
    "metadata", [CHUNK["chunk_metadata"], json.dumps(CHUNK["chunk_metadata"])], ids=["dict", "JSON"]
)
def test_a_chunk_is_written_as_the_seed_writes_it(metadata: object) -> None:
    """With its function for a description; the fence closes."""
    assert _format_code_snippet(CHUNK | {"chunk_metadata": metadata}) == SNIPPET


@pytest.mark.parametrize(
    ("metadata", "description"),
    [
        ({"class_name": "Builder"}, "Builder"),
        ({"function_name": "build", "class_name": "Builder"}, "build"),
        ({"function_name": None, "class_name": "Builder"}, "Builder"),
        ({"function_name": ["x"]}, "brain_core/context_builder.py"),
        ({}, "brain_core/context_builder.py"),
        (None, "brain_core/context_builder.py"),
        ("{broken", "brain_core/context_builder.py"),
        ("[1]", "brain_core/context_builder.py"),
    ],
    ids=["class", "both", "null function", "no text", "empty", "null", "broken", "list"],
)
def test_the_description_is_a_name_or_the_path(metadata: object, description: str) -> None:
    """Function before class; the path where the metadata names neither."""
    shown = _format_code_snippet(CHUNK | {"chunk_metadata": metadata})

    assert shown == SNIPPET.replace(
        "**Description:** build_project_context", f"**Description:** {description}"
    )


@pytest.mark.parametrize(
    ("missing", "shown"),
    [
        ("file_path", SNIPPET.split("\n", 1)[1]),
        ("language", SNIPPET.replace("**Language:** python\n", "").replace("```python", "```")),
        ("chunk_text", SNIPPET.split("\n```", maxsplit=1)[0]),
        (
            "chunk_metadata",
            SNIPPET.replace("n:** build_project_context", "n:** brain_core/context_builder.py"),
        ),
    ],
)
def test_nulls_of_a_chunk_are_left_out(missing: str, shown: str) -> None:
    """The line of each, and of the fence its language; so is a column that is not there at all."""
    assert _format_code_snippet(CHUNK | {missing: None}) == shown
    assert _format_code_snippet({name: value for name, value in CHUNK.items() if name != missing}) == shown


@pytest.mark.parametrize(("length", "end"), [(1_000, ""), (1_001, "...")])
def test_code_is_cut_at_1000(length: int, end: str) -> None:
    """Within its fence."""
    assert _format_code_snippet({"chunk_text": "x" * length}) == f"```\n{'x' * min(length, 1_000)}{end}\n```"
