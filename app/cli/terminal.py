"""Output of commands: results on stdout, remarks and progress on stderr, errors as one plain sentence.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Expected failures are `IbidError`s, printed by
`main` without a traceback.
"""

import asyncio
import json
import re
import sys
from collections.abc import Coroutine, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypeVar

import typer
import uvloop
from rich import progress as bars
from rich.console import Console

from app.errors import IbidError
from app.logging import configure
from app.settings import Settings, load

T = TypeVar("T")

DataDir = Annotated[
    Path | None, typer.Option(help="Folder of everything embedded.", show_default="IBID_DATA_DIR or .ibid")
]
Json = Annotated[bool, typer.Option("--json", help="For machines: JSON on stdout.")]
STDIN = Path("-")

CONTROLS = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
"""Characters that a terminal obeys instead of showing: controls except line feed and tab, and those that
reorder text. Half a surrogate pair cannot be written at all."""
SEQUENCES = re.compile(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # colours, cursor, screen
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c]*(?:\x07|\x1b\\|\x9c)"  # title, link, clipboard
)
"""Whole escape sequences (ECMA-48): without its first character the rest would be shown."""
BAR_WIDTH = 30


class Unreadable(IbidError):
    """An input file cannot be read."""


def safe(text: str) -> str:
    """`text` without terminal commands. Answers, documents and file names are written by others."""
    return CONTROLS.sub("", SEQUENCES.sub("", text))


def tell(text: str = "", *, end: str = "\n") -> None:
    typer.echo(safe(text) + end, nl=False)


def remark(text: str) -> None:
    typer.echo(safe(text), err=True)


def as_json(value: Mapping[str, Any]) -> None:
    """Print one JSON object on one line of stdout, with control characters escaped."""
    text = json.dumps(value, ensure_ascii=False)
    tell(CONTROLS.sub(lambda found: f"\\u{ord(found[0]):04x}", text))


def counted(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def name(value: str | None) -> str | None:
    if value is not None and not (0 < len(value) <= 200 and value.isprintable()):
        raise typer.BadParameter("1 to 200 printable characters")
    return value


def session_id(value: str | None) -> str | None:
    if value is not None and not re.fullmatch(r"[A-Za-z0-9._:\-]{1,200}", value):
        raise typer.BadParameter("1 to 200 of letters, digits, . _ : -")
    return value


def input_file(file: Path | None) -> Path | None:
    if file is not None and file != STDIN and not file.is_file():
        raise typer.BadParameter(f"{file} is no file")
    return file


def settings(
    data_dir: Path | None = None, *, log_level: str | None = "error", **ibid: object
) -> tuple[Settings, list[str]]:
    """(settings, names that look misspelt); options override the environment. Raises `StartError`.

    Commands log errors only, because people read their output; `serve` passes None to use IBID_LOG_LEVEL.
    """
    given = {"data_dir": data_dir, **ibid}
    loaded, warnings = load(ibid={name: value for name, value in given.items() if value is not None})
    configure(log_level or loaded.ibid.log_level)
    return loaded, warnings


def configured(data_dir: Path | None = None, *, log_level: str | None = "error", **ibid: object) -> Settings:
    """The settings, with the warnings on stderr."""
    loaded, warnings = settings(data_dir, log_level=log_level, **ibid)
    for warning in warnings:
        remark(f"Warning: perhaps a misspelt setting: {warning}")
    return loaded


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's work on its own event loop; Ctrl-C cancels it and closes everything it opened."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


class Progress:
    """A progress bar: steps done, and a remark beside it."""

    def __init__(self, bar: bars.Progress, what: str, total: int | None) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=total, said="")

    def add(self, steps: int, said: str = "") -> None:
        self._bar.update(self._task, advance=steps, said=safe(said))

    def now(self, what: str) -> None:
        what = safe(what)
        short = what if len(what) <= BAR_WIDTH else what[: BAR_WIDTH - 1] + "…"
        self._bar.update(self._task, description=short)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[Progress]:
    """A bar on stderr while the block lasts, in a terminal only. `total` is None if unknown."""
    columns = (
        bars.SpinnerColumn(),
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.fields[said]}"),
        bars.TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    bar = bars.Progress(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),  # results pass above the bar; a piped stdout is left alone
        disable=not console.is_terminal,
    )
    with bar:
        yield Progress(bar, what, total)
