"""An API key as lists show it; the key itself is shown once, when it is made, and never kept."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class ApiKey:
    """What is known of a key."""

    id: str
    tenant: str
    user: str | None
    """The one user it acts for; None: a tenant key."""
    name: str
    prefix: str
    """Its first characters, to tell keys apart."""
    created_at: datetime
    revoked_at: datetime | None = None
