"""An outside judge of messages (VANTAGE_RISK_URL), as the policy asks it."""

from collections.abc import Mapping
from typing import Protocol

MODERATION = "moderation"
"""Its name in `degraded` and in /readyz."""


class Moderator(Protocol):
    """`models/moderation.py`."""

    async def scores(self, text: str) -> Mapping[str, float]:
        """Scores in [0, 1] by category. Raises `RetrievalError`."""
