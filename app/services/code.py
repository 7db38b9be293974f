"""Writing code: single rows, and whole files that are cut here; list, replace, remove.

A file's chunks replace its former ones, all at once. Only new text is embedded: unchanged chunks of a path
keep their vectors, and a renamed file keeps all of them. Rows belong to the writer's (tenant, owner). Secrets
(`ingest/secrets.py`) are masked before anything is stored. Raises `Missing`, `InvalidField`,
`RemovedMeanwhile`, `Unavailable`, `Overloaded`, `NoRoom`, `Rejected`.
"""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from app.db.code import (
    CodeEntry,
    CodeFile,
    CodeFiled,
    CodeKept,
    CodeListed,
    CodeOutcome,
    CodeRow,
    CodeStore,
    CodeVector,
    CutFile,
    chunk_ids,
    row_id,
)
from app.db.project_text import code_text
from app.errors import Missing
from app.ingest.cutter import CodeCutter
from app.ingest.secrets import mask_file
from app.models.base import Embedder
from app.services.memories import embedded
from app.tasks import deadline
from app.types import Embedding, Scope

Key: TypeAlias = tuple[str, str]
"""A chunk's path and text."""
Filed: TypeAlias = tuple[CodeFile, Sequence[CodeEntry]]
"""A file with its chunks as rows."""


def covered(rows: Sequence[CodeRow]) -> list[CodeRow]:
    return [
        replace(
            row,
            chunk_text=mask_file(path := row.file_path or "", row.chunk_text),
            chunk_metadata={name: checked_fact(path, fact) for name, fact in row.chunk_metadata.items()},
        )
        for row in rows
    ]


def checked_fact(path: str, fact: object) -> object:
    several = [checked_fact(path, each) for each in fact] if isinstance(fact, list) else fact
    return mask_file(path, fact) if isinstance(fact, str) else several


def remembered(kept: Iterable[CodeVector], paths: Mapping[str, str]) -> dict[Key, Embedding]:
    """Reusable vectors, those of the same path first; `paths`: by hash, for renamed files."""
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
    return {
        file.path: CodeFiled(file.path, outcome, len(chunks), made.get(file.path, 0), cuts[file.path].note)
        for (file, chunks), outcome in zip(files, outcomes, strict=True)
    }


CODE_SECONDS = 80.0
"""Deadline of a write; a write of many chunks has the time that they take at SLOWEST."""
SLOWEST = 4.0
"""Chunks per second of the bundled embedder on a machine with five times the work it can do. With a shorter
deadline a large write would time out at every attempt."""


class CodeService:
    def __init__(self, record: CodeStore, embedder: Embedder, cutter: CodeCutter) -> None:
        self._record = record
        self._embedder = embedder
        self._cutter = cutter

    async def put(
        self, scope: Scope, project: str, rows: Sequence[CodeRow], *, seconds: float = CODE_SECONDS
    ) -> list[tuple[str, bool]]:
        """(id, True if new) in order; all or none, searchable on return."""
        until, since = deadline(seconds), await self._record.clock()
        scope = replace(scope, project=project)
        rows = await asyncio.to_thread(covered, rows)
        texts = [code_text({"file_path": row.file_path, "chunk_text": row.chunk_text}) for row in rows]
        vectors = await embedded(self._embedder, texts, until)
        entries = [
            CodeEntry(row_id(scope, row), row, vector) for row, vector in zip(rows, vectors, strict=True)
        ]
        return list(await self._record.put(scope, entries, self._embedder.space, since))

    async def sync(
        self, scope: Scope, project: str, files: Sequence[CodeFile], *, seconds: float = CODE_SECONDS
    ) -> list[CodeFiled]:
        """Result of each file, in order; all or none, searchable on return. If a path occurs twice the last
        one counts."""
        until, since = deadline(seconds), await self._record.clock()
        scope, space = replace(scope, project=project), self._embedder.space
        last = {file.path: file for file in files}
        known = await self._record.hashes(scope, list(last), space)
        new = [file for file in last.values() if known.get(file.path, ("", 0))[0] != file.sha256]
        cut = await self._cutter.cut(new) if new else []
        cuts = {file.path: each for file, each in zip(new, cut, strict=True)}
        vectors, made = await self._embed(scope, new, cuts, until)
        entries = await asyncio.to_thread(
            lambda: [(file, entered(scope, file, cuts[file.path], vectors)) for file in new]
        )
        outcomes = await self._record.replace(scope, entries, space, since) if new else []
        done = filed(entries, outcomes, made, cuts)
        same = CodeOutcome.UNCHANGED
        return [done.get(path) or CodeFiled(path, same, known[path][1]) for path in last]

    async def _embed(
        self,
        scope: Scope,
        files: Sequence[CodeFile],
        cuts: Mapping[str, CutFile],
        until: float,
    ) -> tuple[dict[Key, Embedding], dict[str, int]]:
        paths, hashes = list(cuts), {file.sha256: file.path for file in files}
        kept = await self._record.vectors(scope, paths, list(hashes), self._embedder.space) if files else []
        known = remembered(kept, hashes)
        wanted = [(path, cut.text) for path in paths for cut in cuts[path].cuts]
        lacking = [key for key in dict.fromkeys(wanted) if key not in known]
        texts = [code_text({"file_path": path, "chunk_text": text}) for path, text in lacking]
        until = max(until, deadline(len(texts) / SLOWEST))
        known |= dict(zip(lacking, await embedded(self._embedder, texts, until), strict=True))
        return known, Counter(path for path, _ in lacking)

    async def files(
        self, scope: Scope, project: str, *, after: str = "", limit: int
    ) -> tuple[list[CodeListed], str | None]:
        scope = replace(scope, project=project)
        return await self._record.files(scope, self._embedder.space, after=after, limit=limit)

    async def remove_files(self, scope: Scope, project: str, paths: Sequence[str]) -> int:
        return await self._record.remove_files(replace(scope, project=project), paths)

    async def clear(self, scope: Scope, project: str) -> int:
        """Delete the writer's rows of a project; other tools' rows remain. Returns their number."""
        return await self._record.clear(replace(scope, project=project))

    async def get(self, scope: Scope, project: str, name: str) -> CodeKept:
        found = await self._record.get(replace(scope, project=project), name)
        if found is None:
            raise Missing("there is no such chunk")
        return found

    async def remove(self, scope: Scope, project: str, name: str) -> None:
        scope = replace(scope, project=project)
        if not await self._record.remove(scope, name):
            raise Missing("there is no such chunk")
