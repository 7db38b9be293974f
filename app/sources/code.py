"""Code: the chunks of `public.code_index`, functions and classes of a project's files.

Newest, nearest, and by words and meaning; words find paths, names and signatures too. Label
`app/main.py#L10-42`; a chunk without lines, or called as another in reach is, `app/main.py#<8 of its id>`.
Raises `RetrievalError`. Source: docs/contract.md, docs/adr/0019.
"""

from collections.abc import Mapping
from typing import Any

from app.db.projects import CODE
from app.retrieval.project_tables import CHUNK, Analysed, chunk_analysed, chunk_shown
from app.sources.rows import RowSource
from app.text.labels import is_label, label, path_name
from app.text.memo import Text
from app.types import Passage

COLUMNS = ("file_path", "language", "chunk_metadata", "start_line", "end_line", "project")
"""Beside the text."""


class CodeSource(RowSource):
    """See the module."""

    name = CODE
    table = CHUNK

    def text(self, row: Mapping[str, Any]) -> str:
        """The chunk itself."""
        return chunk_shown(row)

    def analysed(self, row: Mapping[str, Any]) -> Analysed:
        """With its path, names and signature."""
        return chunk_analysed(row)

    def passage(self, row: Mapping[str, Any], text: Text, tokens: int, mark: str) -> Passage:
        """One chunk; metadata as it is stored."""
        return Passage(
            source=self.name,
            id=row["id"],
            text=text,
            tokens=tokens,
            label=called(row, mark),
            title=row["file_path"] or "",
            fields={name: row[name] for name in COLUMNS},
            created_at=row["indexed_at"],
        )


def called(row: Mapping[str, Any], short: str) -> str:
    """Its lines where they name it alone: a path that had to be cut or cleaned may look like another's."""
    path, start, end = row["file_path"] or "", row["start_line"], row["end_line"]
    lines = label(path, f"L{start}-{end}")
    if row["place"] == 1 and start is not None and end is not None and is_label(lines):
        return lines
    return label(path_name(path), short)
