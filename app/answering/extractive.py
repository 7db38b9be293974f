"""The extractive answerer: quotes the sentences that answer, each with its citation; no model.

Passages are cut into sentences, table rows and list items (verbatim, at most `LONGEST` characters) and scored
by the question's terms (IDF among these sentences), by cosine if an embedder answers within `EMBED_SECONDS`,
and by the kind of fact the question asks for; the passage's rank is the prior. Blocking work of some 30 ms
runs in a thread. Raises nothing: without a sentence that answers, it says so. Source: docs/adr/0007.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, replace
from typing import Protocol, runtime_checkable

import numpy as np

from app.answer import DOCUMENT_FORM, GREETING_FORM, MEMORY_FORM, Finish, Prompt
from app.answering.followup import resolve
from app.answering.prompt import PROJECT_FORM, plain_markup
from app.errors import RetrievalError
from app.models.base import Delta, Embedder, ModelStream
from app.retrieval.terms import terms
from app.text.greeting import is_pure_reentry_greeting
from app.types import Embedding, Passage, Reason, similarity

LONGEST = 400
"""Characters of a quote: three or four lines on a page."""

END = re.compile(
    r"(?:(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？｡．]+[”’」』）】]*|[؟۔।॥։።፧፨။៕]+[\"”»]*)\s*"
)
"""Latin ends need a space after them; Chinese and Japanese ones do not. A run of marks is tried once, as a
whole: trying it from each of its marks would take quadratic time."""
BEFORE = r"(?:^|[\s(“\"])"
SHORT = re.compile(
    BEFORE + r"(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|mr|mrs|ms|dr|prof|st|vs|inc|ltd|co|corp|jr|sr|eds?|approx"
    r"|ca|cf|etc|al|bzw|ggf|av)\.$",
    re.IGNORECASE,
)
COUNTED = re.compile(
    BEFORE + r"(?:nos?|nr|figs?|secs?|vol|pp?|art|abs|ch|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
"""Abbreviations only before a number: “no.” also ends sentences."""
SHORT_WINDOW = 16
"""Characters before a full stop that are searched for an abbreviation."""
WRAPPED = re.compile(r"(?<=[^\s.!?:;。！？])[ \t]*\n[ \t]*(?=[a-zß-öø-ÿа-яα-ω(])")
"""A line end inside a sentence: no mark before it, a small letter after it."""
HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad]\n[ \t]*(?=[a-zß-öø-ÿа-яα-ω])")
CUT = re.compile(r"[,;:–—]\s|\s|[，、；：،؛]")
WORD = re.compile(r"\w")


def quotable(text: str) -> list[str]:
    """The parts of a text that can be quoted alone, in order; none is empty or longer than `LONGEST`."""
    joined = WRAPPED.sub(" ", HYPHEN.sub("-", text))
    lines = (" ".join(line.split()) for line in joined.splitlines())
    found = (piece for line in lines for sentence in cut(line) for piece in bounded(sentence))
    return [piece for piece in found if WORD.search(piece)]


def cut(line: str) -> Iterator[str]:
    start = 0
    for found in END.finditer(line):
        end = found.end()
        if line[found.start()] == "." and not ends(line, found):
            continue
        yield line[start:end].strip()
        start = end
    yield line[start:].strip()


def ends(line: str, found: re.Match[str]) -> bool:
    """False for a full stop before a small letter or after an abbreviation."""
    stop = len(found.group().rstrip()) + found.start()
    window = (max(0, stop - SHORT_WINDOW), stop)
    follows = line[found.end() : found.end() + 1]
    short = SHORT.search(line, *window) or (follows.isdigit() and COUNTED.search(line, *window))
    return not short and not follows.islower()


def bounded(sentence: str) -> Iterator[str]:
    """Pieces of at most `LONGEST`, cut after a clause or at least a word."""
    while len(sentence) > LONGEST:
        places = [found.end() for found in CUT.finditer(sentence, LONGEST // 2, LONGEST)]
        at = places[-1] if places else LONGEST
        yield sentence[:at].strip()
        sentence = sentence[at:].strip()
    yield sentence


NEAR, PRIOR, CUE, MEANING = 0.3, 0.25, 0.2, 1.5
"""Weights relative to the share of the question's terms in the sentence itself, which has weight 1."""
LEAST, LEAST_BY_WORDS = 0.8, 0.45
"""Least score of an answer, with and without similarity: unrelated sentences score lower."""
ENOUGH = 0.85
"""Least share of the best score for a further quote."""
MOST = 4
SAME = 0.6
"""Share of common terms (Jaccard) from which two sentences count as the same."""
BRIEF, LENGTHY = 4, 40
"""A sentence of fewer terms hardly says anything; one of more covers too many things."""
MUTE = 0.6
"""Factor for text that neither ends like a sentence nor contains a figure: headings, labels, torn ends."""
SPOKEN = "memories"
"""Source of messages, which often lack the full stop."""
STATES = re.compile(r"\d|[.!?…。！？؟۔।][\"'”’»)\]」』]*$")

FUNCTION_WORDS = frozenset(
    terms(
        "a an and are as at be been but by can could did do does for from had has have how i if in into is it"
        " its me my no not of on or our please say says she should so tell that the their them there these"
        " they this those to us was we were what when where which who whom whose why will with would you your"
        " about according document documents give list many much text"
    )
)
"""Terms that carry a question but not its subject, and are rare in texts that answer."""

MONTH = r"jan(uary)?|feb(ruary)?|march|april|may|june|july|aug(ust)?|sept?(ember)?|oct(ober)?|nov(ember)?|dec"
CUES = (
    (r"how (many|much|long|old|far|high|large|tall|big)|percent|%|what (number|amount|share|ratio)", r"\d"),
    (r"when|what (year|date|day|month)|which (year|date|day|month)", rf"\b(1[0-9]|20)\d\d\b|\b({MONTH})\b"),
    (r"who|whom|whose", r"(?-i:\b[A-ZÀ-Þ][\w.’'-]+ (?:[a-z]{2,3} )?[A-ZÀ-Þ][\w’'-]+)"),
    (r"where", r"(?-i:\b(?:in|at|near|from|to|on) (?:the )?[A-ZÀ-Þ]\w+)"),
    (r"why|what (caused|led|drove)", r"\b(because|due to|owing to|as a result|caused|driven by|reason)\b"),
)
"""What a question asks for, and a pattern of sentences that give it."""
ASKED = [
    (re.compile(rf"\b(?:{asks})(?!\w)", re.IGNORECASE), re.compile(gives, re.IGNORECASE))
    for asks, gives in CUES
]


@dataclass(frozen=True, slots=True)
class QuotableSentence:
    text: str
    label: str
    terms: frozenset[int]
    near: frozenset[int]
    """Terms of its surroundings: adjacent sentences, heading, title."""
    prior: float
    """From the rank of its passage: 1 for the first, falling."""
    score: float = 0.0
    spoken: bool = False
    """True for part of a message: a statement, even without a full stop."""


def sentences(passages: Iterable[Passage]) -> list[QuotableSentence]:
    """All sentences of the passages, in order; a repeated text once, with its first label."""
    found: dict[str, QuotableSentence] = {}
    for rank, passage in enumerate(passages):
        texts = quotable(passage.text)
        bags = [frozenset(terms(text)) for text in texts]
        about = frozenset(terms(f"{passage.title} {passage.fields.get('heading') or ''}"))
        for n, text in enumerate(texts):
            near = about.union(*bags[max(0, n - 1) : n + 2])
            prior, spoken = 1 / (1 + rank) ** 0.5, passage.source == SPOKEN
            found.setdefault(text, QuotableSentence(text, passage.label, bags[n], near, prior, spoken=spoken))
    return list(found.values())


def subject(question: str) -> frozenset[int]:
    return frozenset(terms(question)) - FUNCTION_WORDS


def by_words(question: str, offered: Sequence[QuotableSentence]) -> list[QuotableSentence]:
    asked = subject(question)
    weights = rarities(asked, offered)
    total = sum(weights.values()) or 1.0
    gives = [given for asks, given in ASKED if asks.search(question)]

    def score(sentence: QuotableSentence) -> float:
        own = sum(weights[term] for term in sentence.terms & asked) / total
        around = sum(weights.get(term, 0.0) for term in sentence.near & asked) / total - own
        cue = CUE if any(given.search(sentence.text) for given in gives) else 0.0
        return (own + NEAR * around + PRIOR * sentence.prior + cue) * form(sentence)

    return best_first(replace(sentence, score=score(sentence)) for sentence in offered)


def rarities(asked: Set[int], offered: Sequence[QuotableSentence]) -> dict[int, float]:
    seen = Counter(term for sentence in offered for term in sentence.terms & asked)
    # A term that no sentence contains counts too: it lowers every score.
    return {term: math.log(1 + len(offered) / max(1, seen[term])) for term in asked}


def form(sentence: QuotableSentence) -> float:
    size = len(sentence.terms)
    length = min(1.0, size / BRIEF, 2 * LENGTHY / (LENGTHY + size))
    return length if sentence.spoken or STATES.search(sentence.text) else MUTE * length


def with_meaning(ranked: Sequence[QuotableSentence], similarities: Sequence[float]) -> list[QuotableSentence]:
    pairs = zip(ranked, similarities, strict=False)
    return best_first(replace(one, score=one.score + MEANING * max(0.0, alike)) for one, alike in pairs)


def best_first(scored: Iterable[QuotableSentence]) -> list[QuotableSentence]:
    return sorted(scored, key=lambda sentence: -sentence.score)


def quoted(ranked: Sequence[QuotableSentence]) -> list[QuotableSentence]:
    """One to four sentences to quote: the best, and others nearly as good that say something else. Empty only
    if none is offered."""
    chosen: list[QuotableSentence] = []
    for sentence in ranked:
        worse = chosen and sentence.score < ENOUGH * chosen[0].score
        if worse or len(chosen) == MOST:
            break
        if not any(alike(sentence, other) for other in chosen):
            chosen.append(sentence)
    return chosen


def alike(one: QuotableSentence, other: QuotableSentence) -> bool:
    """True if two sentences say the same, or one is part of the other."""
    common, shorter = len(one.terms & other.terms), min(len(one.terms), len(other.terms))
    return common >= SAME * len(one.terms | other.terms) or common == shorter


NAME = "extractive"
EMBED_SECONDS = 0.15
"""Deadline of the embedder; sentences embedded by then count."""
FLOOR = 0.38
"""Raw cosine of unrelated texts in the bundled space (docs/adr/0006)."""
SHORTLIST, AT_ONCE = 16, 4
"""Sentences that are embedded, best by terms first, and how many at a time."""
PIECE = re.compile(r"\s*\S+\s*(?:\S+\s*){0,3}")
"""A delta: four words."""

NO_MODEL = "No chat model is connected, so I can only quote what is stored."
WELCOME = "Hello! Ask me about what is stored here: I quote the sentences that answer, each with its source."
OBLIGED = "Happy to help. What else would you like to know?"
"""Reply to small talk that is no greeting: thanks, or a reaction."""
WITHOUT: Mapping[str, str] = {
    Reason.EMPTY: "There is nothing stored to answer from yet. Add a PDF in the browser or with POST "
    f"/api/documents. {NO_MODEL}",
    Reason.PROCESSING: "What was added is still being read. Ask again in a moment.",
    Reason.SKIPPED: f"That is too short to be looked up: ask in a whole sentence. {NO_MODEL}",
    Reason.TIMEOUT: "What is stored could not be searched in time. Please ask again.",
    Reason.UNAVAILABLE: "What is stored cannot be searched just now. Please ask again in a moment.",
    Reason.GREETING: WELCOME,
    Reason.SMALL_TALK: OBLIGED,
}
"""Replies without passages, by `rag.reason`."""
UNMATCHED = f"Nothing that is stored fits this question. {NO_MODEL}"
FORGOTTEN = f"Nothing that you keep fits this. {NO_MODEL}"
UNTOLD = f"Nothing that this project keeps fits this. {NO_MODEL}"
UNFILLED = f"This project keeps nothing to answer from yet. {NO_MODEL}"
OTHERWISE = {DOCUMENT_FORM: UNMATCHED, MEMORY_FORM: FORGOTTEN, GREETING_FORM: WELCOME, PROJECT_FORM: UNTOLD}
"""The same for every other reason, by form."""
CLOSEST = "The documents do not answer this directly. What comes closest: "
CLOSEST_KEPT = "Nothing that is kept answers this directly. What comes closest: "
NEAREST = {MEMORY_FORM: CLOSEST_KEPT, PROJECT_FORM: CLOSEST_KEPT}
NO_SENTENCE = "The documents that match hold no sentence that can be quoted."

LABEL_LIKE = re.compile(r"[\[【]([^\[\]【】#]*#[^\[\]【】]*)[\]】]")


@runtime_checkable
class SentenceEmbedder(Embedder, Protocol):
    """An embedder fast enough for a pending answer: the bundled one."""

    async def sentences(self, texts: Sequence[str]) -> list[Embedding]: ...


class Spoken:
    """A complete answer as a `base.ModelStream`."""

    model = NAME

    def __init__(self, text: str) -> None:
        self.text = text

    async def __aiter__(self) -> AsyncIterator[Delta]:
        for piece in PIECE.findall(self.text):
            yield Delta(piece)
        yield Delta(finish=Finish.STOP)


class Extractive:
    name = NAME

    def __init__(self, embedder: Embedder | None = None, floor: float = FLOOR) -> None:
        self.embedder = embedder if isinstance(embedder, SentenceEmbedder) else None
        """None: ranked by terms alone, as with an embedder behind a network."""
        self.floor = floor

    @asynccontextmanager
    async def open(self, prompt: Prompt, *, model: str | None = None) -> AsyncIterator[ModelStream]:
        yield Spoken(await self.answer(prompt) if prompt.passages else bare(prompt))

    async def answer(self, prompt: Prompt) -> str:
        question = resolve(prompt.message, prompt.turns)
        passages = (
            [plain_markup(one) for one in prompt.passages] if prompt.form == PROJECT_FORM else prompt.passages
        )
        ranked = await asyncio.to_thread(lambda: by_words(question, sentences(passages)))
        alike = await self.similarities(question, ranked[:SHORTLIST])
        closest = NEAREST.get(prompt.form, CLOSEST)
        if not alike:
            return told(ranked, LEAST_BY_WORDS, closest)
        return told(with_meaning(ranked, alike), LEAST, closest)

    async def similarities(self, question: str, ranked: Sequence[QuotableSentence]) -> list[float]:
        """Similarities of the first sentences to the question, as many as fit into EMBED_SECONDS."""
        vectors: list[Embedding] = []
        if self.embedder is None:
            return []
        texts = [question, *(sentence.text for sentence in ranked)]
        with suppress(TimeoutError, RetrievalError):
            async with asyncio.timeout(EMBED_SECONDS):
                for start in range(0, len(texts), AT_ONCE):
                    vectors += await self.embedder.sentences(texts[start : start + AT_ONCE])
        matrix = np.array([np.frombuffer(vector, "<f4") for vector in vectors])
        return [similarity(float(matrix[0] @ other), self.floor) for other in matrix[1:]]


def bare(prompt: Prompt) -> str:
    """Reply without passages: to a greeting, or why there is nothing."""
    if is_pure_reentry_greeting(prompt.message):
        return WELCOME
    if prompt.reason is Reason.EMPTY and prompt.form is not DOCUMENT_FORM:  # another PDF would not help
        return UNFILLED if prompt.form is PROJECT_FORM else OTHERWISE[prompt.form]
    return WITHOUT.get(prompt.reason, OTHERWISE[prompt.form])


def told(ranked: Sequence[QuotableSentence], least: float, closest: str = CLOSEST) -> str:
    """The answer's text: `“sentence” [report.pdf#3]`, one a paragraph."""
    chosen = quoted(ranked)
    if not chosen:
        return NO_SENTENCE
    if chosen[0].score < least:
        return closest + quotation(chosen[0])
    return "\n\n".join(quotation(sentence) for sentence in chosen)


def quotation(sentence: QuotableSentence) -> str:
    """A quoted sentence and its citation. Backticks, and brackets that look like a citation, are replaced:
    they would act as markup of the answer."""
    plain = LABEL_LIKE.sub(r"(\1)", sentence.text).replace("`", "'")
    return f"“{plain}” [{sentence.label}]"
