"""When a chat's tokens are counted: while the model is asked, not before, wherever all fits uncounted.

Forty passages that were never counted take some milliseconds, which the first byte need not wait for.
`rag.tokens` stays exact: the same count, later. Sizes are bytes. Source: docs/decisions/0023-speed.md.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from app.domain.budget import SHOWN, Meter
from app.domain.room import Limits
from app.domain.text import known
from app.services.reply import Reply

FRESH_MOST, BESIDE_MOST = 8, 8_000
"""Passages to count, and characters beside them, that are done on the loop: a millisecond."""
ROOMY = 0.8
"""Part of the budget: passages of together so many bytes fit into it as lines, without being counted."""


async def counted(reply: Reply, meter: Meter) -> None:
    """Put the tokens into a reply whose stream is being opened; many new passages in a thread. Who is
    cancelled meanwhile has the reply closed."""

    def tell() -> None:
        reply.trace = replace(reply.trace, tokens=meter.context(reply.prompt))
        reply.prompt_tokens = meter.prompt(reply.prompt)

    try:
        if meter.fresh(reply.prompt) > FRESH_MOST:
            await asyncio.to_thread(meter.context, reply.prompt)
    except asyncio.CancelledError:
        tell()
        await reply.aclose()
        raise
    tell()


def laborious(beside: Sequence[str], passages: Sequence[str], limits: Limits) -> bool:
    """Whether choosing among these passages takes more than a moment: much beside them to count, or many
    new ones that may not all fit."""
    if sum(map(len, beside)) > BESIDE_MOST:
        return True
    if sum(known(text, SHOWN) is None for text in passages) <= FRESH_MOST:
        return False
    sizes = sorted(len(text.encode("utf-8", "surrogatepass")) for text in passages)
    return sum(sizes[-limits.top_k :]) > ROOMY * limits.budget
