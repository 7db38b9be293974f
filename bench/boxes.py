"""Are passages found on their pages? For each PDF: the share of its passages that have boxes, and what that
and drawing a page takes.

usage: python -m bench.boxes FOLDER     (part of make eval DATA=FOLDER)
A row for each PDF that can be read: passages; those with a box; those of which nine tenths of the letters are
in boxes; the median processor time (ms) to find a passage, and to draw every tenth page as WebP, and its kB.
In one process, without HTTP. Exits with 1 if less than 97 % of all passages have a box.
"""

import sys
import time
from pathlib import Path
from statistics import median
from typing import NamedTuple

import pypdfium2 as pdfium

from app.errors import IbidError
from app.ingest.drawing import drawn
from app.ingest.places import boxes
from app.ingest.worker import parse
from bench.table import table

MAX_PAGES = 10_000
EACH = 10
"""Of so many pages one is drawn."""
WHOLE, ENOUGH = 0.9, 0.97


class Row(NamedTuple):
    passages: int
    boxed: int
    whole: int
    find_ms: float
    draw_ms: float
    kb: float


def row(path: Path) -> Row | None:
    """The figures of a file; None: it cannot be read."""
    try:
        chunks = parse(path, path.name, MAX_PAGES).chunks
    except IbidError:
        return None
    boxed = whole = 0
    find, draw, sizes = list[float](), list[float](), list[int]()
    pdf = pdfium.PdfDocument(path)
    for chunk in chunks:
        began = time.process_time()
        found = boxes(pdf, chunk.page, chunk.page_end, chunk.text, "")
        find.append(time.process_time() - began)
        boxed += bool(found.boxes)
        whole += found.found >= WHOLE * found.letters
    for n in range(0, len(pdf), EACH):
        began = time.process_time()
        sizes.append(len(drawn(pdf[n], None)))
        draw.append(time.process_time() - began)
    pdf.close()
    return Row(len(chunks), boxed, whole, 1e3 * median(find), 1e3 * median(draw), median(sizes) / 1e3)


def main() -> None:
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    read = {path.stem: found for path in sorted(Path(sys.argv[1]).rglob("*.pdf")) if (found := row(path))}
    head = ("file", "passages", "boxes", "9/10", "find ms", "draw ms", "kB")
    rows = [
        (
            name,
            each.passages,
            f"{each.boxed / each.passages:.4f}",
            f"{each.whole / each.passages:.4f}",
            *each[3:],
        )
        for name, each in read.items()
    ]
    print(table(head, rows))
    passages, boxed, whole = (sum(each[n] for each in read.values()) for n in range(3))
    print(
        f"\n{boxed:,} of {passages:,} passages have boxes ({boxed / max(1, passages):.4f}), {whole:,} whole"
    )
    raise SystemExit(boxed < ENOUGH * passages)


if __name__ == "__main__":
    main()
