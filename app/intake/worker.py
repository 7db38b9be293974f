"""The worker process: `python -m app.intake.worker` reads one PDF or cuts source files, says what it found,
and ends.

The request comes as a line on stdin, the result goes to stdout (`wire.py`). Before it looks at a file it
gives up what it does not need: memory, processor time, files, being root, and its life after the
service's. It reads no environment and writes no text of the document to stderr.
"""

import ctypes
import math
import os
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from pathlib import Path
from types import TracebackType
from typing import BinaryIO

from app.domain.document import Parsed
from app.domain.errors import IbidError, PdfTextless, PdfTooComplex
from app.intake import reader
from app.intake.block import blocks
from app.intake.emphasis import gathered
from app.intake.pages import clean
from app.intake.split import split
from app.intake.title import title_of
from app.intake.wire import CodeRequest, Request, asked, begun, fault, told, told_file
from app.retrieval.vocabulary import count

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
READER = 65_533
"""User and group of root's worker. Not `nobody`, who is the embedded PostgreSQL; no account is needed."""
GRACE = 5.0
"""Seconds after the service's deadline at which the worker ends itself, should nobody have ended it."""
HARD_SECONDS = 8.0
"""Of processor time for a source file: parsing ends by itself after `syntax.SECONDS`, cutting takes one."""
PARSING_SECONDS = 20.0
"""Of processor time for the files of a request; those that come later are cut by lines."""


def main() -> None:
    """Read one request, answer it."""
    sys.excepthook = discreet
    request = asked(sys.stdin.buffer.readline())
    for line in cut_files(request) if isinstance(request, CodeRequest) else answer(request):
        sys.stdout.buffer.write(line)
        sys.stdout.buffer.flush()


def answer(request: Request) -> list[bytes]:
    """The lines of the result or of the refusal."""
    try:
        confine(request)
        with os.fdopen(request.file, "rb") as file:
            return list(told(parse(file, request.filename, request.max_pages)))
    except MemoryError:
        return [fault(PdfTooComplex(f"Reading it takes more than {request.memory_mb:,} MiB of memory"))]
    except IbidError as problem:
        return [fault(problem)]


def parse(source: Path | BinaryIO, filename: str, max_pages: int) -> Parsed:
    """A PDF's chunks. Raises what `reader.py` does, and `PdfTextless`."""
    with reader.opened(source, max_pages) as pdf:
        pages, given, outline, lines = len(pdf), reader.title(pdf), reader.outline(pdf), reader.lines(pdf)
    lines = gathered(clean(lines))
    if not any(char.isalnum() for line in lines for char in line.text):
        raise PdfTextless(f"{pages:,} {'page' if pages == 1 else 'pages'}, none with text; is it a scan?")
    chunks = split(blocks(lines, outline), count)
    return Parsed(pages, title_of(given, lines, filename), tuple(chunks))


def cut_files(request: CodeRequest) -> Iterator[bytes]:
    """A line a file, as soon as it is cut. A file that takes more than HARD_SECONDS of processor time ends
    the process, since nothing else interrupts native code; so does one that takes too much memory."""
    from app.index.pieces import pieces  # noqa: PLC0415 - what a PDF's worker does not need
    from app.intake.code import cut_file  # noqa: PLC0415
    from app.intake.language import TEXT, grammar, language_of  # noqa: PLC0415
    from app.intake.syntax import SECONDS  # noqa: PLC0415

    for file in request.files:
        grammar(file.language or language_of(file.path) or TEXT)
    pieces("")
    confine(request)
    yield begun(request)
    left = PARSING_SECONDS
    for n, file in enumerate(request.files):
        signal.setitimer(signal.ITIMER_PROF, HARD_SECONDS)
        began = time.thread_time()
        cut = cut_file(file, 0.0 if n < request.plain else min(left, SECONDS))
        left -= time.thread_time() - began
        yield told_file(cut)


def confine(request: Request | CodeRequest) -> None:
    """Limits on this process, for good."""
    if sys.platform == "linux":
        with suppress(OSError):
            # Should the machine run out of memory, the kernel is to take this process first.
            Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    end_with_parent(request.parent)
    seconds, memory = math.ceil(request.seconds) + 1, request.memory_mb << 20
    limits = {
        resource.RLIMIT_AS: memory,
        resource.RLIMIT_CPU: seconds,
        resource.RLIMIT_FSIZE: 0,
        resource.RLIMIT_CORE: 0,
        resource.RLIMIT_NOFILE: 64,
    }
    for name, value in limits.items():
        limit(name, value)
    signal.setitimer(signal.ITIMER_REAL, request.seconds + GRACE)
    os.nice(10)
    if sys.platform == "linux" and os.geteuid() == 0:
        if isinstance(request, Request):
            count("")
        leave_root()
        # A change of user clears the wish to die with the parent (prctl(2)).
        end_with_parent(request.parent)


def leave_root() -> None:
    """Become a user that owns nothing. All that reading needs is loaded first: our folders may be closed."""
    "".encode("utf-16-le")
    # A root that may not change its user is none outside its container: it goes on as it is.
    with suppress(OSError):
        os.setgroups([])
        os.setresgid(READER, READER, READER)
        os.setresuid(READER, READER, READER)


def prctl(option: int, value: int) -> None:
    """prctl(2); the kernel wants the unused arguments zero, as longs."""
    ctypes.CDLL(None).prctl(option, *map(ctypes.c_ulong, (value, 0, 0, 0)))


def limit(name: int, value: int) -> None:
    """Lower one limit. macOS knows some of them by name only."""
    hard = resource.getrlimit(name)[1]
    least = value if hard == resource.RLIM_INFINITY else min(value, hard)
    with nullcontext() if sys.platform == "linux" else suppress(ValueError, OSError):
        resource.setrlimit(name, (least, least))


def end_with_parent(parent: int) -> None:
    """Die when the service does, however it does. Elsewhere than on Linux the timer has to do."""
    if sys.platform == "linux":
        prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
        prctl(PR_SET_NO_NEW_PRIVS, 1)
    if os.getppid() != parent:
        sys.exit(1)


def discreet(kind: type[BaseException], _error: BaseException, trace: TracebackType | None) -> None:
    """An error's kind and place. Its message may hold text of the document."""
    while trace and trace.tb_next:
        trace = trace.tb_next
    place = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace else "?"
    sys.stderr.write(f"{kind.__name__} at {place}\n")


if __name__ == "__main__":
    main()
