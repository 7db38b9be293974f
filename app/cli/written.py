"""Files that a command writes: whole, or as they were before. Raises `BadInput` for a place that cannot be
written to, before any work is put into what stands in the file.
"""

import json
import os
import secrets
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import Any, TextIO

from app.errors import BadInput


@contextmanager
def writable(path: Path) -> Iterator[TextIO]:
    """A file to write, which takes its place once everything is written: if anything fails, what is there
    stays. A link stays, too, and what it names is written; a pipe or a device is written to as it stands."""
    there = kind(path)
    if there == stat.S_IFDIR:
        raise BadInput(f"{path} cannot be written: it is a folder")
    with replaced(path) if there in {0, stat.S_IFREG} else opened(path, path) as file:
        yield file


def wanted(path: Path | None) -> AbstractContextManager[TextIO | None]:
    """A file to write, if one is named."""
    return writable(path) if path else nullcontext()


def kind(path: Path) -> int:
    """What is there, as `stat.S_IFMT` tells it; 0: nothing. `BadInput` where nothing can be: a name too long,
    links in a circle."""
    try:
        return stat.S_IFMT(path.stat().st_mode)
    except FileNotFoundError:
        return 0
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None


@contextmanager
def opened(place: Path, named: Path) -> Iterator[TextIO]:
    """To be written to at once; `named` is what people call it."""
    try:
        file = place.open("w", encoding="utf-8")
    except OSError as error:
        raise BadInput(f"{named} cannot be written: {error.strerror}") from None
    with file:
        yield file


@contextmanager
def replaced(path: Path) -> Iterator[TextIO]:
    """A file beside it, of a name that no other run has."""
    place = Path(os.path.realpath(path))
    beside = place.with_name(f".ibid-{secrets.token_hex(8)}.part")
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise BadInput(f"{path} cannot be written: {error.strerror}") from None
    try:
        with opened(beside, path) as file:
            yield file
        beside.replace(place)
    finally:
        beside.unlink(missing_ok=True)


def distinct(named: Mapping[str, Path | None]) -> None:
    """Refuse two options that name one file: only the later would be there. Pipes and devices may be."""
    seen = dict[str, str]()
    for option, path in named.items():
        if path and kind(path) in {0, stat.S_IFREG}:
            first = seen.setdefault(os.path.realpath(path), option)
            if first != option:
                raise BadInput(f"{first} and {option} name the same file, {path}")


def lines(file: TextIO | None, rows: Iterable[Mapping[str, Any]]) -> None:
    """JSON objects, a line each; None: nobody wants them."""
    if file:
        file.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
