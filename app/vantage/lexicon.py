"""The policy's data files (`data/*.txt`), and its words by class.

A file is a document of headings, entries and comments:

    # A comment, at a line's begin.
    [heading]
    name: phrase, phrase,
        phrase

In `words.txt` entries are `class: word word`, and a heading says how words vary: `[verbs]` are infinitives,
`[nouns]` singulars, `[phrases]` are used as they are; `_` joins the words of a phrase. Read once, at import;
a broken file stops the start with ValueError.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, partial
from pathlib import Path
from typing import NamedTuple

from app.text.phrases import Phrases
from app.vantage.text import CUTS, Text, read

DATA = Path(__file__).parent / "data"
Entries = Mapping[str, tuple[str, ...]]
"""By name, its phrases."""


class Line(str):
    """An entry of a file, and the number of the line where it begins."""

    __slots__ = ("number",)
    number: int

    def __new__(cls, text: str, number: int) -> "Line":
        """`number` counts from 1."""
        line = super().__new__(cls, text)
        line.number = number
        return line


@cache
def sections(name: str) -> Mapping[str, tuple[Line, ...]]:
    """By heading, its lines without comments; continued lines are joined."""
    return parsed(name, (DATA / name).read_text(encoding="utf-8"))


def parsed(name: str, text: str) -> Mapping[str, tuple[Line, ...]]:
    """The sections of a file's text."""
    found: dict[str, list[Line]] = {}
    lines: list[Line] | None = None
    for number, line in enumerate(text.splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            lines = found.setdefault(line[1:-1], [])
        elif lines is None:
            raise ValueError(f"{name}:{number}: an entry before the first [heading]")
        elif not line[0].isspace():
            lines.append(Line(line.strip(), number))
        elif lines:
            lines[-1] = Line(f"{lines[-1]} {line.strip()}", lines[-1].number)
        else:
            raise ValueError(f"{name}:{number}: nothing above that this line could continue")
    return {heading: tuple(own) for heading, own in found.items()}


def entries(lines: Iterable[str]) -> Entries:
    """Lines `name: phrase, phrase` by name. Raises ValueError for a line of another form, and for a name that
    is there already."""
    found: dict[str, tuple[str, ...]] = {}
    for line in lines:
        name, _, row = line.partition(": ")
        listed = tuple(phrase.strip() for phrase in row.split(","))
        if not all(listed) or name in found:
            raise ValueError(f"not one `name: phrase, phrase`: {line}")
        found[name] = listed
    return found


def phrases(table: Entries) -> Phrases:
    """A finder of all phrases, by name; those of `none` only keep others from being found."""
    return Phrases({"" if name == "none" else name: "|".join(row) for name, row in table.items()})


Classes = frozenset[str]
NO_CLASSES: Classes = frozenset()
VOWELS = frozenset("aeiou")
SIBILANTS = ("s", "sh", "ch", "x", "z")


class Entry(NamedTuple):
    """A word: its classes, and by second word the phrases that begin with it, longest first."""

    classes: Classes
    phrases: dict[str, list[tuple[tuple[str, ...], Classes]]]


class Hit(NamedTuple):
    """A known word or phrase in a text: tokens [start, end)."""

    start: int
    end: int
    classes: Classes


def verb_forms(verb: str) -> tuple[str, ...]:
    """The infinitive with its -s, -ed and -ing, or its irregular forms; of a phrase the first word varies."""
    head, mark, rest = verb.partition("_")
    if head in IRREGULAR:
        made = IRREGULAR[head]
    elif head.endswith("e"):
        made = [head + "s", head + "d", head[:-1] + "ing"]
    elif head.endswith("y") and head[-2:-1] not in VOWELS:
        made = [head[:-1] + "ies", head[:-1] + "ied", head + "ing"]
    else:
        stem = head + head[-1] if _doubles(head) else head
        made = [head + ("es" if head.endswith(SIBILANTS) else "s"), stem + "ed", stem + "ing"]
    return tuple([form + mark + rest for form in (head, *made)])


def _doubles(verb: str) -> bool:
    """True if the last consonant is doubled before -ed and -ing: stab, rob."""
    short = len(verb) >= 3 and verb[-1] not in VOWELS | set("wxy") and verb[-2] in VOWELS
    return short and verb[-3] not in VOWELS and sum(letter in VOWELS for letter in verb) == 1


def noun_forms(noun: str) -> tuple[str, ...]:
    """The singular and the plural."""
    if noun.endswith("y") and noun[-2:-1] not in VOWELS:
        return noun, noun[:-1] + "ies"
    return noun, noun + ("es" if noun.endswith(SIBILANTS[:4]) else "s")


def as_it_stands(phrase: str) -> tuple[str, ...]:
    return (phrase,)


FORMS: Mapping[str, Callable[[str], tuple[str, ...]]] = {
    "verbs": verb_forms,
    "nouns": noun_forms,
    "phrases": as_it_stands,
}
IRREGULAR: dict[str, list[str]] = {}
KINDS: dict[str, set[str]] = {"verbs": set(), "nouns": set(), "phrases": set()}
"""Names of the classes in each section."""


def word_lists(name: str) -> Iterator[tuple[str, str, list[str]]]:
    """(heading, name, words) of each line `name: word word` of a file. Raises ValueError for another line."""
    for heading, lines in sections(name).items():
        for line in lines:
            key, colon, words = line.partition(": ")
            if not colon:
                raise ValueError(f"{name}:{line.number}: not `name: words`")
            yield heading, key, words.split()


def _load() -> dict[str, Entry]:
    """Every word, and every first word of a phrase, with its classes."""
    classes: dict[tuple[str, ...], set[str]] = {}
    for section, key, words in word_lists("words.txt"):
        if section == "irregular":
            IRREGULAR[key] = words
        else:
            _enter(classes, section, key.split(), words)
    _inherit(classes)
    return _entries(classes)


def _enter(
    classes: dict[tuple[str, ...], set[str]], section: str, names: Sequence[str], words: Iterable[str]
) -> None:
    """Every form of some words, with and without apostrophes, by the names of their classes."""
    KINDS[section].update(names)
    for word in words:
        for form in FORMS[section](word):
            plain = form.replace("_", " ")
            for spelling in (plain, plain.replace("'", "")):
                classes.setdefault(read(spelling).tokens, set()).update(names)


def _inherit(classes: Mapping[tuple[str, ...], set[str]]) -> None:
    """A frame that begins with a thing still names it: `letter to` is a letter."""
    for phrase, names in classes.items():
        if len(phrase) > 1 and names <= {"make_me", "demean", "how", "recipe"}:
            names.update(classes.get(phrase[:1], set()) & KINDS["nouns"])


def _entries(classes: Mapping[tuple[str, ...], set[str]]) -> dict[str, Entry]:
    entries: dict[str, Entry] = {}
    for phrase in sorted(classes, key=len, reverse=True):
        if phrase[0] not in entries:
            entries[phrase[0]] = Entry(frozenset(classes.get(phrase[:1], ())), defaultdict(list))
        if len(phrase) > 1:
            own = entries[phrase[0]].phrases[phrase[1]]
            own.append((phrase[1:], frozenset(classes[phrase])))
    marks = {mark: Entry(CUT, {}) for mark in CUTS}
    return {word: Entry(entry.classes, dict(entry.phrases)) for word, entry in entries.items()} | marks


CUT: Classes = frozenset({"cut"})
NAME: Classes = frozenset({"name"})
TITLE: Classes = frozenset({"tale", "game"})
QUOTES = frozenset({"'", '"'})
LEXICON = _load()
"""By word, what it is; marks that end a clause have the class `cut`."""


_hit = partial(tuple.__new__, Hit)
"""Makes one in half the time: 4 % of a weighing."""


def hits(text: Text) -> list[Hit]:
    """The known words of a text in order, the longest phrase at each place."""
    tokens, found, end = text.tokens, list[Hit](), 0
    for at, entry in enumerate(map(LEXICON.get, tokens)):
        if at < end:
            continue
        end = at + 1
        if entry is None:
            end, classes = _unlisted(text, at)
        elif entry.phrases and end < len(tokens) and tokens[end] in entry.phrases:
            end, classes = _longest(entry, tokens, at)
        else:
            classes = entry.classes
            if classes is CUT:
                end = _cut_ends(tokens, end)
        if classes:
            found.append(_hit((at, end, classes)))
    return found


def _longest(entry: Entry, tokens: Sequence[str], at: int) -> tuple[int, Classes]:
    """Where the longest phrase that begins with a word ends, and its classes; of none, the word's."""
    for rest, classes in entry.phrases[tokens[at + 1]]:
        end = at + 1 + len(rest)
        if tokens[at + 1 : end] == rest:
            return end, classes
    return at + 1, entry.classes


def _cut_ends(tokens: Sequence[str], end: int) -> int:
    """Where a run of marks that end a clause is over."""
    while end < len(tokens) and tokens[end] in CUTS:
        end += 1
    return end


def _unlisted(text: Text, at: int) -> tuple[int, Classes]:
    """A quoted title, or a name of several words, that begins at a token; one word alone is no name."""
    if text.tokens[at] in QUOTES:
        return at + 1, TITLE if _titled(text, at) else NO_CLASSES
    if not text.cased[at].istitle():
        return at + 1, NO_CLASSES
    end = at + 1
    while end < len(text.tokens) and text.cased[end].istitle() and text.tokens[end] not in LEXICON:
        end += 1
    return end, NAME if end > at + 1 else NO_CLASSES


def _titled(text: Text, at: int) -> bool:
    """True if a quoted title of a work or a game begins here: `in 'The Thief'`."""
    before, behind = text.tokens[max(0, at - 1) : at], text.cased[at + 1 : at + 2]
    return bool(before) and before[0] in {"in", "game", "of"} and bool(behind) and behind[0][0].isupper()
