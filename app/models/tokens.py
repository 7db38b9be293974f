"""Counts o200k tokens for budgets; other model families are estimated by a factor.

Source of the factor: docs/contract.md (1.3 for model families with another vocabulary).
"""

import asyncio
import re

from app.text.vocabulary import count, o200k

O200K_MODELS = re.compile(
    r"(^|[/:])(gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|o[134]($|[-:])|extractive$)|gpt-oss", re.IGNORECASE
)
"""Families on o200k (tiktoken's model table), with a vendor's prefix (`openai/gpt-5`) and fine-tunes
(`ft:gpt-4o:…`, `Jinx-gpt-oss-20b`)."""

FOREIGN = 1.3


class O200k:
    async def warm(self) -> None:
        """Load the vocabulary now, off the loop: the first question would wait half a second for it."""
        await asyncio.to_thread(o200k)

    def count(self, text: str) -> int:
        """Look-alikes of special tokens count as plain text."""
        return count(text)

    def factor(self, model: str) -> float:
        return 1.0 if O200K_MODELS.search(model) else FOREIGN
