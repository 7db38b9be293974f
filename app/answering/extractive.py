"""The extractive answerer: quotes what answers, each with its citation; no model that writes.

Passages are cut into what can be quoted alone (`quotable.py`). The best by the question's terms (IDF among
them), the passage's relevance and the documents that the question names are then read beside the question
by the bundled cross-encoder, if it answers within `SCORE_SECONDS`; it decides. Blocking work of some 40 ms
runs in a thread. Raises nothing: without a sentence that answers, it says so. Source: docs/adr/0007.
"""

import asyncio
import math
import re
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence, Set
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

from app.answer import DOCUMENT_FORM, GREETING_FORM, MEMORY_FORM, Finish, Prompt, Role
from app.answering.followup import resolve
from app.answering.prompt import PROJECT_FORM, plain_markup
from app.answering.quotable import BAR, ENDED, GAP, quotable
from app.errors import RetrievalError
from app.models.base import Delta, Embedder, ModelStream
from app.models.bundled import Bundled
from app.text.greeting import is_pure_reentry_greeting
from app.text.terms import terms
from app.types import ChunkKind, Passage, Reason

NEAR, CUE, NAMED, RELEVANT = 0.3, 0.2, 0.3, 2.0
"""Weights relative to the share of the question's terms in the quote itself, which has weight 1."""
LEAST, LEAST_BY_WORDS = 0.0, 0.45
"""Least score of an answer, as the cross-encoder's logit and by words: unrelated quotes score lower."""
NEARLY, ENOUGH = 5.0, 0.85
"""A further quote is at most so many logits below the best, or has at least this share of its score."""
LISTED, READ_LISTED = 0.5, -4.0
"""Factor and logits for tables of contents and indexes of exhibits, which name what is elsewhere."""
READ_WORDS, READ_NAMED = 1.0, 2.0
"""Logits for a score of 1 by words, and for a document that the question names, where it names some."""
OTHER_YEAR, READ_OTHER_YEAR = -0.1, -1.5
"""By words and in logits, for a quote with years but none of the question's."""
READ_ROW, READ_DENIAL = 2.0, 1.0
"""Logits for the row of a table where an amount is asked for, and for a no to a yes-or-no question."""
READ_LEANING = -1.0
"""Logits for a quote read with the one before it, whose words speak for both."""
MOST, MOST_WORDS = 3, 60
"""Quotes, and words of all together, unless the first alone has more."""
SAME = 0.6
"""Share of common terms (Jaccard) from which two quotes count as the same."""
BRIEF, LENGTHY = 4, 40
"""A quote of fewer terms hardly says anything; one of more covers too many things."""
MUTE = 0.6
"""Factor for text that neither ends like a sentence nor contains a figure: headings, labels, torn ends."""
SPOKEN = "memories"
"""Source of messages, which often lack the full stop."""
FIGURE = re.compile(r"\d")

COMMON_TEXT = (
    "a an and are as at be been but by can could did do does for from had has have how i if in into is it"
    " its me my no not of on or our please say says she should so tell that the their them there these"
    " they this those to us was we were what when where which who whom whose why will with would you your"
    " about according document documents give list many much text"
)
COMMON_WORDS = frozenset(COMMON_TEXT.split())
FUNCTION_WORDS = frozenset(terms(COMMON_TEXT))
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
AMOUNT = re.compile(
    r"\b(?:how (?:many|much|large|big|high|long|old|far|tall)|percent|millions?|billions?|number of|amount"
    r"|what (?:share|ratio))\b|[%$€£]",
    re.IGNORECASE,
)
YES_OR_NO = re.compile(
    r"(?:is|are|was|were|do|does|did|has|have|had|can|could|will|would|must|should|may)\b", re.IGNORECASE
)
DENIAL = re.compile(r"\b(?:no|not|none|never|cannot)\b", re.IGNORECASE)
ASKED = [
    (re.compile(rf"\b(?:{asks})(?!\w)", re.IGNORECASE), re.compile(gives, re.IGNORECASE))
    for asks, gives in CUES
]


@dataclass(frozen=True, slots=True)
class Quote:
    text: str
    passage: Passage
    context: str
    """The caption of its table."""
    terms: frozenset[int]
    near: frozenset[int]
    """Terms of its surroundings: adjacent quotes, heading, title."""
    named: float = 0.0
    """How far the question names its document, in [0, 1]."""
    score: float = 0.0
    before: "Quote | None" = field(default=None, compare=False, repr=False)
    """The sentence or line before it in its passage; none at a table."""
    leans: bool = False
    """True if the one before has more of the question: “This was due to …”."""

    @property
    def tabular(self) -> bool:
        """True for the row of a table."""
        return BAR in self.text or GAP in self.text

    @property
    def listed(self) -> bool:
        """True if its passage lists what is elsewhere."""
        return self.passage.fields.get("part") == ChunkKind.LISTING

    @property
    def spoken(self) -> bool:
        """True for part of a message: a statement, even without a full stop."""
        return self.passage.source == SPOKEN


def quotes(passages: Sequence[Passage], question: str) -> list[Quote]:
    """Everything that can be quoted, in order; a repeated text once, from the best passage."""
    found: dict[str, Quote] = {}
    named = named_documents(question, passages)
    for passage in passages:
        parts = quotable(passage.text)
        bags = [frozenset(terms(f"{part.context} {part.text}")) for part in parts]
        about = frozenset(terms(f"{passage.title} {passage.fields.get('heading') or ''}"))
        before: Quote | None = None
        line: Quote | None = None
        for n, part in enumerate(parts):
            near = about.union(*bags[max(0, n - 1) : n + 2])
            quote = Quote(part.text, passage, part.context, bags[n], near, named[document(passage)])
            if part.alone:
                before, line = line, quote
            if before and not before.tabular and not quote.tabular:
                quote = replace(quote, before=before)
            found.setdefault(part.text, quote)
    return list(found.values())


def document(passage: Passage) -> str:
    """The name in its label: of a document, a file of code, a collection."""
    return passage.label.rpartition("#")[0]


NAME_WORD = re.compile(r"[^\W_]+")
INITIALS = re.compile(r"\b[A-Z](?:&?[A-Z])+\b")
"""AMD, J&J."""


def named_documents(question: str, passages: Iterable[Passage]) -> dict[str, float]:
    """How far the question names each document, in [0, 1]: by words of its file name or title that not every
    document here has, by two words written as one, or by initials."""
    titles: dict[str, set[str]] = {}
    for passage in passages:
        titles.setdefault(document(passage), set()).update((document(passage), passage.title))
    words = NAME_WORD.findall(question.lower())
    asked = set(words) - COMMON_WORDS
    pairs = {one + other for one, other in pairwise(words) if {one, other} <= asked}
    short = {each.replace("&", "").lower() for each in INITIALS.findall(question)}
    held = {name: naming(texts, asked, pairs, short) for name, texts in titles.items()}
    counts = Counter(word for found in held.values() for word in found)
    weights = {word: math.log(len(held) / count) for word, count in counts.items()}
    scores = {name: sum(weights[word] for word in found) for name, found in held.items()}
    best = max(scores.values(), default=0.0) or 1.0
    return {name: score / best for name, score in scores.items()}


def naming(texts: Iterable[str], asked: Set[str], pairs: Iterable[str], short: Set[str]) -> set[str]:
    """The parts of a question that name a document of these names."""
    found: set[str] = set()
    for text in texts:
        words = NAME_WORD.findall(text.lower())
        found |= asked & set(words) | {pair for pair in pairs if pair in "".join(words)}
        initials = "".join(word[0] for word in words if word[0].isalpha())
        found |= {each for each in short if initials.startswith(each)}
    return found


SHORT_FORM = re.compile(r"\b[^\W\d_](?:&?[^\W\d_]){1,4}\b")
LINK = r"(?:\s+(?:and|of|the|for|&))?\s+"
"""Between the words of a long form."""
REPEATED = 3
"""How often passages have a long form before it counts; once, if with capitals."""


def spelled_out(question: str, passages: Sequence[Passage]) -> str:
    """The question with the long forms of its abbreviations, as the passages write them: `CEO (chief
    executive officer)`, `R&D (research and development)`. Lower case counts where the passages have capitals
    (`ceo`). Names of documents stay as they are."""
    texts = "\n".join(passage.text for passage in passages)
    names = {document(passage) for passage in passages} | {passage.title for passage in passages}
    said = question
    for short in dict.fromkeys(SHORT_FORM.findall(question)):
        letters = short.replace("&", "").lower()
        if (
            short.lower() in COMMON_WORDS
            or len(short) < len("CEO")
            or naming(names, {letters}, (), {letters})
        ):
            continue
        written = short.isupper() or re.search(rf"\b{re.escape(short.upper())}\b", texts)
        if written and (long := long_form(letters, texts)) and long not in question.lower():
            said = re.sub(rf"\b{re.escape(short)}\b", f"{short} ({long})", said, count=1)
    return said


def long_form(letters: str, texts: str) -> str:
    """The most frequent words of these initials; "" without any that is frequent."""
    words = LINK.join(rf"{letter}[^\W\d_]{{2,}}" for letter in letters)
    found = re.findall(rf"\b{words}\b", texts, re.IGNORECASE)
    if not found:
        return ""
    counts = Counter(" ".join(each.lower().split()) for each in found)
    long, count = counts.most_common(1)[0]
    titled = any(each.istitle() for each in found if " ".join(each.lower().split()) == long)
    return long if count >= REPEATED or titled else ""


PROPER = re.compile(r"(?<=[^.!?\s] )[A-ZÀ-Þ][\w-]+|^[A-ZÀ-Þ][\w-]+(?=[’']s\b)")
YEAR = re.compile(r"\b(?:1[89]|20)\d\d\b")


def is_about(question: str, quote: Quote, passages: Sequence[Passage]) -> bool:
    """False if the question names a year, or by capitals somebody or something, that neither the quote's
    document nor its passage has."""
    own = f"{document(quote.passage)} {quote.passage.title}"
    near = f"{own} {quote.context} {quote.passage.fields.get('heading') or ''} {quote.passage.text}"
    if not set(YEAR.findall(question)) <= set(re.findall(r"\d{4}", near)):
        return False
    names = {name for name in PROPER.findall(question) if name.lower() not in COMMON_WORDS}
    if not names:
        return True
    beside = (each.text for each in passages if document(each) == document(quote.passage))
    held = " ".join((own, *beside)).lower()
    return all(name.lower().removesuffix("s") in held for name in names)


def subject(question: str) -> frozenset[int]:
    return frozenset(terms(question)) - FUNCTION_WORDS


def by_words(question: str, offered: Sequence[Quote]) -> list[Quote]:
    """The quotes with scores, best first."""
    asked = subject(question)
    weights = rarities(asked, offered)
    total = sum(weights.values()) or 1.0
    gives = [given for asks, given in ASKED if asks.search(question)]
    best = max((quote.passage.score for quote in offered), default=0.0)
    years = set(YEAR.findall(question))

    def share(quote: Quote) -> float:
        return sum(weights.get(term, 0.0) for term in quote.terms & asked) / total

    def score(quote: Quote) -> float:
        own = share(quote)
        around = sum(weights.get(term, 0.0) for term in quote.near & asked) / total - own
        cue = CUE if any(given.search(quote.text) for given in gives) else 0.0
        listed = LISTED if quote.listed else 1.0
        by_passage = NAMED * quote.named + RELEVANT * (quote.passage.score - best)
        year = OTHER_YEAR * of_other_years(years, quote)
        return (own + NEAR * around + cue) * form(quote) * listed + by_passage + year

    return best_first(replace(quote, score=score(quote), leans=leans(quote, share)) for quote in offered)


def leans(quote: Quote, share: Callable[[Quote], float]) -> bool:
    """True if the sentence before it has more of the question, and both fit."""
    before = quote.before
    return (
        before is not None
        and bool(ENDED.search(quote.text))
        and share(before) > share(quote)
        and pair_words(before, quote) <= MOST_WORDS
    )


def pair_words(one: Quote, other: Quote) -> int:
    return len(one.text.split()) + len(other.text.split())


def of_other_years(years: Set[str], quote: Quote) -> bool:
    """True for a quote with years, but none of these."""
    own = set(YEAR.findall(f"{quote.text} {quote.context}")) if years else set()
    return bool(own) and not own & years


def rarities(asked: Set[int], offered: Sequence[Quote]) -> dict[int, float]:
    seen = Counter(term for quote in offered for term in quote.terms & asked)
    # A term that no quote contains counts too: it lowers every score.
    return {term: math.log(1 + len(offered) / max(1, seen[term])) for term in asked}


def form(quote: Quote) -> float:
    size = len(quote.terms)
    length = min(1.0, size / BRIEF, 2 * LENGTHY / (LENGTHY + size))
    states = quote.spoken or FIGURE.search(quote.text) or ENDED.search(quote.text)
    return length if states else MUTE * length


def best_first(scored: Iterable[Quote]) -> list[Quote]:
    return sorted(scored, key=lambda quote: -quote.score)


def chosen(ranked: Sequence[Quote], least: float) -> list[Quote]:
    """Up to three quotes: the best, and others with a score of at least `least` that say something else. One
    that leans comes with the one before it if there is room. Empty only if none is offered."""
    found: list[Quote] = list(ranked[:1])
    left = MOST_WORDS - sum(len(quote.text.split()) for quote in found)
    for quote in ranked[1:]:
        if quote.score < least or len(found) == MOST:
            break
        words = len(quote.text.split())
        if words <= left and not any(alike(quote, other) for other in found):
            found.append(quote)
            left -= words
    return joined(found, left)


def joined(found: Sequence[Quote], left: int) -> list[Quote]:
    """The quotes, each that leans after the one before it, within `left` more words."""
    whole = list(found)
    for quote in found:
        if not quote.leans or quote.before is None or quote not in whole:  # or told after it already
            continue
        pair = replace(quote, text=f"{quote.before.text} {quote.text}", leans=False)
        beside = [other for other in whole if other.text == quote.before.text]
        words = 0 if beside else len(quote.before.text.split())
        if words <= left:
            left -= words
            at = min(map(whole.index, (quote, *beside)))
            rest = [other for other in whole if other is not quote and other not in beside]
            whole = [*rest[:at], pair, *rest[at:]]
    return whole


def alike(one: Quote, other: Quote) -> bool:
    """True if two quotes say the same, or one is part of the other."""
    common, shorter = len(one.terms & other.terms), min(len(one.terms), len(other.terms))
    return common >= SAME * len(one.terms | other.terms) or common == shorter


NAME = "extractive"
SCORE_SECONDS = 0.5
"""Deadline of the cross-encoder; quotes that it has read by then count."""
SHORTLIST, AT_ONCE = 32, 4
"""Quotes that it reads, best by words first, and how many in one call."""
CHARACTERS = 6_000
"""Of all that it reads, the question counted with each quote: a fifth of a second on two cores."""
HEADING, CAPTION, SENTENCE, LEANT_ON = 30, 60, 260, 140
"""Characters that it reads of the heading, of the caption and head of a table, of the quote, and of the one
that it leans on."""
PIECE = re.compile(r"\s*\S+\s*(?:\S+\s*){0,3}")
"""A delta: four words."""

NO_MODEL = "No chat model is connected, so I can only quote what is stored."
WELCOME = "Hello! Ask me about what is stored here: I quote the sentences that answer, each with its source."
OBLIGED = "Happy to help. What else would you like to know?"
"""Reply to small talk that is no greeting: thanks, or a reaction."""
WITHOUT: Mapping[str, str] = {
    Reason.EMPTY: f"There is nothing stored to answer from yet. Add a PDF and ask again. {NO_MODEL}",
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

    def __init__(self, embedder: Embedder | None = None, *, seconds: float = SCORE_SECONDS) -> None:
        """`seconds`: deadline of the cross-encoder."""
        self.scorer = embedder if isinstance(embedder, Bundled) else None
        """None: ranked by terms alone, as with an embedder behind a network."""
        self.seconds = seconds

    @asynccontextmanager
    async def open(self, prompt: Prompt, *, model: str | None = None) -> AsyncIterator[ModelStream]:
        yield Spoken(await self.answer(prompt) if prompt.passages else bare(prompt))

    async def answer(self, prompt: Prompt) -> str:
        question = resolve(prompt.message, prompt.turns)
        passages = (
            [plain_markup(one) for one in prompt.passages] if prompt.form == PROJECT_FORM else prompt.passages
        )
        spelled, ranked = await asyncio.to_thread(prepared, question, passages)
        if question != prompt.message:
            ranked = unsaid(ranked, prompt) or ranked
        closest = NEAREST.get(prompt.form, CLOSEST)
        read = await self.read(spelled, ranked)
        best = (read or ranked)[:1]
        foreign = best and self.knows(question) and not is_about(question, best[0], passages)
        if not read:
            least = math.inf if foreign else LEAST_BY_WORDS
            return told(ranked, least, ENOUGH * ranked[0].score if ranked else 0.0, closest)
        return told(read, math.inf if foreign else LEAST, read[0].score - NEARLY, closest)

    def knows(self, question: str) -> bool:
        """True if capitals mark names, as in English."""
        return self.scorer is not None and self.scorer.reads(question)

    async def read(self, question: str, ranked: Sequence[Quote]) -> list[Quote]:
        """The first quotes with the cross-encoder's scores, best first: as many as it reads in time."""
        if self.scorer is None or not self.scorer.reads(question):
            return []
        shown = [shown_to_scorer(quote) for quote in ranked[:SHORTLIST]]
        lengths = accumulate(len(question) + len(text) for text in shown)
        texts = [text for text, length in zip(shown, lengths, strict=True) if length <= CHARACTERS]
        scores: list[float] = []
        with suppress(TimeoutError, RetrievalError):
            async with asyncio.timeout(self.seconds):
                for start in range(0, len(texts), AT_ONCE):
                    scores += await self.scorer.scores(question, texts[start : start + AT_ONCE])
        scored = zip(ranked, scores, strict=False)
        return best_first(replace(quote, score=score + beside(question, quote)) for quote, score in scored)


def prepared(question: str, passages: Sequence[Passage]) -> tuple[str, list[Quote]]:
    """The question with its abbreviations spelled out, and the quotes by words. Blocking: some 40 ms."""
    spelled = spelled_out(question, passages)
    return spelled, by_words(spelled, quotes(passages, question))


def beside(question: str, quote: Quote) -> float:
    """Logits for what the cross-encoder does not see, or does not weigh."""
    logits = READ_WORDS * quote.score + READ_NAMED * quote.named + READ_LISTED * quote.listed
    logits += READ_LEANING * quote.leans
    logits += READ_OTHER_YEAR * of_other_years(set(YEAR.findall(question)), quote)
    if AMOUNT.search(question):
        return logits + READ_ROW * quote.tabular
    return logits + READ_DENIAL * bool(YES_OR_NO.match(question) and DENIAL.search(quote.text))


def shown_to_scorer(quote: Quote) -> str:
    """A quote after the name of its document, its heading, and its table's caption or what it leans on."""
    name = " ".join(NAME_WORD.findall(document(quote.passage).removesuffix(".pdf")))
    heading = str(quote.passage.fields.get("heading") or "").rpartition(" › ")[2][:HEADING]
    place = ", ".join(filter(None, (name, heading)))
    head, gap, row = quote.text.partition(GAP)
    text = f"{head[:CAPTION]} {row}" if gap else quote.text
    context = quote.before.text[-LEANT_ON:] if quote.leans and quote.before else quote.context[-CAPTION:]
    return f"{place}: {context} {text.replace(BAR, ' ')[:SENTENCE]}"


def unsaid(ranked: Sequence[Quote], prompt: Prompt) -> list[Quote]:
    """The quotes that the last answer did not give, since a follow-up asks for more; and those with all that
    the follow-up names: the row of a table may answer for another year too."""
    last = next((turn.content for turn in reversed(prompt.turns) if turn.role is Role.ASSISTANT), "")
    named = subject(prompt.message)
    return [quote for quote in ranked if quote.text not in last or (named and named <= quote.terms)]


def bare(prompt: Prompt) -> str:
    """Reply without passages: to a greeting, or why there is nothing."""
    if is_pure_reentry_greeting(prompt.message):
        return WELCOME
    if prompt.reason is Reason.EMPTY and prompt.form is not DOCUMENT_FORM:  # another PDF would not help
        return UNFILLED if prompt.form is PROJECT_FORM else OTHERWISE[prompt.form]
    return WITHOUT.get(prompt.reason, OTHERWISE[prompt.form])


def told(ranked: Sequence[Quote], least: float, further: float, closest: str) -> str:
    """The answer's text: `“sentence” [report.pdf#3]`, one a paragraph. `least`: score of an answer;
    `further`: of a second quote."""
    found = chosen(ranked, further)
    if not found:
        return NO_SENTENCE
    if found[0].score < least:
        return closest + quotation(found[0])
    return "\n\n".join(map(quotation, found))


def quotation(quote: Quote) -> str:
    """A quote and its citation. Backticks, and brackets that look like a citation, are replaced: they would
    act as markup of the answer."""
    plain = LABEL_LIKE.sub(r"(\1)", quote.text).replace("`", "'")
    return f"“{plain}” [{quote.passage.label}]"
