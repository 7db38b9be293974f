"""Fusion: relevance in [0, 1] from lexical and dense retrieval of all sources, plus speaker and day.

Not ranks (RRF) but two scales: similarity as it is, and the share of the question's IDF that a passage holds,
relative to the best one. The lexical weight is read from how clearly each retriever separates its best
results from the rest (up to DEPTH), and from how much of the question the embedder can read
(`models/bundled.py`). A memory is of the day it was said and of the days it speaks of, and its speaker's
where it begins with a name; what the question names of both adds a bounded part. Pure. After Bruch, Gai,
Ingber 2023, "An Analysis of Fusion Functions"; figures: docs/adr/0004.
"""

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from itertools import islice

from app.retrieval.relevance import is_match
from app.text.dates import (
    FIRST,
    LAST,
    MOST,
    ONE,
    Expression,
    Span,
    bare,
    chosen,
    days,
    expressions,
    plain,
    resolved,
    share,
    timely,
    united,
)
from app.text.languages import TONGUES, words
from app.types import SAID, Candidate, Hit, Legs, Passage, Stretch, day_of

DEPTH = 10
"""Places of a leg that are looked at: as many as anybody reads."""
LEXICAL_CONTRAST = 0.2
"""Fall of the word leg, a share of its best score a natural logarithm of the place, in between: measured
medians go from .13 (short questions to code) to .32 (questions that quote a text)."""
DENSE_CONTRAST = 0.055
"""Of the meaning leg in similarity: medians from .03 (a language unknown to the embedder) to .15."""
LEAST, MOST_CONTRAST = 0.4, 2.5
"""Evidence of ten passages turns no leg off."""
SHARP, SOFT = 1.25, 0.75
"""How strongly the fall of the words counts, and that of meaning."""


def weight(words: Sequence[float], meaning: Sequence[float]) -> float:
    """What words weigh, 1 where nothing is known: the more, the more clearly they tell, and the less clearly
    meaning does. Scores and similarities of the legs, each best first."""
    # A shorter leg than the other has named every passage with a word: the next one holds none.
    scores = [*words, 0.0] if len(words) < len(meaning) else words
    if len(scores) < 2 or len(meaning) < 2 or scores[0] <= 0:
        return 1.0
    by_words = fall(scores) / scores[0] / LEXICAL_CONTRAST
    by_meaning = fall([max(0.0, each) for each in meaning]) / DENSE_CONTRAST
    most = (MOST_CONTRAST if by_words > 0 else 1.0) if by_meaning <= 0 else by_words**SHARP / by_meaning**SOFT
    return min(MOST_CONTRAST, max(LEAST, most))


def fall(scores: Sequence[float]) -> float:
    """From the first place to the last one looked at, a natural logarithm; 0 where there is no second."""
    last = min(DEPTH, len(scores))
    return (scores[0] - scores[last - 1]) / math.log(last) if last > 1 else 0.0


DENSE_WEIGHT = 5.0
"""What similarity weighs beside words that weigh 1: a fifth of its scale lies between a related text and
one that is not."""
HELD = 0.8
"""Share of a passage's words that counts which of them it holds; the rest is its BM25. How often and in how
long a text they stand matters where words stand alone; meaning knows it better."""


def fuse(found: Sequence[Legs], grasp: float = 1.0) -> list[Candidate]:
    """Every passage of every source, most relevant first; equal ones in the order the sources gave them.
    `grasp`: how much of the question the embedder can read (`models/bundled.py`)."""
    ceiling = max((strength(legs) for legs in found), default=0.0)
    words = balance(found, ceiling) / (grasp if ceiling > 0 else 1.0)
    candidates = [
        candidate(passage, hits.get(key), lexical.get(key, 0.0), factor, words)
        for legs in found
        for hits, factor in [(word_view(legs), scale(legs, ceiling))]
        for lexical in [worded(legs, hits, factor, grasp)]
        for key, passage in legs.passages.items()
    ]
    return sorted(candidates, key=lambda item: -item.passage.score)


def strength(legs: Legs) -> float:
    """The most of the query that a word hit of the source covers: comparable between sources, unlike BM25."""
    return max((hit.coverage for hit in legs.words), default=0.0)


def scale(legs: Legs, ceiling: float) -> float:
    """What a BM25 score of this source is multiplied by; the best hit of the best source comes to 1."""
    if not legs.words or legs.words[0].score <= 0:
        return 0.0
    return (strength(legs) / ceiling if ceiling > 0 else 1.0) / legs.words[0].score


def balance(found: Sequence[Legs], ceiling: float) -> float:
    """What words weigh in this request: both legs of all sources, one after the other. What neighbours lend
    says nothing of how clearly a leg tells."""
    factors = [scale(legs, ceiling) for legs in found]
    words = [
        (hit.score - hit.lent) * factor
        for legs, factor in zip(found, factors, strict=True)
        for hit in legs.words
    ]
    meaning = [hit.score for legs in found for hit in legs.meaning]
    return weight(sorted(words, reverse=True), sorted(meaning, reverse=True))


def word_view(legs: Legs) -> dict[str, Hit]:
    """How the word leg saw passages by id, whichever leg chose them."""
    return {**legs.dated, **legs.beside, **{hit.key: hit for hit in legs.words}}


def worded(legs: Legs, hits: Mapping[str, Hit], factor: float, grasp: float) -> dict[str, float]:
    """Beside meaning: what each holds of the question's words, its neighbours' loan included, and its BM25;
    the best of the best source comes to 1. Where a source does not tell what is held, all is BM25, and the
    more of it, the less meaning knows."""
    if factor <= 0:
        return {}
    best = legs.words[0].score
    loan = strength(legs) / best
    held = {key: hit.coverage + hit.lent * loan for key, hit in hits.items()}
    most, top = max(own for key, own in held.items() if key not in legs.dated), factor * best
    if most <= 0:
        return {key: min(top, hit.score * factor) for key, hit in hits.items()}
    share = HELD * grasp
    each, rest = share * top / most, (1 - share) * factor
    return {key: min(1.0, held[key] * each + hit.score * rest) for key, hit in hits.items()}


def candidate(passage: Passage, hit: Hit | None, lexical: float, factor: float, words: float) -> Candidate:
    """A passage with its relevance. Without similarity (the query was not embedded) BM25 alone counts."""
    if passage.similarity is None:
        relevance = min(1.0, hit.score * factor) if hit else 0.0
    else:
        meaning = max(0.0, min(1.0, passage.similarity))
        relevance = (DENSE_WEIGHT * meaning + words * lexical) / (DENSE_WEIGHT + words)
    return Candidate(scored(passage, relevance), hit)


def scored(passage: Passage, score: float) -> Passage:
    """The same with its score: field by field, at a tenth of what `replace` takes for each of eighty."""
    return Passage(
        passage.source,
        passage.id,
        passage.text,
        passage.tokens,
        passage.label,
        passage.similarity,
        score,
        passage.title,
        passage.fields,
        passage.created_at,
        passage.quoted,
        passage.lined,
        passage.days,
    )


NAME = re.compile(r"\s*([^\W\d_](?:[^\W_]|[.' -])*?) *$")
"""What stands before the colon."""
LONGEST = 40
"""Characters of a name."""
HEADINGS = words(
    "summary note notes title subject date time today yesterday tomorrow todo task tasks question answer idea"
    " ideas plan plans goal goals result results list example examples warning update reminder conclusion"
    " problem solution topic user assistant system human bot me name memory address source link"
    " zusammenfassung notiz notizen titel betreff datum zeit heute gestern morgen aufgabe aufgaben frage"
    " antwort idee ideen ziel ziele ergebnis ergebnisse liste beispiel warnung erinnerung fazit thema nutzer"
    " resumen nota notas asunto fecha hora hoy ayer tarea tareas pregunta respuesta meta resultado lista"
    " ejemplo aviso recordatorio problema tema usuario"
    " résumé titre objet heure hier tâche tâches réponse idée idées but résultat résultats liste exemple"
    " rappel problème sujet utilisateur"
)
"""What notes begin with: nobody. In English, German, Spanish and French."""
WORDS = words(
    "will may mark bill art rob sue pat drew grant chase jack hope joy grace faith rose dawn miles summer"
    " reich lang klein gut sol luz paz mar pierre"
)
"""Names that are words of a sentence, too."""
NOBODY = (
    HEADINGS
    | {
        word
        for each in TONGUES
        for part in (each.openings, each.verbs, each.bare, each.ordinals)
        for word in part
    }
) - WORDS
"""Headings, and words that name nothing."""
TRIES = 8
"""Places that are looked at."""
OPENS = re.compile(r"(?:^|[.!?:])[^\w]*$")
"""Before the first word of a sentence."""


def speaker(text: str) -> str:
    """Who said it, as it is written; "": it does not tell."""
    head, colon, rest = text[: LONGEST + 2].partition(":")
    if not colon or not rest[:1].isspace():
        return ""
    found = NAME.match(head)
    return found[1] if found and low(found[1]) not in NOBODY else ""


def named(name: str, question: str) -> bool:
    """True if a question names this person."""
    folded, wanted = low(question), low(name)
    if not wanted or (question == folded and wanted in WORDS):
        return False
    return any(
        alone(folded, at, at + len(wanted)) and (question == folded or written(question, at, wanted))
        for at in islice(places(wanted, folded), TRIES)
    )


def places(wanted: str, text: str) -> Iterator[int]:
    """Where it stands, whatever is beside it."""
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def written(question: str, at: int, name: str) -> bool:
    """True if it is written as names are at this place."""
    sign = question[at]
    if sign.islower():
        return False
    return name not in WORDS or not OPENS.search(question[max(0, at - TRIES) : at])


def alone(text: str, start: int, end: int) -> bool:
    """True if it is no part of a longer word."""
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def low(text: str) -> str:
    """In lower case, and as long as before."""
    return text.replace("\u0130", "I").lower()


TIME, SPEAKER, DATED = 0.2, 0.2, 0.05
"""Of what relevance lacks of 1: for the time that is asked about, for who is named, and for any word of time
where nothing but a time is asked for."""
WHEN = re.compile(
    r"\W*(?:(?:and|so|und|y|et) )?(?:(?:since|seit|desde|depuis) )?(?:when|wann|cuando|quand|how long ago"
    r"|(?:on |in |an |in |en |a )?(?:what|which|welche[mnrs]?|que|quel(?:le)?)"
    r" (?:date|day|month|year|datum|tag|monat|jahr|fecha|dia|mes|ano|jour|mois|annee))\b"
)
"""How a question begins that asks for a time."""
YEARS = 10
"""Of a day without a year: those in which memories are sought for it."""
MANY = 8
"""Times that one question asks about."""
LATEST = 8
"""Questions that stay read: each is asked for the cache's key, and again when it was searched for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question names: times, people, or that it asks for a time."""

    text: str = ""
    spans: tuple[Span, ...] = ()
    when: bool = False
    alone: bool = False
    """Nothing but a time is named."""

    @property
    def key(self) -> list[object]:
        """The days: the same words mean others tomorrow."""
        return [[str(span.start), str(span.end), span.yearly] for span in self.spans]

    def stretches(self, year: int) -> tuple[Stretch, ...]:
        """The spans' days, each once; of those of any year the last YEARS up to this one."""
        lately = range(year - YEARS + 1, year + 1)
        every = (span.of(each) for span in self.spans for each in (lately if span.yearly else (year,)))
        return tuple((each.start, each.end) for each in united(every))

    def shares(self, candidates: Iterable[Candidate]) -> dict[str, float]:
        """How much each memory is of that time, in [0, 1], by id; the others are none of it."""
        found: dict[str, float] = {}
        for passage in (item.passage for item in candidates if self.spans):
            if passage.source in SAID:
                found[passage.id] = max((share(self.spans, each) for each in days(passage)), default=0.0)
        return {key: of_time for key, of_time in found.items() if of_time}

    def evidence(self, passage: Passage, of_time: float) -> float:
        """What speaks for a passage, in [0, TIME + SPEAKER + DATED]; `of_time`: its entry in `shares`."""
        if passage.source not in SAID:
            return 0.0
        dated = self.when and bool(expressions(passage.text))
        who = named(speaker(passage.text), self.text)
        return TIME * of_time + SPEAKER * who + DATED * dated


def asked(text: str, at: datetime) -> Asked:
    """What a question names, asked at `at`."""
    return Asked(text, *of_day(text, day_of(at)))


@lru_cache(LATEST)
def of_day(text: str, day: date | None) -> tuple[tuple[Span, ...], bool, bool]:
    """The same at any time of a day."""
    every = (bounded(each, day) for each in expressions(text)) if day else ()
    spans = tuple(islice(dict.fromkeys(span for span in every if span), MANY))
    return spans, bool(WHEN.match(plain(bare(text[:MOST])))), bool(spans) and timely(text)


def bounded(found: Expression, at: date) -> Span | None:
    """Its days, or all since, before or after them."""
    span = resolved(found, at)
    if span is None or not found.bound:
        return span
    if span.yearly:
        span = chosen(span, at, -1)
    if found.bound in ("b", "B"):
        span = Span(FIRST, span.end if found.bound == "b" else span.start)
    else:
        span = Span(span.start if found.bound == "s" else span.end, LAST)
    return span if span.start < span.end else None


def with_time_evidence(
    candidates: Sequence[Candidate], question: Asked, shares: Mapping[str, float]
) -> list[Candidate]:
    """The same, most relevant first, with this evidence; equal ones in their order."""
    every = (supported(item, question, shares.get(item.passage.id, 0.0)) for item in candidates)
    return sorted(every, key=lambda item: -item.passage.score)


def supported(item: Candidate, question: Asked, of_time: float) -> Candidate:
    """One of them. A memory of the time is all that is asked for where nothing else is named."""
    passage = item.passage
    evidence = question.evidence(passage, of_time)
    if not evidence:
        return item
    words = item.words
    if question.alone and of_time == 1:
        words = replace(words or Hit(passage.id, 0.0), rare=True)
    return Candidate(scored(passage, passage.score + (1 - passage.score) * evidence), words)


def notes(
    candidates: Sequence[Candidate], question: Asked, shares: Mapping[str, float], threshold: float
) -> list[str]:
    """What was taken for the time asked about, where a match is of it. No labels: which of them the answer
    is told is decided later."""
    if not question.spans:
        return []
    times = ", ".join(map(date_written, question.spans))
    memories = (item for item in candidates if item.passage.source in SAID and item.passage.id in shares)
    found = any(is_match(item, threshold) for item in memories)
    return [f"Time asked about: {times}"] if found else []


def date_written(span: Span) -> str:
    """A span in words, its last day included; of one without a year `05-07`."""
    first, last = (str(day)[len("2000-") if span.yearly else 0 :] for day in (span.start, span.end - ONE))
    since, until = span.start > FIRST, span.end < LAST
    return f"{first} to {last}" if since and until else f"since {first}" if since else f"until {last}"
