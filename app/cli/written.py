"""Files that a command writes: whole, or as they were before. Raises `BadInput` for a place that cannot be
written to, before any work is put into what stands in the file.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from app.domain.errors import BadInput


@contextmanager
def writable(path: Path) -> Iterator[TextIO]:
    """A file to write, which takes its place once everything is written: if anything fails, what is there
    stays."""
    if path.is_dir():
        raise BadInput(f"{path} cannot be written: it is a folder")
    beside = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        file = beside.open("w", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None
    try:
        with file:
            yield file
        beside.replace(path)
    finally:
        beside.unlink(missing_ok=True)


def lines(file: TextIO | None, rows: Iterable[Mapping[str, Any]]) -> None:
    """JSON objects, a line each; None: nobody wants them."""
    if file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
