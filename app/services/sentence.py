"""Sentences out of a text that arrives in pieces: each leaves once it is complete, with the blanks before it.

A sentence ends with its mark, the quotes and brackets that close behind it and the citations that follow it,
where the next one has begun; or at the end of a line. What has no end is cut at LONGEST characters, and told
as a `Cut`. Every character leaves once, in order. Linear in the text, whatever it holds. Nothing here raises.
"""

import re
from bisect import bisect_right
from collections.abc import Callable

LONGEST = 2_000
"""Characters: a table, or a line of code."""
OPEN = 600
"""Characters behind which a mark is not looked for again: what may stand between it and the next sentence."""
CITED = r"(?:\s*+[\[【][^\[\]【】\n]{1,200}+[\]】])*+"
ENDING = re.compile(
    rf"(?<![.!?…])[.!?…]++[\"'”’»)*_]*+{CITED}(?=\s++[^\s\[【])"
    rf"|(?<![。！？])[。！？]++[”’」』）]*+{CITED}(?=\s*+[^\s\[【])"
    r"|(?<=\S)(?=[^\S\n]*+\n\s*+[^\s\[【])"
)
# A mark, or blanks, behind which the next sentence has not begun yet, or a citation is arriving.
WAITING = re.compile(
    r"(?:(?<![.!?…])[.!?…]++[\"'”’»)*_]*+|(?<![。！？])[。！？]++[”’」』）]*+)"
    rf"{CITED}\s*+(?:[\[【][^\[\]【】\n]{{0,200}}+)?\Z"
    r"|(?<=\S)\s++\Z"
)
WHOLE = re.compile(rf"(?:(?<![.!?…。！？])[.!?…。！？]++[\"'”’»)*_」』）]*+{CITED}|(?<=\S)[^\S\n]*+\n)\s*+\Z")
BRACKET = re.compile(r"[\[【]")
WORD = re.compile(r"[^\s(\[“\"'„«]*$")
SHORT = {
    *("e.g", "i.e", "cf", "dr", "mr", "mrs", "ms", "prof", "st", "vs", "approx", "fig", "vol", "ed", "eds"),
    *("al", "z.b", "d.h", "bzw", "nr", "ca", "vgl", "p.ex", "sr", "sra"),
}
"""What ends with a full stop and ends nothing."""


class Cut(str):
    """A piece of what has no end."""

    __slots__ = ()

    def within(self, most: int, count: Callable[[str], int]) -> str:
        """As many of its words as have `most` tokens; of a single word that is longer, its characters."""
        if count(self) <= most:
            return str(self)
        ends = [found.end() for found in re.finditer(r"\S+", self)]
        if not ends or count(self[: ends[0]]) > most:
            ends = list(range(1, ends[0] if ends else 0))
        return self[: ([0, *ends])[bisect_right(ends, most, key=lambda end: count(self[:end]))]]


def trimmed(sentence: str, *, first: bool) -> str:
    """Without the line breaks before it, if it is the first; a cut piece without the blanks behind it."""
    said = sentence.lstrip("\r\n") if first else sentence
    return Cut(said.rstrip()) if isinstance(sentence, Cut) else said


class Sentences:
    """One text's."""

    def __init__(self) -> None:
        self._held = ""
        self._seen = 0
        """Up to here nothing ends a sentence, whatever comes."""
        self._ended = False
        """Whether the piece that was found last is a sentence; not before there is one."""

    def feed(self, text: str) -> list[str]:
        """The sentences that are complete now."""
        self._held += text
        found: list[str] = []
        while place := self._place():
            piece = self._held[:place]
            found.append(piece if self._ended else Cut(piece))
            self._held, self._seen = self._held[place:], 0
        return found

    def end(self) -> str:
        """The rest: a cut piece where it is all there is, or goes on from one, and has no end either."""
        rest, self._held, self._seen = self._held, "", 0
        return rest if self._ended or complete(rest) else Cut(rest)

    def _place(self) -> int:
        """Where the first sentence ends; 0: it has not."""
        for found in ENDING.finditer(self._held, self._seen, 2 * LONGEST):
            if self._arriving(found.start()):
                break
            if found.end() <= LONGEST and ends(self._held[: found.start()], found.group()):
                self._ended = True
                return found.end()
            self._seen = found.end()
        # What is behind the last mark that waits is never looked through again.
        waiting = WAITING.search(self._held, self._seen)
        least = len(self._held) - OPEN
        self._seen = max(least, self._seen, waiting.start() if waiting else len(self._held))
        if len(self._held) <= LONGEST:
            return 0
        self._ended = False
        return self._held.rfind(" ", 1, LONGEST) if " " in self._held[1:LONGEST] else LONGEST

    def _arriving(self, at: int) -> bool:
        """Whether a mark at `at` may stand inside of a citation that is arriving behind an earlier mark."""
        first = max(self._seen, len(self._held) - OPEN)
        if not BRACKET.search(self._held, first, max(first, at)):
            return False
        waiting = WAITING.search(self._held, first)
        return waiting is not None and waiting.start() < at


def complete(text: str) -> bool:
    """Whether a text ends as a sentence does, or a line."""
    found = WHOLE.search(text)
    return found is not None and ends(text[: found.start()], found.group())


def ends(before: str, mark: str) -> bool:
    """Whether a mark ends a sentence: not behind an initial, the number of an item, or what is shortened."""
    if not mark.startswith(".") or mark.startswith(".."):
        return bool(before.strip())
    found = WORD.search(before[-40:])
    word = found.group().casefold() if found else ""
    alone = word.isdecimal() and not before[: len(before) - len(word)].rstrip(" \t").strip("\n")
    return bool(word) and not (alone or shortened(word))


def shortened(word: str) -> bool:
    """Whether a word stands for a longer one: an initial, `prof`."""
    return word in SHORT or (len(word) == 1 and word.isalpha())
