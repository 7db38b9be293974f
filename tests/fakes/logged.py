"""Log lines as a test reads them: the real set-up of `app/logging.py`, writing JSON into memory."""

import io
import json
import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import structlog

from app.logging import configure


class Lines(io.StringIO):
    def all(self) -> list[dict[str, Any]]:
        """Each line as its object, oldest first."""
        return [json.loads(line) for line in self.getvalue().splitlines()]

    def of(self, event: str) -> list[dict[str, Any]]:
        return [line for line in self.all() if line["event"] == event]


@contextmanager
def captured(level: str = "debug") -> Iterator[Lines]:
    """Log into memory while the block lasts; pytest's own handlers come back after it."""
    root = logging.getLogger()
    handlers, before, lines = root.handlers, root.level, Lines()
    configure(level, json=True, stream=lines)
    try:
        yield lines
    finally:
        root.handlers, root.level = handlers, before
        structlog.reset_defaults()
