"""Which sentences of the packed passages answer a question: by its words, by meaning, by what it asks for.

Scores are sums of parts in about [0, 1] each and mean something within one question only. Words weigh by
their rarity among the sentences at hand (IDF); a passage's rank is the prior. Figures and what was weighed:
docs/decisions/0006-extractive-answerer.md. Pure but for the stemmer; blocking, some 30 ms for 40 passages.
"""

import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace

from app.domain.passage import Passage
from app.models.sentence import quotable
from app.retrieval.terms import terms

NEAR, PRIOR, CUE, MEANING = 0.3, 0.25, 0.2, 1.5
"""Weights beside the share of the question's words that the sentence itself holds, which weighs 1."""
LEAST, LEAST_BY_WORDS = 0.8, 0.45
"""Score from which a sentence is taken for an answer, with meaning and without: unrelated ones stay below."""
ENOUGH = 0.85
"""Share of the best score from which a further sentence is quoted too."""
MOST = 4
SAME = 0.6
"""Share of common terms (Jaccard) from which two sentences say the same."""
BRIEF, LENGTHY = 4, 40
"""Terms below which a sentence hardly says anything, and above which it says all sorts of things."""
MUTE = 0.6
"""Left of the score of what neither ends like a sentence nor holds a figure: headings, labels, torn ends."""
SPOKEN = "memories"
"""The source of what people said: they leave out the full stop."""
STATES = re.compile(r"\d|[.!?…。！？؟۔।][\"'”’»)\]」』]*$")

FUNCTION_WORDS = frozenset(
    terms(
        "a an and are as at be been but by can could did do does for from had has have how i if in into is it"
        " its me my no not of on or our please say says she should so tell that the their them there these"
        " they this those to us was we were what when where which who whom whose why will with would you your"
        " about according document documents give list many much text"
    )
)
"""They carry a question but not its subject, and are rare in texts that answer."""

MONTH = r"jan(uary)?|feb(ruary)?|march|april|may|june|july|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|dec"
CUES = (
    (r"how (many|much|long|old|far|high|large|tall|big)|percent|%|what (number|amount|share|ratio)", r"\d"),
    (r"when|what (year|date|day|month)|which (year|date|day|month)", rf"\b(1[0-9]|20)\d\d\b|\b({MONTH})\b"),
    (r"who|whom|whose", r"(?-i:\b[A-ZÀ-Þ][\w.’'-]+ (?:[a-z]{2,3} )?[A-ZÀ-Þ][\w’'-]+)"),
    (r"where", r"(?-i:\b(?:in|at|near|from|to|on) (?:the )?[A-ZÀ-Þ]\w+)"),
    (r"why|what (caused|led|drove)", r"\b(because|due to|owing to|as a result|caused|driven by|reason)\b"),
)
"""What a question asks for, and what a sentence that gives it looks like."""
ASKED = [
    (re.compile(rf"\b(?:{asks})(?!\w)", re.IGNORECASE), re.compile(gives, re.IGNORECASE))
    for asks, gives in CUES
]


@dataclass(frozen=True, slots=True)
class Sentence:
    """Something to quote."""

    text: str
    label: str
    terms: frozenset[int]
    near: frozenset[int]
    """Terms of its surroundings: the sentences beside it, the heading, the title."""
    prior: float
    """Rank of its passage: 1 for the first, falling."""
    score: float = 0.0
    spoken: bool = False
    """Part of what a person said: a statement, whether or not it ends like one."""


def sentences(passages: Iterable[Passage]) -> list[Sentence]:
    """All that the passages offer, in order; the same text once, under its first label."""
    found: dict[str, Sentence] = {}
    for rank, passage in enumerate(passages):
        texts = quotable(passage.text)
        bags = [frozenset(terms(text)) for text in texts]
        about = frozenset(terms(f"{passage.title} {passage.fields.get('heading') or ''}"))
        for n, text in enumerate(texts):
            near = about.union(*bags[max(0, n - 1) : n + 2])
            prior, spoken = 1 / (1 + rank) ** 0.5, passage.source == SPOKEN
            found.setdefault(text, Sentence(text, passage.label, bags[n], near, prior, spoken=spoken))
    return list(found.values())


def subject(question: str) -> frozenset[int]:
    """The terms of a question that say what it is about."""
    return frozenset(terms(question)) - FUNCTION_WORDS


def by_words(question: str, offered: Sequence[Sentence]) -> list[Sentence]:
    """The sentences scored without a model, best first."""
    asked = subject(question)
    weights = rarities(asked, offered)
    total = sum(weights.values()) or 1.0
    gives = [given for asks, given in ASKED if asks.search(question)]

    def score(sentence: Sentence) -> float:
        own = sum(weights[term] for term in sentence.terms & asked) / total
        around = sum(weights.get(term, 0.0) for term in sentence.near & asked) / total - own
        cue = CUE if any(given.search(sentence.text) for given in gives) else 0.0
        return (own + NEAR * around + PRIOR * sentence.prior + cue) * form(sentence)

    return best_first(replace(sentence, score=score(sentence)) for sentence in offered)


def rarities(asked: Set[int], offered: Sequence[Sentence]) -> dict[int, float]:
    """What each word of the question weighs: IDF."""
    seen = Counter(term for sentence in offered for term in sentence.terms & asked)
    # A word that no sentence holds counts too: what is missing makes the rest say less.
    return {term: math.log(1 + len(offered) / max(1, seen[term])) for term in asked}


def form(sentence: Sentence) -> float:
    """What its mere form makes of a sentence, in (0, 1]."""
    size = len(sentence.terms)
    length = min(1.0, size / BRIEF, 2 * LENGTHY / (LENGTHY + size))
    return length if sentence.spoken or STATES.search(sentence.text) else MUTE * length


def with_meaning(ranked: Sequence[Sentence], similarities: Sequence[float]) -> list[Sentence]:
    """The same with each one's similarity to the question added; those without one stay behind."""
    pairs = zip(ranked, similarities, strict=False)
    return best_first(replace(one, score=one.score + MEANING * max(0.0, alike)) for one, alike in pairs)


def best_first(scored: Iterable[Sentence]) -> list[Sentence]:
    """By score; ties keep their order."""
    return sorted(scored, key=lambda sentence: -sentence.score)


def quoted(ranked: Sequence[Sentence]) -> list[Sentence]:
    """The one to four sentences to quote: the best, and what is hardly worse and says something else.
    None only if none is offered."""
    chosen: list[Sentence] = []
    for sentence in ranked:
        worse = chosen and sentence.score < ENOUGH * chosen[0].score
        if worse or len(chosen) == MOST:
            break
        if not any(alike(sentence, other) for other in chosen):
            chosen.append(sentence)
    return chosen


def alike(one: Sentence, other: Sentence) -> bool:
    """Whether two sentences say the same, or one is part of the other."""
    common, shorter = len(one.terms & other.terms), min(len(one.terms), len(other.terms))
    return common >= SAME * len(one.terms | other.terms) or common == shorter
