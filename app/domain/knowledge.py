"""A project's knowledge as the model is told it: overview and rules behind the base prompt, notes behind the
context (CONTRACT §4; seed 001, Message Ordering).

It is the project's own word, written under a tenant key, and told as it stands; only the marks of chat
templates are made visible, which many servers read even inside a message. "" where nothing is known. Pure
but for the count of tokens.
"""

from collections.abc import Callable
from dataclasses import replace

from app.domain.project import Knowledge
from app.domain.prompt import BREAK
from app.domain.sanitise import sanitise_name, sanitise_text

OVERVIEW, RULES, NOTES = "### Project Overview", "### Project Rules", "### Project Notes"
QUARTER = 4
"""The part of the model's window that all of it may take: question, context and answer need the rest."""
FIRST = ("rules", "overview")
"""What goes last where not all has room: notes go before, from the end."""


def knowledge_text(knowledge: Knowledge) -> str:
    """Overview and rules: what the first message has behind the base prompt."""
    said = ((OVERVIEW, knowledge.overview), (RULES, knowledge.rules))
    return BREAK.join(heading + BREAK + sanitise_text(text.strip()) for heading, text in said if text.strip())


def notes_text(knowledge: Knowledge) -> str:
    """The project's notes, in their order: what the third message begins with."""
    notes = [
        f"**{sanitise_name(note.title)}:** {sanitise_text(note.text.strip())}" for note in knowledge.notes
    ]
    return BREAK.join([NOTES, *notes]) if notes else ""


def parts_of(knowledge: Knowledge) -> int:
    """Of how many parts it is: rules, overview, each note."""
    return len(FIRST) + len(knowledge.notes)


def first(knowledge: Knowledge, parts: int) -> Knowledge:
    """The first parts of it."""
    emptied = dict.fromkeys(FIRST[parts:], "")
    return replace(knowledge, **emptied, notes=knowledge.notes[: max(0, parts - len(FIRST))])


def left_out(knowledge: Knowledge, parts: int) -> str:
    """What is not among the first parts, in words; "": nothing."""
    notes = parts_of(knowledge) - max(parts, len(FIRST))
    told = [f"{notes} of {len(knowledge.notes)} project notes"] if notes else []
    told += [f"the project's {name}" for name in FIRST[parts:] if getattr(knowledge, name).strip()]
    return f"Left out {', '.join(told)}: no room in the model's window" if told else ""


def sizes(knowledge: Knowledge, count: Callable[[str], int]) -> dict[str, int]:
    """Tokens by field, as they are told."""
    return {
        "overview": count(knowledge_text(Knowledge(knowledge.overview))),
        "rules": count(knowledge_text(Knowledge(rules=knowledge.rules))),
        "notes": count(notes_text(knowledge)),
    }
