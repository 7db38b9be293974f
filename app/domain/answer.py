"""An answer as it is kept: what was said, from what, how it ended and how long each part took."""

import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from app.domain.recipe import Recipe
from app.domain.trace import Trace


class Finish(StrEnum):
    """How an answer ended (`finish_reason`)."""

    STOP = "stop"
    LENGTH = "length"
    CANCELLED = "cancelled"


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens as the model's server counted them, or as we did where it does not say."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Citation:
    """A packed passage as a reply names it."""

    label: str
    source: str
    id: str
    title: str
    page: int | None
    page_end: int | None
    url: str | None
    metadata: Mapping[str, object] = field(default_factory=dict)
    """Of a reference text, as its writer gave it."""


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of any endpoint."""

    id: str
    endpoint: str
    question: str
    text: str
    model: str
    finish: Finish | None
    """None while it runs, or if it ended in an error."""
    citations: tuple[Citation, ...]
    cited: tuple[str, ...]
    unknown: tuple[str, ...]
    prompt_sha256: str
    trace: Trace
    usage: Usage
    created_at: datetime
    timings: Mapping[str, int] = field(default_factory=dict)
    """Milliseconds by stage."""
    recipe: Recipe | None = None
    """How the prompt was put together; None: there was none, or an older version kept this answer."""
    appended: bool = False
    """The model cited nothing: what is `cited` was named behind its text."""
    ruling: Mapping[str, object] | None = None
    """Of /vantage alone, as JSON: what was decided and why (`services/vantage.py` writes and reads it)."""


DRAWN = 64
NOISE: list[int] = []


def new_id(at: int | None = None) -> str:
    """A UUIDv7 (RFC 9562 §5.7): sorts by time, so that pages of answers and documents do too.

    Twelve bits tell times within a millisecond (§6.2, method 3), in steps of 244 ns: ids made one after
    another by one process sort as they were made. 62 bits are random. `at`: nanoseconds since 1970, else now.
    """
    millis, rest = divmod(time.time_ns() if at is None else at, 1_000_000)
    step = (rest << 12) // 1_000_000
    digits = f"{millis << 80 | 0x7 << 76 | step << 64 | 0b10 << 62 | noise() >> 2:032x}"
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"


def noise() -> int:
    """64 random bits. The system is asked for many at once: each time it is, the interpreter goes to another
    thread, and under load it takes long to come back."""
    with suppress(IndexError):
        return NOISE.pop()
    first, *rest = memoryview(os.urandom(8 * DRAWN)).cast("Q")
    NOISE.extend(rest)
    return first


os.register_at_fork(after_in_child=NOISE.clear)  # else parent and child draw the same
