"""A question as the API took it, and the context that a recipe makes for it.

One `Question` serves /api/chat, /rag/query and /vantage/query; each recipe reads the fields that its endpoint
takes. `Context` is what the model is shown and how that came to be. Source: docs/contract.md.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from app.answer import Citation, Prompt, Recipe, Turn
from app.answering.enforcement import Enforcement
from app.answering.meta import Explanation, cite
from app.types import Scope, Trace
from app.vantage.terms import Limits, Mix, Routing

DEFAULT_SOURCES = ("documents",)
"""Searched by /api/chat where the question names neither sources nor a project."""


@dataclass(frozen=True, slots=True)
class Question:
    """One message with everything that the request said about how to answer it."""

    scope: Scope
    message: str
    top_k: int | None = None
    """None: the endpoint's own default."""
    model: str | None = None
    """None: the endpoint's own model."""
    remember: bool = False
    debug: bool = False
    """Show candidates and the prompt in the reply."""
    sources: tuple[str, ...] | None = None
    """Chat: None means what the scope's project defines; without a project, documents."""
    history: tuple[Turn, ...] | None = None
    """Chat: None means the thread's stored turns."""
    notes: tuple[str, ...] = ()
    """Chat: the request's own notes."""
    overlay: str = ""
    """Rag and vantage: role, tone and form, as `overlay_to_instructions` writes them."""
    limits: Limits = field(default_factory=Limits)
    """Vantage: topics and budgets."""
    routing: Routing = field(default_factory=Routing)
    """Vantage: the class that is wanted."""
    mix: Mix = field(default_factory=Mix)
    """Vantage: how the sources are weighed."""
    inspect_only: bool = False
    """Vantage: prepare everything, but do not ask the model."""

    @property
    def searched(self) -> tuple[str, ...]:
        """The sources to search, unless a project's own context is shown."""
        return DEFAULT_SOURCES if self.sources is None else self.sources

    @property
    def projected(self) -> bool:
        """True if the project's profile decides what is shown: a project is named, and no sources are."""
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
    """Rag and vantage: the reason why nothing was looked up for small talk."""
    extra: Mapping[str, object] = field(default_factory=dict)
    """What `meta` tells beside chat's facts."""
    enforcement: Enforcement | None = None
    """Vantage: the decision that the answer is held to."""

    @property
    def citations(self) -> tuple[Citation, ...]:
        """The packed passages as the reply names them."""
        return tuple(cite(passage) for passage in self.prompt.passages)
