"""Looks up the caller's topics (`limits.refuse`, `limits.negotiate`) in a message, by whole normalised words.

A topic of several words matches only all of them in a row within a sentence; the last may be singular or
plural, in English. In scripts without spaces between words a topic also matches inside a word. `+`, `#` and a
dot before a word count: `C++` is not `C`. Linear in the message. Nothing here raises.
"""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache

from app.vantage.text import ENDS, Text, read

END = "."
"""Any mark that ends a sentence, among the words."""
DOT = "·"
"""A dot that begins a word (`.NET`)."""
SIGNS = frozenset({"+", "#", DOT})
"""Marks that tell one topic from another."""
MARKS = SIGNS | ENDS
DOTTED = re.compile(r"\.(?:(?<=\s\.)|(?<=^\.))(?=[A-Za-z])", re.MULTILINE)
"""Such a dot; what ends a sentence stands behind a word."""
UNSPACED = re.compile(r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff]")
"""Thai, Lao, Burmese, Khmer, Japanese, Chinese."""
HANGUL = re.compile(r"[\u1100-\u11ff]$")
"""Korean, as it is folded: what stands behind the noun is joined to it."""
HISSING = ("s", "x", "z", "ch", "sh", "o")
"""Behind these the plural is -es."""
ALONE = ("ss", "us", "is", "news", "lens", "ics")
"""A word that ends so is no plural in -s."""
SHORTEST = 3
"""Letters of a word that has a plural."""


def named(topics: Sequence[str], terms: Sequence[str]) -> tuple[str, ...]:
    """Those that stand among a message's `terms`, as the asker wrote them."""
    said = _row(terms) if topics else ""
    return tuple(topic for topic in topics if any(row in said for row in _sought(topic)))


def terms(message: str, text: Text | None = None) -> tuple[str, ...]:
    """A message's normalised words in order, with SIGNS, and END where a sentence ends. `text`: the message
    as it was read already."""
    if text is None or DOTTED.search(message):
        text = read(DOTTED.sub(DOT, message))
    return tuple(
        [
            END if token in ENDS else token
            for token in text.tokens
            if token.isalnum() or token in MARKS or (token[0] == "'" and len(token) > 1)  # `'s`
        ]
    )


def has_word(topic: str) -> bool:
    """True if a topic has a word that can be met."""
    return bool(_sought(topic))


@lru_cache(maxsize=1_024)
def _sought(topic: str) -> tuple[str, ...]:
    """A topic as it is looked for, each of its forms; an asker's are the same from message to message."""
    found = list(terms(topic))
    while found and found[-1] == END:
        found.pop()
    while found and found[0] == END:
        found.pop(0)
    if not any(term.isalnum() for term in found):
        return ()
    row = _row(found)
    if UNSPACED.search(row):
        return (row.strip(),)
    if HANGUL.search(row.rstrip()):
        return (row.rstrip(),)
    return tuple(_row([*found[:-1], last]) for last in _forms(found[-1]))


def _forms(word: str) -> list[str]:
    """A word, and what may be its plural or its singular."""
    found = [word]
    if len(word) < SHORTEST or not (word.isascii() and word.isalpha()):
        return found
    if word.endswith("y") and word[-2] not in "aeiou":
        found.append(f"{word[:-1]}ies")
    found.append(f"{word}es" if word.endswith(HISSING) else f"{word}s")
    return found + _singulars(word)


def _singulars(word: str) -> list[str]:
    """What it may be the plural of."""
    if len(word) <= SHORTEST or not word.endswith("s") or word.endswith(ALONE):
        return []
    found = [word[:-1]]
    if word.endswith("ies"):
        found.append(f"{word[:-3]}y")
    if word.endswith("es") and word[:-2].endswith(HISSING):
        found.append(word[:-2])
    return found


def _row(words: Iterable[str]) -> str:
    """Words with a blank on either side: whole ones alone can be found in it."""
    return f" {' '.join(words)} "
