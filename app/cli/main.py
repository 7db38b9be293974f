"""The program: its commands, and the one place where errors become messages and exit codes.

Every expected failure is an `IbidError`: one sentence on stderr. The exit code is 2 if the user's input is
wrong (a `BadInput`, or a 422 of the service), else 1. A command's module is imported only when it is called:
all of them, with the service behind them, cost two seconds of CPU.
"""

import sys
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer
from typer.core import TyperCommand, TyperGroup

from app.cli.terminal import remark, tell
from app.errors import BadInput, IbidError

FAILED, USAGE = 1, 2
UNPROCESSABLE = 422


@dataclass(frozen=True, slots=True)
class Command:
    """Module and function of a command, and its summary in `ibid --help`: the beginning of its own help."""

    module: str
    help: str
    function: str = ""
    panel: str = "Run and maintain"
    """The group of commands in `ibid --help`."""


ASK, FILL = "Ask", "Fill and look through"
COMMANDS = {
    "ask": Command("ask", "Ask a question and read the answer with its sources.", panel=ASK),
    "chat": Command("ask", "Ask question after question, each with the ones before in mind.", panel=ASK),
    "search": Command("search", "Find passages without asking a model for an answer.", panel=ASK),
    "why": Command("why", "Show which passages an answer was made from, which lost, and why.", panel=ASK),
    "open": Command("why", "Open a cited source in the browser.", "open_", panel=ASK),
    "ingest": Command("ingest", "Add PDFs, so that questions find them.", panel=FILL),
    "docs": Command("library", "List, show and delete documents.", panel=FILL),
    "sessions": Command("library", "List, show and delete conversations.", panel=FILL),
    "memories": Command("library", "List, add and delete what people want kept.", panel=FILL),
    "index": Command("index", "Add what projects know: code, conversations, dreams.", panel=FILL),
    "knowledge": Command(
        "knowledge", "Write what the chats of a project know: an overview, rules, notes.", panel=FILL
    ),
    "profiles": Command(
        "users", "Compute profile, style and persona cards from people's own messages.", panel=FILL
    ),
    "erase": Command(
        "users", "Erase a user for good: memories, turns, answers and their documents.", panel=FILL
    ),
    "serve": Command("serve", "Start the service. Ctrl-C stops it."),
    "config": Command("config", "Show the settings."),
    "mcp": Command("mcp", "Serve the tools to an assistant over stdin and stdout (MCP)."),
    "doctor": Command("doctor", "Check every part, and say what to do where one is not well."),
    "migrate": Command(
        "maintenance", "Bring the database up to date; the service also does this at its start."
    ),
    "reembed": Command("maintenance", "Move what is stored to the configured embedding model."),
    "adopt": Command("maintenance", "Take over what older tools wrote, beside them."),
    "eval": Command("eval", "Measure retrieval through the real write side and search.", "evaluate"),
    "keys": Command("keys", "Make, list and revoke API keys."),
}


class LazyCommands(TyperGroup):
    def resolve_command(  # type: ignore[override] # typer's word for it is private
        self, ctx: typer.Context, args: list[str]
    ) -> tuple[str | None, TyperCommand | TyperGroup | None, list[str]]:
        name, known, rest = super().resolve_command(ctx, args)
        return name, loaded(name) if name and known else None, rest


app = typer.Typer(
    cls=LazyCommands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # they show values of variables
    help="Answers from your documents and memories, and names the passages they rest on.",
)
for _name, _command in COMMANDS.items():
    app.command(_name, help=_command.help, rich_help_panel=_command.panel)(lambda: None)


def loaded(name: str) -> TyperCommand | TyperGroup:
    """Import a command: its module has a function or a group of several."""
    command = COMMANDS[name]
    found = getattr(import_module(f"app.cli.{command.module}"), command.function or name)
    program = typer.Typer(add_completion=False)
    program.callback()(root)
    if isinstance(found, typer.Typer):
        program.add_typer(found, name=name)
    else:
        program.command(name)(found)
    group = typer.main.get_command(program)
    assert isinstance(group, TyperGroup)  # noqa: S101 - it has a callback
    one = group.commands[name]
    assert isinstance(one, TyperCommand | TyperGroup)  # noqa: S101 - typer makes no other
    return one


def print_version(value: bool) -> None:
    if value:
        tell(f"ibid {version('ibid')}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool,
        typer.Option("--version", callback=print_version, is_eager=True, help="Print the version and end."),
    ] = False,
) -> None:
    """Answers from your documents and memories, and names the passages they rest on."""


def main() -> None:
    """Run the program. Usage errors exit with 2, Ctrl-C with 130 (both typer's)."""
    try:
        app()
    except IbidError as error:
        remark(f"ibid: {error.detail}")
        mistyped = isinstance(error, BadInput) or getattr(error, "code", None) == UNPROCESSABLE
        sys.exit(USAGE if mistyped else FAILED)
