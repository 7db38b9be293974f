"""Do the quotes of a service without a chat model contain the answer? Asks a running service.

usage: python -m bench.quotes URL QUESTIONS.jsonl [--source corpus]
A row has `question` (or `text`), `answers` (or `meta.answer`), optionally `kind`, and optionally `file` and
`also`: the names of the files that the quote may come from. An answer counts if it is in a quote, white space
and case apart, and all quotes together have at most 60 words. One JSON line a kind: questions, `quoted` (in
any quote), `first` (in the first), and median milliseconds. Nothing is uploaded: put the texts in first.
"""

import argparse
import asyncio
import json
import re
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import httpx

MOST_WORDS = 60
QUOTE = re.compile(r"“(.*?)” \[([^\]]+)\]", re.DOTALL)
PATIENCE_SECONDS = 60.0

Outcome = tuple[bool, bool, float]
"""Quoted, quoted first, milliseconds."""


def plain(text: str) -> str:
    return " ".join(text.replace("’", "'").split()).casefold()


def judged(row: Mapping[str, Any], answer: str) -> tuple[bool, bool]:
    """(any quote has the answer, the first quote has it)."""
    wanted = [plain(each) for each in row.get("answers") or [row["meta"]["answer"]]]
    files = {row["file"], *row.get("also", [])} if "file" in row else None
    quotes = QUOTE.findall(answer)
    right = [
        any(each in plain(text) for each in wanted) and (files is None or label.rpartition("#")[0] in files)
        for text, label in quotes
    ]
    short = sum(len(text.split()) for text, _ in quotes) <= MOST_WORDS
    return any(right) and short, bool(right and right[0])


async def asked(client: httpx.AsyncClient, row: Mapping[str, Any], source: str) -> Outcome:
    body = {
        "message": row.get("question") or row["text"],
        "stream": False,
        "history": [],
        "sources": [source],
    }
    started = perf_counter()
    reply = (await client.post("/api/chat", json=body)).raise_for_status().json()
    return *judged(row, reply["answer"]), 1_000 * (perf_counter() - started)


async def main() -> None:
    """Print one JSON line a kind, and one for all."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.quotes", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("url", metavar="URL")
    parser.add_argument("questions", type=Path, metavar="QUESTIONS.jsonl")
    parser.add_argument("--source", default="documents")
    given = parser.parse_args()
    found: defaultdict[str, list[Outcome]] = defaultdict(list)
    async with httpx.AsyncClient(base_url=given.url, timeout=PATIENCE_SECONDS, trust_env=False) as client:
        for line in given.questions.read_text().splitlines():
            row = json.loads(line)
            outcome = await asked(client, row, given.source)
            for kind in ("all", row.get("kind", "question")):
                found[kind].append(outcome)
    for kind, outcomes in sorted(found.items()):
        quoted, first, took = zip(*outcomes, strict=True)
        figures = {"quoted": sum(quoted), "first": sum(first), "ms": round(median(took))}
        print(json.dumps({"kind": kind, "questions": len(outcomes), **figures}), flush=True)


if __name__ == "__main__":
    asyncio.run(main())
