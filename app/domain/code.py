"""Code and other texts of a project, as chunks with their places: what is cut, kept, listed and replaced.

A chunk's metadata are {function_name, class_name, signature, heading} (null where there is none) and
{start_line, end_line} (from 1, both included). Hashes are SHA-256 of a whole file's text in UTF-8, hex; a row
sent by itself has one of its own. Ids are UUIDs: the one given, where the tenant is `default` and the row has
no owner, if nobody else's row has it; else a UUIDv5 of where the row is and what it is called, or says:
written again it is the same row.
Source: CONTRACT §4, seed 000 (`code_index`).
"""

import hashlib
import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from app.domain.passage import DEFAULT_TENANT, Embedding, Scope

IDS = uuid.UUID("6a1d3c52-0a4e-5f0b-9a6e-3f1f6b7c9d20")
"""What rows of code are named under."""
ALONE = "row "
"""Before the hash of a row that is no file's."""


@dataclass(frozen=True, slots=True)
class Cut:
    """A chunk of a file: its own lines, as they stand there."""

    text: str
    start_line: int
    end_line: int
    function_name: str | None = None
    class_name: str | None = None
    signature: str | None = None
    heading: str | None = None
    """Of a section of a text."""

    def metadata(self) -> dict[str, object]:
        """As `chunk_metadata` holds it."""
        names = ("function_name", "class_name", "signature", "heading", "start_line", "end_line")
        return {name: getattr(self, name) for name in names}


@dataclass(frozen=True, slots=True)
class CodeRow:
    """A chunk to be written, fields named as the columns."""

    file_path: str | None
    language: str | None
    chunk_text: str
    chunk_metadata: Mapping[str, object] = field(default_factory=dict)
    id: str | None = None


@dataclass(frozen=True, slots=True)
class CodeKept:
    """A row as it is kept; one that another tool wrote may lack anything but its id."""

    id: str
    file_path: str | None
    language: str | None
    chunk_text: str | None
    chunk_metadata: Mapping[str, object] | None
    project: str | None
    indexed_at: datetime | None


@dataclass(frozen=True, slots=True)
class CodeFile:
    """A file to be kept, whole."""

    path: str
    """From the project's root, parts joined by `/`."""
    text: str
    language: str | None = None
    """None: as its path says."""

    @property
    def sha256(self) -> str:
        """Of the text."""
        return hashlib.sha256(self.text.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class CodeListed:
    """A file that is kept."""

    path: str
    sha256: str
    chunks: int
    language: str | None
    indexed_at: datetime | None


@dataclass(frozen=True, slots=True)
class CutFile:
    """A file without its secrets, in chunks."""

    language: str
    cuts: Sequence[Cut]
    note: str = ""
    """What the owner of the file should know of how it was cut."""


class Cutter(Protocol):
    """Source text to chunks (`intake/cutter.py`)."""

    async def cut(self, files: Sequence[CodeFile]) -> Sequence[CutFile]:
        """Each file's chunks, off the loop. The path says the language where nobody else does. Every
        character that is no white space and no secret is in exactly one chunk. Raises `InvalidField` for a
        file that cannot be cut within the limits of time and memory, `Overloaded`."""


class CodeOutcome(StrEnum):
    """What became of a file."""

    ADDED = "added"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


@dataclass(frozen=True, slots=True)
class CodeFiled:
    """One file's end."""

    path: str
    outcome: CodeOutcome
    chunks: int
    embedded: int = 0
    """Chunks that needed a new vector."""
    note: str = ""
    """What the owner should know of how it was cut."""


@dataclass(frozen=True, slots=True)
class CodeEntry:
    """A row with its id and vector, ready to be written."""

    id: str
    """A UUIDv5."""
    row: CodeRow
    embedding: Embedding

    @property
    def given(self) -> str | None:
        """What its writer calls it."""
        return self.row.id

    @property
    def sha256(self) -> str:
        """Of a row that was sent by itself, with its vector: like that of no file."""
        row = self.row
        told = json.dumps([row.file_path, row.language, row.chunk_text, dict(row.chunk_metadata)])
        return ALONE + hashlib.sha256(told.encode() + self.embedding).hexdigest()


@dataclass(frozen=True, slots=True)
class CodeVector:
    """A vector that is there already, and what it was made of."""

    file_path: str | None
    sha256: str
    chunk_text: str
    embedding: Embedding


class CodeRecord(Protocol):
    """`public.code_index` (`stores/code.py`). The scope has a project. `Unavailable`, `NoRoom`, `Rejected`,
    `RemovedMeanwhile`.

    Written, listed and removed are rows of the scope's tenant and owner that Ibid made, which have a hash;
    read by id is what the scope reaches, whoever wrote it. `InvalidField`: what the table does not take.
    """

    async def clock(self) -> datetime:
        """By which erasures are dated."""

    async def put(
        self, scope: Scope, entries: Sequence[CodeEntry], space: str, since: datetime
    ) -> Sequence[tuple[str, bool]]:
        """Each again replaces: its id, and whether it is new. A chunk of a whole file is not replaced by id:
        `InvalidField`. Of an owner who was erased since nothing is kept: `RemovedMeanwhile`."""

    async def hashes(self, scope: Scope, paths: Sequence[str], space: str) -> Mapping[str, tuple[str, int]]:
        """(hash, chunks) of those of the files that are kept whole, with vectors of that space."""

    async def vectors(
        self, scope: Scope, paths: Sequence[str], hashes: Sequence[str], space: str
    ) -> Sequence[CodeVector]:
        """Of the chunks of files of these paths, or of these hashes under whatever path."""

    async def replace(
        self,
        scope: Scope,
        files: Sequence[tuple[CodeFile, Sequence[CodeEntry]]],
        space: str,
        since: datetime,
    ) -> list[CodeOutcome]:
        """Each file's chunks in the place of those it had, all files or none."""

    async def files(
        self, scope: Scope, space: str, *, after: str, limit: int
    ) -> tuple[list[CodeListed], str | None]:
        """By path, those after one; the last path of the page where more follow. What has vectors of another
        space is not listed, and so is put again."""

    async def remove_files(self, scope: Scope, paths: Sequence[str]) -> int:
        """Gone: how many."""

    async def clear(self, scope: Scope) -> int:
        """All of the project are gone: how many."""

    async def get(self, scope: Scope, row_id: str) -> CodeKept | None:
        """A row in reach."""

    async def remove(self, scope: Scope, row_id: str) -> bool:
        """Gone; False: it is not there, or not the scope's own. `KeptElsewhere`: another tool wrote it."""


def keeps(scope: Scope) -> bool:
    """Whether a free UUID stays a row's id: others could be in the way of a name that can be guessed."""
    return scope.tenant == DEFAULT_TENANT and not scope.owner


def row_id(scope: Scope, row: CodeRow) -> str:
    """A row's id, where the one that was given is not free."""
    named = ("id", row.id) if row.id is not None else ("text", row.file_path or "", row.chunk_text)
    return made(scope, *named)


def chunk_ids(scope: Scope, path: str, cuts: Sequence[Cut]) -> list[str]:
    """The ids of a file's chunks: the same as long as a chunk says the same; of equal ones by their turn."""
    turns: dict[str, int] = {}
    found = []
    for cut in cuts:
        turns[cut.text] = turn = turns.get(cut.text, -1) + 1
        found.append(made(scope, "file", path, str(turn), cut.text))
    return found


def made(scope: Scope, *named: str) -> str:
    """A UUIDv5 of where a row is and what it is called."""
    where = "\x1f".join((scope.tenant, scope.owner, scope.project or "", *named))
    return str(uuid.uuid5(IDS, where.encode("utf-8", "replace").decode()))
