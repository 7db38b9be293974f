"""The text of a project's row: what is embedded, analysed for BM25 and shown.

Every writer of a row embeds `conversation_text(…)` or `code_text(…)`, adoption and `reembed` included, or the
vectors of one table would not be comparable. Columns of other tools may be null, broken JSON or megabytes
long; the result has no NUL and no lone surrogate. Raises nothing.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import asyncpg

Json = object
"""A value of `json.loads`, or JSON as text."""
Row: TypeAlias = Mapping[str, Any] | asyncpg.Record
"""Columns of conversation_index or code_index by name."""

TITLE, DETAILED, BRIEF, SNIPPET, CODE_COLUMNS = 2_000, 4_000, 2_000, 2_000, 20_000
"""Characters used of a title, a detailed and a short summary, a memory snippet, a code chunk. Prompts show at
most 500 of a summary; rows of other tools may have megabytes."""
SHOWN = 500
"""Characters shown of the tags, and of the entities."""
NAMES = ("function_name", "class_name", "name", "qualified_name", "signature")
"""Keys of a chunk's metadata that may hold its name."""
EMBEDDED = 8_000
"""Most characters embedded: no supported embedder reads more of code."""


def conversation_text(row: Row, *, brief: bool = False) -> str:
    """The text of a conversation or dream, with the detailed summary if there is one. `brief` prefers the
    short one, for showing dreams; embedded is the default form, of dreams too."""
    summaries = [cut(row["summary_detailed"], DETAILED), cut(row["summary_short"], BRIEF)]
    summary = next(filter(None, summaries[::-1] if brief else summaries), "")
    tagged, named = listed(row["tags"])[:SHOWN], listed(row["key_entities"])[:SHOWN]
    lines = (
        cut(row["title"], TITLE),
        f"Tags: {tagged}" if tagged else "",
        f"Key entities: {named}" if named else "",
        summary,
        cut(row["memory_snippet"], SNIPPET),
    )
    return plain("\n".join(filter(None, lines)))


def conversation_words(row: Row) -> str:
    parts = (
        cut(row["title"], TITLE),
        listed(row["tags"])[:DETAILED],
        listed(row["key_entities"])[:DETAILED],
        cut(row["summary_detailed"], DETAILED),
        cut(row["summary_short"], BRIEF),
        cut(row["memory_snippet"], SNIPPET),
    )
    return plain("\n".join(filter(None, parts)))


def code_text(row: Row) -> str:
    return plain("\n".join(filter(None, (row["file_path"], row["chunk_text"])))[:EMBEDDED])


def code_words(row: Row) -> str:
    facts = parsed(row["chunk_metadata"])
    named = [facts.get(name) for name in NAMES] if isinstance(facts, dict) else []
    said = [each for each in named if isinstance(each, str)]
    return plain("\n".join(filter(None, (row["file_path"], *said, (row["chunk_text"] or "")[:CODE_COLUMNS]))))


def cut(text: str | None, most: int) -> str:
    return (text or "")[:most].strip()


def listed(value: Json) -> str:
    return plain(", ".join(_leaves(parsed(value))))


def parsed(value: Json) -> Json:
    """Parsed JSON; text that is not JSON is returned unchanged."""
    if not isinstance(value, str):
        return value
    try:
        found: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found


def plain(text: str) -> str:
    return text.replace("\0", "").encode("utf-8", "replace").decode()


def _leaves(value: Json) -> list[str]:
    if isinstance(value, dict):
        value = list(value.values())
    if not isinstance(value, list):
        return _leaf(value)
    inner = [each for item in value for each in (item.values() if isinstance(item, dict) else [item])]
    return [word for item in inner for word in _leaf(item)]


def _leaf(value: Json) -> list[str]:
    if value is None or isinstance(value, (dict, list, bool)):
        return []
    said = " ".join(str(value).split())
    return [said] if said else []


COLUMN_CHARACTERS = 40_000
"""Characters read of a column: more than any embedder takes (8,191 tokens)."""


@dataclass(frozen=True, slots=True)
class EmbeddedRow:
    kind: str
    """Kind in `ibid.text_next`."""
    words: str
    """Kind in `ibid.project_words`."""
    table: str
    id: str
    says: str
    """SQL: true if there is anything to embed."""
    columns: str
    join_columns: Callable[[Row], str]

    def text(self, row: asyncpg.Record) -> str:
        return self.join_columns(row).strip()[:COLUMN_CHARACTERS]


def cut_to_input(*names: str) -> str:
    return ", ".join(f"left({name}::text, {COLUMN_CHARACTERS}) AS {name}" for name in names)


def says(*names: str, listed: Sequence[str] = ()) -> str:
    """SQL: true if one of the columns holds more than white space, or a `listed` one more than brackets."""
    held = [f"{name}::text ~ '[^[:space:]]'" for name in names]
    named = [f"""({name}::text ~ '[^][}}{{",:[:space:]]' AND {name}::text <> 'null')""" for name in listed]
    return " OR ".join(f"coalesce({each}, false)" for each in (*held, *named)).join("()")


LISTS = ("tags", "key_entities")
TEXTS = ("title", "summary_short", "summary_detailed", "memory_snippet")
CONVERSATION_INPUT = EmbeddedRow(
    kind="conversation",
    words="conversations",
    table="public.conversation_index",
    id="session_id",
    says=says(*TEXTS, listed=LISTS),
    columns=cut_to_input(*LISTS, *TEXTS),
    join_columns=conversation_text,
)
CODE_INPUT = EmbeddedRow(
    kind="code",
    words="code",
    table="public.code_index",
    id="id",
    says=says("chunk_text"),
    columns=cut_to_input("file_path", "chunk_text"),
    join_columns=code_text,
)
