"""A message to /vantage/query as the API took it, and what the settings say of how it is answered.

Fields alone. Source: CONTRACT §3 (body).
"""

from dataclasses import dataclass, field

from app.domain.passage import Scope
from app.domain.room import Limits as Room
from app.vantage.terms import Limits, Mix, Routing


@dataclass(frozen=True, slots=True)
class Inquiry:
    """One message as the API took it."""

    scope: Scope
    """Names the user, and the namespace (vantage_id)."""
    message: str
    top_k: int = 8
    overlay: str = ""
    """As `overlay_to_instructions` gives it."""
    limits: Limits = field(default_factory=Limits)
    routing: Routing = field(default_factory=Routing)
    mix: Mix = field(default_factory=Mix)
    model: str | None = None
    """None: VANTAGE_MODEL."""
    inspect_only: bool = False
    debug: bool = False
    """Show candidates and the prompt in the reply."""
    endpoint: str = "/vantage/query"


@dataclass(frozen=True, slots=True)
class House:
    """What the settings say."""

    model: str
    """VANTAGE_MODEL, or what that stands for."""
    room: Room
    """`threshold` is RETRIEVE_THRESHOLD."""
    personal: bool = False
    """VANTAGE_PERSONAL_MEMORY."""
    debug: bool = False
    """VANTAGE_DEBUG."""
    speaks: bool = True
    """Whether there is a chat model: the extractive answerer knows nothing of classes."""
