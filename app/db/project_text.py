"""The text of a project's row: what is embedded, analysed for BM25 and shown.

Every writer of a row embeds `conversation_text(…)` or `code_text(…)`, adoption and `reembed` included, or the
vectors of one table would not compare. Columns of other tools may be null, broken JSON or megabytes long; the
result has no NUL and no lone surrogate. Raises nothing.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import asyncpg

Json = object
"""A value as `json.loads` gives it, or JSON as text."""
Row: TypeAlias = Mapping[str, Any] | asyncpg.Record
"""Columns of conversation_index or code_index by name."""

TITLE, DETAILED, BRIEF, SNIPPET, CODE_COLUMNS = 2_000, 4_000, 2_000, 2_000, 20_000
"""Characters that count of a title, a detailed and a short summary, a memory snippet, a chunk. Formats show
500 of a summary at most; what older tools wrote may have megabytes."""
SHOWN = 500
"""Characters of the tags, and of the entities."""
NAMES = ("function_name", "class_name", "name", "qualified_name", "signature")
"""Keys of a chunk's metadata that may hold its name."""
EMBEDDED = 8_000
"""Characters that are embedded at most: more than any embedder here reads of code."""


def conversation_text(row: Row, *, brief: bool = False) -> str:
    """A conversation's, or a dream's. Of the two summaries the detailed one if there is one; `brief`, as
    dreams are shown: the short one. Embedded is the default form, of dreams too."""
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
    """What a conversation or a dream is found by: all of it."""
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
    """A chunk's, to be embedded: its file's path above its text."""
    return plain("\n".join(filter(None, (row["file_path"], row["chunk_text"])))[:EMBEDDED])


def code_words(row: Row) -> str:
    """What a chunk is found by: path, names, signature, text."""
    facts = parsed(row["chunk_metadata"])
    named = [facts.get(name) for name in NAMES] if isinstance(facts, dict) else []
    said = [each for each in named if isinstance(each, str)]
    return plain("\n".join(filter(None, (row["file_path"], *said, (row["chunk_text"] or "")[:CODE_COLUMNS]))))


def cut(text: str | None, most: int) -> str:
    """The beginning of a column, without white space around it."""
    return (text or "")[:most].strip()


def listed(value: Json) -> str:
    """Tags or entities, comma-joined; of objects their values; what is broken as it stands."""
    return plain(", ".join(_leaves(parsed(value))))


def parsed(value: Json) -> Json:
    """A value out of its text; text that is no JSON stays as it is."""
    if not isinstance(value, str):
        return value
    try:
        found: Json = json.loads(value)
    except (ValueError, RecursionError):
        return value
    return found


def plain(text: str) -> str:
    """The text without characters that UTF-8 or Postgres cannot hold."""
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


MOST = 40_000
"""Characters of a column: more than any embedder reads (8,191 tokens)."""


@dataclass(frozen=True, slots=True)
class EmbeddedRow:
    kind: str
    """As `ibid.text_next` calls its rows."""
    words: str
    """As `ibid.project_words` does."""
    table: str
    id: str
    says: str
    """Whether there is anything to embed."""
    columns: str
    join_columns: Callable[[Row], str]

    def text(self, row: asyncpg.Record) -> str:
        """What is embedded of a row (a record with the columns)."""
        return self.join_columns(row).strip()[:MOST]


def cut_to_input(*names: str) -> str:
    return ", ".join(f"left({name}::text, {MOST}) AS {name}" for name in names)


def says(*names: str, listed: Sequence[str] = ()) -> str:
    """Whether one of them holds more than white space, or one of the `listed` more than brackets."""
    held = [f"{name}::text ~ '[^[:space:]]'" for name in names]
    named = [f"""({name}::text ~ '[^][}}{{",:[:space:]]' AND {name}::text <> 'null')""" for name in listed]
    return " OR ".join(f"coalesce({each}, false)" for each in (*held, *named)).join("()")


LIST_COLUMNS = ("tags", "key_entities")
TOLD = ("title", "summary_short", "summary_detailed", "memory_snippet")
CONVERSATION_INPUT = EmbeddedRow(
    kind="conversation",
    words="conversations",
    table="public.conversation_index",
    id="session_id",
    says=says(*TOLD, listed=LIST_COLUMNS),
    columns=cut_to_input(*LIST_COLUMNS, *TOLD),
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
