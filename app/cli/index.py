"""`ibid index …`: what projects know, put in from files."""

import typer

from app.cli.coding import code
from app.cli.talks import conversations, dreams

index = typer.Typer(no_args_is_help=True, help="Put in what projects know: code, conversations, dreams.")
for command in (code, conversations, dreams):
    index.command()(command)
