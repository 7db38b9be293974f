"""Messages that tell of somebody in danger: in an emergency (`alarmed`), or weary of life (`despair`).

Both look for patterns of `data/emergencies.txt` and `data/distress.txt` within one sentence, over folded
words with apostrophes joined (`cant`, `hes`). A call may leave words out (`baby not breathing`), and must be
meant: not quoted or translated, of no tale or game, not thought of (`what if he …`), not years ago, not asked
of the world. Whoever tells that they do not want to live is helped rather than refused, unless the same
message asks for a way to die. Repetitions in patterns are bounded, so time is linear. Nothing here raises.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from enum import Enum
from functools import cache
from itertools import chain

from app.vantage.lexicon import LEXICON, entries, sections
from app.vantage.text import ENDS, between_marks
from app.vantage.topics import END

QUESTION = "?？"
LOOKED = 400
"""Words searched for a call, from the beginning of a text and again from its end."""
SLOT = re.compile(r"\{([a-z ]+)\}")
GROUP = re.compile(r"\((?!\?)")


def slots(name: str) -> Mapping[str, str]:
    """Patterns that other patterns of a table name, by slot."""
    table = sections(name)
    found = {slot: "|".join(row) for slot, row in entries(table["lists"]).items()}
    for line in table["slots"]:
        slot, _, row = line.partition(": ")
        found[slot] = f"{found[slot]}|{row}" if slot in found else row
    return found


def pattern(lines: Iterable[str], parts: Mapping[str, str]) -> str:
    """One pattern for all lines, with slots filled in; no group captures."""
    plain = GROUP.sub("(?:", "|".join(lines))
    return SLOT.sub(lambda slot: f"(?:{pattern([parts[slot[1]]], parts)})", plain)


# Emergencies

_TABLE = sections("emergencies.txt")
_SLOTS = slots("emergencies.txt")
_KINDS = {kind: frozenset(row) for kind, row in entries(_TABLE["words"]).items()}
EMERGENCIES: Mapping[str, Sequence[str]] = {
    name: lines for name, lines in _TABLE.items() if lines[0].startswith("words: ")
}
"""Families of calls, as the table has them: the words that tell, and the patterns."""
LASTING = "poisoned"
"""The family in which days may pass before it kills."""
ANYONE = re.compile(r" (?:someone|somebody|an? )")
WONDER = re.compile(r" (?:know|tell|sure|think|wondering) (?:if|whether)$")
_FRAMED = re.compile(f" (?:{pattern(_TABLE['not meant: framed'], {})}) ")
_LONG_AGO = re.compile(f" (?:{pattern(_TABLE['not meant: long ago'], {})}) ")
_FIGURE = re.compile(f" ?(?:{pattern(_TABLE['not meant: figure of speech'], {})}) ")
_WORLD = re.compile(f"^ (?:{pattern(_TABLE['not meant: about the world'], {})}) ")


def _spelled(row: Iterable[str]) -> frozenset[str]:
    """Each word of a row in which slots may be named."""
    return frozenset(SLOT.sub(lambda slot: _SLOTS[slot[1]].replace("|", " "), " ".join(row)).split())


def _telling(lines: Sequence[str]) -> frozenset[str]:
    """The words of a family that tell."""
    return _spelled([lines[0].removeprefix("words: ")])


_TELLING = {name: _telling(lines) for name, lines in EMERGENCIES.items()}
_FAMILIES = {
    word: [name for name, telling in _TELLING.items() if word in telling]
    for word in frozenset().union(*_TELLING.values())
}
"""The families that a word tells of."""
_NAMES = frozenset(
    word for word, entry in LEXICON.items() if "name" in entry.classes and word not in _KINDS["no name"]
)
TITLED = re.compile(r" (?:mr|mrs|ms|miss|dr) [a-z]+ ")
NOUN = re.compile(f"^ (?={pattern(['({near})'], _SLOTS)} )")
HURRIED = re.compile(f"^ my ({pattern(['{near}'], _SLOTS)}) (?=(?:not|in|un[a-z]+|[a-z]+ing) )")


@cache
def family(name: str) -> re.Pattern[str]:
    """A family's patterns as one. All of them take half a second to compile, so each waits for its first
    telling word."""
    return re.compile(f" (?:{pattern(EMERGENCIES[name][1:], _SLOTS)})(?= )")


def warm() -> None:
    """Compiles all families before the first message."""
    for name in EMERGENCIES:
        family(name)


def alarmed(terms: Sequence[str]) -> bool:
    """True if a message of these `topics.terms` tells of an emergency."""
    said = " ".join(terms)
    if _FAMILIES.keys().isdisjoint(said.replace("'", "").split()):
        return False
    sentences = [sentence.split() for sentence in said.replace(" '", "").split(END)]
    telling = [words for words in sentences if not _FAMILIES.keys().isdisjoint(words)]
    if sum(map(len, telling)) <= LOOKED:
        return any(map(_calls, telling))
    begin = _first(telling)
    end = (words[::-1] for words in _first([words[::-1] for words in reversed(telling)]))
    return any(map(_calls, chain(begin, end)))


def _first(sentences: Iterable[Sequence[str]]) -> Iterator[Sequence[str]]:
    """The first LOOKED words of some sentences."""
    left = LOOKED
    for words in sentences:
        if left <= 0:
            return
        yield words[:left]
        left -= len(words)


def _calls(words: Sequence[str]) -> bool:
    """True if a sentence is a call that is meant."""
    start = next((at for at, word in enumerate(words) if word not in _KINDS["calls"]), len(words))
    said = ["someone" if word in _NAMES else word for word in words[start:]]
    row = f" {' '.join(['i', *said] if said and said[0] in _KINDS['bare'] else said)} "
    row = HURRIED.sub(" my \\1 is ", NOUN.sub(" my ", TITLED.sub(" someone ", row)))
    names = {name for word in said for name in _FAMILIES.get(word, ())}
    met = any(_meant(row, found, name) for name in names for found in family(name).finditer(row))
    return met and not _FRAMED.search(row)


def _meant(row: str, found: re.Match[str], name: str) -> bool:
    """True if a call is said of somebody, now."""
    before, behind = row[: found.start()].rstrip(), row[found.end() :]
    last = before.rpartition(" ")[2]
    anyone = ANYONE.match(found[0]) is not None
    wondering = WONDER.search(before) is not None and not anyone
    if last in _KINDS["perhaps"] and not wondering:
        return False
    if (anyone and (last in _KINDS["often"] or _WORLD.match(row))) or _FIGURE.match(behind):
        return False
    return name == LASTING or not _LONG_AGO.search(row)


# Weary of life

_DISTRESS, _PARTS = sections("distress.txt"), {**_SLOTS, **slots("distress.txt")}
_WORDS = {kind: _spelled(row) for kind, row in entries(_DISTRESS["words"]).items()}
TELLING = _WORDS["telling"]
"""Words of which every sentence of despair has one."""
_ABOUT = _WORDS["matters"] | _WORDS["asking"] | _WORDS["means"]


def _distress(heading: str) -> str:
    return pattern(_DISTRESS[heading], _PARTS)


SAYS_SO = re.compile(f" (?:{_distress('told')}) ")
LAST_NOTE = re.compile(f" (?:{_distress('last note')})(?= )")
HINTS = re.compile(f" (?:{_distress('hinted')}) ")
FIGURES = re.compile(f" (?:{_distress('figures of speech')})")
COMFORT = re.compile(f" (?:{_distress('asked in need')})(?= )")
SAID = re.compile(f" (?:{_distress('said in need')})(?= )")
WAYS = re.compile(f" (?:{_distress('method')}) ")


class Despair(Enum):
    """How a message tells of its writer's wish to die."""

    NONE = 0
    TOLD = 1
    """Told, and nothing in the message may ask for a way."""
    DOUBTFUL = 2
    """Told, and something may."""
    ASKED = 3
    """A way is asked for."""


def despair(tokens: Sequence[str]) -> Despair:
    """Finds despair in a message of these tokens (words and marks, folded, in lower case)."""
    if TELLING.isdisjoint(tokens):
        return Despair.NONE
    sentences = list(between_marks(tokens))
    telling = [_joined(sentence) for sentence in sentences if not TELLING.isdisjoint(sentence)]
    told = _is_told(telling) or _is_slang(tokens)
    if not told and not any(_tells(HINTS, sentence) for sentence in telling):
        return Despair.NONE
    asked = _asked([_row(_joined(sentence)) for sentence in sentences])
    return asked if told or asked is Despair.TOLD else Despair.NONE


def _asked(rows: Sequence[str]) -> Despair:
    """What sentences ask for beside what they tell."""
    if any(WAYS.search(COMFORT.sub(" ", row)) for row in rows):
        return Despair.ASKED
    return Despair.DOUBTFUL if any(map(_asks, rows)) else Despair.TOLD


def _is_told(telling: Iterable[Sequence[str]]) -> bool:
    """True if a sentence says it outright, or is a last note."""
    return any(_tells(SAYS_SO, sentence) or LAST_NOTE.search(_row(sentence)) for sentence in telling)


def goes_on(words: Iterable[str], empty: Collection[str]) -> bool:
    """True if a message after one of despair may be about dying, too: it names a means, or else nothing but
    ways, pain and time. `empty`: words that name nothing."""
    named = {word.lstrip("'") for word in words} - set(empty)
    return not named.isdisjoint(_WORDS["means"]) or (bool(named) and named <= _ABOUT)


def _joined(sentence: Iterable[str]) -> list[str]:
    """A sentence's words: apostrophes joined, commas dropped; of marks at its end only `?` is kept."""
    found: list[str] = []
    for word in sentence:
        if word in QUESTION:
            found.append("?")
        elif word[0] == "'":
            found[-1:] = [found[-1] + word[1:]] if found else []
        elif word != "," and word not in ENDS:
            found.append(word)
    return found


def _row(sentence: Iterable[str]) -> str:
    """The words between blanks, without marks but the question's."""
    return " ".join(["", *(word for word in sentence if word.isalnum() or word == "?"), ""])


def _tells(patterns: re.Pattern[str], sentence: Sequence[str]) -> bool:
    """True if a sentence tells it, of its writer; no mark may be between the words."""
    if len(sentence) == 1 or not patterns.search(f" {' '.join(sentence)} "):
        return False
    row = _row(sentence)
    return not FIGURES.search(row) and not _FRAMED.search(row)


def _is_slang(tokens: Collection[str]) -> bool:
    """True if the whole message is `kms`, or little more."""
    words = {word for word in tokens if word.isalnum()} if "kms" in tokens else set[str]()
    return bool(words) and _WORDS["slang"].issuperset(words)


def _asks(row: str) -> bool:
    """True if there is a question or a word of asking besides what is asked for in need."""
    left = COMFORT.sub(" ", row)
    asks = " ? " in row and left == row
    return asks or not _WORDS["asking"].isdisjoint(SAID.sub(" ", left).split())
