"""What fits: passages into the context block, turns into the history. In tokens of the model that answers.

Source: CONTRACT §0 (Tokens), §1; seed 004 (dynamic selection). Texts are counted with o200k; for a model
whose vocabulary is not at hand a count is taken `scaled` by its factor (1.3). Nothing here raises.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.passage import Candidate, Passage
from app.domain.prompt import Turn


@dataclass(frozen=True, slots=True)
class Budget:
    """What the context block may hold."""

    tokens: int
    passages: int


def scaled(tokens: int, factor: float) -> int:
    """o200k tokens as tokens of a model, rounded up: rather a passage less than one too many."""
    # Rounded first, or 10 × 1.3 = 13.000000000000002 would count as 14.
    return math.ceil(round(tokens * factor, 6))


def window(limit: int, *, context: int, taken: int, reserve: int, factor: float = 1.0) -> int:
    """Tokens left for the context block, in the model's tokens, at least 0.

    `limit` is RAG_TOKEN_BUDGET, `context` the model's window, `reserve` what the answer may need, `taken`
    the o200k tokens of all that stands in the prompt anyway: system text, notes, history, message.
    """
    return max(0, min(limit, context - reserve - scaled(taken, factor)))


def fit(
    candidates: Sequence[Candidate], cost: Callable[[Passage], int], budget: Budget, overhead: int = 0
) -> tuple[list[Candidate], list[Candidate]]:
    """(packed, over), both in the order given, which is the rank's.

    A passage that is too long is passed over, not a stop. `overhead` are the tokens of the block's head,
    spent once if anything is packed. After it, nothing in `over` would still fit in what is left, unless
    the count of passages is reached.
    """
    packed: list[Candidate] = []
    over: list[Candidate] = []
    left = budget.tokens - overhead
    for candidate in candidates:
        price = cost(candidate.passage) if len(packed) < budget.passages else None
        if price is None or price > left:
            over.append(candidate)
        else:
            packed.append(candidate)
            left -= price
    return packed, over


def newest_turns(turns: Sequence[Turn], count: Callable[[str], int], limit: int) -> tuple[Turn, ...]:
    """The newest turns, whole and without a gap, of together at most `limit` tokens; oldest first."""
    first, left = len(turns), limit
    for turn in reversed(turns):
        left -= count(turn.content)
        if left < 0:
            break
        first -= 1
    return tuple(turns[first:])
