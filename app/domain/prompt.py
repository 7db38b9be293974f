"""What the model is shown, in the one order there is: system, context, notes, earlier turns, message.

Source: seed 004 (Prompt Format), CONTRACT §1. As roles: system text; a system block `[Context]` with one
line a passage, `- From doc.pdf#1: "chunk text…"`; the earlier turns; the user's message. Retrieved text
is quoted on one line, so that it cannot forge a `[System]` or `[User]` line of its own, nor a chat
template's marks. Nothing here raises.
"""

import hashlib
import json
import re
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypedDict

from app.domain.passage import Passage
from app.domain.text import once

HEAD = "[Context]"
"""The context block's first line."""
UNSAFE = re.compile(
    r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff\U000e0000-\U000e007f]"
    r"|<(?=[|｜]|/?s>|(?:start|end)_of_turn>|<?/?SYS>)|\[(?=/?INST\])"
)
"""What JSON leaves as it is, but a line, a screen or a chat template does not: line and direction marks,
text that nobody sees, halves of characters; and the opening of a template's marks, as in `<|im_start|>`,
which many servers read even inside a message."""


class Role(StrEnum):
    """Who speaks."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"


@dataclass(frozen=True, slots=True)
class Turn:
    """One turn of a thread."""

    role: Role
    content: str
    at: datetime | None = None


class Message(TypedDict):
    """A message of the OpenAI chat protocol."""

    role: str
    content: str


@once
def quote(text: str) -> str:
    """A passage's text as a JSON string: one line, visible, and its own quotes cannot end it."""
    return UNSAFE.sub(_escaped, json.dumps(text, ensure_ascii=False))


def _escaped(found: re.Match[str]) -> str:
    """As JSON escapes it: `\\u2028`."""
    return json.dumps(found[0])[1:-1] if found[0] > "\x7f" else f"\\u{ord(found[0]):04x}"


def context_line(passage: Passage) -> str:
    """One passage as the model sees it. Budget counts this line, newline included."""
    return f"- From {passage.label}: {quote(passage.text)}"


@dataclass(frozen=True, slots=True)
class Prompt:
    """A value; the only place that knows the order of its blocks."""

    system: str
    message: str
    passages: tuple[Passage, ...] = ()
    notes: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    context: str = field(init=False, repr=False, compare=False)
    """The context block, "" without passages. Made once: the count, the model, the hash and the debug view
    all read it."""

    def __post_init__(self) -> None:
        lines = [HEAD, *map(context_line, self.passages)] if self.passages else []
        object.__setattr__(self, "context", "\n".join(lines))

    def messages(self) -> list[Message]:
        """As roles."""
        blocks = [self.system, self.context, "\n".join(self.notes)]
        system = [Message(role=Role.SYSTEM, content=block) for block in blocks if block]
        turns = [Message(role=turn.role, content=turn.content) for turn in self.turns]
        return [*system, *turns, Message(role=Role.USER, content=self.message)]

    def text(self) -> str:
        """The seed's text form, for `debug.prompt`."""
        names = {Role.SYSTEM: "[System]", Role.USER: "[User]", Role.ASSISTANT: "[Assistant]"}
        notes = ["\n".join(self.notes)] if self.notes else []
        blocks = [f"[System] {self.system}", *([self.context] if self.context else []), *notes]
        turns = [f"{names[turn.role]} {turn.content}" for turn in self.turns]
        return "\n".join([*blocks, *turns, f"[User] {self.message}"])

    def sha256(self) -> str:
        """Of the messages as canonical JSON: equal prompts have equal hashes on any machine."""
        canonical = json.dumps(self.messages(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()
