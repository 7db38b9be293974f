"""Output of commands: results on stdout, remarks and progress on stderr, errors as one plain sentence.

Exit codes: 0 done, 1 failed, 2 wrong usage, 130 interrupted. Expected failures are `IbidError`s, printed by
`main` without a traceback. Heavy imports wait until they are used: `ibid --help` needs none of them.
"""

import asyncio
import json
import re
import sys
from collections.abc import Coroutine, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar

import typer
from rich.console import Console

from app.errors import IbidError

if TYPE_CHECKING:
    from rich import progress as bars
    from rich.table import Table

    from app.settings import Settings

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


def input_text(words: Sequence[str] | None) -> str:
    """The words of a command line; `-`, or no word at all, is replaced by stdin."""
    if not words and sys.stdin.isatty():
        raise typer.BadParameter("give the text, or pipe it in")
    try:
        parts = [
            sys.stdin.buffer.read().decode().strip() if word == "-" else word for word in words or ("-",)
        ]
    except UnicodeDecodeError:
        raise typer.BadParameter("stdin is not UTF-8") from None
    alone = "-" not in (words or ("-",))
    text = (" " if alone else "\n\n").join(part for part in parts if part)
    if not text.strip():
        raise typer.BadParameter("the text is empty")
    return text


def input_file(file: Path | None) -> Path | None:
    if file is not None and file != STDIN and not file.is_file():
        raise typer.BadParameter(f"{file} is no file")
    return file


def configure(level: str) -> None:
    from app.logging import configure as configured  # noqa: PLC0415 - see above

    configured(level)


def settings(
    data_dir: Path | None = None, *, log_level: str | None = "error", **ibid: object
) -> "tuple[Settings, list[str]]":
    """(settings, names that look misspelt); options override the environment. Raises `StartError`.

    Commands log errors only, because people read their output; `serve` passes None to use IBID_LOG_LEVEL.
    """
    from app.settings import load  # noqa: PLC0415 - see above

    given = {"data_dir": data_dir, **ibid}
    loaded, warnings = load(ibid={name: value for name, value in given.items() if value is not None})
    configure(log_level or loaded.ibid.log_level)
    return loaded, warnings


def configured(
    data_dir: Path | None = None, *, log_level: str | None = "error", **ibid: object
) -> "Settings":
    """The settings, with the warnings on stderr."""
    loaded, warnings = settings(data_dir, log_level=log_level, **ibid)
    for warning in warnings:
        remark(f"Warning: perhaps a misspelt setting: {warning}")
    return loaded


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run a command's work on its own event loop; Ctrl-C cancels it and closes everything it opened."""
    import uvloop  # noqa: PLC0415 - see above

    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(work)


def screen(*, stderr: bool = False, least: int = 0) -> Console:
    """Rich's console: colours unless NO_COLOR is set, links where the terminal has them. It breaks no line of
    up to `least` columns; the terminal may."""
    console = Console(stderr=stderr, markup=False, highlight=False, emoji=False, soft_wrap=False)
    console.width = max(console.width, least)
    return console


def is_styled() -> bool:
    """True if stdout is a terminal that can do more than print lines."""
    console = screen()
    return console.is_terminal and not console.is_dumb_terminal


def rows(titles: Sequence[str], found: Iterable[Sequence[str]], *, flexible: str, hidden: str = "") -> None:
    """Print a table; when piped, lines with tabs between the cells and no head. On a narrow terminal only the
    column `flexible` is cut, and others run over its edge; `hidden` is for pipes alone."""
    cells = [[" ".join(safe(cell).split()) for cell in row] for row in found]
    if not is_styled():
        for row in cells:
            tell("\t".join(row))
        return
    drawn = table(titles, cells, flexible=flexible, hidden=hidden)
    screen(least=sum((column.width or 0) + 2 for column in drawn.columns)).print(drawn)


def table(titles: Sequence[str], cells: Sequence[Sequence[str]], *, flexible: str, hidden: str) -> "Table":
    from rich.table import Table  # noqa: PLC0415 - see above

    drawn = Table(box=None, header_style="bold", pad_edge=False)
    kept = [at for at, title in enumerate(titles) if title != hidden]
    widest = {at: max(len(row[at]) for row in (titles, *cells)) for at in kept}
    others = sum(width + 2 for at, width in widest.items() if titles[at] != flexible)
    for at in kept:
        room = max(12, screen().width - others) if titles[at] == flexible else widest[at]
        drawn.add_column(titles[at], no_wrap=True, overflow="ellipsis", width=min(room, widest[at]))
    for row in cells:
        drawn.add_row(*(row[at] for at in kept))
    return drawn


def prose(text: str) -> None:
    """Print text, on a terminal without cutting words."""
    if is_styled():
        screen().print(safe(text))
    else:
        tell(text)


def when(time: str | None) -> str:
    """An RFC 3339 time as people read it, in their own zone; when piped unchanged."""
    if not time or not is_styled():
        return time or ""
    return datetime.fromisoformat(time).astimezone().strftime("%Y-%m-%d %H:%M")


class ProgressBar:
    """A progress bar: steps done, and a remark beside it."""

    def __init__(self, bar: "bars.Progress", what: str, total: int | None) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=total, said="")

    def add(self, steps: int, said: str = "") -> None:
        self._bar.update(self._task, advance=steps, said=safe(said))

    def now(self, what: str) -> None:
        what = safe(what)
        short = what if len(what) <= BAR_WIDTH else what[: BAR_WIDTH - 1] + "…"
        self._bar.update(self._task, description=short)


@contextmanager
def progress(what: str, total: int | None) -> Iterator[ProgressBar]:
    """A bar on stderr while the block lasts, in a terminal only. `total` is None if unknown."""
    from rich import progress as bars  # noqa: PLC0415 - see above

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
        yield ProgressBar(bar, what, total)
