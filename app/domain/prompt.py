"""What the model is shown, in the one order there is: system, persona and overlay, context, notes, earlier
turns, message.

Source: seed 004 (Prompt Format), seed 003 (5.1), CONTRACT §1-2. As roles: system text; a system block
`[Context]` with one line a passage, `- From doc.pdf#1: "chunk text…"`; the earlier turns; the user's message.
Of memories one system text: persona, overlay, `- [collection][kind] [label] text`, gravity note. Retrieved
text stays on its line, so that it cannot forge a `[System]` or `[User]` line of its own, nor a chat
template's marks (`domain/sanitise.py`). Nothing here raises.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import TypedDict

from app.domain.passage import Passage
from app.domain.sanitise import one_line, quote, sanitise_name
from app.domain.trace import Reason

HEAD = "[Context]"
"""The context block's first line."""
MEMORY = "[Memory]"
"""The same, of memories and reference texts."""
SAID = "\n  said on "
"""What stands before it, below a memory."""
BREAK = "\n\n"
"""Between blocks that share a message."""


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
    id: str = field(default="", compare=False)
    """In the chat log; "": it is not of it."""


class Message(TypedDict):
    """A message of the OpenAI chat protocol."""

    role: str
    content: str


def context_line(passage: Passage) -> str:
    """One passage as the model sees it. Budget counts this line, newline included."""
    said = day(passage)
    return f"- From {passage.label}: {quote(passage.text)}{f' ({said})' if said else ''}"


def day(passage: Passage) -> str:
    """Of a memory, when it was said: without it nobody can tell what its `yesterday` was. "": of others, and
    of those of which nobody knows. It stands where no text can: behind the closing quote, on its own line."""
    return said.isoformat() if (said := passage.said_on) else ""


def memory_line(passage: Passage) -> str:
    """A memory or a reference text as the model sees it: `- [memory_raw][note] [memory#k3v9q2ax] text`, and
    below it the day of a memory, on a line of its own: a text ends with its line."""
    names = (passage.fields.get(name) for name in ("collection", "kind"))
    tags = "".join(f"[{sanitise_name(str(name or '')) or '-'}]" for name in names)
    said = day(passage)
    return f"- {tags} [{passage.label}] {one_line(passage.text)}{f'{SAID}{said}' if said else ''}"


@dataclass(frozen=True, slots=True)
class Form:
    """How the blocks of a prompt are written down."""

    head: str
    """Of the context block."""
    line: Callable[[Passage], str]
    """A passage's, in that block."""
    shown: Callable[[str], str] | None = None
    """A passage's text as it stands in the line, where it does."""
    joined: bool = False
    """All blocks in one system message, as seed 003 sends them; else a message each, but for those that stand
    before the context: they share the system text's."""
    whole: Callable[[Sequence[Passage]], str] | None = None
    """The context block, where it is more than its head and a line a passage."""

    def block(self, passages: Sequence[Passage]) -> str:
        """The context block, "" without passages."""
        if self.whole or not passages:
            return self.whole(passages) if self.whole and passages else ""
        return "\n".join([self.head, *map(self.line, passages)])


DOCUMENTS = Form(HEAD, context_line, quote)
MEMORIES = Form(MEMORY, memory_line, one_line, joined=True)
GREETING = Form("", memory_line, one_line, joined=True)
"""Of the greeting's bypass: nothing is shown, and nothing was looked for."""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A value; the only place that knows the order of its blocks."""

    system: str
    message: str
    passages: tuple[Passage, ...] = ()
    notes: tuple[str, ...] = ()
    turns: tuple[Turn, ...] = ()
    before: tuple[str, ...] = ()
    """Blocks between the system text and the context: persona, overlay, how long the asker was away."""
    form: Form = DOCUMENTS
    reason: Reason = field(default=Reason.OK, compare=False)
    """Why there are no passages. No model is shown it; the bundled answerer words its answer by it."""
    context: str = field(init=False, repr=False, compare=False)
    """The context block, "" without passages. Made once: the count, the model, the hash and the debug view
    all read it."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "context", self.form.block(self.passages))

    def blocks(self) -> list[str]:
        """What the model is told by the system, in order."""
        opening = tuple(filter(None, (self.system, *self.before)))
        if len(opening) > 1 and not self.form.joined:
            opening = (BREAK.join(opening),)
        return [block for block in (*opening, self.context, "\n".join(self.notes)) if block]

    def messages(self) -> list[Message]:
        """As roles."""
        blocks = [BREAK.join(self.blocks())] if self.form.joined else self.blocks()
        system = [Message(role=Role.SYSTEM, content=block) for block in blocks]
        turns = [Message(role=turn.role, content=turn.content) for turn in self.turns]
        return [*system, *turns, Message(role=Role.USER, content=self.message)]

    def text(self) -> str:
        """The seed's text form, for `debug.prompt`."""
        names = {Role.SYSTEM: "[System]", Role.USER: "[User]", Role.ASSISTANT: "[Assistant]"}
        system = (BREAK if self.form.joined else "\n").join(self.blocks())
        turns = [f"{names[turn.role]} {turn.content}" for turn in self.turns]
        return "\n".join([f"[System] {system}", *turns, f"[User] {self.message}"])

    def sha256(self) -> str:
        """Of the messages as canonical JSON (sorted keys, no blanks, ASCII): equal prompts have equal hashes
        on any machine."""
        canonical = json.dumps(self.messages(), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("ascii")).hexdigest()


def build_system_prompt(
    system: str,
    message: str,
    passages: Sequence[Passage] = (),
    *,
    persona: str = "",
    overlay_text: str = "",
    reentry: str = "",
    note: str = "",
    include_persona: bool = True,
    form: Form = MEMORIES,
    reason: Reason = Reason.OK,
) -> Prompt:
    """The prompt of /rag/query, one system text and the message: how long the asker was away, persona,
    overlay, memories and reference texts, gravity note (seed 003, 5.1). "" leaves a block out."""
    before = (reentry, persona if include_persona else "", overlay_text)
    notes = (note,) if note else ()
    return Prompt(system, message, tuple(passages), notes, before=before, form=form, reason=reason)
