"""What fits: passages into the context block, turns into the history. In tokens of the model that answers.

Source: CONTRACT §0 (Tokens), §1; seed 004 (dynamic selection). Texts are counted with o200k; for a model
whose vocabulary is not at hand a count is taken `scaled` by its factor (1.3). Nothing here raises.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from app.domain.passage import Candidate, Passage
from app.domain.prompt import BREAK, DOCUMENTS, Form, Prompt, Turn
from app.domain.text import known, remembered

SHOWN = "shown"
"""Under which a text remembers the `inner` tokens of what prompts show of it: by `quote` and `one_line`."""


@dataclass(frozen=True, slots=True)
class Budget:
    """What the context block may hold."""

    tokens: int
    passages: int


class Meter:
    """Counts for one request, in tokens of the model that answers.

    `count` gives o200k tokens, `factor` what to multiply them by. Texts of a request are counted once.
    """

    def __init__(self, count: Callable[[str], int], factor: float = 1.0, *, form: Form = DOCUMENTS) -> None:
        self._count = count
        self._factor = factor
        self._form = form
        self._known: dict[str, int] = {}
        self._lines: dict[tuple[str, str], tuple[str, int]] = {}

    def __call__(self, text: str) -> int:
        """Tokens of a text."""
        return scaled(self.plain(text), self._factor)

    def line(self, passage: Passage) -> int:
        """Tokens of a passage's line in the context block, newline included."""
        rest, inner = self._line(passage)
        return scaled(self.plain(rest + "\n") + inner, self._factor)

    def most(self, passage: Passage) -> int:
        """What a line takes at most, without counting it: a token is a byte at least."""
        rest, inner = self._line(passage)
        return scaled(len(rest.encode("utf-8", "surrogatepass")) + len("\n") + inner, self._factor)

    def fresh(self, prompt: Prompt) -> int:
        """Passages whose texts were never counted."""
        return sum(known(passage.text, SHOWN) is None for passage in prompt.passages)

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

    def _line(self, passage: Passage) -> tuple[str, int]:
        """A line without the middle of its text, and the tokens of that, where they were counted when it was
        written; else the whole line and 0."""
        key = (passage.label, passage.text)
        if key not in self._lines:
            self._lines[key] = self._parted(passage)
        return self._lines[key]

    def _parted(self, passage: Passage) -> tuple[str, int]:
        """See `_line`."""
        line, show = self._form.line(passage), self._form.shown
        inner: int = (known(passage.text, SHOWN) or {}).get(show, 0)
        if show is None or not inner:
            return line, 0
        shown = show(passage.text)
        first, last = cuts(shown)
        at = line.index(shown)
        return line[: at + first] + line[at + last :], inner

    def _context(self, prompt: Prompt) -> int:
        """Lines without the middles of their texts, counted as one, and those middles: each part ends where a
        piece of o200k ends (docs/decisions/0012). A block that is more than lines is counted as it is."""
        if not prompt.passages:
            return 0
        if self._form.whole:
            return self.plain(prompt.context)
        lines = list(map(self._line, prompt.passages))
        return self.plain("\n".join([self._form.head, *(rest for rest, _ in lines)])) + sum(
            inner for _, inner in lines
        )


def inner(count: Callable[[str], int], shown: str) -> int:
    """Tokens of the middle of a text (`cuts`); 0: it has none."""
    first, last = cuts(shown)
    return count(shown[first:last])


def cuts(text: str) -> tuple[int, int]:
    """The first and the last place between a letter and a blank, where o200k always ends a piece: the tokens
    of the parts are those of the whole (`retrieval/vocabulary.py`). Equal ones where there are not two."""
    first, last = text.find(" "), text.rfind(" ")
    while first > 0 and not text[first - 1].isalpha():
        first = text.find(" ", first + 1)
    while last > 0 and not text[last - 1].isalpha():
        last = text.rfind(" ", 0, last)
    return (first, last) if first > 0 else (0, 0)


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
