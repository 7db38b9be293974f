"""A benchmark: texts, questions about them, and which texts answer which question. What `ibid eval` measures.

A scope is what is searched for a question: a conversation, a language, a repository; None: everything.
Grades are whole numbers, above 0 for what answers. Source: docs/contract.md, the BEIR and TREC formats.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, time
from typing import Any

from app.text.dates import FIRST as NEVER
from app.text.dates import ONE, expressions, resolved

MEASURES = ("ndcg@10", "recall@5", "recall@10", "recall@20", "mrr", "failure@20")
"""As they are printed, in this order. `failure@20`, the share of what answers that is not among the first
twenty, is the only one of which less is better."""

ABLATIONS = ("words", "meaning", "fused", "all")
"""The word leg alone, the meaning leg alone, both fused by ranks, and what the service gives."""
SERVED = "all"
SCOPE = "scope"
"""What questions are told apart by, unless a field of their `meta` is named…"""
FEW = 20
"""…and how many of them are told: conversations are too many, languages are not."""
NONE = "-"
"""Of a question that has no such field."""


@dataclass(frozen=True, slots=True)
class Text:
    """One text of the corpus."""

    id: str
    text: str
    title: str = ""
    scope: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    @property
    def whole(self) -> str:
        """With its title in front, for what keeps no titles."""
        return f"{self.title}\n{self.text}" if self.title else self.text

    @property
    def thread(self) -> str | None:
        """The conversation it was said in, as `meta.session` or `meta.thread` names it."""
        named = self.meta.get("session", self.meta.get("thread"))
        return None if named is None else str(named)

    @property
    def said_at(self) -> datetime | None:
        """`meta.date`: a time with its zone (RFC 3339), or the day that it names in words, as in `1:56 pm on
        8 May, 2024`, at its beginning in UTC."""
        told = str(self.meta.get("date", ""))
        try:
            at = datetime.fromisoformat(told)
        except ValueError:
            at = None
        return at if at and at.tzinfo else named(told)


@dataclass(frozen=True, slots=True)
class Question:
    """One question, with the grades of the texts that answer it."""

    id: str
    text: str
    grades: Mapping[str, int]
    scope: str | None = None
    meta: Mapping[str, Any] = field(default_factory=dict)

    def of(self, name: str) -> str:
        """Its scope, or a field of its `meta`, in words."""
        value = self.scope if name == SCOPE else self.meta.get(name)
        return NONE if value is None else str(value)


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One folder, read."""

    name: str
    split: str
    texts: Sequence[Text]
    questions: Sequence[Question]
    """Those that can be measured."""
    unanswerable: int = 0
    """Questions left out because nothing is said to answer them (`meta.unanswerable`, or no grade)."""
    dangling: int = 0
    """Grades of texts that are not in the corpus, or are another scope's. They stay, as texts never found."""

    @property
    def scoped(self) -> bool:
        """Whether each text belongs to somebody: then they are memories, else reference texts."""
        return any(text.scope is not None for text in self.texts)

    def groups(self, by: str | None = None) -> dict[str, list[str]]:
        """Ids of the questions by a field, in order; left out: by scope, where that is two to FEW groups."""
        found: dict[str, list[str]] = {}
        for question in self.questions:
            found.setdefault(question.of(by or SCOPE), []).append(question.id)
        return found if by or 1 < len(found) <= FEW else {}


def named(text: str) -> datetime | None:
    """The beginning of the first whole day that is named, with its year."""
    spans = (resolved(each, NEVER) for each in expressions(text) if each.form == "date")
    days = (span.start for span in spans if span and not span.yearly and span.end - span.start == ONE)
    day = next(days, None)
    return datetime.combine(day, time(), UTC) if day else None
