"""How commands speak: results to stdout, remarks to stderr, errors as one plain sentence.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Expected failures are `IbidError`s, told by
`main` without a traceback.
"""

import asyncio
import json
import re
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import uvloop

from app.logging import configure
from app.settings import Settings, load

T = TypeVar("T")

DataDir = Annotated[
    Path | None, typer.Option(help="Folder of everything embedded. [default: IBID_DATA_DIR or .ibid]")
]
Json = Annotated[bool, typer.Option("--json", help="For machines: JSON on stdout.")]


CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""What a terminal obeys instead of showing it: controls but line feed and tab, those that reorder text, and
half a surrogate pair, which cannot be written at all."""
SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor, screen
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # title, link, clipboard
)
"""Whole escape sequences (ECMA-48): without its first character the rest would be shown."""


def safe(text: str) -> str:
    """`text` without what a terminal obeys. Answers, documents and names on disk are written by others."""
    return CONTROLS.sub("", SEQUENCES.sub("", text))


def tell(text: str = "", *, end: str = "\n") -> None:
    """A result, on stdout."""
    typer.echo(safe(text) + end, nl=False)


def remark(text: str) -> None:
    """What is not a result, on stderr."""
    typer.echo(safe(text), err=True)


def as_json(value: Mapping[str, Any]) -> None:
    """One JSON object on one line of stdout. What a terminal would obey is escaped, not lost."""
    text = json.dumps(value, ensure_ascii=False)
    tell(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def counted(number: int, noun: str) -> str:
    """`1 page`, `1,200 pages`."""
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def name(value: str | None) -> str | None:
    """A name as the API takes it: it stands on one line."""
    if value is not None and not (0 < len(value) <= 200 and value.isprintable()):
        raise typer.BadParameter("1 to 200 printable characters")
    return value


def session_id(value: str | None) -> str | None:
    """A session as the API takes it."""
    if value is not None and not re.fullmatch(r"[A-Za-z0-9._:\-]{1,200}", value):
        raise typer.BadParameter("1 to 200 of letters, digits, . _ : -")
    return value


def settings(
    data_dir: Path | None = None, *, log_level: str | None = "error", **ibid: object
) -> tuple[Settings, list[str]]:
    """Settings of this command, and what looks misspelt; options win over the environment. `StartError`.

    Commands log errors only, people read their output; `serve` passes None: as IBID_LOG_LEVEL says.
    """
    given = {"data_dir": data_dir, **ibid}
    loaded, warnings = load(ibid={name: value for name, value in given.items() if value is not None})
    configure(log_level or loaded.ibid.log_level)
    return loaded, warnings


def configured(data_dir: Path | None = None, *, log_level: str | None = "error", **ibid: object) -> Settings:
    """The settings, with the warnings told on stderr."""
    loaded, warnings = settings(data_dir, log_level=log_level, **ibid)
    for warning in warnings:
        remark(f"Warning: perhaps a misspelt setting: {warning}")
    return loaded


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's work on its loop; Ctrl-C cancels it and everything it opened closes."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)
