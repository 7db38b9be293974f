"""The worker process that parses one PDF, or cuts the source files of one request (`main`).

It drops privileges and limits itself (`child.confine`) before it looks at a file, and never writes text of a
document to stderr.
"""

import json
import os
import signal
import time
from functools import partial
from pathlib import Path
from typing import BinaryIO

from app.child import Call, confine, connected
from app.db.code import CodeFile
from app.db.documents import Parsed
from app.errors import IbidError, PdfTextless, PdfTooComplex
from app.intake import reader
from app.intake.block import blocks
from app.intake.emphasis import gathered
from app.intake.pages import clean
from app.intake.split import split
from app.intake.title import title_of
from app.intake.wire import told, told_file
from app.retrieval.vocabulary import count

HARD_SECONDS = 8.0
"""Of processor time for a source file: parsing ends by itself after `syntax.SECONDS`, cutting takes one."""
PARSING_SECONDS = 20.0
"""Of processor time for the files of a request; those that come later are cut by lines."""


def main() -> None:
    """Answer one call."""
    parent, _ = connected()
    parent.ready()
    parent.serve(partial(answer, parent.pid))


def answer(parent: int, call: Call) -> None:
    """`parse` a PDF (file, filename, max_pages, memory_mb, seconds), or `cut` source files."""
    if call.name == "cut":
        cut_files(parent, call)
        return
    asked = call.payload
    try:
        if os.geteuid() == 0:
            count("")  # loads the vocabulary, which may be unreadable after the change of user
        confine(parent, asked["memory_mb"], asked["seconds"])
        with os.fdopen(asked["file"], "rb") as file:
            found = told(parse(file, asked["filename"], asked["max_pages"]))
    except MemoryError:
        problem: IbidError = PdfTooComplex(f"Reading it takes more than {asked['memory_mb']:,} MiB of memory")
        call.fail({"fault": problem.slug, "detail": problem.detail})
    except IbidError as error:
        call.fail({"fault": error.slug, "detail": error.detail})
    else:
        call.reply(data=found)


def parse(source: Path | BinaryIO, filename: str, max_pages: int) -> Parsed:
    """A PDF's chunks. Raises what `reader.py` does, and `PdfTextless`."""
    with reader.opened(source, max_pages) as pdf:
        pages, given, outline, lines = len(pdf), reader.title(pdf), reader.outline(pdf), reader.lines(pdf)
    lines = gathered(clean(lines))
    if not any(char.isalnum() for line in lines for char in line.text):
        raise PdfTextless(f"{pages:,} {'page' if pages == 1 else 'pages'}, none with text; is it a scan?")
    chunks = split(blocks(lines, outline), count)
    return Parsed(pages, title_of(given, lines, filename), tuple(chunks))


def cut_files(parent: int, call: Call) -> None:
    """Send an empty item, then one per file as soon as it is cut; the first `plain` files are cut by lines. A
    file that takes more than HARD_SECONDS of processor time or too much memory kills the process, since
    nothing else interrupts native code."""
    from app.index.pieces import pieces  # noqa: PLC0415 - what a PDF's worker does not need
    from app.intake.code import cut_file  # noqa: PLC0415
    from app.intake.language import TEXT, grammar, language_of  # noqa: PLC0415
    from app.intake.syntax import SECONDS  # noqa: PLC0415

    files = [CodeFile(**file) for file in json.loads(call.data)]
    for file in files:
        grammar(file.language or language_of(file.path) or TEXT)
    pieces("")
    confine(parent, call.payload["memory_mb"], call.payload["seconds"])
    call.item()
    left = PARSING_SECONDS
    for n, file in enumerate(files):
        signal.setitimer(signal.ITIMER_PROF, HARD_SECONDS)
        began = time.thread_time()
        cut = cut_file(file, 0.0 if n < call.payload["plain"] else min(left, SECONDS))
        left -= time.thread_time() - began
        call.item(data=told_file(cut))
    call.reply()


if __name__ == "__main__":
    main()
