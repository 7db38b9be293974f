"""What any project can show: its conversations and its code, by words and meaning (CONTRACT §4).

The words of the notes are formed after the seeds'.
"""

from dataclasses import replace

from app.domain.project import CODE, CONVERSATIONS
from app.projects.section import Choice, Section
from app.projects.thn import CONVERSATION, SNIPPET

SHOWN = tuple(
    replace(line, instead="summary_short") if line.column == "summary_detailed" else line
    for line in CONVERSATION
)
"""As THN's, but a short summary stands in for a long one: other projects' rows may have no other."""


def talk(limit: int = 5, source: str = CONVERSATIONS) -> Section:
    """The conversations (or dreams) that match a message."""
    return Section(
        source,
        Choice.FUSED,
        limit,
        "### Related Conversations",
        SHOWN,
        noun="conversations",
        note="Retrieved {count} conversations by words and meaning",
        most=40,
    )


def code(limit: int = 8) -> Section:
    """The code that matches a message."""
    return Section(
        CODE,
        Choice.FUSED,
        limit,
        "### Relevant Code Snippets",
        SNIPPET,
        noun="code chunks",
        note="Retrieved {count} code chunks by words and meaning",
        most=40,
        optional=True,
    )
