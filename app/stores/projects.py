"""The projects' two tables as those see them who embed what others wrote: what of a row is embedded.

Other tools wrote many of the rows and go on doing so: any column may be null, or hold megabytes, of which no
embedder reads more than is fetched here. Nothing here raises.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import asyncpg

from app.domain.embedded import code_text, conversation_text

MOST = 40_000
"""Characters of a column: more than any embedder reads (8,191 tokens)."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One of them."""

    kind: str
    """As `ibid.text_next` calls its rows."""
    words: str
    """As `ibid.project_words` does."""
    table: str
    id: str
    says: str
    """Whether there is anything to embed."""
    columns: str
    told: Callable[[asyncpg.Record], str]

    def text(self, row: asyncpg.Record) -> str:
        """What is embedded of a row (a record with the columns)."""
        return self.told(row).strip()[:MOST]


def conversation(row: asyncpg.Record) -> str:
    """One of conversation_index, a dream too."""
    return conversation_text(
        title=row["title"],
        tags=row["tags"],
        key_entities=row["key_entities"],
        summary_short=row["summary_short"],
        summary_detailed=row["summary_detailed"],
        memory_snippet=row["memory_snippet"],
    )


def chunk(row: asyncpg.Record) -> str:
    """One of code_index."""
    return code_text(file_path=row["file_path"], chunk_text=row["chunk_text"])


def cut(*names: str) -> str:
    """Columns as text, as much of each as counts."""
    return ", ".join(f"left({name}::text, {MOST}) AS {name}" for name in names)


def says(*names: str, listed: Sequence[str] = ()) -> str:
    """Whether one of them holds more than white space, or one of the `listed` more than brackets."""
    held = [f"{name}::text ~ '[^[:space:]]'" for name in names]
    named = [f"""({name}::text ~ '[^][}}{{",:[:space:]]' AND {name}::text <> 'null')""" for name in listed]
    return " OR ".join(f"coalesce({each}, false)" for each in (*held, *named)).join("()")


LISTED = ("tags", "key_entities")
TOLD = ("title", "summary_short", "summary_detailed", "memory_snippet")
CONVERSATION = Kept(
    kind="conversation",
    words="conversations",
    table="public.conversation_index",
    id="session_id",
    says=says(*TOLD, listed=LISTED),
    columns=cut(*LISTED, *TOLD),
    told=conversation,
)
CODE = Kept(
    kind="code",
    words="code",
    table="public.code_index",
    id="id",
    says=says("chunk_text"),
    columns=cut("file_path", "chunk_text"),
    told=chunk,
)
