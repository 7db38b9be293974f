"""Value types of an answer: the prompt the model sees, the recipe to rebuild it, and the answer as stored.

A prompt's blocks have one order: system, date, persona and overlay, context, notes, earlier turns, message.
Retrieved text stays on its own line and is sanitised (`text/sanitise.py`), so that it cannot forge a role or
a chat template's marks. A recipe stores the text of a block only where it came from the request or from Ibid
itself; everything else is a reference and a hash, so that a trace shows nothing of what was erased since.
"""

import hashlib
import json
import os
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, fields
from datetime import datetime
from enum import StrEnum
from typing import Any, TypedDict

from app.text.sanitise import one_line, quote, sanitise_name
from app.types import DOCUMENTS, Passage, Reason, Trace

MEMORY_REF, CHAT_LOG_REF = "memories", "chat_log"
"""What `Ref.source` is of a card, and of a turn."""

KNOWLEDGE, NOTES = "project_knowledge", "project_notes"
"""The same of a project's overview and rules, and of its notes; their id is the project's name."""


class Kind(StrEnum):
    """What a block is, and so where its text comes from when it is rebuilt."""

    INSTRUCTIONS = "instructions"
    """A text of `answering/prompt.py`, by name."""
    DATE = "date"
    """The day of the question: kept as text."""
    REENTRY = "reentry"
    """How long the asker was away: kept as text, it is not derived again."""
    PERSONA = "persona"
    """From cards: by reference."""
    OVERLAY = "overlay"
    """The request's: kept as text."""
    POLICY = "policy"
    """The overlay of /vantage: made again from the message and the request's limits by today's policy."""
    THREAD = "thread"
    """Turns shown as a block: by reference."""
    LENS = "lens"
    """By name."""
    CARDS = "cards"
    """Vantage cards and facts: by reference."""
    GRAVITY = "gravity"
    """The gravity note: from the profile card, by reference."""
    KNOWLEDGE = "knowledge"
    """A project's overview and rules: by reference."""
    PROJECT_NOTES = "project_notes"
    """A project's notes: by reference."""
    NOTE = "note"
    """The request's: kept as text."""
    TURN = "turn"
    """An earlier turn: of the chat log by reference, of the request's own history as text (BROUGHT)."""


@dataclass(frozen=True, slots=True)
class Ref:
    """Something of a store that a block was made of."""

    source: str
    """memories (a card), chat_log, vantage_card, vantage_fact, …"""
    id: str
    sha256: str
    """Of its text."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block of a prompt."""

    kind: Kind
    sha256: str
    """Of its whole text as the model saw it."""
    text: str = ""
    name: str = ""
    """Of instructions, a lens, or a turn's role; of knowledge how many of its parts had room, "": all."""
    refs: tuple[Ref, ...] = ()


@dataclass(frozen=True, slots=True)
class Recipe:
    """A prompt without its texts, in the order of `answer.py`."""

    form: str
    """documents, memories, greeting or project: `prompt.Form`."""
    system: Block
    before: tuple[Block, ...] = ()
    notes: tuple[Block, ...] = ()
    turns: tuple[Block, ...] = ()
    ranking: int = 0
    """Version of the ranking that chose the passages."""
    project: str | None = None
    """In whose reach they were looked for, and whose knowledge was told; None: no project was named."""

    @property
    def blocks(self) -> tuple[Block, ...]:
        """All of them, in the prompt's order."""
        return (self.system, *self.before, *self.notes, *self.turns)


def recipe_block(
    kind: Kind, text: str, *, name: str = "", keep: bool = False, refs: tuple[Ref, ...] = ()
) -> Block:
    """A block of a text; `keep`: the text itself stays in the trace."""
    return Block(kind, sha256(text), text=text if keep else "", name=name, refs=refs)


def sha256(text: str) -> str:
    """Hexadecimals; lone surrogates count as they are written."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


EMPTY = sha256("")


class Finish(StrEnum):
    """How an answer ended (`finish_reason`)."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model's server counted them, or as we did where it does not say."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Citation:
    """A packed passage as a reply names it."""

    label: str
    source: str
    id: str
    title: str
    page: int | None
    page_end: int | None
    url: str | None
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Of a reference text, as its writer gave it."""
    page_label: str | None = None
    """Page numbers as printed."""


@dataclass(frozen=True, slots=True)
class ShownCitation(Citation):
    """A citation with what only a reply tells: nothing of it is recorded."""

    web_url: str | None = None
    """Absolute, for a browser; None: there is no IBID_PUBLIC_URL, or nothing to open."""
    text: str | None = None
    """Where the request includes `text`."""
    similarity: float | None = None
    score: float | None = None
    """Both where it includes `scores`."""


def cited_of(told: Mapping[str, Any]) -> ShownCitation:
    """A citation from its JSON."""
    names = (each.name for each in fields(ShownCitation))
    return ShownCitation(**{name: told[name] for name in names if name in told})


def pages_of(citation: Citation) -> str:
    """`page 3`, `pages 3–4`, as printed if that is known; "" without pages."""
    first, last = citation.page, citation.page_end
    physical = "" if first is None else f"{first}" if last in (None, first) else f"{first}–{last}"
    shown = citation.page_label or physical
    return shown and f"{'pages' if '–' in shown else 'page'} {shown}"


def named(citation: Citation, otherwise: str = "") -> str:
    """A citation in words: `Annual report, pages 3–4`. `otherwise`: in place of a title that it lacks."""
    return ", ".join(filter(None, (citation.title or otherwise, pages_of(citation))))


def address_of(citation: ShownCitation, base: str = "", *, own: bool = False) -> str | None:
    """The address that a browser can open, of a document its file at the page; None: there is none. `base`:
    where the service is. `own`: the passage's, which no other passage has; clients number sources by it."""
    if citation.web_url or citation.url is None:
        return citation.web_url
    if citation.source == DOCUMENTS and not own:
        document = citation.id.rpartition(":")[0]
        return f"{base}/api/documents/{document}/file#page={citation.page or 1}"
    return f"{base}{citation.url}" if citation.url.startswith("/") else citation.url


class Support(StrEnum):
    """How well a passage carries the sentence that cites it."""

    STRONG = "strong"
    WEAK = "weak"
    NONE = "none"
    UNCHECKED = "unchecked"


@dataclass(frozen=True, slots=True)
class Span:
    """Where a citation stands in the answer: code points of the text as sent."""

    start: int
    end: int
    label: str
    n: int
    """The label's number, in order of first appearance, from 1."""
    quote: str | None = None
    """The quotation that it stands behind."""
    support: Support = Support.UNCHECKED


@dataclass(frozen=True, slots=True)
class Sent:
    """How an answer's events were sent, beside what the answer itself says: `answering/live.py` makes them of
    it again."""

    pieces: tuple[int, ...] = ()
    """Lengths of the `token` events, in code points of the text."""
    taken_back: int = 0
    """`token` events before these, with reasoning that the model took back: its text is not kept."""
    model: str = ""
    """As `meta` named it, before the model's server was heard."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Further fields of `meta`, as JSON, without the texts of memories and the prompt."""
    done: Mapping[str, object] = field(default_factory=dict)
    """Fields of `done` beside the answer's own."""
    error: tuple[str, str] | None = None
    """Slug and detail of the problem that it ended with."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of any endpoint."""

    id: str
    endpoint: str
    question: str
    text: str
    model: str
    finish: Finish | None
    """None while it runs, or if it ended in an error."""
    citations: tuple[Citation, ...]
    cited: tuple[str, ...]
    unknown: tuple[str, ...]
    prompt_sha256: str
    trace: Trace
    usage: Usage
    created_at: datetime
    timings: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds by stage."""
    recipe: Recipe | None = None
    """How the prompt was put together; None: there was none, or an older version kept this answer."""
    appended: bool = False
    """The model cited nothing: what is `cited` was named behind its text."""
    spans: tuple[Span, ...] = ()
    """Where it cites. Empty for answers of older versions."""
    ruling: Mapping[str, object] | None = None
    """Of /vantage alone, as JSON: what was decided and why (`answering/ruling.py` writes and reads it)."""
    sent: Sent | None = None
    """None: an older version kept this answer, or it was never sent."""
    rating: str | None = None
    """What the reader thinks of it, up or down, as it is stored; writing an answer leaves it as it is."""


DRAWN = 64
NOISE: list[int] = []


def new_id(at: int | None = None) -> str:
    """A UUIDv7 (RFC 9562 §5.7): sorts by time, so that pages of answers and documents do too.

    Twelve bits tell times within a millisecond (§6.2, method 3), in steps of 244 ns: ids made one after
    another by one process sort as they were made. 62 bits are random. `at`: nanoseconds since 1970, else now.
    """
    millis, rest = divmod(time.time_ns() if at is None else at, 1_000_000)
    step = (rest << 12) // 1_000_000
    digits = f"{millis << 80 | 0x7 << 76 | step << 64 | 0b10 << 62 | noise() >> 2:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def noise() -> int:
    """64 random bits. The system is asked for many at once: each time it is, the interpreter goes to another
    thread, and under load it takes long to come back."""
    with suppress(IndexError):
        return NOISE.pop()
    first, *rest = memoryview(os.urandom(8 * DRAWN)).cast("Q")
    NOISE.extend(rest)
    return first


os.register_at_fork(after_in_child=NOISE.clear)  # else parent and child draw the same

HEAD = "[Context]"
"""The context block's first line."""
MEMORY = "[Memory]"
"""The same, of memories and reference texts."""
SAID = "\n  said on "
"""What stands before it, below a memory."""
BREAK = "\n\n"
"""Between blocks that share a message."""


class Role(StrEnum):
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


HEADING_MOST = 120
"""Characters of a heading path in a context line; of a longer one its end, which is nearest to the text."""


def context_line(passage: Passage, shown: str) -> str:
    """One passage as the model sees it, its text as it is `shown`: `- From report.pdf#3: "text" (page 12,
    "Results")`. What stands behind the text cannot be imitated by it, as its own quotes are escaped. Budget
    counts this line, newline included."""
    place = place_of(passage) or day(passage)
    return f"- From {passage.label}: {shown}{f' ({place})' if place else ''}"


def place_of(passage: Passage) -> str:
    """Pages and heading path of a document's passage; "" for others. The heading is quoted: it is data."""
    page, end, heading = (passage.fields.get(name) for name in ("page", "page_end", "heading"))
    if passage.source != DOCUMENTS or not isinstance(page, int):
        return ""
    pages = f"pages {page}-{end}" if end and end != page else f"page {page}"
    return f"{pages}, {quote(str(heading)[-HEADING_MOST:])}" if heading else pages


def day(passage: Passage) -> str:
    """Of a memory, when it was said: without it nobody can tell what its `yesterday` was. "": of others, and
    of those of which nobody knows."""
    return said.isoformat() if (said := passage.said_on) else ""


def memory_line(passage: Passage, shown: str) -> str:
    """A memory or a reference text as the model sees it: `- [memory_raw][note] [memory#k3v9q2ax] text`, and
    below it the day of a memory, on a line of its own: a text ends with its line."""
    names = (passage.fields.get(name) for name in ("collection", "kind"))
    tags = "".join(f"[{sanitise_name(str(name or '')) or '-'}]" for name in names)
    said = day(passage)
    return f"- {tags} [{passage.label}] {shown}{f'{SAID}{said}' if said else ''}"


@dataclass(frozen=True, slots=True)
class Form:
    """How the blocks of a prompt are written down."""

    head: str
    """Of the context block."""
    line: Callable[[Passage, str], str] = context_line
    """A passage's, in that block."""
    shown: Callable[[str], str] = quote
    """A passage's text as it stands in the line."""
    joined: bool = False
    """All blocks in one system message (/rag/query); else a message each, but for those that stand
    before the context: they share the system text's."""
    whole: Callable[[Sequence[Passage]], str] | None = None
    """The context block, where it is more than its head and a line a passage."""

    def block(self, passages: Sequence[Passage]) -> str:
        """The context block, "" without passages."""
        if self.whole or not passages:
            return self.whole(passages) if self.whole and passages else ""
        return "\n".join([self.head, *map(self.written, passages)])

    def written(self, passage: Passage) -> str:
        return self.line(passage, self.shown(passage.text))


DOCUMENT_FORM = Form(HEAD)
MEMORY_FORM = Form(MEMORY, memory_line, one_line, joined=True)
GREETING_FORM = Form("", memory_line, one_line, joined=True)
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
    """Blocks between the system text and the context: date, how long the asker was away, persona, overlay."""
    form: Form = DOCUMENT_FORM
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
        blocks = [BREAK.join(self.blocks())] if self.form.joined else self.blocks()
        system = [Message(role=Role.SYSTEM, content=block) for block in blocks]
        turns = [Message(role=turn.role, content=turn.content) for turn in self.turns]
        return [*system, *turns, Message(role=Role.USER, content=self.message)]

    def text(self) -> str:
        """The text form, for `debug.prompt`."""
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
    today: str = "",
    persona: str = "",
    overlay_text: str = "",
    reentry: str = "",
    note: str = "",
    turns: Sequence[Turn] = (),
    include_persona: bool = True,
    form: Form = MEMORY_FORM,
    reason: Reason = Reason.OK,
) -> Prompt:
    """The prompt of /rag/query, one system text, turns and the message: date, how long the asker was away,
    persona, overlay, memories and reference texts, gravity note. "" leaves a block out."""
    before = (today, reentry, persona if include_persona else "", overlay_text)
    notes = (note,) if note else ()
    return Prompt(system, message, tuple(passages), notes, tuple(turns), before, form, reason)
