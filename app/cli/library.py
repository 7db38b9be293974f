"""`ibid docs`, `ibid sessions` and `ibid memories`: lists of what is stored, and deleting from them.

All of them work through the service. Things are named by their id, by its unique beginning, or (documents) by
their label. Deleting asks first, unless --yes is given.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from app.cli.client import connect, pages, taken
from app.cli.terminal import (
    DataDir,
    Json,
    as_json,
    configured,
    counted,
    input_text,
    is_styled,
    name,
    prose,
    remark,
    rows,
    run,
    session_id,
    tell,
    when,
)
from app.errors import InvalidField, Missing

if TYPE_CHECKING:
    import httpx

    from app.settings import Settings

PREFIX_CHARACTERS = 6
"""Characters of the beginning of an id."""
EXCERPT = 200
"""Characters of a memory or question in a list."""
Item = dict[str, Any]

docs = typer.Typer(no_args_is_help=True, help="List, show and delete documents.")
sessions = typer.Typer(no_args_is_help=True, help="List, show and delete conversations.")
memories = typer.Typer(no_args_is_help=True, help="List, add and delete what people want kept.")

Session = Annotated[
    str | None,
    typer.Option("--session", "-s", callback=session_id, help="That session's and the global ones."),
]
OwnUser = Annotated[str, typer.Option("--user", "-u", callback=name, help="Whose memories.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
DocumentName = Annotated[str, typer.Argument(metavar="NAME", help="Its label or id.")]


async def collected(config: "Settings", path: str, **asked: str | None) -> list[Item]:
    async with connect(config) as client:
        return [item async for item in pages(client, path, **asked)]


def listed(
    found: Sequence[Item],
    titles: Sequence[str],
    cells: Sequence[Sequence[str]],
    *,
    json: bool,
    nothing: str,
    flexible: str,
    hidden: str = "",
) -> None:
    if json:
        for item in found:
            as_json(item)
    elif found:
        rows(titles, cells, flexible=flexible, hidden=hidden)
    else:
        remark(nothing)


def chosen(found: Sequence[Item], wanted: str, key: str, *names: str) -> Item:
    """The one entry that is meant."""
    exact = [item for item in found if wanted in (item[key], *(item[each] for each in names))]
    begun = [item for item in found if len(wanted) >= PREFIX_CHARACTERS and item[key].startswith(wanted)]
    match exact or begun:
        case [one]:
            return one
        case []:
            raise Missing(f"there is no {wanted}")
        case several:
            ids = ", ".join(item[key] for item in several)
            raise InvalidField(f"{wanted} may be any of {ids}: name one by its id")


def confirmed(question: str, *, yes: bool) -> None:
    if not yes:
        typer.confirm(question, abort=True, err=True)


def excerpt(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= EXCERPT else line[: EXCERPT - 1] + "…"


def place_of(document: Item) -> str:
    return "all sessions" if document["session_id"] is None else str(document["session_id"])


@docs.command("list")
def list_docs(session: Session = None, json: Json = False, data_dir: DataDir = None) -> None:
    """List documents, newest first."""
    found = run(collected(configured(data_dir), "/api/documents", session_id=session))
    cells = [
        (
            each["label"],
            place_of(each),
            f"{each['pages']:,}",
            f"{each['chunks']:,}",
            each["state"],
            when(each["created_at"]),
            each["id"],
        )
        for each in found
    ]
    titles = ("Label", "In", "Pages", "Passages", "State", "Added", "Id")
    listed(
        found,
        titles,
        cells,
        json=json,
        nothing="No documents: add some with ibid ingest PATH.",
        flexible="Label",
        hidden="Id",
    )


@docs.command("show")
def show_doc(
    document: DocumentName, session: Session = None, json: Json = False, data_dir: DataDir = None
) -> None:
    """Show a document's figures, or the text of a passage (report.pdf#3)."""
    run(showed(configured(data_dir), document.strip("[]"), session, json=json))


async def showed(config: "Settings", wanted: str, session: str | None, *, json: bool) -> None:
    label, mark, n = wanted.rpartition("#")
    async with connect(config) as client:
        document = await document_named(client, label if mark else wanted, session)
        if mark:
            chunk = taken(await client.get(f"/api/documents/{document['id']}/chunks/{quote(n, safe='')}"))
    if json:
        as_json(chunk if mark else document)
    elif mark:
        prose(chunk["text"])
        remark(
            f"[{chunk['label']}] page {chunk['page']}" + (f", {chunk['heading']}" if chunk["heading"] else "")
        )
    else:
        described(document)


def described(document: Item) -> None:
    facts = {
        "Label": document["label"],
        "File": document["filename"],
        "In": place_of(document),
        "User": document["user_id"],
        "State": document["state"],
        "Size": f"{counted(document['pages'], 'page')}, {counted(document['chunks'], 'passage')},"
        f" {document['tokens']:,} tokens",
        "Added": when(document["created_at"]),
        "Id": document["id"],
        "SHA-256": document["sha256"],
    }
    for title, fact in facts.items():
        if fact:
            tell(f"{title:<9}{fact}")
    problem = document.get("problem")
    if problem:
        remark(f"Not read: {problem['title']}. {problem.get('detail', '')}")
    for warning in document["warnings"]:
        remark(warning)


async def document_named(client: "httpx.AsyncClient", wanted: str, session: str | None) -> Item:
    found = [item async for item in pages(client, "/api/documents", session_id=session)]
    return chosen(found, wanted, "id", "label", "filename")


@docs.command("delete")
def delete_docs(
    names: Annotated[list[str], typer.Argument(metavar="NAME...", help="Their labels or ids.")],
    session: Session = None,
    yes: Yes = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Delete documents: gone from the next answer on."""
    run(deleted_docs(configured(data_dir), names, session, yes=yes, json=json))


async def deleted_docs(
    config: "Settings", names: Sequence[str], session: str | None, *, yes: bool, json: bool
) -> None:
    async with connect(config) as client:
        found = [await document_named(client, each, session) for each in names]
        labels = ", ".join(each["label"] for each in found)
        confirmed(f"Delete {labels} for good?", yes=yes)
        for each in found:
            await delete(client, f"/api/documents/{each['id']}")
            done(each["id"], f"Deleted {each['label']}.", json=json)


async def delete(client: "httpx.AsyncClient", path: str) -> None:
    response = await client.delete(path)
    if not response.is_success:
        taken(response)


def done(key: str, words: str, *, json: bool) -> None:
    if json:
        as_json({"id": key, "deleted": True})
    else:
        tell(words)


@sessions.command("list")
def list_sessions(
    containing: Annotated[
        str | None, typer.Argument(callback=name, metavar="TEXT", help="Only those in which this was said.")
    ] = None,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """List sessions, the most recently active first."""
    found = run(collected(configured(data_dir), "/api/sessions", q=containing))
    cells = [
        (
            each["session_id"],
            f"{each['documents']:,}",
            f"{each['turns']:,}",
            when(each["last_active_at"]),
            excerpt(each["title"] or ""),
        )
        for each in found
    ]
    titles = ("Session", "Documents", "Turns", "Last used", "First question")
    listed(found, titles, cells, json=json, nothing="No sessions yet.", flexible="First question")


SessionName = Annotated[str, typer.Argument(callback=session_id, help="The session.")]


@sessions.command("show")
def show_session(session: SessionName, json: Json = False, data_dir: DataDir = None) -> None:
    """Show what was asked and answered."""
    path = f"/api/sessions/{quote(session, safe='')}/turns"
    found = run(collected(configured(data_dir), path))
    if not found:
        raise Missing(f"nothing was said in {session}, unless with a user's key: then it is that key's alone")
    for turn in found:
        if json:
            as_json(turn)
        elif turn["role"] == "user":
            tell(f"> {turn['content']}\n")
        else:
            said(turn["content"])


def said(text: str) -> None:
    from app.cli.rendering import markdown  # noqa: PLC0415 - of this command alone
    from app.cli.terminal import screen  # noqa: PLC0415 - as above

    if is_styled():
        screen().print(markdown(text, {}))
        tell()
    else:
        tell(f"{text}\n")


@sessions.command("delete")
def delete_session(
    session: SessionName, yes: Yes = False, json: Json = False, data_dir: DataDir = None
) -> None:
    """Delete a session with its documents, turns and answers."""
    config = configured(data_dir)
    confirmed(f"Delete {session}, its documents, turns and answers for good?", yes=yes)
    run(removed(config, f"/api/sessions/{quote(session, safe='')}"))
    done(session, f"Deleted {session}.", json=json)


async def removed(config: "Settings", path: str) -> None:
    async with connect(config) as client:
        await delete(client, path)


@memories.command("list")
def list_memories(user: OwnUser, json: Json = False, data_dir: DataDir = None) -> None:
    """List a user's memories, newest first."""
    found = run(collected(configured(data_dir), "/memories", user_id=user))
    cells = [(each["id"], when(each["created_at"]), each["kind"], excerpt(each["text"])) for each in found]
    titles = ("Id", "Said", "Kind", "Text")
    listed(found, titles, cells, json=json, nothing=f"Nothing is kept for {user}.", flexible="Text")


@memories.command("add")
def add_memory(
    text: Annotated[
        list[str] | None, typer.Argument(help="The words; `-` is read from stdin.", metavar="TEXT")
    ] = None,
    *,
    user: OwnUser,
    kind: Annotated[
        str, typer.Option(help="note, or persona, style, preference: these are part of every prompt.")
    ] = "note",
    tag: Annotated[list[str] | None, typer.Option(help="A tag to rank it by; repeat it.")] = None,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Keep something that a user said."""
    body = {"user_id": user, "text": input_text(text), "kind": kind, "tags": tag or []}
    written = run(kept(configured(data_dir), body))
    if json:
        as_json(written)
    elif written["outcome"] == "created":
        tell(f"Kept as {written['memory']['id']}.")
    else:
        remark(
            "Already kept in the same words."
            if written["outcome"] == "repeated"
            else "Only an echo: not kept."
        )


async def kept(config: "Settings", body: Item) -> Item:
    async with connect(config) as client:
        return taken(await client.post("/memories", json=body))


@memories.command("delete")
def delete_memory(
    user: OwnUser,
    memory: Annotated[str, typer.Argument(metavar="ID", help="Its id, or the beginning of it.")],
    yes: Yes = False,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Delete a memory and its votes."""
    run(deleted_memory(configured(data_dir), user, memory, yes=yes, json=json))


async def deleted_memory(config: "Settings", user: str, wanted: str, *, yes: bool, json: bool) -> None:
    async with connect(config) as client:
        found = [item async for item in pages(client, "/memories", user_id=user)]
        memory = chosen(found, wanted, "id")
        confirmed(f"Delete {excerpt(memory['text'])!r} for good?", yes=yes)
        await delete(client, f"/memories/{memory['id']}")
        done(memory["id"], f"Deleted {memory['id']}.", json=json)
