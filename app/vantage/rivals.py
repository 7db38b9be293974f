"""Rival sources: two or more that answer one question differently, with equal strength.

A question for one value ("when is the deadline?") over the plans of two projects has two answers, and only
the asker knows which one is meant. Sources are rivals where they hold the same words of the question, are
about equally relevant, differ in the value that they give, and are told apart by a name that the question
does not say: a title, a collection, or a subject within a memory. A memory without a subject of its own is
an older or newer version of the other, no rival. Pure and linear in the texts. Nothing here raises.
"""

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, groupby, takewhile
from operator import itemgetter

from app.types import Passage
from app.vantage.clarity import lists
from app.vantage.terms import Rival
from app.vantage.text import fold

STRENGTH = 0.55
"""A rival's relevance, at least, as a share of the best one's."""
COVERAGE = 0.5
"""Share of the question's words that a source holds, at least; ALIKE in a language without word lists, where
function words count too."""
ALIKE = 0.75
"""Share that each rival holds, at least, of the question's words that any of them holds."""
SAME = 0.5
"""Two values are one where they share this part of the shorter."""
MOST = 4
"""Rivals that are named."""
NOTE = 200
"""Characters of a text that is about one thing, so that a subject within it can name it."""
ASKED, READ = 40, 4_000
"""Words of a question, and characters of a text, that are looked at."""
WORD = re.compile(r"\d+(?:[.,:/-]\d+)*|[^\W\d_]+")
SENTENCE = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n+")
GOES_ON = re.compile(r"(?:^|\s)(?:[A-Z][a-z]{0,2}|\d{1,2})\.$")
"""A piece that ends with an abbreviation or an ordinal goes on: `Dr.`, `3.`."""
POSSESSIVE = re.compile(r"(?<=[^\W\d_])'s(?![^\W_])|(?<=s)'(?= [^\W_])")
"""`Anna's`, `James' flight`: what stands behind the name is no word and no mark."""
MARKS = "?？؟"
BRACKETED = re.compile(r"\[[^\[\]\n]{0,200}+\]")
"""What is no part of a statement: labels and what passes for one."""
PLURAL = frozenset({"what", "which"})
"""Question words that a plural may follow."""
PHRASE = 3
"""Words behind a question word that may be its noun."""
PREFIX, SHORTEST = 0.6, 4
"""Words are the same where so much of the longer one, and so many letters, begin alike."""
QUESTION, EMPTY, FRESH, MARK = "question", "empty", "fresh", "mark"
"""Kinds of words in a sentence."""
ROOT = 3
"""Letters that any two such words share, at least."""
WIDE = 0x2E80
"""From here on scripts are written without blanks: words are pairs of characters."""


@dataclass(frozen=True, slots=True)
class Contender:
    """What one source says to the question."""

    passage: Passage
    name: tuple[str, ...]
    """Words by which its source is told apart."""
    shown: str
    """The same as it is written."""
    held: frozenset[str]
    """The question's words that it holds."""
    value: frozenset[str]
    proper: bool
    """Whether the value is written as a name."""


def rivals(message: str, passages: Sequence[Passage], thread: Sequence[str] = ()) -> tuple[Rival, ...]:
    """Those that answer differently, strongest first; () where there is nothing to ask back. `passages`: as
    they were chosen; `thread`: the asker's turns that are shown."""
    asked = tokens(message)
    wanted = asks_value(message, asked) if 0 < len(asked) <= ASKED else None
    if wanted is None:
        return ()
    query = [word for word in dict.fromkeys(asked) if not empty(word)]
    found = of_the_kind_asked(wanted, contenders(query, passages, COVERAGE if wanted else ALIKE))
    said = frozenset().union(*map(tokens, (message, *thread)))
    if len(found) < 2 or not differ(found) or any(named(one, found, said) for one in found):
        return ()
    return tuple(
        Rival(one.shown, one.passage.source, one.passage.id, one.passage.label, round(one.passage.score, 4))
        for one in found[:MOST]
    )


def asks_value(message: str, asked: Sequence[str]) -> str | None:
    """The word with which it asks for one value (of `how long`, `long`); None: it does not. In a language
    without word lists a question is enough, and the word is ""."""
    listed, said = lists(), set(asked)
    if not said.isdisjoint(listed["several"]) or not said.isdisjoint(listed["open"]):
        return None
    for n, word in enumerate(asked):
        if word in listed["how"]:
            return next((after for after in asked[n + 1 : n + 2] if after in listed["measure"]), None)
        if word in listed["value"]:
            return None if word in PLURAL and several(asked[n + 1 :]) else word
    return "" if message.rstrip().endswith(tuple(MARKS)) and asked[0] not in listed["closed"] else None


def of_the_kind_asked(wanted: str, found: Sequence[Contender]) -> list[Contender]:
    """Those whose value is of the kind that is asked for: a number or a time, a name."""
    listed = lists()
    if wanted in listed["counted"]:
        return [one for one in found if any(numeric(word) or word in listed["number"] for word in one.value)]
    if wanted in listed["person"] and any(one.proper for one in found):
        return [one for one in found if one.proper]
    return list(found)


def several(noun: Sequence[str]) -> bool:
    """True if a question word goes with a plural: `which flight numbers do I have?`."""
    closed = lists()["closed"]
    phrase = takewhile(lambda word: word not in closed and not empty(word), noun[:PHRASE])
    return any(word.endswith("s") and word[-2:] not in ("ss", "us", "is") for word in phrase)


def contenders(query: Sequence[str], passages: Sequence[Passage], coverage: float) -> list[Contender]:
    """The best answer of each source that is about as strong as the strongest and holds that share of the
    question's words."""
    best = max((passage.score for passage in passages), default=0.0)
    near = [passage for passage in passages if passage.score >= STRENGTH * best]
    titled = {passage.id: source_name(passage, near) for passage in near}
    found: dict[str, Contender] = {}
    for passage in sorted(near, key=lambda one: -one.score):
        one = answer(query, passage, titled[passage.id])
        if one and len(one.held) >= coverage * len(query):
            found.setdefault(" ".join(one.name), one)
    every = frozenset[str]().union(*(one.held for one in found.values()))
    return [one for one in found.values() if len(one.held) >= ALIKE * len(every)]


def source_name(passage: Passage, others: Sequence[Passage]) -> str:
    """Its title, or its collection, if another of the passages has another one; else ""."""
    for of in (lambda one: one.title, lambda one: str(one.fields.get("collection") or "")):
        if passage.source != "memories" and of(passage) and len({of(one) for one in others}) > 1:
            return of(passage)
    return ""


def answer(query: Sequence[str], passage: Passage, title: str) -> Contender | None:
    """What a passage says to the question; None: it has no name, or no value."""
    said = BRACKETED.sub(" ", passage.text[:READ])
    told = max(sentences(said), key=lambda one: len(holds(query, tokens(one))), default="")
    found, name = typed_runs(query, told), tokens(title)
    fresh = [run for kind, run in found if kind == FRESH]
    if not title and len(passage.text) <= NOTE and len(holds(query, tokens(told))) == len(query):
        fresh, subject = split_subject(found)
        name, title = [word.lower() for word in subject], " ".join(subject)
    own = set(name)
    value = [word for word in chain.from_iterable(number_runs(fresh)) if word.lower() not in own]
    held = holds(query, [*tokens(told), *name])
    if not name or not value:
        return None
    proper = any(word[0].isupper() for word in value)
    return Contender(passage, tuple(name), title, held, frozenset(map(str.lower, value)), proper)


def typed_runs(query: Sequence[str], told: str) -> list[tuple[str, list[str]]]:
    """A sentence as runs of one kind: words of the QUESTION, EMPTY words, FRESH ones as written, a MARK."""
    folded, end = POSSESSIVE.sub("", fold(told)), 0
    found: list[tuple[str, str]] = []
    for match in WORD.finditer(folded):
        if any(not sign.isspace() and sign != "," for sign in folded[end : match.start()]):
            found.append((MARK, ""))
        word, end = match[0].lower(), match.end()
        kind = QUESTION if any(alike(word, asked) for asked in query) else EMPTY if empty(word) else FRESH
        found.append((kind, match[0]))
    return [(kind, [word for _, word in run]) for kind, run in groupby(found, key=itemgetter(0))]


def split_subject(found: list[tuple[str, list[str]]]) -> tuple[list[list[str]], list[str]]:
    """(the fresh runs, the subject): the first without a number that stands beside a word of the question,
    with nothing but empty words between, if another run can be the value."""
    fresh = [run for kind, run in found if kind == FRESH]
    for n, (kind, run) in enumerate(found):
        if kind == FRESH and len(fresh) > 1 and not any(map(numeric, run)) and beside_the_question(found, n):
            return [other for other in fresh if other is not run], run
    return fresh, []


def beside_the_question(found: Sequence[tuple[str, list[str]]], n: int) -> bool:
    """True if the next run on either side, empty words aside, is of the question."""
    sides = (reversed(found[:n]), found[n + 1 :])
    return any(next((kind for kind, _ in side if kind != EMPTY), "") == QUESTION for side in sides)


def number_runs(fresh: list[list[str]]) -> list[list[str]]:
    """The runs with numbers, if there are any; else all."""
    return [run for run in fresh if any(map(numeric, run))] or fresh


def differ(found: Sequence[Contender]) -> bool:
    """True if any two of them give different values."""
    first, *others = found
    return any(not same(first.value, other.value) for other in others)


def same(one: frozenset[str], other: frozenset[str]) -> bool:
    """True if two values are one: equal numbers, or most of the words."""
    numbers = [{word for word in value if numeric(word)} for value in (one, other)]
    if all(numbers) and not (numbers[0] <= numbers[1] or numbers[1] <= numbers[0]):
        return False
    return len(one & other) >= SAME * min(len(one), len(other))


def named(one: Contender, found: Sequence[Contender], said: frozenset[str]) -> bool:
    """True if the asker said a word that tells this source from another."""
    shared = set(one.name).intersection(*(other.name for other in found))
    return bool(holds([word for word in one.name if word not in shared], said))


def holds(query: Sequence[str], told: Iterable[str]) -> frozenset[str]:
    """The words of the question that are among others, endings aside."""
    near = defaultdict[str, set[str]](set)
    for word in told:
        near[word[:ROOT]].add(word)
    return frozenset(word for word in query if any(alike(word, other) for other in near.get(word[:ROOT], ())))


def alike(one: str, other: str) -> bool:
    """True if two words begin alike, or one is the other's plural."""
    if one.removesuffix("s") == other.removesuffix("s"):
        return True
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
    """True if it is a number."""
    return word[0].isdecimal()


def empty(word: str) -> bool:
    """True if a word names nothing in any of the languages that have lists."""
    return word in lists()["empty"]


def tokens(text: str) -> list[str]:
    """The words of a text, folded; of scripts without blanks their pairs of characters."""
    found: list[str] = []
    for word in WORD.findall(fold(text[:READ]).lower()):
        if ord(word[0]) >= WIDE and len(word) > 2:
            found += (word[n : n + 2] for n in range(len(word) - 1))
        else:
            found.append(word)
    return found


def sentences(text: str) -> list[str]:
    """Of a text; `Dr.` and `3.` end none."""
    found: list[str] = []
    for piece in filter(None, SENTENCE.split(text)):
        if found and GOES_ON.search(found[-1]):
            found[-1] += f" {piece}"
        else:
            found.append(piece)
    return found
