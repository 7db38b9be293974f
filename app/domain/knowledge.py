"""A project's knowledge as the model is told it: overview and rules behind the base prompt, notes behind the
context (CONTRACT §4; seed 001, Message Ordering).

It is the project's own word, written under a tenant key, and told as it stands; only the marks of chat
templates are made visible, which many servers read even inside a message. "" where nothing is known. Pure.
"""

from app.domain.project import Knowledge
from app.domain.prompt import BREAK, visible

OVERVIEW, RULES, NOTES = "### Project Overview", "### Project Rules", "### Project Notes"


def knowledge_text(knowledge: Knowledge) -> str:
    """Overview and rules: what the first message has behind the base prompt."""
    said = ((OVERVIEW, knowledge.overview), (RULES, knowledge.rules))
    return BREAK.join(heading + BREAK + visible(text.strip()) for heading, text in said if text.strip())


def notes_text(knowledge: Knowledge) -> str:
    """The project's notes, in their order: what the third message begins with."""
    notes = [f"**{note.title.strip()}:** {note.text.strip()}" for note in knowledge.notes]
    return BREAK.join([NOTES, *map(visible, notes)]) if notes else ""
