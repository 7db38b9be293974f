"""One question of /api/chat, as the API took it."""

from dataclasses import dataclass

from app.domain.passage import Scope
from app.domain.prompt import Turn

DEFAULT_SOURCES = ("documents",)
"""Where is searched when neither the request nor a project says so."""


@dataclass(frozen=True, slots=True)
class Ask:
    """One question as the API took it."""

    scope: Scope
    message: str
    sources: tuple[str, ...] | None = None
    """None: what the scope's project defines; without a project, documents."""
    history: tuple[Turn, ...] | None = None
    """None: the thread's stored turns."""
    notes: tuple[str, ...] = ()
    top_k: int | None = None
    model: str | None = None
    remember: bool = False
    on_disconnect: str = "cancel"
    debug: bool = False
    """Show candidates and the prompt in the reply."""
    endpoint: str = "/api/chat"

    @property
    def searched(self) -> tuple[str, ...]:
        """The sources that are searched, where no project's own context is shown."""
        return DEFAULT_SOURCES if self.sources is None else self.sources

    @property
    def projected(self) -> bool:
        """Whether the project says what is shown: one is named, and no sources are."""
        return self.scope.project is not None and self.sources is None
