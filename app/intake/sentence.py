"""Text cut into pieces that fit: at sentences, else clauses, else words, else characters.

The pieces of a text, put together, are the text again; white space stands at the head of the piece that
follows it, where the tokenizer takes it too, so that the tokens of pieces add up. Time is linear.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator
from itertools import takewhile

TERMINATOR = re.compile(
    r"(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)"  # Latin, Cyrillic, Greek, Korean: a space must follow
    r"|[。！？｡．]+[”’」』）】]*"  # Chinese and Japanese: none does
    r"|[؟۔।॥։።፧፨။៕]+[\"”»]*"  # Arabic, Urdu, Indic, Armenian, Ethiopic, Burmese, Khmer
)
CLAUSE = re.compile(r"[,;:—–](?=\s)|[،؛、，；：]")
WORD = re.compile(r"(?<=\S)(?=\s)")

ABBREVIATION = re.compile(
    r"(?:^|[\s(“\"])(?:[A-Za-z]|[A-Za-z](?:\.[A-Za-z])+|mr|mrs|ms|dr|prof|st|no|nos|vs|inc|ltd|co|corp|jr|sr|fig"
    r"|figs|sec|vol|pp?|eds?|approx|cf|etc|al)\.$",
    re.IGNORECASE,
)
LOOKBACK = 16
"""Characters before a full stop in which an abbreviation is looked for."""
SLICE = 64
"""Characters of a piece of a word that is too long to be one: at most four bytes, so four tokens, each."""
MARKS = 8
"""Most marks that are kept with their letter."""


def sentences(text: str) -> list[str]:
    """Its sentences; what has no end of a sentence is one."""
    return cut_at(text, sentence_ends(text))


def sentence_ends(text: str) -> Iterator[int]:
    """Offsets behind sentences. A full stop before a small letter, or after an abbreviation, ends none."""
    for found in TERMINATOR.finditer(text):
        end = found.end()
        if text[found.start()] == ".":
            follows = text[end : end + 8].lstrip()[:1]
            if follows.islower() or ABBREVIATION.search(text, max(0, end - LOOKBACK), end):
                continue
        yield end


def clauses(text: str) -> list[str]:
    """Its parts between commas and the like."""
    return cut_at(text, (found.end() for found in CLAUSE.finditer(text)))


def words(text: str) -> list[str]:
    """Its words."""
    return cut_at(text, (found.start() for found in WORD.finditer(text)))


def slices(text: str) -> list[str]:
    """Runs of characters; a letter keeps its accents and vowel signs."""
    ends: list[int] = []
    end = SLICE
    while end < len(text):
        marks = takewhile(
            lambda char: unicodedata.category(char) in {"Mn", "Mc", "Sk"}, text[end : end + MARKS]
        )
        ends.append(end + sum(1 for _ in marks))
        end = ends[-1] + SLICE
    return cut_at(text, iter(ends))


def cut_at(text: str, ends: Iterator[int]) -> list[str]:
    """The text cut at these offsets, none of the parts empty."""
    parts, start = [], 0
    for end in ends:
        if start < end < len(text):
            parts.append(text[start:end])
            start = end
    return [*parts, text[start:]]


def fitting(text: str, limit: int, count: Callable[[str], int]) -> list[tuple[str, int]]:
    """(piece, tokens) for pieces of at most `limit` tokens, cut at sentences as far as that goes."""
    found: list[tuple[str, int]] = []
    for sentence in sentences(text):
        found += within(sentence, limit, count, (clauses, words, slices))
    return found


def within(
    text: str, limit: int, count: Callable[[str], int], cuts: tuple[Callable[[str], list[str]], ...]
) -> list[tuple[str, int]]:
    """The text as it is if it fits, else its parts by the first cut, each fitted by the others."""
    # A long word is costly to count, and long ones need not be counted to know that they do not fit.
    tokens = count(text) if len(text) <= limit * 32 else limit + 1
    if tokens <= limit or not cuts:
        return [(text, tokens)]
    found: list[tuple[str, int]] = []
    for part in cuts[0](text):
        for piece, size in within(part, limit, count, cuts[1:]):
            if found and found[-1][1] + size <= limit:
                found[-1] = (found[-1][0] + piece, found[-1][1] + size)
            else:
                found.append((piece, size))
    return found
