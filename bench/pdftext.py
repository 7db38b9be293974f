"""How complete the text of PDFs is, compared with `pdftotext` (poppler-utils).

usage: python -m bench.pdftext FOLDER
A row for each PDF that can be read: words that pdftotext finds; the share of their occurrences that are in
our chunks, and in our lines before running heads are removed; words with ff, fi or fl, and how many of them
our lines lack; the share of neighbouring words that are neighbours in our lines, too. Words broken at the end
of a line are joined differently and count as missing. Exits with 1 if a file of 100 words or more has less
than 97 % of them in its chunks, or if more than one word in 1,000 with such letters is missing.
"""

import re
import subprocess
import sys
import unicodedata
from collections import Counter
from itertools import pairwise
from pathlib import Path

from app.errors import IbidError
from app.ingest import reader
from app.ingest.lines import clean
from app.ingest.worker import parse
from bench.table import table

WORD = re.compile(r"[^\W_]+")
LIGATURE = re.compile(r"ff|fi|fl")
MIN_WORDS, MIN_SHARE, MAX_FAULTS = 100, 0.97, 0.001
MAX_PAGES = 10_000


def words(text: str) -> list[str]:
    return WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def share(theirs: Counter[object], ours: Counter[object]) -> float:
    return (theirs & ours).total() / max(1, theirs.total())


def pairs(found: list[str]) -> Counter[object]:
    return Counter(pairwise(found))


def row(path: Path) -> tuple[int, float, float, int, int, float] | str:
    """(words, share in chunks, share in lines, words with ff …, missing ones, share of neighbours)."""
    told = subprocess.run(["pdftotext", path, "-"], capture_output=True, check=False).stdout
    theirs = words(told.decode("utf-8", "replace"))
    try:
        chunks = parse(path, path.name, MAX_PAGES).chunks
        with reader.opened(path, MAX_PAGES) as pdf:
            lines = words(" ".join(line.text for line in clean(reader.lines(pdf))))
    except IbidError as error:
        return error.slug
    counted: Counter[object] = Counter(theirs)
    ligatures = Counter({word: n for word, n in counted.items() if LIGATURE.search(str(word))})
    return (
        len(theirs),
        share(counted, Counter(words("\n".join(chunk.text for chunk in chunks)))),
        share(counted, Counter(lines)),
        ligatures.total(),
        (ligatures - Counter(lines)).total(),
        share(pairs(theirs), pairs(lines)),
    )


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    found = {path.stem: row(path) for path in sorted(Path(sys.argv[1]).rglob("*.pdf"))}
    read = {name: each for name, each in found.items() if not isinstance(each, str)}
    print(
        table(
            ("file", "words", "in chunks", "in lines", "ff fi fl", "missing", "order"),
            [
                (name, f"{n:,}", f"{chunks:.4f}", f"{lines:.4f}", f"{ff:,}", f"{gone:,}", f"{order:.3f}")
                for name, (n, chunks, lines, ff, gone, order) in read.items()
            ],
        )
    )
    for name, each in found.items():
        if isinstance(each, str):
            print(f"{name}: {each}")
    ligatures, missing = (sum(each[n] for each in read.values()) for n in (3, 4))
    few = [name for name, each in read.items() if each[0] >= MIN_WORDS and each[1] < MIN_SHARE]
    print(
        f"\n{missing:,} of {ligatures:,} words with ff, fi or fl are missing; short of words: {few or 'none'}"
    )
    raise SystemExit(bool(few) or missing > MAX_FAULTS * ligatures)


if __name__ == "__main__":
    main()
