"""The token budget: the share of each part in the model's window, and the passages and turns that fit.

Texts are counted with o200k; for a model with another vocabulary a count is multiplied by its factor (1.3).
The system text, the message and the notes are never cut: `share` raises `InvalidField` where they do not
fit. Passages are packed best first, matches only. Source: docs/contract.md.
"""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from app.answer import BREAK, DOCUMENT_FORM, Form, Prompt, Role, Turn, sha256
from app.errors import InvalidField
from app.retrieval.fusion import scored
from app.retrieval.relevance import by_words, is_match
from app.text.sanitise import quote
from app.text.tokens import cuts
from app.types import ASIDE, STAGES, Candidate, Entry, Found, Passage, Reason, Verdict


@dataclass(frozen=True, slots=True)
class Budget:
    tokens: int
    passages: int


class Meter:
    """Counts for one request, in tokens of the model that answers.

    `count` gives o200k tokens, `factor` what to multiply them by. Texts of a request are counted once.
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
        """Upper bound of the block's tokens, without counting: a token has at least one byte."""
        rest, inner = self._lines_of(passages)
        return scaled(len(rest.encode("utf-8", "surrogatepass")) + len("\n") + inner, self._factor)

    def head(self) -> int:
        """Tokens of the context block's first line."""
        return self(self._form.head + "\n")

    def context(self, prompt: Prompt) -> int:
        """Tokens of the context block."""
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
        """A line without the middle of its text, and the tokens of that, where they were counted when it was
        written; else the whole line and 0."""
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
        """The context block without the middles of texts, and the tokens of those."""
        lines = list(map(self._line, passages))
        return "\n".join([self._form.head, *(rest for rest, _ in lines)]), sum(inner for _, inner in lines)

    def _context(self, prompt: Prompt) -> int:
        """Middles end where pieces of o200k end (docs/adr/0010), so that tokens add up. A block that is more
        than lines is counted as it is."""
        if not prompt.passages:
            return 0
        if self._form.whole:
            return self.plain(prompt.context)
        rest, inner = self._lines_of(prompt.passages)
        return self.plain(rest) + inner


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
    most: Callable[[Sequence[Passage]], int] | None = None,
) -> tuple[list[Candidate], list[Candidate]]:
    """(packed, over), both in the order given, which is the rank's.

    A passage that is too long is passed over, not a stop. `overhead` are the tokens of the block's head,
    spent once if anything is packed. After it, nothing in `over` would still fit in what is left, unless
    the count of passages is reached. `most`, never below all costs and the head's, tells cheaply where all
    fit anyway.
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
    """The newest turns, whole and without a gap, of together at most `limit` tokens; oldest first."""
    first, left = len(turns), limit
    for turn in reversed(turns):
        left -= count(turn.content)
        if left < 0:
            break
        first -= 1
    return tuple(turns[first:])


TURN_TOKENS = 4
"""What a turn costs beside its text: role and separators of the usual chat templates."""
HISTORY_SHARE = 0.5
"""Part of the free window that turns may take at most: in a small window they would crowd out the context."""


@dataclass(frozen=True, slots=True)
class PromptLimits:
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
    limits: PromptLimits,
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


def select(
    candidates: Sequence[Candidate],
    duplicates: Sequence[Candidate],
    *,
    short: bool,
    threshold: float,
    budget: Budget,
    meter: Meter,
) -> list[Candidate]:
    """Every candidate with its verdict. `short`: the skip rule holds (`relevance.skipped`); a packed passage
    costs its line in the context block."""
    matches = [item for item in candidates if is_match(item, threshold)]
    packed = [] if short else fit(matches, meter.line, budget, meter.head(), most=meter.most)[0]
    verdicts = dict.fromkeys(map(id, candidates), Verdict.BELOW_THRESHOLD)
    verdicts |= dict.fromkeys(map(id, duplicates), Verdict.DUPLICATE)
    verdicts |= dict.fromkeys(map(id, matches), Verdict.SKIPPED if short else Verdict.OVER_BUDGET)
    verdicts |= dict.fromkeys(map(id, packed), Verdict.PACKED)
    if packed and len(packed) == budget.passages:  # whatever follows the last of them was not even measured
        last = next(at for at in range(len(matches) - 1, -1, -1) if matches[at] is packed[-1])
        verdicts |= dict.fromkeys(map(id, matches[last + 1 :]), Verdict.OVER_LIMIT)
    return [Candidate(item.passage, item.words, verdicts[id(item)]) for item in (*candidates, *duplicates)]


def judged(candidates: Iterable[Candidate], verdict: Verdict) -> list[Candidate]:
    return [replace(item, verdict=verdict) for item in candidates]


def packed_passages(candidates: Iterable[Candidate]) -> tuple[Passage, ...]:
    """The passages that the model sees, in prompt order, with their boosted scores."""
    packed = (item for item in candidates if item.verdict is Verdict.PACKED)
    return tuple(scored(item.passage, item.score) if item.boosts else item.passage for item in packed)


def ledger(candidates: Iterable[Candidate], *, boosted: bool = False) -> tuple[Entry, ...]:
    """Candidates as a trace keeps them: without their texts. `boosted`: boosts apply to passages of their
    kind, so that the relevance is noted beside the score."""
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
            by_words(item),
        )
        for item in candidates
    )


def nobody_knows(found: Found) -> bool:
    """True if no source answered, or those that did have nothing stored and one that failed may have."""
    lost = any(item.source not in ASIDE and item.reason != "not_available" for item in found.degraded)
    return not found.answered or (lost and not found.stored)


def reason_of(found: Found, asked: int, candidates: Iterable[Candidate], *, short: bool = False) -> Reason:
    """`rag.reason` in its precedence; `asked` counts sources, `short`: the skip rule holds."""
    if found.unsought:
        return Reason.SMALL_TALK
    if asked and nobody_knows(found):
        timed_out = any(item.reason == "timeout" for item in found.degraded if item.source not in STAGES)
        return Reason.TIMEOUT if timed_out else Reason.UNAVAILABLE
    if not found.stored:
        return Reason.EMPTY
    if short:
        return Reason.SKIPPED
    packed = any(item.verdict is Verdict.PACKED for item in candidates)
    return Reason.OK if packed else Reason.NO_MATCH
