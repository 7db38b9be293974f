"""Who said it and when: evidence of a question beside words and meaning, within fusion. Pure.

A memory is of the day it was said on and of the days it speaks of: one of 8 May that says `yesterday` is of
7 May, too. It is its speaker's where it begins with a name (`Anna: …`). What a question names of both speaks
for a memory, as a part of what its relevance lacks of 1: added, since one that words and meaning hardly find
may be that of the day, and bounded, since it may not. A document's time is that of its upload: none.
Why, and the figures: docs/decisions/0051. Nothing here raises.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime

from app.domain.almanac import DAY, bare, plain
from app.domain.fusion import scored
from app.domain.passage import Candidate, Passage
from app.domain.span import FIRST, LAST, ONE, Span, around, chosen, nearest, resolved
from app.domain.when import MOST, Expression, expressions

SAID = frozenset({"memories"})
"""Sources whose passages somebody said at a time."""
TIME, SPEAKER, DATED = 0.2, 0.2, 0.05
"""Of what relevance lacks of 1: for the time that is asked about, for who is named, and for any word of time
where nothing but a time is asked for."""
NAME = re.compile(r"\s*([^\W\d_](?:[^\W_]|[.' -])*?) *$")
"""Who speaks, as transcripts begin a turn: what stands before the colon."""
LONGEST = 40
"""Characters of a name."""
WHEN = re.compile(
    r"\W*(?:(?:and|so|und|y|et) )?(?:(?:since|seit|desde|depuis) )?(?:when|wann|cuando|quand|how long ago"
    r"|(?:on |in |an |in |en |a )?(?:what|which|welche[mnrs]?|que|quel(?:le)?)"
    r" (?:date|day|month|year|datum|tag|monat|jahr|fecha|dia|mes|ano|jour|mois|annee))\b"
)
"""How a question begins that asks for a time."""
FIRST_FEW, NOTED = 20, 5
"""Of the best: how many are looked at for the note, and how many labels it tells."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What a question names: times, people, or that it asks for a time."""

    words: str = ""
    spans: tuple[Span, ...] = ()
    when: bool = False

    @property
    def key(self) -> list[object]:
        """The days: the same words mean others tomorrow."""
        return [[str(span.start), str(span.end), span.yearly] for span in self.spans]

    def evidence(self, passage: Passage) -> float:
        """What speaks for a passage, in [0, TIME + SPEAKER + DATED]."""
        if passage.source not in SAID:
            return 0.0
        dated = self.when and bool(expressions(passage.text))
        return TIME * self.share(passage) + SPEAKER * self.names(speaker(passage.text)) + DATED * dated

    def share(self, passage: Passage) -> float:
        """How much a passage is of that time, in [0, 1]."""
        best = 0.0
        for each in days(passage) if self.spans else ():
            best = max(best, *(span.share(each) for span in self.spans))
            if best == 1:
                break
        return best

    def names(self, name: str) -> bool:
        """Whether it names this person."""
        at = self.words.find(name) if name else -1
        return at >= 0 and re.search(rf"(?<!\w){re.escape(name)}(?!\w)", self.words) is not None


def asked(text: str, at: datetime) -> Asked:
    """What a question names, asked at `at`."""
    day = at.astimezone(UTC).date()
    found = (bounded(each, day) for each in expressions(text))
    return Asked(
        text.casefold(), tuple(span for span in found if span), bool(WHEN.match(plain(bare(text[:MOST]))))
    )


def bounded(found: Expression, at: date) -> Span | None:
    """Its days, or all since, before or after them."""
    span = resolved(found, at)
    if span is None or not found.bound:
        return span
    if span.yearly:
        span = chosen(span.of(at.year), at, -1)
    if found.bound in ("b", "B"):
        return Span(FIRST, span.end if found.bound == "b" else span.start)
    return Span(span.start if found.bound == "s" else span.end, LAST)


def days(passage: Passage) -> Iterator[Span]:
    """The day it was said on, and the days it speaks of as they were seen from there."""
    if passage.created_at is None:
        return
    at = passage.created_at.astimezone(UTC).date()
    yield around(at, DAY)
    for each in expressions(passage.text):
        if span := resolved(each, at):
            yield nearest(span, at) if span.yearly else span


def speaker(text: str) -> str:
    """Who said it, in lower case; "": it does not tell."""
    head, colon, rest = text[: LONGEST + 2].partition(":")
    if not colon or not rest[:1].isspace():
        return ""
    found = NAME.match(head)
    return found[1].casefold() if found else ""


def weighed(candidates: Sequence[Candidate], question: Asked) -> list[Candidate]:
    """The same, most relevant first, with this evidence; equal ones in their order."""
    return sorted((supported(item, question) for item in candidates), key=lambda item: -item.passage.score)


def supported(item: Candidate, question: Asked) -> Candidate:
    """One of them."""
    passage, evidence = item.passage, question.evidence(item.passage)
    if not evidence:
        return item
    return Candidate(scored(passage, passage.score + (1 - passage.score) * evidence), item.words)


def notes(candidates: Sequence[Candidate], question: Asked) -> list[str]:
    """What was taken for the time asked about, and the first of what is of it; give the best first."""
    labels = [item.passage.label for item in candidates[:FIRST_FEW] if question.share(item.passage) > 0]
    times = ", ".join(map(written, question.spans))
    return [f"Of the time asked about ({times}): {', '.join(labels[:NOTED])}"] if labels else []


def written(span: Span) -> str:
    """A span in words, its last day included; of one without a year `05-07`."""
    first, last = (str(day)[len("2000-") if span.yearly else 0 :] for day in (span.start, span.end - ONE))
    since, until = span.start > FIRST, span.end < LAST
    return f"{first} to {last}" if since and until else f"since {first}" if since else f"until {last}"
