"""`ibid knowledge`: writes what every chat of a project knows from files, or prints it.

Given parts are replaced, note by note; the others stay, or are emptied with --replace. A note is a file, its
title the file's name. Exit 2 if nothing is given.
"""

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer

from app.cli.client import connect, taken
from app.cli.terminal import (
    STDIN,
    DataDir,
    Json,
    Unreadable,
    as_json,
    configured,
    counted,
    input_file,
    name,
    run,
    tell,
)
from app.settings import Settings

TextFile = Annotated[Path | None, typer.Option(callback=input_file, help="A file; - is stdin.")]


def knowledge(
    *,
    project: Annotated[str, typer.Option(callback=name, help="Which project.")],
    overview: TextFile = None,
    rules: TextFile = None,
    notes: Annotated[
        list[Path] | None, typer.Option(exists=True, dir_okay=False, help="A note; several times.")
    ] = None,
    replace: Annotated[bool, typer.Option("--replace", help="Empty what is not given.")] = False,
    show: Annotated[bool, typer.Option("--show", help="Print all of it.")] = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Write what the chats of a project know: an overview, rules, notes."""
    if not (overview or rules or notes or show):
        raise typer.BadParameter("give --overview, --rules or --notes, or --show")
    body = given(overview, rules, notes or ())
    known = run(written(configured(data_dir), project, body, replace=replace))
    if json:
        as_json({"project": project, **known})
    else:
        tell(whole(known) if show else brief(project, known))


def given(overview: Path | None, rules: Path | None, notes: Sequence[Path]) -> Mapping[str, Any]:
    """The request body. Raises `Unreadable`."""
    if overview == rules == STDIN:
        raise typer.BadParameter("only one text comes from stdin")
    body: dict[str, Any] = {
        name: read(file) for name, file in (("overview", overview), ("rules", rules)) if file
    }
    told = [{"title": note.stem, "text": read(note)} for note in notes]
    return body | ({"notes": told} if told else {})


def read(file: Path) -> str:
    try:
        raw = sys.stdin.buffer.read() if file == STDIN else file.read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as error:
        raise Unreadable(f"{file} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Unreadable(f"{file} is not UTF-8: see byte {error.start}") from error


async def written(
    config: Settings, project: str, body: Mapping[str, Any], *, replace: bool
) -> Mapping[str, Any]:
    """The knowledge after the change, or as it is without a body."""
    path = f"/projects/{quote(project, safe='')}/knowledge"
    async with connect(config) as client:
        if not body:
            return taken(await client.get(path))
        return taken(await client.request("PUT" if replace else "POST", path, json=body))


def brief(project: str, known: Mapping[str, Any]) -> str:
    """`THN: overview of 120 characters, no rules, 2 notes`."""
    parts = [
        f"{name} of {counted(len(known[name]), 'character')}" if known[name] else f"no {name}"
        for name in ("overview", "rules")
    ]
    return f"{project}: {', '.join(parts)}, {counted(len(known['notes']), 'note')}"


def whole(known: Mapping[str, Any]) -> str:
    parts = [("Overview", known["overview"]), ("Rules", known["rules"])]
    parts += [(note["title"], note["text"]) for note in known["notes"]]
    return "\n\n".join(f"# {title}\n\n{text.strip()}" for title, text in parts if text.strip())
