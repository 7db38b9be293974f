"""Text cut into what can be quoted alone: sentences, rows of tables, list items.

Made for text that came out of PDFs: lines may be wrapped in mid-sentence, tables stand one row a line, and
a run may have no end at all. A quote is the text's own words, white space apart, at most `LONGEST`
characters. Time is linear. Kin to `intake/sentence.py`, which keeps every character and no limit of length.
"""

import re
from collections.abc import Iterator

LONGEST = 400
"""Characters of a quote: three or four lines on a page."""

END = re.compile(
    r"(?:(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？｡．]+[”’」』）】]*|[؟۔।॥։።፧፨။៕]+[\"”»]*)\s*"
)
"""Latin ends need a space behind them; Chinese and Japanese ones do not. A run of marks is tried once, as a
whole: trying it from each of its marks would take quadratic time."""
BEFORE = r"(?:^|[\s(“\"])"
SHORT = re.compile(
    BEFORE + r"(?:[^\W\d_]|(?:[^\W\d_]\.)+[^\W\d_]|mr|mrs|ms|dr|prof|st|vs|inc|ltd|co|corp|jr|sr|eds?|approx"
    r"|ca|cf|etc|al|bzw|ggf|av)\.$",
    re.IGNORECASE,
)
COUNTED = re.compile(
    BEFORE + r"(?:nos?|nr|figs?|secs?|vol|pp?|art|abs|ch|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec)\.$",
    re.IGNORECASE,
)
"""Abbreviations only before a number: “no.” also ends sentences."""
SHORT_WINDOW = 16
"""Characters before a full stop in which an abbreviation is looked for."""
WRAPPED = re.compile(r"(?<=[^\s.!?:;。！？])[ \t]*\n[ \t]*(?=[a-zß-öø-ÿа-яα-ω(])")
"""A line end inside a sentence: no mark before it, a small letter behind it."""
HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u00ad]\n[ \t]*(?=[a-zß-öø-ÿа-яα-ω])")
CUT = re.compile(r"[,;:–—]\s|\s|[，、；：،؛]")
WORD = re.compile(r"\w")


def quotable(text: str) -> list[str]:
    """The parts of a text that can be quoted alone, in order; none is empty or over `LONGEST`."""
    joined = WRAPPED.sub(" ", HYPHEN.sub("-", text))
    lines = (" ".join(line.split()) for line in joined.splitlines())
    found = (piece for line in lines for sentence in cut(line) for piece in bounded(sentence))
    return [piece for piece in found if WORD.search(piece)]


def cut(line: str) -> Iterator[str]:
    """The sentences of one line."""
    start = 0
    for found in END.finditer(line):
        end = found.end()
        if line[found.start()] == "." and not ends(line, found):
            continue
        yield line[start:end].strip()
        start = end
    yield line[start:].strip()


def ends(line: str, found: re.Match[str]) -> bool:
    """Whether a full stop ends a sentence: not before a small letter, not behind an abbreviation."""
    stop = len(found.group().rstrip()) + found.start()
    window = (max(0, stop - SHORT_WINDOW), stop)
    follows = line[found.end() : found.end() + 1]
    short = SHORT.search(line, *window) or (follows.isdigit() and COUNTED.search(line, *window))
    return not short and not follows.islower()


def bounded(sentence: str) -> Iterator[str]:
    """A sentence in pieces of at most `LONGEST`, cut where a clause or at least a word ends."""
    while len(sentence) > LONGEST:
        places = [found.end() for found in CUT.finditer(sentence, LONGEST // 2, LONGEST)]
        at = places[-1] if places else LONGEST
        yield sentence[:at].strip()
        sentence = sentence[at:].strip()
    yield sentence
