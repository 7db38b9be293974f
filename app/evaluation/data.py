"""Benchmark folders: `corpus.jsonl` {id, text, title?, scope?, meta?} and `queries_SPLIT.jsonl`
{id, text, scope?, rel: {text id: grade}, meta?}, one JSON object a line (BEIR's format with scopes).

A scope is what is searched for a question: a conversation, a language, a repository; None means everything.
Grades are integers; those above 0 mark relevant texts. Reading raises `Unreadable` with file and line.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, Field, StringConstraints, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as validated

from app.errors import BadInput
from app.text.dates import FIRST as NEVER
from app.text.dates import ONE, expressions, resolved

MEASURES = ("ndcg@10", "recall@5", "recall@10", "recall@20", "mrr", "failure@20")
"""In the order of the tables. `failure@20`, the share of relevant texts that are not among the first twenty,
is the only one of which less is better."""
ABLATIONS = ("words", "meaning", "fused", "all")
"""Lexical retrieval alone, dense retrieval alone, both fused by ranks, and what the service returns."""
SERVED = "all"
MOST_GROUPS = 20
"""Questions are grouped by scope only up to this many scopes: languages, not conversations."""

CORPUS = "corpus.jsonl"
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class BadBenchmark(BadInput):
    """The folder is not a benchmark, or one of its lines is invalid."""


Id = Annotated[str, StringConstraints(min_length=1, max_length=500, pattern=r"^[^\x00-\x1f\x7f]+$")]
Words = Annotated[str, StringConstraints(pattern=r"^[^\x00]*[^\x00\s][^\x00]*$")]
Title = Annotated[str, BeforeValidator(lambda value: value or ""), StringConstraints(pattern=r"^[^\x00]*$")]
Grade = Annotated[int, Field(strict=True, ge=-1_000, le=1_000)]
"""trec_eval allocates memory for every grade up to the highest."""
Meta = Annotated[dict[str, Any], BeforeValidator(lambda value: value or {})]
Grades = Annotated[dict[str, Grade], BeforeValidator(lambda value: value or {})]


@validated(frozen=True)
class CorpusText:
    id: Id
    text: Words
    title: Title = ""
    scope: Id | None = None
    meta: Meta = Field(default_factory=dict)

    @property
    def whole(self) -> str:
        """The text after its title, for sources that store no titles."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    @property
    def thread(self) -> str | None:
        """`meta.session` or `meta.thread`: the conversation it belongs to."""
        named = self.meta.get("session", self.meta.get("thread"))
        return None if named is None else str(named)

    @property
    def said_at(self) -> datetime | None:
        """`meta.date`: an RFC 3339 time with its zone, or the first whole day it names in words, as in `1:56
        pm on 8 May, 2024`, at its beginning in UTC."""
        told = str(self.meta.get("date", ""))
        try:
            at = datetime.fromisoformat(told)
        except ValueError:
            at = None
        if at and at.tzinfo:
            return at
        spans = (resolved(each, NEVER) for each in expressions(told) if each.form == "date")
        days = (span.start for span in spans if span and not span.yearly and span.end - span.start == ONE)
        day = next(days, None)
        return datetime.combine(day, time(), UTC) if day else None


@validated(frozen=True)
class BenchmarkQuestion:
    id: Id
    text: Words
    rel: Grades = Field(default_factory=dict)
    scope: Id | None = None
    meta: Meta = Field(default_factory=dict)

    @property
    def answerable(self) -> bool:
        return not self.meta.get("unanswerable") and any(grade > 0 for grade in self.rel.values())


@dataclass(frozen=True, slots=True)
class Benchmark:
    name: str
    split: str
    texts: Sequence[CorpusText]
    questions: Sequence[BenchmarkQuestion]
    """Those that can be measured."""
    unanswerable: int = 0
    """Questions left out because they have no relevant text, or `meta.unanswerable`."""
    dangling: int = 0
    """Grades of texts that are not in the corpus, or in another scope. They count as texts never found."""

    @property
    def scoped(self) -> bool:
        return any(text.scope is not None for text in self.texts)

    @property
    def groups(self) -> dict[str, list[str]]:
        """Ids of the questions by scope; none unless that makes 2 to MOST_GROUPS groups."""
        found: dict[str, list[str]] = {}
        for question in self.questions:
            found.setdefault(question.scope or "-", []).append(question.id)
        return found if 1 < len(found) <= MOST_GROUPS else {}


Item = TypeVar("Item", CorpusText, BenchmarkQuestion)


def read(folder: Path, split: str) -> Benchmark:
    """The whole folder in memory: a few hundred megabytes at most."""
    asked = folder / f"queries_{split}.jsonl"
    texts, every = (
        _items(folder / CORPUS, TypeAdapter(CorpusText)),
        _items(asked, TypeAdapter(BenchmarkQuestion)),
    )
    questions = [question for question in every if question.answerable]
    if not questions:
        raise BadBenchmark(f"{asked}: no question can be measured, none has a grade above 0 in `rel`")
    scopes = {text.id: text.scope for text in texts}
    if not any(name in scopes for question in questions for name in question.rel):
        raise BadBenchmark(f"{asked}: no graded text is in {CORPUS}; do the two files belong together?")
    dangling = sum(
        scopes.get(name, "") not in (question.scope, None) for question in questions for name in question.rel
    )
    return Benchmark(folder.resolve().name, split, texts, questions, len(every) - len(questions), dangling)


def _items(path: Path, kind: TypeAdapter[Item]) -> list[Item]:
    found, numbers = list[Item](), dict[str, int]()
    for number, line in _lines(path):
        try:
            item = kind.validate_json(line)
        except ValidationError as error:
            problem = error.errors(include_url=False)[0]
            field = "".join(f"`{part}` " for part in problem["loc"])
            raise BadBenchmark(f"{path}, line {number}: {field}{problem['msg']}") from None
        first = numbers.setdefault(item.id, number)
        if first != number:
            raise BadBenchmark(
                f"{path}, line {number}: the id {item.id!r} is there twice, first in line {first}"
            )
        found.append(item)
    if not found:
        raise BadBenchmark(f"{path} is empty")
    return found


def _lines(path: Path) -> Iterator[tuple[int, bytes]]:
    """Lines that are not blank, with their numbers."""
    try:
        with path.open("rb") as file:
            for number, line in enumerate(file, 1):
                if bare := line.removeprefix(BYTE_ORDER_MARK).strip():
                    yield number, bare
    except FileNotFoundError:
        raise BadBenchmark(
            f"{path} is missing: a benchmark is a folder with {CORPUS} and queries_SPLIT.jsonl"
        ) from None
    except OSError as error:
        raise BadBenchmark(f"{path} cannot be read: {error}") from error
