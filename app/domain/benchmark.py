"""A benchmark: texts, questions about them, and which texts answer which question. What `ibid eval` measures.

A scope is what is searched for a question: a conversation, a language, a repository; None: everything.
Grades are whole numbers, above 0 for what answers. Source: the BEIR and TREC formats, CONTRACT (Settings).
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

MEASURES = ("ndcg@10", "recall@5", "recall@10", "recall@20", "mrr", "failure@20")
"""As they are printed, in this order. `failure@20`, the share of what answers that is not among the first
twenty, is the only one of which less is better."""

ABLATIONS = ("words", "meaning", "fused", "all")
"""The word leg alone, the meaning leg alone, both fused by ranks, and what the service gives."""
SERVED = "all"


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
        """`meta.date`, where it is a time with its zone (RFC 3339); dates in words are not guessed at."""
        try:
            at = datetime.fromisoformat(str(self.meta.get("date", "")))
        except ValueError:
            return None
        return at if at.tzinfo else None


@dataclass(frozen=True, slots=True)
class Question:
    """One question, with the grades of the texts that answer it."""

    id: str
    text: str
    grades: Mapping[str, int]
    scope: str | None = None


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
    """Grades of texts that are not in the corpus. They stay, as texts that are never found."""

    @property
    def scoped(self) -> bool:
        """Whether each text belongs to somebody: then they are memories, else reference texts."""
        return any(text.scope is not None for text in self.texts)
