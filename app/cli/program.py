"""The program: its commands, and the one place where failures end.

Every expected failure is an `IbidError`: one sentence on stderr, exit code 1.
"""

import sys
from importlib.metadata import version
from typing import Annotated

import typer

from app.cli.adopt import adopt
from app.cli.ask import ask
from app.cli.doctor import doctor
from app.cli.erase import erase
from app.cli.eval import evaluate
from app.cli.index import index
from app.cli.ingest import ingest
from app.cli.keys import keys
from app.cli.knowledge import knowledge
from app.cli.migrate import migrate
from app.cli.profiles import profiles
from app.cli.reembed import reembed
from app.cli.serve import serve
from app.cli.terminal import remark, tell
from app.domain.errors import IbidError

FAILED = 1

app = typer.Typer(
    no_args_is_help=True,
    pretty_exceptions_enable=False,  # they show values of variables
    add_completion=False,
    help="Answers from your documents and memories, and says for every statement where it comes from.",
)
for command in (serve, ingest, ask, profiles, erase, doctor, migrate, reembed, adopt):
    app.command()(command)
app.command("eval")(evaluate)
app.command("knowledge")(knowledge)
app.add_typer(index, name="index")
app.add_typer(keys, name="keys")


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
        sys.exit(FAILED)
