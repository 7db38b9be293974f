"""Reads the policy's tables (app/vantage/data/*.txt): documents of headings, entries and comments.

    # A comment, at a line's begin.
    [heading]
    name: phrase, phrase,
        phrase

An indented line continues the one above. Read once, at import.
"""

from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path

from app.domain.phrases import Phrases

DATA = Path(__file__).parent / "data"
Entries = Mapping[str, tuple[str, ...]]
"""By name, its phrases."""


@cache
def sections(name: str) -> Mapping[str, tuple[str, ...]]:
    """By heading, its lines without comments; continued lines are joined."""
    found: dict[str, list[str]] = {}
    lines: list[str] = []
    for line in (DATA / name).read_text(encoding="utf-8").splitlines():
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("[") and line.endswith("]"):
            lines = found.setdefault(line[1:-1], [])
        elif line[0].isspace():
            lines[-1] += f" {line.strip()}"
        else:
            lines.append(line.strip())
    return {heading: tuple(own) for heading, own in found.items()}


def entries(lines: Iterable[str]) -> Entries:
    """Lines `name: phrase, phrase` by name."""
    parts = (line.partition(": ") for line in lines)
    return {name: tuple(phrase.strip() for phrase in row.split(",")) for name, _, row in parts}


def phrases(table: Entries) -> Phrases:
    """A finder of all phrases, by name; those of `none` only keep others from being found."""
    return Phrases({"" if name == "none" else name: "|".join(row) for name, row in table.items()})
