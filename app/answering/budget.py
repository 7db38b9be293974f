"""The token budget: the share of each part in the model's window, and the passages and turns that fit.

Texts are counted with o200k; for a model with another vocabulary a count is multiplied by its factor (1.3).
The system text, the message and the request's notes are never cut: `share` raises `InvalidField` if they do
not fit. Of a project's knowledge as many parts are sent as fit (`services/chat.py`). Only matches are packed,
best first. Source: docs/contract.md.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from app.answer import BREAK, DOCUMENT_FORM, Form, Prompt, Role, Turn, sha256
from app.errors import InvalidField
from app.retrieval.fusion import scored
from app.retrieval.relevance import is_match
from app.text.sanitise import quote
from app.text.tokens import cuts
from app.types import Candidate, Entry, Passage, Verdict


@dataclass(frozen=True, slots=True)
class Budget:
    tokens: int
    passages: int


class Meter:
    """Counts tokens of the answering model for one request; each text is counted once.

    `count` returns o200k tokens, `factor` converts them.
    """

    def __init__(
        self, count: Callable[[str], int], factor: float = 1.0, *, form: Form = DOCUMENT_FORM
    ) -> None:
        self._count = count
        self._factor = factor
        self._form = form
        self._known: dict[str, int] = {}
        self._lines: dict[tuple[str, str], tuple[str, int]] = {}

    def __call__(self, text: str) -> int:
        return scaled(self.plain(text), self._factor)

    def line(self, passage: Passage) -> int:
        """Tokens of a passage's line in the context block, newline included."""
        rest, inner = self._line(passage)
        return scaled(self.plain(rest + "\n") + inner, self._factor)

    def most(self, passages: Sequence[Passage]) -> int:
        rest, inner = self._lines_of(passages)
        return scaled(len(rest.encode("utf-8", "surrogatepass")) + len("\n") + inner, self._factor)

    def head(self) -> int:
        return self(self._form.head + "\n")

    def context(self, prompt: Prompt) -> int:
        return scaled(self._context(prompt), self._factor)

    def prompt(self, prompt: Prompt) -> int:
        """o200k tokens of all messages."""
        others = [block for block in prompt.blocks() if block != prompt.context]
        if prompt.form.joined:
            others = [block + BREAK for block in others]
        texts = (*others, prompt.message, *(turn.content for turn in prompt.turns))
        return self._context(prompt) + sum(map(self.plain, texts))

    def plain(self, text: str) -> int:
        if text not in self._known:
            self._known[text] = self._count(text)
        return self._known[text]

    def _line(self, passage: Passage) -> tuple[str, int]:
        """A line without the middle of its text, and the tokens of that middle if they were counted at its
        writing; else the whole line and 0."""
        key = (passage.label, passage.text)
        if key not in self._lines:
            self._lines[key] = self._parted(passage)
        return self._lines[key]

    def _parted(self, passage: Passage) -> tuple[str, int]:
        show = self._form.shown
        inner = passage.quoted if show is quote else passage.lined
        shown = show(passage.text)
        first, last = cuts(shown) if inner else (0, 0)
        return self._form.line(passage, shown[:first] + shown[last:]), inner

    def _lines_of(self, passages: Sequence[Passage]) -> tuple[str, int]:
        lines = list(map(self._line, passages))
        return "\n".join([self._form.head, *(rest for rest, _ in lines)]), sum(inner for _, inner in lines)

    def _context(self, prompt: Prompt) -> int:
        """Middles end at token boundaries of o200k, so tokens add up (docs/adr/0010); other blocks are
        counted."""
        if not prompt.passages:
            return 0
        if self._form.whole:
            return self.plain(prompt.context)
        rest, inner = self._lines_of(prompt.passages)
        return self.plain(rest) + inner


def scaled(tokens: int, factor: float) -> int:
    if factor == 1:
        return tokens
    # Rounded first, or 10 × 1.3 = 13.000000000000002 would count as 14.
    return math.ceil(round(tokens * factor, 6))


def fit(
    candidates: Sequence[Candidate],
    cost: Callable[[Passage], int],
    budget: Budget,
    overhead: int = 0,
    *,
    most: Callable[[Sequence[Passage]], int] | None = None,
) -> tuple[list[Candidate], list[Candidate]]:
    """(packed, over), both in the given order, by rank.

    A passage that is too long is skipped, later ones may fit. `overhead` are the tokens of the block's head,
    counted once if anything is packed. Nothing in `over` fits in what is left, unless the limit of passages
    is reached. `most`, an upper bound of all costs with the head's, is a fast check that everything fits.
    """
    first = candidates[: budget.passages]
    if most and most([item.passage for item in first]) <= budget.tokens:
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
    """The newest turns, whole and without a gap, of at most `limit` tokens in total; oldest first."""
    first, left = len(turns), limit
    for turn in reversed(turns):
        left -= count(turn.content)
        if left < 0:
            break
        first -= 1
    return tuple(turns[first:])


TURN_TOKENS = 4
"""Tokens of a turn beside its text: role and separators of the usual chat templates."""
HISTORY_SHARE = 0.5
"""Most of the free window that turns may take: in a small window they would crowd out the context."""


@dataclass(frozen=True, slots=True)
class PromptLimits:
    """The limits of one answer, in tokens and passages."""

    budget: int
    top_k: int
    threshold: float
    window: int
    """Tokens of the model's context."""
    history: int
    answer: int
    """Tokens kept free for the answer."""


def share(
    limits: PromptLimits,
    count: Callable[[str], int],
    *,
    system: str,
    message: str,
    notes: Sequence[str],
    turns: Sequence[Turn],
) -> tuple[int, tuple[Turn, ...]]:
    """(tokens for the context block, the newest whole turns that fit). `count` gives tokens of the model.
    Raises `InvalidField`."""

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
    return min(limits.budget, free - sum(cost(turn.content) for turn in kept)), kept


def opening(turns: tuple[Turn, ...]) -> tuple[Turn, ...]:
    """Drops answers at the front: many chat templates refuse an answer as the first turn."""
    while turns and turns[0].role is Role.ASSISTANT:
        turns = turns[1:]
    return turns


def answered(turns: Sequence[Turn]) -> tuple[Turn, ...]:
    """Drops unanswered questions: many chat templates refuse two questions in a row."""
    following = (*(turn.role for turn in turns[1:]), Role.USER)  # the next turn is a question
    return tuple(
        turn
        for turn, after in zip(turns, following, strict=False)
        if not (turn.role is Role.USER and after is Role.USER)
    )


def select(
    candidates: Sequence[Candidate],
    duplicates: Sequence[Candidate],
    *,
    short: bool,
    threshold: float,
    budget: Budget,
    meter: Meter,
) -> list[Candidate]:
    """Every candidate with its verdict. `short`: the skip rule holds (`relevance.skipped`)."""
    matches = [item for item in candidates if is_match(item, threshold)]
    packed = [] if short else fit(matches, meter.line, budget, meter.head(), most=meter.most)[0]
    verdicts = dict.fromkeys(map(id, candidates), Verdict.BELOW_THRESHOLD)
    verdicts |= dict.fromkeys(map(id, duplicates), Verdict.DUPLICATE)
    verdicts |= dict.fromkeys(map(id, matches), Verdict.SKIPPED if short else Verdict.OVER_BUDGET)
    verdicts |= dict.fromkeys(map(id, packed), Verdict.PACKED)
    if packed and len(packed) == budget.passages:  # later ones were not measured
        last = next(at for at in range(len(matches) - 1, -1, -1) if matches[at] is packed[-1])
        verdicts |= dict.fromkeys(map(id, matches[last + 1 :]), Verdict.OVER_LIMIT)
    return [Candidate(item.passage, verdicts[id(item)]) for item in (*candidates, *duplicates)]


def pack_recalled(
    drawn: Sequence[Candidate], duplicates: Sequence[Candidate], *, budget: Budget, meter: Meter
) -> list[Candidate]:
    """Every candidate with its verdict: those without one are packed in the given order while they fit."""
    packed, over = fit([item for item in drawn if item.verdict is None], meter.line, budget, meter.head())
    left = (item for item in drawn if item.verdict)
    return [
        *judged(packed, Verdict.PACKED),
        *judged(over, Verdict.OVER_BUDGET),
        *sorted(left, key=lambda item: -item.passage.score),
        *judged(duplicates, Verdict.DUPLICATE),
    ]


def judged(candidates: Iterable[Candidate], verdict: Verdict) -> list[Candidate]:
    return [replace(item, verdict=verdict) for item in candidates]


def packed_passages(candidates: Iterable[Candidate]) -> tuple[Passage, ...]:
    packed = (item for item in candidates if item.verdict is Verdict.PACKED)
    return tuple(scored(item.passage, item.score) if item.boosts else item.passage for item in packed)


def ledger(candidates: Iterable[Candidate], *, boosted: bool = False) -> tuple[Entry, ...]:
    """Candidates for a trace, without their texts. `boosted`: boosts apply to them, so the relevance is
    stored beside the score."""
    return tuple(
        Entry(
            item.passage.source,
            item.passage.id,
            item.passage.label,
            item.passage.similarity,
            item.score,
            item.verdict,
            item.boosts,
            sha256(item.passage.text),
            item.passage.score if boosted else None,
            item.passage.created_at,
            item.passage.evidence,
        )
        for item in candidates
    )
