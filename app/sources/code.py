"""Code: the chunks of `public.code_index`, functions and classes of a project's files.

Newest, nearest, and by words and meaning; words find paths, names and signatures too. Label
`app/main.py#L10-42`; a chunk without lines, or called as another in reach is, `app/main.py#<8 of its id>`.
Raises `RetrievalError`. Source: seeds 001 and 002, CONTRACT §4; docs/decisions/0042.
"""

from collections.abc import Mapping
from typing import Any

from app.domain.embedded import plain
from app.domain.label import is_label, label, path_name
from app.domain.passage import Passage
from app.domain.project import CODE
from app.index.context import ContextSource, Told
from app.index.finder import Found
from app.index.table import CHUNK

COLUMNS = ("file_path", "language", "chunk_metadata", "start_line", "end_line", "project")
"""Beside the text."""


class CodeSource(ContextSource):
    """See the module."""

    name = CODE
    table = CHUNK

    def text(self, row: Mapping[str, Any]) -> str:
        """The chunk itself."""
        return plain(row["chunk_text"] or "")

    def passage(self, found: Found, told: Told, short: str, similar: float | None) -> Passage:
        """One chunk; metadata as it is stored."""
        row = found.columns
        return Passage(
            source=self.name,
            id=found.id,
            text=told.text,
            tokens=told.tokens,
            label=called(row, short),
            similarity=similar,
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
