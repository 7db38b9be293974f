"""Who said it and when: evidence of a question beside words and meaning, within fusion. Pure.

A memory is of the day it was said on and of the days it speaks of: one of 8 May that says `yesterday` is of
7 May, too. It is its speaker's where it begins with a name (`Anna: …`). What a question names of both speaks
for a memory, as a part of what its relevance lacks of 1: added, since one that words and meaning hardly find
may be that of the day, and bounded, since it may not. A document's time is that of its upload: none.
Why, and the figures: docs/decisions/0051. Nothing here raises.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date, datetime
from functools import lru_cache
from itertools import islice

from app.domain.almanac import bare, plain
from app.domain.calendar import FIRST, LAST, ONE, Span, Times, united
from app.domain.days import days, timed
from app.domain.diary import timely
from app.domain.fusion import scored
from app.domain.passage import SAID, Candidate, Hit, Passage, Stretch, day_of
from app.domain.relevance import is_match
from app.domain.span import chosen, resolved
from app.domain.speaker import named, speaker
from app.domain.text import Text
from app.domain.when import MOST, Expression, expressions

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
NO_TIMES = Times()


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question names: times, people, or that it asks for a time."""

    text: str = ""
    spans: tuple[Span, ...] = ()
    when: bool = False
    times: Times = NO_TIMES
    """The spans, made ready."""
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
        return tuple((date.fromordinal(first), date.fromordinal(end)) for first, end in united(every))

    def evidence(self, passage: Passage) -> float:
        """What speaks for a passage, in [0, TIME + SPEAKER + DATED]."""
        if passage.source not in SAID:
            return 0.0
        dated = self.when and timed(passage.text)
        who = named(speaker(passage.text), self.text)
        return TIME * self.share(passage) + SPEAKER * who + DATED * dated

    def vouches(self, passage: Passage) -> bool:
        """Whether a passage is all that is asked for: of the time, where nothing else is named."""
        return self.alone and passage.source in SAID and self.share(passage) == 1

    def share(self, passage: Passage) -> float:
        """How much a passage is of that time, in [0, 1]."""
        best = 0.0
        for each in days(passage) if self.spans else ():
            best = max(best, self.times.share(each))
            if best == 1:
                break
        return best


def asked(text: str, at: datetime) -> Asked:
    """What a question names, asked at `at`."""
    return Asked(Text(text), *of_day(text, day_of(at)))


@lru_cache(LATEST)
def of_day(text: str, day: date | None) -> tuple[tuple[Span, ...], bool, Times, bool]:
    """The same at any time of a day."""
    every = (bounded(each, day) for each in expressions(text)) if day else ()
    spans = tuple(islice(dict.fromkeys(span for span in every if span), MANY))
    return spans, bool(WHEN.match(plain(bare(text[:MOST])))), Times(spans), bool(spans) and timely(text)


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


def weighed(candidates: Sequence[Candidate], question: Asked) -> list[Candidate]:
    """The same, most relevant first, with this evidence; equal ones in their order."""
    return sorted((supported(item, question) for item in candidates), key=lambda item: -item.passage.score)


def supported(item: Candidate, question: Asked) -> Candidate:
    """One of them. Its text remembers what it is read for: its days are asked for again."""
    passage = item.passage
    if passage.source in SAID and not isinstance(passage.text, Text):
        passage = replace(passage, text=Text(passage.text))
        item = Candidate(passage, item.words)
    evidence = question.evidence(passage)
    if not evidence:
        return item
    words = item.words
    if question.vouches(passage):
        words = replace(words or Hit(passage.id, 0.0), rare=True)
    return Candidate(scored(passage, passage.score + (1 - passage.score) * evidence), words)


def notes(candidates: Sequence[Candidate], question: Asked, threshold: float) -> list[str]:
    """What was taken for the time asked about, where a match is of it. No labels: which of them the answer
    is told is decided later."""
    if not question.spans:
        return []
    times = ", ".join(map(written, question.spans))
    found = any(is_match(item, threshold) and question.share(item.passage) for item in candidates)
    return [f"Time asked about: {times}"] if found else []


def written(span: Span) -> str:
    """A span in words, its last day included; of one without a year `05-07`."""
    first, last = (str(day)[len("2000-") if span.yearly else 0 :] for day in (span.start, span.end - ONE))
    since, until = span.start > FIRST, span.end < LAST
    return f"{first} to {last}" if since and until else f"since {first}" if since else f"until {last}"
