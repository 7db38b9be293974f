"""THN: its last conversations, and the code nearest to the message (seeds 001 and 002, CONTRACT §4).

The two formats under the names that seed 001 gives them. Nothing here raises.
"""

from collections.abc import Mapping, Sequence

from app.domain.project import CODE, CONVERSATIONS
from app.projects.entry import entry
from app.projects.section import Choice, Form, Kind, Line, Section

CONVERSATION: Form = (
    Line("title", "- **Title:** {}"),
    Line("tags", "- **Tags:** {}", kind=Kind.NAMES),
    Line("key_entities", "- **Key Entities:** {}", kind=Kind.NAMES),
    Line("summary_detailed", "- **Summary:** {}", 500, Kind.PROSE),
    Line("memory_snippet", "- **Memory Snippet:** {}", 300, Kind.PROSE),
)
SNIPPET: Form = (
    Line("file_path", "**File:** {}"),
    Line("language", "**Language:** {}"),
    Line("chunk_metadata", "**Description:** {}", kind=Kind.SYMBOL, instead="file_path"),
    Line("chunk_text", cut=1000, kind=Kind.CODE),
)
ROW = tuple(line.column for line in CONVERSATION)
"""The columns of a row of conversation_index, in the order of seed 001's query."""
SECTIONS = (
    Section(
        CONVERSATIONS,
        Choice.NEWEST,
        5,
        "### History & Context: Last 5 Conversations",
        CONVERSATION,
        noun="conversations",
        note="Retrieved {count} conversations from conversation_index",
    ),
    Section(
        CODE,
        Choice.NEAREST,
        5,
        "### Relevant Code Snippets",
        SNIPPET,
        noun="code chunks",
        note="Retrieved {count} code chunks via vector similarity search",
    ),
)


def _format_conversation_entry(row: Sequence[object]) -> str:
    """A row (title, tags, key_entities, summary_detailed, memory_snippet) as a list of its fields."""
    return entry(CONVERSATION, dict(zip(ROW, row, strict=True)))


def _format_code_snippet(chunk: Mapping[str, object]) -> str:
    """A chunk (file_path, language, chunk_text, chunk_metadata) with its code in a fence."""
    return entry(SNIPPET, chunk)
