"""Prompts by which chat frontends ask for a chat's title, its tags, or questions to ask next.

They arrive like questions, but searching for them finds nonsense, and among a thread's turns they would be
taken for its last question. They are recognised by their shape: a single message, no reply before it, that
quotes a dialogue with the names of its roles. The dialogue stands between tags (Open WebUI, LobeChat) or ends
with a reply (LibreChat). A dialogue that ends with a user's turn, or with the name of the role that is to go
on, is a question whose client writes its history into the message.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from app.answer import BREAK, Finish
from app.models.base import Delta, ModelStream

NAMES = r"(?:(?P<asker>user|human)|assistant|ai)"
TURN = re.compile(
    rf"^[ \t]*(?:[>*_#-]+[ \t]*)?(?:<{NAMES}>|{NAMES.replace('asker', 'other')}[*_]{{0,2}}[ \t]*:)",
    re.IGNORECASE | re.MULTILINE,
)
"""Where a turn of a quoted dialogue begins: `USER:`, `**User**:`, `<user>`."""
WRAPPED = re.compile(r"<(\w+)>\s*$")
"""A tag right before the dialogue's first turn."""
TITLE = re.compile(r"\btitle\b", re.IGNORECASE)
TASK = re.compile(
    r"\b(?:titles?|tags?|topics?|categor\w+|follow[- ]?ups?|emojis?|summar\w+|keywords?)\b", re.IGNORECASE
)
"""The tasks that frontends give with a dialogue without tags."""
FORM = re.compile(r"\s*(?:#|[{\[*-]|[^\n?]{1,80}:\s*$|output\b|return\b|respond\b|reply\b)", re.IGNORECASE)
OBJECT = re.compile(r"\{\s*\"[^{}]*\}")
"""A JSON object without objects in it: how the reply is to look."""
WORDS, LETTERS = 8, 60
"""Most words and characters of a title that is made without a model."""


def is_errand(message: str) -> bool:
    """True if a request's only message is a frontend's own prompt."""
    turns = list(TURN.finditer(message))
    if not turns:
        return False
    before = message[: turns[0].start()]
    if wrapped := WRAPPED.search(before):
        _, closed, after = message.rpartition(f"</{wrapped[1]}>")
        # A message after the quotation is a question about it.
        return bool(closed and before[: wrapped.start()].strip()) and is_form(after)
    _, parted, after = message[turns[-1].end() :].rpartition(BREAK)
    if not TASK.search(before) and not (parted and TASK.search(after)):
        return False
    asked = next((turn for turn in turns if is_asker(turn)), None)
    if asked is None or is_asker(turns[-1]):
        return False
    # A dialogue that ends with a role's name is one to go on with, unless its title is asked for.
    return bool(message[turns[-1].end() :].strip() or TITLE.search(before))


def is_form(text: str) -> bool:
    """True for nothing, a heading, or the form in which the reply is wanted."""
    return not text.strip() or bool(FORM.match(text))


def is_asker(turn: re.Match[str]) -> bool:
    return bool(turn["asker"] or turn["other"])


@dataclass(frozen=True, slots=True)
class Said:
    """A text as a model's stream."""

    text: str
    model: str = "extractive"

    async def __aiter__(self) -> AsyncIterator[Delta]:
        yield Delta(self.text)
        yield Delta(finish=Finish.STOP)


@asynccontextmanager
async def unaided(message: str) -> AsyncIterator[ModelStream]:
    """The reply to an errand if there is no model."""
    yield Said(reply(message))


def reply(message: str) -> str:
    """A title from the words of the first question, in the form of the first JSON object that the prompt
    shows; its lists stay empty."""
    turns = list(TURN.finditer(message))
    title = title_of(message, turns)
    for shown in OBJECT.finditer(message[: turns[0].start()] if turns else message):
        try:
            form = json.loads(shown[0])
        except ValueError:
            continue
        filled = {
            key: title if value and isinstance(value, str) else type(value)() for key, value in form.items()
        }
        return json.dumps(filled, ensure_ascii=False)
    return title


def title_of(message: str, turns: list[re.Match[str]]) -> str:
    at = next((n for n, turn in enumerate(turns) if is_asker(turn)), None)
    if at is None:
        return "Chat"
    end = turns[at + 1].start() if at + 1 < len(turns) else len(message)
    said = message[turns[at].end() : end].partition("</")[0]
    title = ""
    for word in said.split()[:WORDS]:
        if len(title) + len(word) >= LETTERS:
            break
        title += f" {word}"
    return title.strip(" ?.!,;:\"'*`") or "Chat"
