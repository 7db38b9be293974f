"""The worker process, which parses one PDF or chunks the source files of one request
(`-m app.ingest.worker`). Its clients are `pdf.py` and `cutter.py`.

It drops privileges and limits itself (`child.confine`) before it looks at a file, and never writes text of a
document to stderr. Results are JSON: a PDF's pages, title and chunks, or one source file.
"""

import json
import os
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO

from app.child import Call, confine, connected
from app.errors import IbidError, PdfTextless, PdfTooComplex
from app.ingest import reader
from app.ingest.chunking import chunks
from app.ingest.kinds import with_kinds
from app.ingest.layout import blocks, merge_headings, printed_numbers, remove_running_heads
from app.ingest.lines import clean
from app.ingest.titles import document_title
from app.text.vocabulary import count
from app.types import Chunk, ParsedDocument

FILE_SECONDS = 8.0
"""Processor time after which a source file kills the worker: parsing ends by itself after `syntax.SECONDS`,
chunking takes one second."""
TELL_SECONDS = 0.25
"""Between two reports of the pages that are read."""
PARSING_SECONDS = 20.0
"""Processor time for parsing the files of a request; later ones are cut by lines."""


def main() -> None:
    parent, _ = connected()
    parent.ready()
    parent.serve(partial(answer, parent.pid))


def answer(parent: int, call: Call) -> None:
    """Answer `parse` (file, filename, max_pages, memory_mb, seconds) or `cut` (plain, memory_mb, seconds; the
    files are the data)."""
    if call.name == "cut":
        cut_files(parent, call)
        return
    request = call.payload
    try:
        if os.geteuid() == 0:
            count("")  # loads the vocabulary, which may be unreadable after the change of user
        confine(parent, request["memory_mb"], request["seconds"])
        with os.fdopen(request["file"], "rb") as file:
            told = partial(tell, call, Pace())
            parsed = to_json(asdict(parse(file, request["filename"], request["max_pages"], told)))
    except MemoryError:
        problem: IbidError = PdfTooComplex(
            f"Reading it takes more than {request['memory_mb']:,} MiB of memory"
        )
        call.fail({"fault": problem.slug, "detail": problem.detail})
    except IbidError as error:
        call.fail({"fault": error.slug, "detail": error.detail})
    else:
        call.reply(data=parsed)


class Pace:
    """Lets pass what is said TELL_SECONDS after the last."""

    def __init__(self) -> None:
        self._last = time.monotonic()

    def is_due(self) -> bool:
        now = time.monotonic()
        due = now - self._last >= TELL_SECONDS
        if due:
            self._last = now
        return due


def tell(call: Call, pace: Pace, done: int, of: int) -> None:
    """Send an item with the pages that are read."""
    if pace.is_due():
        call.item({"done": done, "of": of})


def parse(
    source: Path | BinaryIO,
    filename: str,
    max_pages: int,
    told: Callable[[int, int], None] = lambda _done, _of: None,
) -> ParsedDocument:
    """The chunks of a PDF; `told` is called with pages read, of how many. Raises what `reader.py` does, and
    `PdfTextless`."""
    with reader.opened(source, max_pages) as pdf:
        pages, metadata, outline, raw = (
            len(pdf),
            reader.metadata_title(pdf),
            reader.outline(pdf),
            reader.lines(pdf, told),
        )
        labels = reader.page_labels(pdf)
        textless, pictures = reader.picture_pages(pdf, raw)
    every = clean(raw)
    lines = merge_headings(remove_running_heads(every))
    if not any(char.isalnum() for line in lines for char in line.text):
        raise PdfTextless(f"{pages:,} {'page' if pages == 1 else 'pages'}, none with text; is it a scan?")
    title = document_title(metadata, lines, filename, every)
    found = chunks(blocks(lines, outline), count)
    found = with_kinds(with_labels(found, labels or printed_numbers(every)), lines, pages)
    return ParsedDocument(pages, title, tuple(found), warnings(textless, pictures, pages))


def with_labels(found: Sequence[Chunk], labels: Mapping[int, str]) -> list[Chunk]:
    """Chunks with the printed numbers of their first and last page; none if the first page has none."""
    shown = [(labels.get(chunk.page, ""), labels.get(chunk.page_end, "")) for chunk in found]
    return [
        replace(chunk, page_label=f"{first}–{last}" if first and last and first != last else first)
        for chunk, (first, last) in zip(found, shown, strict=True)
    ]


def warnings(textless: int, pictures: int, pages: int) -> tuple[str, ...]:
    """A sentence if most pages are images with no more than a few words, else if more than a tenth of the
    pages show something, but no text."""
    both = textless + pictures
    if pictures and 2 * both > pages:
        have = "page is an image" if pages == 1 else "pages are images"
        return (f"{both:,} of {pages:,} {have} with hardly any text (scanned?); images cannot be searched.",)
    if 10 * textless <= pages:
        return ()
    have, they = ("page has", "it") if textless == 1 else ("pages have", "they")
    return (f"{textless:,} of {pages:,} {have} no text (scanned?); {they} cannot be searched.",)


def cut_files(parent: int, call: Call) -> None:
    """Send an empty item, then an item per file as soon as it is cut; the first `plain` files are cut by
    lines. A file that takes too much processor time or memory kills the process, since nothing else
    interrupts native code."""
    from app.db.code import CodeFile  # noqa: PLC0415 - imports the database client
    from app.ingest.code import cut_file  # noqa: PLC0415
    from app.ingest.syntax import SECONDS, TEXT, grammar, language_of  # noqa: PLC0415
    from app.text.vocabulary import pieces  # noqa: PLC0415 - not needed for PDFs

    files = [CodeFile(**file) for file in json.loads(call.data)]
    for file in files:  # load what cannot be read after the change of user
        grammar(file.language or language_of(file.path) or TEXT)
    pieces("")
    confine(parent, call.payload["memory_mb"], call.payload["seconds"])
    call.item()
    left = PARSING_SECONDS
    for n, file in enumerate(files):
        signal.setitimer(signal.ITIMER_PROF, FILE_SECONDS)
        began = time.thread_time()
        cut = cut_file(file, 0.0 if n < call.payload["plain"] else min(left, SECONDS))
        left -= time.thread_time() - began
        call.item(data=to_json(asdict(cut)))
    call.reply()


def to_json(value: dict[str, Any]) -> bytes:
    return json.dumps(value, ensure_ascii=False).encode("utf-8", "replace")


if __name__ == "__main__":
    main()
