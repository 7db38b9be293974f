"""What clients send and get of code: bodies, schemas, shapes and examples. Lengths are characters.

The story of the examples: a small program that greets. A test holds them against the schemas.
"""

import re
from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, Field, StringConstraints, TypeAdapter, WrapValidator

from app.api.bodies import NO_NUL, SAYS, Body
from app.api.drafts import Facts, TextId
from app.db.code import CodeFile, CodeFiled, CodeKept, CodeListed, CodeRow
from app.types import moment

MOST = 500
"""Chunks, or files, of one request; a body has 2 MiB."""
LONGEST = 1 << 20
"""Characters of a file."""

FilePath: TypeAlias = Annotated[
    str, StringConstraints(min_length=1, max_length=1_000, pattern=r"^[^\x00-\x1f\x7f/][^\x00-\x1f\x7f]*$")
]
"""From the project's root, so without a slash in front; on one line."""
TURNING = re.compile(r"[\x80-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")
"""Signs that end a line, or turn the text around them: in a label they would show another path."""


def straight(path: str) -> str:
    """A path as it is written down: it leads to one place alone, and looks like that."""
    if {"", ".", ".."} & set(re.split(r"[/\\]", path)):
        raise ValueError("a path has neither empty parts nor `.` or `..`")
    if TURNING.search(path):
        raise ValueError("a path stands on one line, and has no signs that turn its text")
    return path


NewPath: TypeAlias = Annotated[FilePath, AfterValidator(straight)]
Language: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9+#._\-]{0,39}$")]

CODE_ID = "4e7c1b0a-6a52-5c1f-8f0e-2b9f6f1c7d3e"
FACTS: Mapping[str, Any] = {
    "function_name": "greet",
    "class_name": None,
    "signature": "def greet(name: str) -> str:",
    "start_line": 3,
    "end_line": 4,
}
TEXT = 'def greet(name: str) -> str:\n    return f"Hello, {name}!"'
ROW: Mapping[str, Any] = {
    "file_path": "app/hello.py",
    "language": "python",
    "chunk_text": TEXT,
    "chunk_metadata": FACTS,
}
CODE: Mapping[str, Any] = {
    "id": CODE_ID,
    "project": "hello",
    **ROW,
    "indexed_at": "2026-11-21T21:30:00Z",
}
WRITTEN: Mapping[str, Any] = {"outcome": "created", "id": CODE_ID}
REPLACED: Mapping[str, Any] = {"outcome": "replaced", "id": CODE_ID}
POSTED: Mapping[str, Any] = {
    "one": {"summary": "One", "value": ROW},
    "several": {
        "summary": "Several",
        "value": [{"id": "main", **ROW}, {"chunk_text": "print(greet('Ada'))"}],
    },
}
PUT: Mapping[str, Any] = {
    "files": {
        "summary": "Files",
        "value": {
            "files": [
                {"path": "app/hello.py", "text": f"import sys\n\n{TEXT}\n"},
                {"path": "README.md", "text": "# Hello\n\nGreets who is there.\n", "language": "markdown"},
            ]
        },
    }
}
FILED: Mapping[str, Any] = {
    "items": [
        {"path": "app/hello.py", "outcome": "changed", "chunks": 2, "embedded": 1},
        {"path": "README.md", "outcome": "unchanged", "chunks": 1, "embedded": 0},
    ]
}
FILE: Mapping[str, Any] = {
    "path": "app/hello.py",
    "sha256": "9c1f0b6c8e6f1b5d3c9f2e7a4b8d0c6e1f3a5b7c9d1e3f5a7b9c1d3e5f7a9b1c",
    "chunks": 2,
    "language": "python",
    "indexed_at": "2026-11-21T21:30:00Z",
}
FILES: Mapping[str, Any] = {"items": [FILE], "next": "app/hello.py"}
CLEARED: Mapping[str, Any] = {"removed": 1}


class CodeBody(Body):
    """A chunk of code, fields named as the columns of `code_index`."""

    file_path: NewPath | None = None
    language: Language | None = None
    chunk_text: Annotated[str, StringConstraints(min_length=1, max_length=32_000, pattern=SAYS)]
    chunk_metadata: Facts = Field(
        default={}, description="function_name, class_name, signature, start_line, end_line, …"
    )
    id: TextId | None = Field(None, description="Again replaces. A UUID may stay as it is.")

    def row(self) -> CodeRow:
        """As the service takes it."""
        return CodeRow(self.file_path, self.language, self.chunk_text, dict(self.chunk_metadata), self.id)


class CodeFileBody(Body):
    """A file, whole."""

    path: NewPath
    text: Annotated[str, StringConstraints(max_length=LONGEST, pattern=NO_NUL)]
    language: Language | None = Field(None, description="Default: as its name says.")


class CodeFilesBody(Body):
    """Files to be kept. Of one path twice the last stands."""

    files: list[CodeFileBody] = Field(min_length=1, max_length=MOST)

    def given(self) -> list[CodeFile]:
        """As the service takes them."""
        return [CodeFile(each.path, each.text, each.language) for each in self.files]


Several: TypeAlias = Annotated[list[CodeBody], Field(min_length=1, max_length=MOST)]
ONE, SEVERAL = TypeAdapter(CodeBody), TypeAdapter(Several)


def either(value: object, _: Callable[[Any], Any]) -> CodeBody | list[CodeBody]:
    """One or several: the faults of the form that was sent, and not of the other too."""
    return SEVERAL.validate_python(value) if isinstance(value, list) else ONE.validate_python(value)


CodeRows: TypeAlias = Annotated[CodeBody | Several, WrapValidator(either)]


class CodeWrittenReply(BaseModel):
    """What became of a chunk."""

    outcome: Literal["created", "replaced"]
    id: str = Field(
        description="The one given, where it is a UUID that may stay; else one made of it, or the words."
    )


class CodeRowsReply(BaseModel):
    """What became of each, in order."""

    items: list[CodeWrittenReply]


class CodeReply(BaseModel):
    """A chunk as it is kept; another tool's may lack anything."""

    id: str
    project: str | None
    file_path: str | None
    language: str | None
    chunk_text: str | None
    chunk_metadata: dict[str, Any] | None
    indexed_at: datetime | None


class CodeFiledReply(BaseModel):
    """What became of a file."""

    path: str
    outcome: Literal["added", "changed", "unchanged"]
    chunks: int
    embedded: int = Field(description="Chunks that needed a new vector.")
    note: str | None = Field(
        None, description="A warning, for example that the file was split by lines; absent if there is none."
    )


class CodeFilesReply(BaseModel):
    """What became of each, in order."""

    items: list[CodeFiledReply]


class CodeListedReply(BaseModel):
    """A file that is kept."""

    path: str
    sha256: str = Field(
        description="Of its text in UTF-8, as it was put; empty: put it again, another tool has written over "
        "it, or its vectors are of another space."
    )
    chunks: int
    language: str | None
    indexed_at: datetime | None


class CodeFileList(BaseModel):
    """A page of files, by path."""

    items: list[CodeListedReply]
    next: str | None = Field(description="The `cursor` of the next page.")


class ClearedReply(BaseModel):
    """What is gone."""

    removed: int = Field(description="Files.")


def written(name: str, *, fresh: bool) -> dict[str, Any]:
    """An outcome as JSON."""
    return {"outcome": "created" if fresh else "replaced", "id": name}


def timed(found: CodeKept | CodeListed, model: type[BaseModel]) -> dict[str, Any]:
    """The fields of a reply."""
    told = {name: getattr(found, name) for name in model.model_fields}
    return told | {"indexed_at": moment(found.indexed_at) if found.indexed_at else None}


def code(kept: CodeKept) -> dict[str, Any]:
    """A chunk as JSON."""
    return timed(kept, CodeReply)


def listed(file: CodeListed) -> dict[str, Any]:
    """A file as JSON."""
    return timed(file, CodeListedReply)


def filed(done: CodeFiled) -> dict[str, Any]:
    """A file's end as JSON."""
    told = {name: getattr(done, name) for name in CodeFiledReply.model_fields if name != "note" or done.note}
    return told | {"outcome": str(done.outcome)}
