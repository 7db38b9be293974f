"""What fits: passages into the context block, turns into the history. In tokens of the model that answers.

Source: CONTRACT §0 (Tokens), §1; seed 004 (dynamic selection). Texts are counted with o200k; for a model
whose vocabulary is not at hand a count is taken `scaled` by its factor (1.3). Nothing here raises.
"""

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass

from app.domain.passage import Candidate, Passage
from app.domain.prompt import BREAK, DOCUMENTS, Form, Prompt, Turn
from app.domain.text import known, remembered


@dataclass(frozen=True, slots=True)
class Budget:
    """What the context block may hold."""

    tokens: int
    passages: int


class Meter:
    """Counts for one request, in tokens of the model that answers; a call counts one text.

    `count` gives o200k tokens, `factor` what to multiply them by. Nothing is counted twice: texts of a
    request are remembered here, a passage's line with its text (`domain/text.py`).
    """

    def __init__(self, count: Callable[[str], int], factor: float = 1.0, *, form: Form = DOCUMENTS) -> None:
        self._count = count
        self._factor = factor
        self._form = form
        self._known: dict[str, int] = {}
        self._kind = (count, form.line)

    def __call__(self, text: str) -> int:
        """Tokens of a text."""
        return scaled(self.plain(text), self._factor)

    def line(self, passage: Passage) -> int:
        """Tokens of a passage's line in the context block, newline included."""
        return scaled(self._line(passage), self._factor)

    def most(self, passage: Passage) -> int:
        """What a line takes at most, without counting it if it never was: a token is a byte at least."""
        counted: int | None = known(passage.text, self._name(passage))
        if counted is None:
            counted = len(self._form.line(passage).encode("utf-8", "surrogatepass")) + len("\n")
        return scaled(counted, self._factor)

    def fresh(self, prompt: Prompt) -> int:
        """Passages whose lines were never counted."""
        return sum(known(passage.text, self._name(passage)) is None for passage in prompt.passages)

    def head(self) -> int:
        """Tokens of the context block's first line."""
        return self(self._form.head + "\n")

    def context(self, prompt: Prompt) -> int:
        """Tokens of the context block."""
        return scaled(self._context(prompt), self._factor)

    def prompt(self, prompt: Prompt) -> int:
        """o200k tokens of all messages."""
        between = BREAK if prompt.form.joined else ""
        others = [block for block in prompt.blocks() if block != prompt.context]
        # A text that remembers would forget, were it joined with nothing.
        others = [block + between for block in others] if between else others
        said = [prompt.message, *(turn.content for turn in prompt.turns)]
        return self._context(prompt) + sum(map(self.plain, (*others, *said)))

    def plain(self, text: str) -> int:
        """o200k tokens of a text."""
        if text not in self._known:
            self._known[text] = remembered(text, self._count, lambda: self._count(text))
        return self._known[text]

    def _line(self, passage: Passage) -> int:
        """o200k tokens of a line."""
        name = self._name(passage)
        counted: int | None = known(passage.text, name)
        if counted is None:
            counted = remembered(passage.text, name, lambda: self.plain(self._form.line(passage) + "\n"))
        return counted

    def _last(self, passage: Passage) -> int:
        """The same, without the newline."""
        return remembered(
            passage.text, ("last", self._name(passage)), lambda: self.plain(self._form.line(passage))
        )

    def _name(self, passage: Passage) -> Hashable:
        """Under what a line's tokens are kept: the same label, the same line."""
        return self._kind, passage.label

    def _context(self, prompt: Prompt) -> int:
        """The sum of the lines: the break before each `- ` ends a piece of o200k (docs/decisions/0012).
        The last line has no break of its own. A block that is more than lines is counted as it is."""
        if not prompt.passages:
            return 0
        if self._form.whole:
            return self.plain(prompt.context)
        *lines, last = prompt.passages
        return self.plain(self._form.head + "\n") + sum(map(self._line, lines)) + self._last(last)


def scaled(tokens: int, factor: float) -> int:
    """o200k tokens as tokens of a model, rounded up: rather a passage less than one too many."""
    if factor == 1:
        return tokens
    # Rounded first, or 10 × 1.3 = 13.000000000000002 would count as 14.
    return math.ceil(round(tokens * factor, 6))


def window(limit: int, *, context: int, taken: int, reserve: int, factor: float = 1.0) -> int:
    """Tokens left for the context block, in the model's tokens, at least 0.

    `limit` is RAG_TOKEN_BUDGET, `context` the model's window, `reserve` what the answer may need, `taken`
    the o200k tokens of all that stands in the prompt anyway: system text, notes, history, message.
    """
    return max(0, min(limit, context - reserve - scaled(taken, factor)))


def fit(
    candidates: Sequence[Candidate],
    cost: Callable[[Passage], int],
    budget: Budget,
    overhead: int = 0,
    *,
    most: Callable[[Passage], int] | None = None,
) -> tuple[list[Candidate], list[Candidate]]:
    """(packed, over), both in the order given, which is the rank's.

    A passage that is too long is passed over, not a stop. `overhead` are the tokens of the block's head,
    spent once if anything is packed. After it, nothing in `over` would still fit in what is left, unless
    the count of passages is reached. `most`, never below `cost`, tells cheaply where all fit anyway.
    """
    first = candidates[: budget.passages]
    if most and overhead + sum(most(item.passage) for item in first) <= budget.tokens:
        return list(first), list(candidates[budget.passages :])
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
