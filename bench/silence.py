"""Do related messages get context, and unrelated ones none? Asks each with all PDFs of a folder in reach.

usage: python -m bench.silence [--cache CACHE] FOLDER MESSAGES.jsonl...
PDFs are read from FOLDER and its subfolders into a temporary service, through HTTP. A row of a *.jsonl has
`text` or `question`, and optionally `kind`. For each file and kind: messages, the share with context and its
interval (Wilson's, 95 %), and how many passages were packed (median, 90th percentile). Vectors are kept in
the folder CACHE for the next run, where `ibid eval` keeps them if left out.
"""

import argparse
import asyncio
import json
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

import httpx
import numpy as np

from bench.memo import remembering
from bench.quality import interval, upload

Packed = dict[tuple[str, str], list[int]]
"""By file and kind: packed passages of each message."""


def messages(path: Path) -> list[tuple[str, str]]:
    """(kind, text) of each row."""
    rows = [json.loads(line) for line in path.read_text().splitlines() if line.strip()]
    return [(row.get("kind", "question"), row.get("text") or row["question"]) for row in rows]


async def packed(client: httpx.AsyncClient, message: str) -> int:
    """How many passages an answer was given."""
    body = {"message": message, "session_id": "silence", "stream": False, "history": []}
    reply = (await client.post("/api/chat", json=body)).raise_for_status().json()
    return len(reply["citations"])


async def measure(pdfs: Sequence[Path], files: Sequence[Path], cache: Path | None) -> Packed:
    found: Packed = defaultdict(list)
    async with remembering(cache) as client:
        for path in pdfs:
            await upload(client, path.name, path.read_bytes(), {"scope": "global"})
        for file in files:
            for kind, text in messages(file):
                found[file.name, kind].append(await packed(client, text))
    return found


def told(file: str, kind: str, counts: Sequence[int]) -> dict[str, object]:
    """The figures of a file and kind."""
    related = sum(count > 0 for count in counts)
    median, most = np.percentile(counts, (50, 90))
    return {
        "file": file,
        "kind": kind,
        "messages": len(counts),
        "with_context": round(related / len(counts), 3),
        "interval": [round(each, 3) for each in interval(related, len(counts))],
        "packed": [int(median), int(most)],
    }


def main() -> None:
    """Print one JSON line a file and kind."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.silence", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("files", nargs="+", type=Path, metavar="MESSAGES.jsonl")
    parser.add_argument("--cache", type=Path, help="where vectors are kept")
    given = parser.parse_args()
    pdfs = sorted(given.folder.rglob("*.pdf"))
    found = asyncio.run(measure(pdfs, given.files, given.cache))
    for (file, kind), counts in found.items():
        print(json.dumps(told(file, kind, counts)), flush=True)


if __name__ == "__main__":
    main()
