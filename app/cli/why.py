"""`ibid why`: which passages an answer was made from, which were left out, and why, in words. `ibid open`:
the address of a cited source, in the browser.

Both read the recorded answer. The default is the newest answer of the folder.
"""

import webbrowser
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any
from urllib.parse import quote

import typer

from app.answer import address_of, cited_of, pages_of
from app.cli.ask import REASONS, addresses
from app.cli.client import Answered, connect, is_served, pages, taken
from app.cli.terminal import (
    DataDir,
    Json,
    as_json,
    configured,
    counted,
    is_styled,
    name,
    remark,
    run,
    safe,
    screen,
    tell,
    when,
)
from app.errors import Missing, Unavailable

if TYPE_CHECKING:
    import httpx

    from app.settings import Settings

SHOWN = 5
"""Passages that are listed of those that were left out for one reason."""
LOST = {
    "over_limit": "Found, but enough better ones were there (top_k, or three memories)",
    "over_budget": "Found, but no tokens were left for them",
    "duplicate": "The same text as a passage that the model read",
    "below_threshold": "Too little in common with the question",
    "skipped": "Not considered",
}
NOT_ASKED = {
    **REASONS,
    "greeting": "a greeting is not searched",
    "not_asked": "this kind of answer searches nothing",
    "cancelled": "it was stopped before the sources had answered",
}
FINISHED = {"length": "it was cut at the limit of the answer's length", "cancelled": "it was stopped"}
NO_MODEL = "extractive"
"""The name under which answers without a model are recorded."""


def why(
    answer_id: Annotated[
        str | None, typer.Argument(help="The answer's id.", show_default="the last answer")
    ] = None,
    every: Annotated[bool, typer.Option("--all", help="List every passage.")] = False,
    user: Annotated[
        str | None, typer.Option("--user", "-u", callback=name, help="The last answer of this user.")
    ] = None,
    json: Json = False,
    data_dir: DataDir = None,
) -> None:
    """Show which passages an answer was made from, which lost, and why."""
    run(shown(configured(data_dir), answer_id, user, every=every, json=json))


async def shown(
    config: "Settings", answer_id: str | None, user: str | None, *, every: bool, json: bool
) -> None:
    async with connect(config) as client:
        found = answer_id or await last_answer(client, user)
        if json:
            as_json(await trace(client, found))
        else:
            await explained(client, found, lasting=is_served(config), every=every)


async def last_answer(client: "httpx.AsyncClient", user: str | None = None) -> str:
    async for line in pages(client, "/answers", user_id=user):
        return str(line["answer_id"])
    raise Missing("there is no answer yet: ask something first (ibid ask)")


async def trace(client: "httpx.AsyncClient", answer_id: str) -> dict[str, Any]:
    return taken(await client.get(f"/answers/{quote(answer_id, safe='')}"))


async def explained(
    client: "httpx.AsyncClient", answer_id: str, *, lasting: bool, every: bool = False
) -> str:
    answer = await trace(client, answer_id)
    links = addresses(answer, str(client.base_url)) if lasting else {}
    for line in (*question(answer), "", *search(answer)):
        tell(line)
    by_label = {each["label"]: each for each in answer["citations"]}
    for title, found in groups(answer):
        tell(f"\n{title}: {len(found)}")
        most = len(found) if every or (title.startswith("Read") and len(found) <= 2 * SHOWN) else SHOWN
        for candidate in found[:most]:
            passage(candidate, by_label.get(candidate["label"]), answer["cited"], links)
        if len(found) > most:
            tell(f"  … and {len(found) - most:,} more (--all)")
    for line in remarks(answer):
        remark(line)
    return answer_id


def question(answer: Mapping[str, Any]) -> Iterator[str]:
    model = "without a model, by quotes" if answer["model"] == NO_MODEL else f"by {answer['model']}"
    yield f"Question  {answer['question']}"
    yield f"Answered  {when(answer['created_at'])} {model} ({answer['endpoint']}, {answer['answer_id']})"
    if answer["finish_reason"] in FINISHED:
        yield f"          {FINISHED[answer['finish_reason']]}"
    if answer["searched"] != answer["question"]:
        yield f"Searched  {answer['searched']}"


def search(answer: Mapping[str, Any]) -> Iterator[str]:
    rag, sources = answer["rag"], ", ".join(answer["sources"]) or "nothing"
    if not rag["used"]:
        yield f"The model read no passages: {NOT_ASKED.get(rag['reason'], rag['reason'])}."
        return
    cached = "; a moment ago, so from the cache" if rag["cached"] else ""
    yield (
        f"{counted(len(answer['candidates']), 'passage')} of {sources} found in {rag['took_ms']} ms{cached};"
        f" {rag['passages']:,} read, {rag['tokens']:,} of {rag['budget']:,} tokens."
    )


def groups(answer: Mapping[str, Any]) -> Iterator[tuple[str, list[dict[str, Any]]]]:
    found = answer["candidates"]
    cited = set(answer["cited"])
    packed = [each for each in found if each["verdict"] == "packed"]
    if packed:
        ordered = sorted(packed, key=lambda each: each["label"] not in cited)
        yield "Read by the model, best first (cited ones before)", ordered
    for verdict, words in LOST.items():
        if lost := [each for each in found if each["verdict"] == verdict]:
            yield words, lost


def passage(
    candidate: Mapping[str, Any],
    citation: Mapping[str, Any] | None,
    cited: Sequence[str],
    links: Mapping[str, str],
) -> None:
    """`  * [report.pdf#3] page 12 · similarity 0.57 · score 0.61 · Annual report`."""
    label, facts = candidate["label"], list(figures(candidate))
    star = "*" if label in cited else " "
    page, title = (pages_of(cited_of(citation)), citation["title"]) if citation else ("", "")
    rest = " · ".join(part for part in (page, *facts, title) if part)
    if not is_styled():
        tell(f"  {star} [{label}] {rest}")
        return
    from rich.text import Text  # noqa: PLC0415 - only a terminal needs it

    style = f"cyan link {links[label]}" if label in links else "cyan"
    line = Text(f"  {star} ", "bold").append(f"[{safe(label)}]", style).append(f" {safe(rest)}", "dim")
    screen().print(line, overflow="ellipsis", no_wrap=True)


def figures(candidate: Mapping[str, Any]) -> Iterator[str]:
    if candidate["similarity"] is None:
        yield "found by its words alone"
    else:
        yield f"similarity {candidate['similarity']:.2f}"
    yield f"score {candidate['score']:.2f}"
    for boost, factor in candidate["boosts"].items():
        if factor != 1:
            yield f"{boost} ×{factor:.2f}"


def remarks(answer: Mapping[str, Any]) -> Iterator[str]:
    if answer["appended"]:
        yield "The model cited nothing: the most similar passages were named at the end."
    if answer["unknown"]:
        yield f"Labels that the model invented were removed: {', '.join(answer['unknown'])}."
    support = Counter(span["support"] for span in answer["spans"])
    if weak := support["none"]:
        yield f"{counted(weak, 'citation')} not carried by the passage: read it before you rely on this."
    for lost in answer["degraded"]:
        yield f"Incomplete: {lost['source']} did not answer ({lost['reason']})."


def open_(
    target: Annotated[
        str | None,
        typer.Argument(
            metavar="LABEL|ANSWER",
            help="A label such as report.pdf#3, or an answer's id.",
            show_default="the first source of the last answer",
        ),
    ] = None,
    printed: Annotated[
        bool, typer.Option("--print", help="Print the address; of an answer those of all cited sources.")
    ] = False,
    data_dir: DataDir = None,
) -> None:
    """Open a cited source in the browser."""
    run(opened(configured(data_dir), (target or "").strip().strip("[]"), printed=printed))


async def opened(config: "Settings", target: str, *, printed: bool) -> None:
    served = is_served(config)
    if not printed and not served:
        raise Unavailable("no service is running that could show the source: start one (ibid serve)")
    async with connect(config) as client:
        found = await targets(client, target)
        base = str(client.base_url) if served else f"http://{config.ibid.host}:{config.ibid.port}"
    links = list(
        dict.fromkeys(link for each in found if (link := address_of(cited_of(each), base.rstrip("/"))))
    )
    if not links:
        raise Missing("this source has no address")
    if printed:
        for link in links if not target or "#" not in target else links[:1]:
            tell(link)
        if not served:
            remark("No service is running: the addresses work once it is (ibid serve).")
    elif not webbrowser.open(links[0]):
        tell(links[0])
        remark("There is no browser here: open the address yourself.")


async def targets(client: "httpx.AsyncClient", target: str) -> list[Mapping[str, Any]]:
    """Citations: the one with the label in the newest answer that has it, or the cited ones of an answer."""
    if "#" not in target:
        answer = await trace(client, target or await last_answer(client))
        cited = [each for each in answer["citations"] if each["label"] in answer["cited"]]
        if not cited:
            raise Missing("the answer cites nothing")
        return cited
    async for line in pages(client, "/answers"):
        if target in line["cited"]:
            answer = await trace(client, line["answer_id"])
            return [each for each in answer["citations"] if each["label"] == target]
    return [await of_document(client, target)]


async def of_document(client: "httpx.AsyncClient", label: str) -> Mapping[str, Any]:
    """As if a passage of a document that is stored were cited."""
    document, _, n = label.rpartition("#")
    async for each in pages(client, "/api/documents"):
        if each["label"] == document:
            try:
                chunk = taken(await client.get(f"/api/documents/{each['id']}/chunks/{quote(n, safe='')}"))
            except Answered:
                break
            return {"source": "documents", "id": f"{each['id']}:{n}", "page": chunk["page"], "url": None}
    raise Missing(f"no answer cites {label}, and no document has that passage")
