"""Splits a line of text into sentences, for quotes, summaries and memories.

Others split otherwise: `SentenceBuffer` (`answering/enforcement.py`) a text that is still arriving,
`vantage/sentences.py` an answer that is judged, `ingest/chunking.py` a passage that is too long. Raises
nothing.
"""

import re
from collections.abc import Iterator

END = re.compile(
    r"(?:(?<![.!?…])[.!?…]++[\"'”’»)\]]*+(?=\s)|[。！？｡．]+[”’」』）】]*|[؟۔।॥։።፧፨៕]+[\"”»]*)\s*"
)
"""Latin ends need a space after them; Chinese and Japanese ones do not. A run of marks is tried once, as a
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
"""Characters before a full stop that are searched for an abbreviation."""


def split(line: str, *, cased: bool = True) -> Iterator[str]:
    """The sentences of a line, verbatim. `cased` False: a small letter may begin one, as in chats."""
    start = 0
    for found in END.finditer(line):
        end = found.end()
        if line[found.start()] == "." and not ends(line, found, cased=cased):
            continue
        yield line[start:end].strip()
        start = end
    yield line[start:].strip()


def ends(line: str, found: re.Match[str], *, cased: bool) -> bool:
    """False for a full stop after an abbreviation, or (`cased`) before a small letter."""
    stop = len(found.group().rstrip()) + found.start()
    window = (max(0, stop - SHORT_WINDOW), stop)
    follows = line[found.end() : found.end() + 1]
    short = SHORT.search(line, *window) or (follows.isdigit() and COUNTED.search(line, *window))
    return not short and not (cased and follows.islower())
