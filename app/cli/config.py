"""`ibid config show`: the settings in effect, and where each comes from. Secrets are never shown, nor are
passwords within addresses."""

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from pydantic import SecretStr

from app.cli.terminal import DataDir, Json, as_json, configured, is_styled, remark, safe, screen, tell
from app.settings import Settings, names, where_given

if TYPE_CHECKING:
    from collections.abc import Mapping

HIDDEN = "********"
CREDENTIALS = re.compile(r"(?<=://)[^/@\s]*:[^/@\s]*(?=@)")
"""User and password of an address."""
PASSWORD = re.compile(r"(?i)((?:password|passwd|pwd|secret|token|api_?key)\s*=\s*)('[^']*'|[^\s&]+)")
DEFAULT = "default"

config = typer.Typer(no_args_is_help=True, help="Show the settings.")


@config.callback()
def root() -> None:
    """Show the settings."""


@config.command()
def show(
    changed: Annotated[bool, typer.Option("--changed", help="Without those at their defaults.")] = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Show each setting, its value and where it comes from."""
    found = effective(configured(data_dir), data_dir)
    if changed:
        found = {name: entry for name, entry in found.items() if entry[1] != DEFAULT}
    if json:
        as_json({name: {"value": value, "from": origin} for name, (value, origin) in found.items()})
    elif is_styled():
        drawn(found)
    else:
        for name, (value, origin) in found.items():
            tell(f"{name}={'' if value is None else value}\t{origin}")
    if not found and not json:
        remark("Every setting is at its default.")


def effective(settings: Settings, data_dir: Path | None = None) -> "Mapping[str, tuple[Any, str]]":
    """(value, origin) by the environment's name."""
    given = where_given() | ({"IBID_DATA_DIR": "option"} if data_dir is not None else {})
    return {name: (shown(settings, name), given.get(name, DEFAULT)) for name in names()}


def shown(settings: Settings, name: str) -> object:
    group, _, field = name.lower().partition("_")
    value = getattr(getattr(settings, group), field)
    if isinstance(value, SecretStr):
        return HIDDEN
    if isinstance(value, str | Path):
        return PASSWORD.sub(rf"\1{HIDDEN}", CREDENTIALS.sub(f"{HIDDEN}:{HIDDEN}", str(value)))
    if value is None or isinstance(value, bool | int | float):
        return value
    return str(value)


def drawn(found: "Mapping[str, tuple[Any, str]]") -> None:
    from rich.table import Table  # noqa: PLC0415 - only a terminal needs it

    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("Setting", "Value", "From"):
        table.add_column(title, overflow="fold")
    group = ""
    for name, (value, origin) in found.items():
        prefix = name.partition("_")[0]
        if group and prefix != group:
            table.add_section()
        group = prefix
        style = "dim" if origin == DEFAULT else ""
        table.add_row(name, "–" if value is None else safe(str(value)), origin, style=style)
    screen().print(table)
