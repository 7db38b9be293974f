"""DAAS: the dreams nearest to the message (seed 000, CONTRACT §4)."""

from app.domain.project import DREAMS
from app.projects.section import Choice, Form, Kind, Line, Section

DREAM: Form = (
    Line("title", "**Dream: {}**"),
    Line("summary_short", "- **Summary**: {}", 300, Kind.PROSE),
    Line("memory_snippet", "- **Key Details**: {}", 200, Kind.PROSE),
)
SECTIONS = (
    Section(
        DREAMS,
        Choice.NEAREST,
        3,
        "### Related Dreams for Analysis",
        DREAM,
        noun="dreams",
        note="Retrieved {count} dreams via vector similarity search",
        most=5,
        between="\n\n---\n\n",
        # Three stay under 1,000 with heading and separators, in scripts too whose every character is a token.
        tokens=320,
    ),
)
