"""A folder read as a benchmark: `corpus.jsonl` {id, title, text, scope?, meta?} and `queries_<split>.jsonl`
{id, text, scope?, rel: {text id: grade}, meta?}, one JSON object a line.

Raises `Unreadable` with the file and the line, and what is wrong there. Reads files: run it in a thread.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from app.domain.benchmark import Benchmark, Question, Text
from app.domain.errors import BadInput

CORPUS = "corpus.jsonl"
Line = Mapping[str, Any]
Item = TypeVar("Item", Text, Question)


class Unreadable(BadInput):
    """The folder is no benchmark, or a line of it is not as it should be."""


def read(folder: Path, split: str) -> Benchmark:
    """The whole of it; a few hundred megabytes at most fit in memory."""
    texts = unique(folder / CORPUS, [text(line, where) for line, where in lines(folder / CORPUS)])
    asked = folder / f"queries_{split}.jsonl"
    found = [question(line, where) for line, where in lines(asked)]
    questions = unique(asked, [item for item in found if item is not None])
    if not questions:
        raise Unreadable(f"{asked}: no question that can be measured: none has a grade above 0 in `rel`")
    known = {item.id for item in texts}
    return Benchmark(
        name=folder.resolve().name,
        split=split,
        texts=texts,
        questions=questions,
        unanswerable=len(found) - len(questions),
        dangling=sum(name not in known for item in questions for name in item.grades),
    )


def lines(path: Path) -> Iterator[tuple[Line, str]]:
    """Its objects, and where each stands; empty lines do not count. One that has none is refused."""
    empty = True
    try:
        with path.open(encoding="utf-8-sig") as file:
            for number, line in enumerate(file, 1):
                if line.strip():
                    empty = False
                    yield parsed(line, f"{path}, line {number}"), f"{path}, line {number}"
    except FileNotFoundError:
        raise Unreadable(
            f"{path} is not there: a benchmark is a folder with {CORPUS} and queries_<split>.jsonl"
        ) from None
    except (OSError, UnicodeDecodeError) as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error
    if empty:
        raise Unreadable(f"{path} is empty")


def parsed(line: str, where: str) -> Line:
    """One object."""
    try:
        value = json.loads(line)
    except ValueError as error:
        raise Unreadable(f"{where}: no JSON: {error}") from None
    if not isinstance(value, dict):
        raise Unreadable(f"{where}: no JSON object")
    return value


def text(line: Line, where: str) -> Text:
    """One of the corpus."""
    return Text(
        id=said(line, "id", where),
        text=said(line, "text", where),
        title=said(line, "title", where, default=""),
        scope=scope(line, where),
        meta=mapping(line, "meta", where),
    )


def question(line: Line, where: str) -> Question | None:
    """One to ask; None: nothing answers it."""
    grades = mapping(line, "rel", where)
    if any(type(grade) is not int for grade in grades.values()):
        raise Unreadable(f"{where}: a grade in `rel` is no whole number")
    asked = Question(said(line, "id", where), said(line, "text", where), grades, scope(line, where))
    if mapping(line, "meta", where).get("unanswerable") or not any(grade > 0 for grade in grades.values()):
        return None
    return asked


def said(line: Line, name: str, where: str, *, default: str | None = None) -> str:
    """A field that is text, and not blank unless it may be missing."""
    value = line.get(name, default)
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise Unreadable(f"{where}: `{name}` is no text")
    return value


def scope(line: Line, where: str) -> str | None:
    """What the line belongs to."""
    return None if line.get("scope") is None else said(line, "scope", where)


def mapping(line: Line, name: str, where: str) -> Mapping[str, Any]:
    """A field that is an object; missing: empty."""
    value = line.get(name) or {}
    if not isinstance(value, dict):
        raise Unreadable(f"{where}: `{name}` is no object")
    return value


def unique(path: Path, items: list[Item]) -> list[Item]:
    """The same, if no id stands there twice."""
    seen: set[str] = set()
    for item in items:
        if item.id in seen:
            raise Unreadable(f"{path}: the id {item.id!r} stands there twice")
        seen.add(item.id)
    return items
