"""A document on its way in: what was uploaded, the chunks it became, and how it stands.

Pages are physical, from 1; a chunk's ordinal counts from 1 in its document and is its citation.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from pathlib import Path


class State(StrEnum):
    """How a document stands."""

    PROCESSING = "processing"
    READY = "ready"
    FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a document failed: the slug and the detail of its problem (`domain/errors.py`)."""

    slug: str
    detail: str


@dataclass(frozen=True, slots=True)
class Upload:
    """A file as received, whole, on disk."""

    path: Path
    filename: str
    size: int
    """Bytes."""
    sha256: str
    session_id: str | None
    """None: global, for every session of the tenant."""
    replace: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """One document as the API shows it."""

    id: str
    label: str
    """Its name in citations: `report.pdf` of `[report.pdf#3]`, as the asker sees it."""
    filename: str
    session_id: str | None
    state: State
    pages: int
    chunks: int
    tokens: int
    sha256: str
    created_at: datetime
    users: tuple[str, ...] = ()
    """Those for whom it was uploaded, in that order; "" is the tenant, which named no user."""
    fault: Fault | None = None

    @property
    def scope(self) -> str:
        """`session` or `global`."""
        return "global" if self.session_id is None else "session"


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of a document, cut at structure."""

    ordinal: int
    text: str
    page: int
    page_end: int
    heading: str
    """Heading path, outermost first, joined by ` › `; "" where there is none."""
    tokens: int


@dataclass(frozen=True, slots=True)
class Parsed:
    """What a PDF held."""

    pages: int
    title: str
    chunks: tuple[Chunk, ...]


@dataclass(frozen=True, slots=True)
class Part:
    """Where a document lives: a session of one owner, or (session_id "") what all of a tenant share."""

    tenant: str
    owner: str = ""
    session_id: str = ""

    @property
    def is_global(self) -> bool:
        """Whether every session of the tenant reaches it."""
        return not self.session_id


TITLE_CHARS, HEADING_CHARS = 120, 200
"""Most of a title and of a heading path that is embedded: the text must keep its room in the model's 512."""


def embedded_text(title: str, heading: str, text: str) -> str:
    """What is embedded for a chunk: title and heading in front of its text, a line each, empty ones
    left out. A long heading keeps its end, which says most about the text below it."""
    front = (title.strip()[:TITLE_CHARS], heading.strip()[-HEADING_CHARS:])
    return "\n".join(part for part in (*front, text) if part)


def indexed_text(filename: str, title: str, heading: str, text: str) -> str:
    """What the terms of a chunk are taken from: its document's names, its heading and its text."""
    return f"{filename}\n{title}\n{heading}\n{text}"


CHUNK = "chunk"


@dataclass(frozen=True, slots=True)
class Unembedded:
    """A stored text that has no vector in a space in the making."""

    id: str
    """The document's; of another kind, the memory's, the reference text's point, or the row's."""
    ordinal: int
    title: str
    heading: str
    text: str
    kind: str = CHUNK
    """chunk, memory, corpus, conversation, code."""
