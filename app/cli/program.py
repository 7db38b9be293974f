"""The program: its commands, and the one place where failures end.

Every expected failure is an `IbidError`: one sentence on stderr. The exit code is 2 if what the caller typed
is wrong (a `BadInput`, or a 422 of the service), else 1. A command's module is imported once it is asked for:
all of them, with a whole service behind, are a second of a processor.
"""

import sys
from importlib import import_module
from importlib.metadata import version
from typing import Annotated

import typer
from typer.core import TyperCommand, TyperGroup

from app.cli.late import resting
from app.cli.terminal import remark, tell
from app.errors import BadInput, IbidError

FAILED, USAGE = 1, 2
REFUSED = 422
"""The service's status for a value that is not allowed: on the command line somebody typed it."""

COMMANDS = {
    "serve": "Start the service. Ctrl-C stops it.",
    "ingest": "Put PDFs in, so that questions find them.",
    "ask": "Ask a question and read the answer with its sources.",
    "profiles": "Compute profile, style and persona cards from people's own messages.",
    "erase": "Erase a user for good: memories, turns, answers, documents that are theirs.",
    "doctor": "Look at every part, and say what to do where one is not well.",
    "migrate": "Bring the database up to date; the service also does this at its start.",
    "reembed": "Move what is stored to the configured embedding model.",
    "adopt": "Take over what older tools wrote, beside them.",
    "eval": "Measure retrieval through the real write side and sources.",
    "knowledge": "Tell what a project's chats are to know: an overview, rules, notes.",
    "index": "Put in what projects know: code, conversations, dreams.",
    "keys": "Make, list and revoke API keys.",
}
"""What `--help` shows of each: how its own help begins."""
NAMED = {"eval": "evaluate"}
"""Where a function cannot be called as its command is. A command's module is."""


class Commands(TyperGroup):
    """Knows of each command what `--help` shows, until one is asked for."""

    def resolve_command(  # type: ignore[override] # typer's word for it is private
        self, ctx: typer.Context, args: list[str]
    ) -> tuple[str | None, TyperCommand | TyperGroup | None, list[str]]:
        """The command that is asked for, whole. A usage error where there is none."""
        name, known, rest = super().resolve_command(ctx, args)
        return name, own(name) if name and known else None, rest


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # they show values of variables
    add_completion=False,
    help="Answers from your documents and memories, and says for every statement where it comes from.",
)
for command, says in COMMANDS.items():
    app.command(command, help=says)(lambda: None)


def own(name: str) -> TyperCommand | TyperGroup:
    """A command as its module has it: a function, or a program of several."""
    with resting():
        found = getattr(import_module(f"app.cli.{name}"), NAMED.get(name, name))
    program = typer.Typer(add_completion=False)
    program.callback()(root)
    if isinstance(found, typer.Typer):
        program.add_typer(found, name=name)
    else:
        program.command(name)(found)
    whole = typer.main.get_command(program)
    assert isinstance(whole, TyperGroup)  # noqa: S101 - it has a callback, and so is no single command
    one = whole.commands[name]
    assert isinstance(one, TyperCommand | TyperGroup)  # noqa: S101 - as typer makes them
    return one


def shown(value: bool) -> None:
    """Print the version and end."""
    if value:
        tell(f"ibid {version('ibid')}")
        raise typer.Exit


@app.callback()
def root(
    _version: Annotated[
        bool, typer.Option("--version", callback=shown, is_eager=True, help="Print the version and end.")
    ] = False,
) -> None:
    """Answers from your documents and memories, and says for every statement where it comes from."""


def main() -> None:
    """The program. Usage errors exit with 2, Ctrl-C with 130 (both typer's)."""
    try:
        app()
    except IbidError as error:
        remark(f"ibid: {error.detail}")
        mistyped = isinstance(error, BadInput) or getattr(error, "code", None) == REFUSED
        sys.exit(USAGE if mistyped else FAILED)
