"""`O200k`: counts tokens for budgets. Units: o200k tokens; other families' are estimated by a factor.

Source of the factor: docs/contract.md (1.3 for model families whose vocabulary is not at hand).
"""

import asyncio
import re

from app.retrieval.vocabulary import count, o200k

O200K_MODELS = re.compile(
    r"(^|[/:])(gpt-4o|chatgpt-4o|gpt-4\.1|gpt-4\.5|gpt-5|o[134]($|[-:])|extractive$)|gpt-oss", re.IGNORECASE
)
"""Families on o200k (tiktoken's model table); a maker's prefix (`openai/gpt-5`) and fine-tunes
(`ft:gpt-4o:…`, `Jinx-gpt-oss-20b`) included."""

FOREIGN = 1.3


class O200k:
    """Stateless: the vocabulary is loaded once a process, at the first count."""

    async def warm(self) -> None:
        """Load the vocabulary now, off the loop: the first question would wait half a second for it."""
        await asyncio.to_thread(o200k)

    def count(self, text: str) -> int:
        """Tokens of `text`; special-token look-alikes count as plain text."""
        return count(text)

    def factor(self, model: str) -> float:
        """What to multiply by for a model: 1.0 where its vocabulary is o200k, else 1.3."""
        return 1.0 if O200K_MODELS.search(model) else FOREIGN
