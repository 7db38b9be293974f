"""Chunks of code on their way into the record: without secrets, with the vectors that are known of them.

Vectors are looked up by (path, text). Pure; raises nothing.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from app.domain.code import (
    CodeEntry,
    CodeFile,
    CodeFiled,
    CodeOutcome,
    CodeRow,
    CodeVector,
    CutFile,
    chunk_ids,
)
from app.domain.passage import Embedding, Scope
from app.domain.secret import keepable

Key: TypeAlias = tuple[str, str]
"""A chunk's path and its text."""
Filed: TypeAlias = tuple[CodeFile, Sequence[CodeEntry]]
"""A file, and its chunks as rows."""


def covered(rows: Sequence[CodeRow]) -> list[CodeRow]:
    """The rows without what looks like a secret in them."""
    return [
        replace(
            row,
            chunk_text=keepable(path := row.file_path or "", row.chunk_text),
            chunk_metadata={name: told(path, fact) for name, fact in row.chunk_metadata.items()},
        )
        for row in rows
    ]


def told(path: str, fact: object) -> object:
    """A fact that a tool adds, words of the file among them."""
    several = [told(path, each) for each in fact] if isinstance(fact, list) else fact
    return keepable(path, fact) if isinstance(fact, str) else several


def remembered(kept: Iterable[CodeVector], paths: Mapping[str, str]) -> dict[Key, Embedding]:
    """Vectors that stay, those of the path itself first; `paths`: the files' by their hash, for one that was
    renamed."""
    known: dict[Key, Embedding] = {}
    for each in kept:
        for path in (each.file_path or "", paths.get(each.sha256, "")):
            known.setdefault((path, each.chunk_text), each.embedding)
    return known


def entered(
    scope: Scope,
    file: CodeFile,
    cut_file: CutFile,
    vectors: Mapping[Key, Embedding],
) -> list[CodeEntry]:
    """A file's chunks as rows."""
    ids = chunk_ids(scope, file.path, cut_file.cuts)
    return [
        CodeEntry(
            name,
            CodeRow(file.path, cut_file.language, cut.text, cut.metadata()),
            vectors[file.path, cut.text],
        )
        for name, cut in zip(ids, cut_file.cuts, strict=True)
    ]


def filed(
    files: Sequence[Filed],
    outcomes: Sequence[CodeOutcome],
    made: Mapping[str, int],
    cuts: Mapping[str, CutFile],
) -> dict[str, CodeFiled]:
    """What became of files that were written, by path; `made`: vectors that were new."""
    return {
        file.path: CodeFiled(file.path, outcome, len(chunks), made.get(file.path, 0), cuts[file.path].note)
        for (file, chunks), outcome in zip(files, outcomes, strict=True)
    }
