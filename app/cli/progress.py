"""The bar of long work, on stderr and only where somebody watches: a pipe gets the plain lines alone."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from rich import progress as bars
from rich.console import Console

from app.cli.terminal import safe

WIDTH = 30


class Progress:
    """Steps done, and a remark beside them."""

    def __init__(self, bar: bars.Progress, what: str, total: int | None) -> None:
        self._bar = bar
        self._task = bar.add_task(what, total=total, said="")

    def add(self, steps: int, said: str = "") -> None:
        """So many steps more are done."""
        self._bar.update(self._task, advance=steps, said=safe(said))

    def now(self, what: str) -> None:
        """What is being worked on; a long name must not push the bar away."""
        what = safe(what)
        self._bar.update(self._task, description=what if len(what) <= WIDTH else what[: WIDTH - 1] + "…")


@contextmanager
def shown(what: str, total: int | None) -> Iterator[Progress]:
    """The bar while the work lasts. `total`: None, nobody knows."""
    columns = (
        bars.SpinnerColumn(),
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TextColumn("{task.fields[said]}"),
        bars.TimeElapsedColumn(),
    )
    console = Console(stderr=True)
    # Results on stdout pass above the bar where both are one terminal; a piped stdout is left alone.
    bar = bars.Progress(
        *columns,
        console=console,
        transient=True,
        redirect_stdout=sys.stdout.isatty(),
        disable=not console.is_terminal,
    )
    with bar:
        yield Progress(bar, what, total)
