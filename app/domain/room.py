"""How the model's window is shared out: what must stand in it, the newest turns, the context, the answer.

All figures are tokens of the model that answers. What must stand (system text, message, notes) is never cut:
a request that does not fit raises `InvalidField`. Source: CONTRACT §0 (Tokens).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.budget import newest_turns, window
from app.domain.errors import InvalidField
from app.domain.prompt import Role, Turn

TURN_TOKENS = 4
"""What a turn costs beside its text: role and separators of the usual chat templates."""
HISTORY_SHARE = 0.5
"""Part of the free window that turns may take at most: in a small window they would crowd out the context."""


@dataclass(frozen=True, slots=True)
class Limits:
    """The knobs of one answer, as tokens and passages."""

    budget: int
    """RAG_TOKEN_BUDGET."""
    top_k: int
    threshold: float
    window: int
    """Tokens of the model's context."""
    history: int
    answer: int
    """Tokens kept free for the answer."""


def share(
    limits: Limits,
    count: Callable[[str], int],
    *,
    system: str,
    message: str,
    notes: Sequence[str],
    turns: Sequence[Turn],
) -> tuple[int, tuple[Turn, ...]]:
    """(tokens for the context block, the newest whole turns that stay). Raises `InvalidField`."""

    def cost(text: str) -> int:
        return count(text) + TURN_TOKENS

    fixed = sum(map(cost, (system, message, *notes)))
    free = limits.window - limits.answer - fixed
    if free < 0:
        field = "body.notes" if sum(map(cost, notes)) > cost(message) else "body.message"
        raise InvalidField(
            f"{fixed} tokens do not fit into the model's window of {limits.window}", field=field
        )
    kept = newest_turns(turns, cost, min(limits.history, int(free * HISTORY_SHARE)))
    kept = kept if len(kept) == len(turns) else opening(kept)
    taken = fixed + sum(cost(turn.content) for turn in kept)
    return window(limits.budget, context=limits.window, taken=taken, reserve=limits.answer), kept


def opening(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Turns cut at the front begin with a question: many chat templates refuse an answer as the first."""
    while turns and turns[0].role is Role.ASSISTANT:
        turns = turns[1:]
    return turns


def answered(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Stored turns without the questions that were never answered (cancelled, or the model failed): two
    questions in a row are refused by many chat templates."""
    following = (*(turn.role for turn in turns[1:]), Role.USER)  # what comes next is a question
    return tuple(
        turn
        for turn, after in zip(turns, following, strict=False)
        if not (turn.role is Role.USER and after is Role.USER)
    )
