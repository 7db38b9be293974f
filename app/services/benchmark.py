"""A folder read as a benchmark: `corpus.jsonl` {id, title, text, scope?, meta?} and `queries_<split>.jsonl`
{id, text, scope?, rel: {text id: grade}, meta?}, one JSON object a line.

Raises `Unreadable` with the file and the line, and what is wrong there. Reads files: run it in a thread.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

from app.domain.benchmark import Benchmark, Question, Text
from app.errors import BadInput

CORPUS = "corpus.jsonl"
MARK = b"\xef\xbb\xbf"
"""What some editors put before UTF-8."""
NAMED = re.compile(r"[^\x00-\x1f\x7f\ud800-\udfff]{1,500}")
"""An id, or a scope: a line of text that every store can keep."""
UNKEPT = re.compile(r"[\x00\ud800-\udfff]")
"""What no store keeps as it is: a NUL, and half of a character."""
GRADES = range(-1_000, 1_001)
"""trec_eval takes memory for every grade up to the highest; those below 0 are as 0 to it."""
Line = Mapping[str, Any]
Item = TypeVar("Item", Text, Question)


class Unreadable(BadInput):
    """The folder is no benchmark, or a line of it is not as it should be."""


def read(folder: Path, split: str) -> Benchmark:
    """The whole of it; a few hundred megabytes at most fit in memory."""
    texts = items(folder / CORPUS, text)
    asked = folder / f"queries_{split}.jsonl"
    every = items(asked, question)
    questions = [item for item in every if answerable(item)]
    if not questions:
        raise Unreadable(f"{asked}: no question that can be measured: none has a grade above 0 in `rel`")
    homes = {item.id: item.scope for item in texts}
    if not any(name in homes for item in questions for name in item.grades):
        raise Unreadable(f"{asked}: no text that has a grade is in {CORPUS}: do the two belong together?")
    return Benchmark(
        name=folder.resolve().name,
        split=split,
        texts=texts,
        questions=questions,
        unanswerable=len(every) - len(questions),
        dangling=sum(astray(item, homes) for item in questions),
    )


def items(path: Path, made: Callable[[Line, str], Item]) -> list[Item]:
    """What stands in a file, a line each."""
    return unique((made(line, where), where) for line, where in lines(path))


def astray(question: Question, homes: Mapping[str, str | None]) -> int:
    """How many of its texts it cannot find: they are not there, or another scope's."""
    return sum(homes.get(name, "") not in (question.scope, None) for name in question.grades)


def answerable(question: Question) -> bool:
    """Whether something is said to answer it."""
    return not question.meta.get("unanswerable") and any(grade > 0 for grade in question.grades.values())


def lines(path: Path) -> Iterator[tuple[Line, str]]:
    """Its objects, and where each stands; empty lines do not count. One that has none is refused."""
    empty = True
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if told := (line.removeprefix(MARK) if number == 1 else line).strip():
                    empty, where = False, f"{path}, line {number}"
                    yield parsed(told, where), where
    except FileNotFoundError:
        raise Unreadable(
            f"{path} is not there: a benchmark is a folder with {CORPUS} and queries_<split>.jsonl"
        ) from None
    except OSError as error:
        raise Unreadable(f"{path} cannot be read: {error}") from error
    if empty:
        raise Unreadable(f"{path} is empty")


def parsed(line: bytes, where: str) -> Line:
    """One object."""
    try:
        value = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise Unreadable(f"{where}: no UTF-8: {error.reason} at byte {error.start + 1}") from None
    except (ValueError, RecursionError) as error:  # too deep, or a number of too many digits
        raise Unreadable(f"{where}: no JSON: {error}") from None
    if not isinstance(value, dict):
        raise Unreadable(f"{where}: no JSON object")
    return value


def text(line: Line, where: str) -> Text:
    """One of the corpus."""
    return Text(
        id=named(line, "id", where),
        text=said(line, "text", where),
        title=said(line, "title", where, default=""),
        scope=scope(line, where),
        meta=mapping(line, "meta", where),
    )


def question(line: Line, where: str) -> Question:
    """One to ask."""
    grades = mapping(line, "rel", where)
    if any(type(grade) is not int or grade not in GRADES for grade in grades.values()):
        raise Unreadable(f"{where}: a grade in `rel` is no whole number from {GRADES[0]:,} to {GRADES[-1]:,}")
    asked = said(line, "text", where)
    return Question(named(line, "id", where), asked, grades, scope(line, where), mapping(line, "meta", where))


def said(line: Line, name: str, where: str, *, default: str | None = None) -> str:
    """A field that is text, and not blank unless it may be missing."""
    value = line.get(name, default)
    value = default if value is None else value
    if not isinstance(value, str) or (default is None and not value.strip()):
        raise Unreadable(
            f"{where}: `{name}` is no text" if name in line else f"{where}: there is no `{name}`"
        )
    if UNKEPT.search(value):
        raise Unreadable(f"{where}: `{name}` holds a NUL or half of a character, which no store keeps")
    return value


def named(line: Line, name: str, where: str) -> str:
    """A field that is the name of something."""
    value = said(line, name, where)
    if not NAMED.fullmatch(value):
        raise Unreadable(f"{where}: `{name}` is longer than 500 characters, or holds line breaks or controls")
    return value


def scope(line: Line, where: str) -> str | None:
    """What the line belongs to."""
    return None if line.get("scope") is None else named(line, "scope", where)


def mapping(line: Line, name: str, where: str) -> Mapping[str, Any]:
    """A field that is an object; missing: empty."""
    value = line.get(name)
    if not isinstance(value, dict | None):
        raise Unreadable(f"{where}: `{name}` is no object")
    return value or {}


def unique(found: Iterable[tuple[Item, str]]) -> list[Item]:
    """The items, if no id stands there twice."""
    seen: dict[str, tuple[Item, str]] = {}
    for item, where in found:
        if item.id in seen:
            before = seen[item.id][1].rpartition(", ")[2]
            raise Unreadable(f"{where}: the id {item.id!r} stands there twice, first in {before}")
        seen[item.id] = item, where
    return [item for item, _ in seen.values()]
