"""A question from the API, and the context that an endpoint makes for it.

One `Question` serves /api/chat, /rag/query and /vantage/query; each reads the fields that it supports.
`Context` is what the model is shown and how it was found. Source: docs/contract.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.answer import Citation, Prompt, Recipe, Turn
from app.answering.enforcement import Enforcement
from app.answering.meta import Explanation, cite
from app.types import Scope, Trace
from app.vantage.terms import Limits, Mix, Routing

DEFAULT_SOURCES = ("documents",)
"""Searched by /api/chat if the question names neither sources nor a project."""


@dataclass(frozen=True, slots=True)
class Question:
    """One message with all parameters of the request."""

    scope: Scope
    message: str
    top_k: int | None = None
    """None: the endpoint's default."""
    model: str | None = None
    """None: the endpoint's default."""
    remember: bool = False
    include: frozenset[str] = frozenset()
    """What each citation of the reply also has: `text`, `scores`."""
    debug: bool = False
    """Show candidates and the prompt in the reply."""
    sources: tuple[str, ...] | None = None
    """Chat; None: defined by the scope's project, or documents without one."""
    history: tuple[Turn, ...] | None = None
    """None: the thread's stored turns."""
    notes: tuple[str, ...] = ()
    """Chat: the request's own notes."""
    overlay: str = ""
    """Rag and vantage: role, tone and form, from `overlay_to_instructions`."""
    limits: Limits = field(default_factory=Limits)
    """Vantage: topics and budgets."""
    routing: Routing = field(default_factory=Routing)
    """Vantage: the requested class."""
    mix: Mix = field(default_factory=Mix)
    """Vantage: how the sources are weighed."""
    inspect_only: bool = False
    """Vantage: prepare everything, but do not ask the model."""
    errand: bool = False
    """Chat: a frontend's own prompt (`answering/errands.py`): nothing is searched."""
    recorded: bool = True
    """False: neither the answer nor its turns are stored."""

    @property
    def searched(self) -> tuple[str, ...]:
        return DEFAULT_SOURCES if self.sources is None else self.sources

    @property
    def projected(self) -> bool:
        """True if the project's profile decides what is shown: the request names a project and no sources."""
        return self.scope.project is not None and self.sources is None


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    prompt: Prompt
    trace: Trace
    recipe: Recipe
    tokens: int
    """o200k tokens of the prompt."""
    explanation: Explanation | None = None
    """Rag and vantage: why these memories."""
    bypass: str | None = None
    """Rag and vantage: why nothing was searched (small talk)."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """Further fields of `meta`."""
    enforcement: Enforcement | None = None
    """Vantage: enforces the decision."""

    @property
    def citations(self) -> tuple[Citation, ...]:
        return tuple(cite(passage) for passage in self.prompt.passages)
