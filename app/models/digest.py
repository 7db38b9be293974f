"""A conversation or a dream summed up by its own sentences: no model, nothing that was not said.

A word weighs by how many sentences hold it; the best sentence is taken, its words weigh less from then on
(SumBasic: Nenkova and Vanderwende 2005), until there is no room. Sentences keep their order. Code and markup
are left out. Characters. Blocking work runs in a thread. Raises nothing.
"""

import asyncio
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from app.domain.conversation import DETAILED, SHORT, SNIPPET, TITLE, Draft, Made, shortened
from app.models.evidence import BRIEF, FUNCTION_WORDS
from app.models.sentence import quotable
from app.retrieval.terms import terms

READ, MOST = 100_000, 1_000
"""Characters that are read, and sentences that are weighed: of more, the first."""
FEWEST = 3
"""Words of a sentence: "Hi!", "Thanks." and the headings of answers say nothing."""
ROLES = {"user", "assistant"}
FENCED = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
MARKUP = re.compile(
    r"^[ \t]*(?:#{1,6}|>|[-*+]|\d{1,3}[.)])[ \t]+|[*_`]{1,3}(?=\S)|(?<=\S)[*_`]{1,3}", re.MULTILINE
)


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence."""

    text: str
    terms: frozenset[int]
    asked: bool
    """By the user; of a text without turns, all are."""

    @property
    def states(self) -> bool:
        """Whether it is no question."""
        return not self.text.endswith(("?", "？", "؟"))


class Sentences:
    """Keeps `conversation.Digests`."""

    async def digest(self, draft: Draft) -> Made:
        """Of its raw material."""
        return await asyncio.to_thread(made, draft)


def made(draft: Draft) -> Made:
    """All four; of material without a sentence its beginning."""
    said = spoken(draft)
    lines = list(sentences(said))
    if not lines:
        return begun(said)
    own = [line for line in lines if line.asked] or lines
    # What was found says more than what was asked, and what the user said himself more than what he was told.
    found = [line for line in lines if line.states] or lines
    return Made(
        title=shortened(opening(own).text.rstrip(".。"), TITLE),
        summary_short=summed(found, SHORT),
        summary_detailed=summed(found, DETAILED),
        memory_snippet=summed([line for line in own if line.states] or found, SNIPPET),
    )


def begun(said: Iterable[tuple[bool, str]]) -> Made:
    """Its beginning; no snippet."""
    whole = " ".join(" ".join(text for _, text in said).split())
    return Made(shortened(whole, TITLE), shortened(whole, SHORT), shortened(whole, DETAILED))


def spoken(draft: Draft) -> list[tuple[bool, str]]:
    """(whether the user said it, what was said), the first READ characters."""
    turns = [(turn.role == "user", turn.text) for turn in draft.said if turn.role in ROLES]
    told, left = [], READ
    for asked, text in [*turns, (True, draft.text)]:
        if text.strip() and left > 0:
            told.append((asked, text[:left]))
            left -= len(text)
    return told


def sentences(said: Iterable[tuple[bool, str]]) -> Iterable[Line]:
    """Each once, the first MOST."""
    seen: set[str] = set()
    for asked, text in said:
        for found in quotable(MARKUP.sub("", FENCED.sub("\n", text))):
            every = frozenset(terms(found))
            bag = every - FUNCTION_WORDS
            if bag and len(every) >= FEWEST and found not in seen and len(seen) < MOST:
                seen.add(found)
                yield Line(found, bag, asked)


def opening(lines: Sequence[Line]) -> Line:
    """The first that says something; a greeting does not."""
    return next((line for line in lines if len(line.terms) >= BRIEF - 1), lines[0])


def summed(lines: Sequence[Line], most: int) -> str:
    """The sentences that say most of it, at most so many characters; at least a part of one."""
    counts = Counter(term for line in lines for term in line.terms)
    weights = {term: count / len(lines) for term, count in counts.items()}
    chosen = taken(lines, dict(weights), most)
    if not chosen:
        return shortened(max(lines, key=lambda line: worth(line, weights)).text, most)
    return " ".join(lines[at].text for at in sorted(chosen))


def taken(lines: Sequence[Line], weights: dict[int, float], room: int) -> list[int]:
    """Which of them, the best first; `weights` fall with each."""
    left, chosen = dict(enumerate(lines)), []
    while left:
        at = max(left, key=lambda at: (worth(left[at], weights), -at))
        line = left.pop(at)
        if len(line.text) <= room:
            chosen.append(at)
            room -= len(line.text) + 1
            weights |= {term: weights[term] ** 2 for term in line.terms}
        left = {at: line for at, line in left.items() if len(line.text) <= room}
    return chosen


def worth(line: Line, weights: dict[int, float]) -> float:
    """Mean weight of its words; brief ones say hardly anything."""
    mean = sum(weights[term] for term in line.terms) / len(line.terms)
    return mean * min(1.0, len(line.terms) / BRIEF)
