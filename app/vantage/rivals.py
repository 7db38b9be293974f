"""Rival sources: two or more that answer one question differently, with equal strength.

A question for one value ("when is the deadline?") over the plans of two projects has two answers, and only the
asker knows which one is meant. Sources are rivals where they hold the same words of the question, are about
equally relevant, differ in the value that they give, and are told apart by a name that the question does not
say: a title, a collection, or a subject within a memory. A memory without a subject of its own is an older or
newer version of the other, no rival. Pure and linear in the texts. Nothing here raises.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.domain.passage import Passage
from app.vantage import words
from app.vantage.clarity import lists
from app.vantage.terms import Rival

STRENGTH = 0.8
"""A rival's relevance, at least, as a share of the best one's."""
COVERAGE = 0.5
"""Share of the question's words that a source holds, at least."""
ALIKE = 0.75
"""Share that each rival holds, at least, of the question's words that any of them holds."""
SAME = 0.5
"""Two values are one where they share this part of the shorter."""
MOST = 4
"""Rivals that are named."""
ASKED, READ = 60, 4_000
"""Words of a question, and characters of a text, that are looked at."""
WORD = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W\d_]+")
SENTENCE = re.compile(r"(?<=[.!?;。！？])\s+|(?<=[。！？])|\n+")
TITLES = re.compile(r"(?:^|\s)[A-Z][a-z]{0,2}\.$")
"""A piece that ends with an abbreviation goes on: `Dr.`."""
MARKS = "?？؟"
PREFIX, SHORTEST = 0.6, 4
"""Words are the same where so much of the longer one, and so many letters, begin alike."""
WIDE = 0x2E80
"""From here on scripts are written without blanks: words are pairs of characters."""


@dataclass(frozen=True, slots=True)
class Answer:
    """What one source says to the question."""

    passage: Passage
    name: tuple[str, ...]
    """Words by which its source is told apart."""
    shown: str
    """The same as it is written."""
    held: frozenset[str]
    """The question's words that it holds."""
    value: frozenset[str]


def rivals(message: str, passages: Sequence[Passage], thread: Sequence[str] = ()) -> tuple[Rival, ...]:
    """Those that answer differently, strongest first; () where there is nothing to ask back. `passages`: as
    they were chosen; `thread`: the asker's turns that are shown."""
    asked = tokens(message)
    if len(asked) > ASKED or not asks_value(message, asked):
        return ()
    query = [word for word in dict.fromkeys(asked) if not empty(word)]
    found = contenders(query, passages)
    if len(found) < 2 or not differ(found):
        return ()
    said = {word for text in (message, *thread) for word in tokens(text)}
    if any(named(one, found, said) for one in found):
        return ()
    return tuple(
        Rival(one.shown, one.passage.source, one.passage.id, one.passage.label, round(one.passage.score, 4))
        for one in found[:MOST]
    )


def asks_value(message: str, asked: Sequence[str]) -> bool:
    """Whether it is one question for one value. In a language without word lists: whether it is a question."""
    listed, said = lists(), set(asked)
    if not said.isdisjoint(listed["several"]) or not said.isdisjoint(listed["open"]):
        return False
    for n, word in enumerate(asked):
        after = asked[n + 1] if n + 1 < len(asked) else ""
        if word in listed["how"]:
            return after in listed["measure"]
        if word in listed["value"]:
            return not (word in ("which", "what") and after.endswith("s") and not after.endswith("ss"))
    return message.rstrip().endswith(tuple(MARKS)) and asked[0] not in listed["closed"]


def contenders(query: Sequence[str], passages: Sequence[Passage]) -> list[Answer]:
    """The best answer of each source that is about as strong as the strongest."""
    best = max((passage.score for passage in passages), default=0.0)
    near = [passage for passage in passages if passage.score >= STRENGTH * best]
    titled = {passage.id: source_name(passage, near) for passage in near}
    found: dict[str, Answer] = {}
    for passage in sorted(near, key=lambda one: -one.score):
        one = answer(query, passage, titled[passage.id], near)
        if one and len(one.held) >= COVERAGE * len(query):
            found.setdefault(" ".join(one.name), one)
    every = frozenset[str]().union(*(one.held for one in found.values()))
    return [one for one in found.values() if len(one.held) >= ALIKE * len(every)]


def source_name(passage: Passage, others: Sequence[Passage]) -> str:
    """Its title, or its collection, if another of the passages has another one; else ""."""
    for of in (lambda one: one.title, lambda one: str(one.fields.get("collection") or "")):
        if passage.source != "memories" and of(passage) and len({of(one) for one in others}) > 1:
            return of(passage)
    return ""


def answer(query: Sequence[str], passage: Passage, title: str, others: Sequence[Passage]) -> Answer | None:
    """What a passage says to the question; None: it has no name, or no value."""
    told = max(sentences(passage.text[:READ]), key=lambda one: len(holds(query, tokens(one))), default="")
    fresh = chunks(query, told)
    name = tokens(title)
    if not title:
        fresh, subject = parted(fresh)
        name, title = [word.lower() for word in subject], " ".join(subject)
    own = set(name)
    value = [word.lower() for chunk in valued(fresh) for word in chunk]
    value = [word for word in value if word not in own]
    held = holds(query, [*tokens(told), *name])
    if not name or not value:
        return None
    return Answer(passage, tuple(name), title, held, frozenset(value))


def chunks(query: Sequence[str], told: str) -> list[list[str]]:
    """Runs of words of a sentence that are neither the question's nor empty, as they are written."""
    found: list[list[str]] = [[]]
    end = 0
    folded = words.fold(told)
    for match in WORD.finditer(folded):
        apart = any(not sign.isspace() for sign in folded[end : match.start()])
        end = match.end()
        word = match[0]
        if apart:
            found.append([])
        if empty(word.lower()) or holds(query, [word.lower()]):
            found.append([])
        else:
            found[-1].append(word)
    return [chunk for chunk in found if chunk]


def parted(fresh: list[list[str]]) -> tuple[list[list[str]], list[str]]:
    """(the rest, the subject): the first run without a number where another one has some; else the first of
    several."""
    plain = [chunk for chunk in fresh if not any(map(numeric, chunk))]
    if not plain or len(fresh) < 2:
        return fresh, []
    return [chunk for chunk in fresh if chunk is not plain[0]], plain[0]


def valued(fresh: list[list[str]]) -> list[list[str]]:
    """The runs with numbers, if there are any; else all."""
    return [chunk for chunk in fresh if any(map(numeric, chunk))] or fresh


def differ(found: Sequence[Answer]) -> bool:
    """Whether any two of them give different values."""
    first, *others = found
    return any(not same(first.value, other.value) for other in others)


def same(one: frozenset[str], other: frozenset[str]) -> bool:
    """Whether two values are one: equal numbers, or most of the words."""
    numbers = [{word for word in value if numeric(word)} for value in (one, other)]
    if all(numbers) and not (numbers[0] <= numbers[1] or numbers[1] <= numbers[0]):
        return False
    return len(one & other) >= SAME * min(len(one), len(other))


def named(one: Answer, found: Sequence[Answer], said: set[str]) -> bool:
    """Whether the asker said a word that tells this source from another."""
    shared = set(one.name).intersection(*(other.name for other in found))
    return bool(holds([word for word in one.name if word not in shared], said))


def holds(query: Sequence[str], told: Iterator[str] | Sequence[str] | set[str]) -> frozenset[str]:
    """The words of the question that are among others, endings aside."""
    others = set(told)
    return frozenset(word for word in query if word in others or any(alike(word, other) for other in others))


def alike(one: str, other: str) -> bool:
    """Whether two words begin alike."""
    if one[:SHORTEST] != other[:SHORTEST] or min(len(one), len(other)) < SHORTEST:
        return False
    longer = max(len(one), len(other))
    return sum(1 for _ in common(one, other)) >= PREFIX * longer


def common(one: str, other: str) -> Iterator[str]:
    """The letters with which both begin."""
    for mine, yours in zip(one, other, strict=False):
        if mine != yours:
            return
        yield mine


def numeric(word: str) -> bool:
    """Whether it is a number."""
    return word[0].isdecimal()


def empty(word: str) -> bool:
    """Whether a word names nothing in any of the languages that have lists."""
    return any(word in own for name, own in lists().items() if name.startswith("empty "))


def tokens(text: str) -> list[str]:
    """The words of a text, folded; of scripts without blanks their pairs of characters."""
    found: list[str] = []
    for word in WORD.findall(words.fold(text[:READ]).lower()):
        if ord(word[0]) >= WIDE and len(word) > 2:
            found += (word[n : n + 2] for n in range(len(word) - 1))
        else:
            found.append(word)
    return found


def sentences(text: str) -> list[str]:
    """Of a text; `Dr.` ends none."""
    found: list[str] = []
    for piece in filter(None, SENTENCE.split(text)):
        if found and TITLES.search(found[-1]):
            found[-1] += f" {piece}"
        else:
            found.append(piece)
    return found
