"""Fusion: relevance in [0, 1] from lexical and dense retrieval of all sources, plus speaker and date.

Combines scores, not ranks (RRF): similarity, and the share of the question's IDF in a passage. The lexical
weight grows with the contrast of the lexical scores (their fall over the first DEPTH results), and falls with
that of the similarities and with the share of the question that the embedder can read (`models/bundled.py`).
A memory belongs to the day it was said and the days it mentions, and to a speaker if it begins with a name;
each that the question names adds a bounded part. Pure. After Bruch, Gai, Ingber 2023, "An Analysis of Fusion
Functions"; figures: docs/adr/0004.
"""

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime
from functools import lru_cache
from itertools import chain, islice

from app.models.base import LEGIBLE
from app.retrieval.relevance import UNRELATED, evidence, is_match, least_related
from app.text.dates import (
    FIRST,
    LAST,
    ONE,
    READ_CHARACTERS,
    DateSpan,
    Expression,
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
from app.types import CERTAIN, SAID, Candidate, Hit, Legs, Passage, Stretch, day_of

DEPTH = 10
"""Results that contrast is measured over: as many as people read."""
LEXICAL_CONTRAST = 0.2
"""Typical contrast of lexical retrieval: the fall per natural logarithm of the rank, as a share of the best
score. Measured medians go from .13 (short questions to code) to .32 (questions that quote a text)."""
DENSE_CONTRAST = 0.055
"""Typical fall of similarity: medians from .03 (a language unknown to the embedder) to .15."""
LEAST, MOST_CONTRAST = 0.4, 2.5
"""Ten results are too little evidence to switch a retriever off."""
SHARP, SOFT = 1.25, 0.75
"""Exponents of the lexical and the dense contrast."""

Floor = Callable[[str], float]
"""The mean similarity of passages that have nothing to do with the question, by their text."""


def weight(words: Sequence[float], meaning: Sequence[float]) -> float:
    """Weight of lexical retrieval, 1 if nothing is known: it grows with the lexical contrast and falls with
    the dense one. Takes scores and similarities, each best first."""
    # A shorter list than the other has every passage with a term: the next one has none.
    scores = [*words, 0.0] if len(words) < len(meaning) else words
    if len(scores) < 2 or len(meaning) < 2 or scores[0] <= 0:
        return 1.0
    by_words = fall(scores) / scores[0] / LEXICAL_CONTRAST
    by_meaning = fall([max(0.0, each) for each in meaning]) / DENSE_CONTRAST
    most = (MOST_CONTRAST if by_words > 0 else 1.0) if by_meaning <= 0 else by_words**SHARP / by_meaning**SOFT
    return min(MOST_CONTRAST, max(LEAST, most))


def fall(scores: Sequence[float]) -> float:
    """Fall of the score per natural logarithm of the rank; 0 for fewer than two results."""
    last = min(DEPTH, len(scores))
    return (scores[0] - scores[last - 1]) / math.log(last) if last > 1 else 0.0


DENSE_WEIGHT = 5.0
"""Weight of similarity beside a lexical weight of 1: related and unrelated texts differ by a fifth of its
scale."""
HELD = 0.8
"""Share of the lexical score that is coverage of the query; the rest is BM25. Frequency and length matter
more when there is no dense retrieval, which measures the same better."""


def fuse(found: Sequence[Legs], grasp: float = 1.0, unrelated: Floor | None = None) -> list[Candidate]:
    """Every passage of every source with relevance and evidence, most relevant first; equal ones in the
    sources' order. `grasp`: share of the question that the embedder can read; `unrelated`: the mean
    similarity of unrelated passages, by a passage's text; None: 0 (`models/bundled.py`)."""
    ceiling = max((strength(legs) for legs in found), default=0.0)
    words = balance(found, ceiling) / (grasp if ceiling > 0 else 1.0)
    hits = [word_view(legs) for legs in found]
    evidences = [
        evidence_of_passages(legs, seen, grasp, unrelated) for legs, seen in zip(found, hits, strict=True)
    ]
    every = chain.from_iterable(each.values() for each in evidences)
    least = least_related(every, sum(legs.stored for legs in found))
    candidates = [
        Candidate(
            scored(
                passage,
                relevance(passage, seen.get(key), lexical.get(key, 0.0), factor, words),
                own[key] if own[key] >= least else UNRELATED,
            )
        )
        for legs, seen, own in zip(found, hits, evidences, strict=True)
        for factor in [scale(legs, ceiling)]
        for lexical in [worded(legs, seen, factor, grasp)]
        for key, passage in legs.passages.items()
    ]
    return sorted(candidates, key=lambda item: -item.passage.score)


def evidence_of_passages(
    legs: Legs, hits: Mapping[str, Hit], grasp: float, unrelated: Floor | None
) -> dict[str, float]:
    """The evidence of each passage of a source."""
    legible = grasp >= LEGIBLE
    floor = unrelated or (lambda _: 0.0)
    return {
        key: evidence(passage.similarity, hits.get(key), legible=legible, unrelated=floor(passage.text))
        for key, passage in legs.passages.items()
    }


def strength(legs: Legs) -> float:
    return max((hit.coverage for hit in legs.words), default=0.0)


def scale(legs: Legs, ceiling: float) -> float:
    """Factor for BM25 scores of this source; the best hit of the best source becomes 1."""
    if not legs.words or legs.words[0].score <= 0:
        return 0.0
    return (strength(legs) / ceiling if ceiling > 0 else 1.0) / legs.words[0].score


def balance(found: Sequence[Legs], ceiling: float) -> float:
    """Lexical weight of this request, from the merged results of all sources. Scores that neighbours lend are
    no contrast."""
    factors = [scale(legs, ceiling) for legs in found]
    words = [
        (hit.score - hit.lent) * factor
        for legs, factor in zip(found, factors, strict=True)
        for hit in legs.words
    ]
    meaning = [hit.score for legs in found for hit in legs.meaning]
    return weight(sorted(words, reverse=True), sorted(meaning, reverse=True))


def word_view(legs: Legs) -> dict[str, Hit]:
    return {**legs.dated, **legs.beside, **{hit.key: hit for hit in legs.words}}


def worded(legs: Legs, hits: Mapping[str, Hit], factor: float, grasp: float) -> dict[str, float]:
    """Lexical score of each passage beside similarity: coverage with the neighbours' share, and BM25; the
    best of the best source becomes 1. BM25 alone if the source reports no coverage, and more of it the less
    the embedder can read."""
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


def relevance(passage: Passage, hit: Hit | None, lexical: float, factor: float, words: float) -> float:
    """BM25 alone if the query was not embedded."""
    if passage.similarity is None:
        return min(1.0, hit.score * factor) if hit else 0.0
    meaning = max(0.0, min(1.0, passage.similarity))
    return (DENSE_WEIGHT * meaning + words * lexical) / (DENSE_WEIGHT + words)


def scored(passage: Passage, score: float, evidence: float | None = None) -> Passage:
    """Field by field: a tenth of the time of `replace`, for each of eighty passages."""
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
        passage.evidence if evidence is None else evidence,
    )


NAME = re.compile(r"\s*([^\W\d_](?:[^\W_]|[.' -])*?) *$")
"""The text before a colon."""
HEADING_CHARACTERS = 40
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
"""First words of notes that are no speaker: in English, German, Spanish and French."""
WORDS = words(
    "will may mark bill art rob sue pat drew grant chase jack hope joy grace faith rose dawn miles summer"
    " reich lang klein gut sol luz paz mar pierre"
)
"""Names that are also common words."""
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
OPENS = re.compile(r"(?:^|[.!?:])[^\w]*$")
"""Before the first word of a sentence."""


def speaker(text: str) -> str:
    """The speaker's name as written; "" if there is none."""
    head, colon, rest = text[: HEADING_CHARACTERS + 2].partition(":")
    if not colon or not rest[:1].isspace():
        return ""
    found = NAME.match(head)
    return found[1] if found and low(found[1]) not in NOBODY else ""


def named(name: str, question: str) -> bool:
    folded, wanted = low(question), low(name)
    if not wanted or (question == folded and wanted in WORDS):
        return False
    return any(
        alone(folded, at, at + len(wanted)) and (question == folded or written(question, at, wanted))
        for at in islice(places(wanted, folded), TRIES)
    )


def places(wanted: str, text: str) -> Iterator[int]:
    at = text.find(wanted)
    while at >= 0:
        yield at
        at = text.find(wanted, at + 1)


def written(question: str, at: int, name: str) -> bool:
    sign = question[at]
    if sign.islower():
        return False
    return name not in WORDS or not OPENS.search(question[max(0, at - TRIES) : at])


def alone(text: str, start: int, end: int) -> bool:
    return not (text[start - 1 : start].isalnum() or text[end : end + 1].isalnum())


def low(text: str) -> str:
    """Lower case of the same length."""
    return text.replace("\u0130", "I").lower()


TIME, SPEAKER, DATED = 0.2, 0.2, 0.05
"""Shares of (1 - relevance) that are added for the requested time, for a named speaker, and for any
expression of time when the question asks only for a time."""
WHEN = re.compile(
    r"\W*(?:(?:and|so|und|y|et) )?(?:(?:since|seit|desde|depuis) )?(?:when|wann|cuando|quand|how long ago"
    r"|(?:on |in |an |in |en |a )?(?:what|which|welche[mnrs]?|que|quel(?:le)?)"
    r" (?:date|day|month|year|datum|tag|monat|jahr|fecha|dia|mes|ano|jour|mois|annee))\b"
)
"""Beginning of a question that asks for a time."""
YEARS = 10
"""Years that are searched for a date without a year."""
MAX_TIMES = 8
"""Most times taken from one question."""
LATEST = 8
"""Cached questions: each is analysed for the cache's key, and again after its search."""


@dataclass(frozen=True, slots=True)
class Asked:
    text: str = ""
    spans: tuple[DateSpan, ...] = ()
    when: bool = False
    alone: bool = False
    """True if the question names only a time."""

    @property
    def key(self) -> list[object]:
        return [[str(span.start), str(span.end), span.yearly] for span in self.spans]

    def stretches(self, year: int) -> tuple[Stretch, ...]:
        """Distinct stretches of days; a date without a year stands for those of the last YEARS."""
        lately = range(year - YEARS + 1, year + 1)
        every = (span.of(each) for span in self.spans for each in (lately if span.yearly else (year,)))
        return tuple((each.start, each.end) for each in united(every))

    def shares(self, candidates: Iterable[Candidate]) -> dict[str, float]:
        """By memory id, how far each is of the requested time, in (0, 1]; others are left out."""
        found: dict[str, float] = {}
        for passage in (item.passage for item in candidates if self.spans):
            if passage.source in SAID:
                found[passage.id] = max((share(self.spans, each) for each in days(passage)), default=0.0)
        return {key: of_time for key, of_time in found.items() if of_time}

    def evidence(self, passage: Passage, of_time: float) -> float:
        """Bonus for a passage in [0, TIME + SPEAKER + DATED]; `of_time`: its entry in `shares`."""
        if passage.source not in SAID:
            return 0.0
        dated = self.when and bool(expressions(passage.text))
        who = named(speaker(passage.text), self.text)
        return TIME * of_time + SPEAKER * who + DATED * dated


def asked(text: str, at: datetime) -> Asked:
    return Asked(text, *of_day(text, day_of(at)))


@lru_cache(LATEST)
def of_day(text: str, day: date | None) -> tuple[tuple[DateSpan, ...], bool, bool]:
    """(spans, asks for a time, names only a time); cached by day."""
    every = (bounded(each, day) for each in expressions(text)) if day else ()
    spans = tuple(islice(dict.fromkeys(span for span in every if span), MAX_TIMES))
    return spans, bool(WHEN.match(plain(bare(text[:READ_CHARACTERS])))), bool(spans) and timely(text)


def bounded(found: Expression, at: date) -> DateSpan | None:
    """The span of an expression, extended for "since", "before" and "after"."""
    span = resolved(found, at)
    if span is None or not found.bound:
        return span
    if span.yearly:
        span = chosen(span, at, -1)
    if found.bound in ("b", "B"):
        span = DateSpan(FIRST, span.end if found.bound == "b" else span.start)
    else:
        span = DateSpan(span.start if found.bound == "s" else span.end, LAST)
    return span if span.start < span.end else None


def with_time_evidence(
    candidates: Sequence[Candidate], question: Asked, shares: Mapping[str, float]
) -> list[Candidate]:
    every = (supported(item, question, shares.get(item.passage.id, 0.0)) for item in candidates)
    return sorted(every, key=lambda item: -item.passage.score)


def supported(item: Candidate, question: Asked, of_time: float) -> Candidate:
    passage = item.passage
    added = question.evidence(passage, of_time)
    if not added:
        return item
    own = CERTAIN if question.alone and of_time == 1 else None
    return Candidate(scored(passage, passage.score + (1 - passage.score) * added, own))


def notes(
    candidates: Sequence[Candidate], question: Asked, shares: Mapping[str, float], threshold: float
) -> list[str]:
    """Notes on the time asked about, if a match is of it. They contain no labels: what is packed is decided
    later."""
    if not question.spans:
        return []
    times = ", ".join(map(date_written, question.spans))
    memories = (item for item in candidates if item.passage.source in SAID and item.passage.id in shares)
    found = any(is_match(item, threshold) for item in memories)
    return [f"Time asked about: {times}"] if found else []


def date_written(span: DateSpan) -> str:
    first, last = (str(day)[len("2000-") if span.yearly else 0 :] for day in (span.start, span.end - ONE))
    since, until = span.start > FIRST, span.end < LAST
    return f"{first} to {last}" if since and until else f"since {first}" if since else f"until {last}"
