"""Does /vantage/query ask back where rival sources answer differently, and only there? Through the service.

usage: python -m bench.rivals [--json] [--missed] FILE... A row of a *.jsonl: `label` (rivals: it should ask
back; single: it should not), `prompt`, and what the asker has: `corpus` [{collection, title?, text}],
`memories` [{text, created_at?}]; optional `type`, `thread` (texts, the asker's first, by turns), `limits`,
`routing` (as in the body of /vantage/query), and `names`, of which the question back should hold some. Each
row is asked by a user of its own; its collections are gone before the next one. Embedded stores, the bundled
models, no chat model.
"""

import argparse
import asyncio
import json
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import httpx

from bench.quality import interval
from bench.service import service

Row = Mapping[str, Any]
LABELS = ("rivals", "single")
TURNS = 4
"""Of a thread that a row has: the mix shows so many."""
SETTINGS = {"ENABLE_VANTAGE_ENDPOINTS": "1", "VANTAGE_PERSONAL_MEMORY": "1", "VANTAGE_DEBUG": "1"}


def rows(files: Sequence[Path]) -> list[Row]:
    """The labelled lines of the files."""
    told = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    return [row for row in told if row.get("label") in LABELS]


async def asked(client: httpx.AsyncClient, row: Row, user: str) -> dict[str, Any]:
    """The reply to a row, whose texts are there for that long."""
    collections = sorted({text["collection"] for text in row.get("corpus", ())})
    for name in collections:
        texts = [text for text in row["corpus"] if text["collection"] == name]
        items = [{"text": text["text"], "title": text.get("title", "")} for text in texts]
        (await client.post(f"/corpus/{name}", json={"texts": items})).raise_for_status()
    if memories := [{"user_id": user, **memory} for memory in row.get("memories", ())]:
        (await client.post("/memories", json=memories)).raise_for_status()
    who = {"user_id": user, "thread_id": user, **{name: row.get(name, {}) for name in ("limits", "routing")}}
    for turn in row.get("thread", ())[::2]:
        (await client.post("/vantage/query", json={**who, "message": turn})).raise_for_status()
    mix = {"mix": {"conversation": TURNS}} if row.get("thread") else {}
    reply = await client.post("/vantage/query", json={**who, **mix, "message": row["prompt"]})
    for name in collections:
        (await client.delete(f"/corpus/{name}")).raise_for_status()
    return dict(reply.raise_for_status().json())


async def replies(told: Sequence[Row]) -> list[dict[str, Any]]:
    """Of every row, by a fresh service."""
    async with service(**SETTINGS) as client:
        return [await asked(client, row, f"asker-{n}") for n, row in enumerate(told)]


def figures(told: Sequence[Row], found: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Precision and recall of asking back, with Wilson's intervals in percent; counts by type."""
    types: dict[str, Counter[str]] = defaultdict(Counter)
    asks = [reply["response_class"] == "CLARIFY" for reply in found]
    for row, back in zip(told, asks, strict=True):
        types[f"{row['label']} {row.get('type', '')}".strip()]["asked back" if back else "answered"] += 1
    right = sum(back for row, back in zip(told, asks, strict=True) if row["label"] == "rivals")
    wanted = [
        any(name.casefold() in reply["answer"].casefold() for name in row["names"])
        for row, reply, back in zip(told, found, asks, strict=True)
        if back and row["label"] == "rivals" and row.get("names")
    ]
    return {
        "precision": share(right, sum(asks)),
        "recall": share(right, sum(row["label"] == "rivals" for row in told)),
        "names one of them": share(sum(wanted), len(wanted)),
        "by_type": {name: dict(counts) for name, counts in sorted(types.items())},
    }


def share(hits: int, total: int) -> dict[str, Any]:
    """{n, of, percent, wilson95}."""
    low, high = interval(hits, total)
    percent = round(100 * hits / total, 1) if total else 0.0
    return {
        "n": hits,
        "of": total,
        "percent": percent,
        "wilson95": [round(100 * low, 1), round(100 * high, 1)],
    }


async def measure(told: Sequence[Row]) -> dict[str, Any]:
    """All figures."""
    return figures(told, await replies(told))


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.rivals", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--missed", action="store_true", help="also each row that came out otherwise")
    given = parser.parse_args()
    told = rows(given.files)
    found = asyncio.run(replies(told))
    counted = figures(told, found)
    if given.json:
        print(json.dumps(counted))
        return
    for name, value in counted.items():
        print(f"{name}: {value}")
    for row, reply in zip(told, found, strict=True) if given.missed else ():
        if (reply["response_class"] == "CLARIFY") != (row["label"] == "rivals"):
            print(json.dumps([row.get("id"), row["prompt"], reply["decision"]["rules"], reply["answer"]]))


if __name__ == "__main__":
    main()
