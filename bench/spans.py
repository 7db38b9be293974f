"""How much of the evidence is packed, and of what is packed how much is evidence? For long texts whose
questions name gold spans.

usage: python -m bench.spans FOLDER [CACHE] [--json]     (make eval DATA=FOLDER)
FOLDER has corpus.jsonl {id, text, title?} and queries_dev.jsonl {id, text, scope: a text's id, meta: {spans:
[[start, end, ...], ...]}}; offsets count characters, the end is not included. Texts go through the write side
of documents, questions through /api/chat with a budget of BUDGET tokens: what is measured is what a model
would see. A passage is looked for in its text, white space aside. Counted are o200k tokens of the text, each
where it begins: recall, precision and intersection over union, means with 95 % bootstrap intervals. Measured
twice: each text in a session of its own, and all of them global.
"""

import asyncio
import json
import sys
from bisect import bisect_left
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import httpx
from rich.console import Console
from rich.table import Table

from app.cli.eval import short
from app.evaluation.figures import interval
from app.evaluation.run import PlainParser, as_pdf, digest
from app.models.tokens import O200k
from app.text.vocabulary import o200k
from bench.memo import remembering
from bench.quality import upload

BUDGET = 2_000
"""o200k tokens of the context block."""
MEASURES = ("recall", "precision", "iou")
Row = Mapping[str, Any]
Tokens = frozenset[tuple[str, int]]
"""(text, n): the n-th token of a text."""


@dataclass(frozen=True)
class Text:
    """A text, and where its tokens and its words begin."""

    id: str
    title: str
    text: str

    @cached_property
    def starts(self) -> Sequence[int]:
        """Of each token, the offset of its first character."""
        encoding = o200k()
        return encoding.decode_with_offsets(encoding.encode_ordinary(self.text))[1]

    @cached_property
    def places(self) -> Sequence[int]:
        """Offsets of the characters that are no white space."""
        return [at for at, char in enumerate(self.text) if not char.isspace()]

    @cached_property
    def bare(self) -> str:
        """Without white space."""
        return "".join(self.text.split())

    def tokens(self, start: int, end: int) -> Tokens:
        """Those that begin within a span."""
        return frozenset(
            (self.id, n) for n in range(bisect_left(self.starts, start), bisect_left(self.starts, end))
        )

    def found(self, passage: str, share: float) -> Tokens:
        """A passage's tokens; of places that read the same, the one nearest to `share` of the way is it."""
        bare = "".join(passage.split())
        expected, best = round(share * len(self.bare)), -1
        for near in (self.bare.rfind(bare, 0, expected + len(bare)), self.bare.find(bare, expected)):
            if near >= 0 and (best < 0 or abs(near - expected) < abs(best - expected)):
                best = near
        if best < 0 or not bare:
            raise SystemExit(f"{self.id}: a passage does not stand in its text")
        return self.tokens(self.places[best], self.places[best + len(bare) - 1] + 1)


def spanned(folder: Path) -> bool:
    """True if a folder's questions name spans."""
    return any(spans(row) for row in rows(folder / "queries_dev.jsonl"))


def rows(path: Path) -> list[Row]:
    """A file's lines."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]


def spans(row: Row) -> Sequence[Sequence[Any]]:
    """A question's."""
    return (row.get("meta") or {}).get("spans") or ()


def scores(packed: Tokens, gold: Tokens) -> dict[str, float]:
    """{measure: figure} of one question; nothing packed: 0."""
    both = len(packed & gold)
    return {
        "recall": both / max(1, len(gold)),
        "precision": both / max(1, len(packed)),
        "iou": both / max(1, len(packed | gold)),
    }


class Run:
    """All questions of a folder, put to one service."""

    def __init__(self, client: httpx.AsyncClient, texts: Iterable[Text], *, shared: bool) -> None:
        self.client = client
        self.texts = {text.id: text for text in texts}
        self.shared = shared
        self.documents: dict[str, tuple[str, Text, int]] = {}
        """By the name of its labels: a document's id, its text, how many chunks it has."""
        self.passages: dict[str, Tokens] = {}
        """By label: what was looked up already."""

    def session(self, text: str) -> str:
        """Where a text is asked for."""
        return "everything" if self.shared else digest(text)

    async def put(self, text: Text) -> None:
        """Upload a text."""
        name, form = f"{digest(text.id)[:8]}.pdf", {"session_id": self.session(text.id)}
        made = await upload(
            self.client, name, as_pdf(text.title, text.text), {"scope": "global"} if self.shared else form
        )
        found = await self.client.get(f"/api/documents/{made}", params=form)
        self.documents[name] = (made, text, found.raise_for_status().json()["chunks"])

    async def ask(self, row: Row) -> dict[str, float]:
        """A question's figures, and the tokens that were packed."""
        session = self.session(row["scope"])
        body = {"message": row["text"], "session_id": session, "stream": False, "history": []}
        reply = (await self.client.post("/api/chat", json=body)).raise_for_status().json()
        packed = frozenset[tuple[str, int]]().union(
            *[await self.passage(each["label"], session) for each in reply["citations"]]
        )
        text = self.texts[row["scope"]]
        gold = frozenset[tuple[str, int]]().union(*(text.tokens(each[0], each[1]) for each in spans(row)))
        return scores(packed, gold) | {"tokens": len(packed)}

    async def passage(self, label: str, session: str) -> Tokens:
        """Place of a packed passage."""
        if label not in self.passages:
            name, _, ordinal = label.rpartition("#")
            document, text, chunks = self.documents[name]
            where = f"/api/documents/{document}/chunks/{ordinal}"
            told = (await self.client.get(where, params={"session_id": session})).raise_for_status().json()
            self.passages[label] = text.found(told["text"], (int(ordinal) - 1) / chunks)
        return self.passages[label]


async def measure(folder: Path, cache: Path | None, *, shared: bool) -> dict[str, Any]:
    """Means over the questions that name spans, and each question's figures."""
    texts = [Text(row["id"], row.get("title", ""), row["text"]) for row in rows(folder / "corpus.jsonl")]
    asked = [row for row in rows(folder / "queries_dev.jsonl") if spans(row)]
    async with remembering(cache, parser=PlainParser(O200k().count), token_budget=BUDGET) as client:
        run = Run(client, texts, shared=shared)
        for text in texts:
            await run.put(text)
        found = {row["id"]: await run.ask(row) for row in asked}
    return told(folder.name, "global" if shared else "own session", found)


def told(name: str, texts: str, found: Mapping[str, Mapping[str, float]]) -> dict[str, Any]:
    """The figures of a run."""
    columns = {measure: [each[measure] for each in found.values()] for measure in (*MEASURES, "tokens")}
    return {
        "set": name,
        "texts": texts,
        "queries": len(found),
        "budget": BUDGET,
        "metrics": {measure: round(sum(each) / max(1, len(each)), 4) for measure, each in columns.items()},
        "intervals": {measure: [round(end, 4) for end in interval(columns[measure])] for measure in MEASURES},
        "rows": {
            name: {measure: round(value, 4) for measure, value in each.items()}
            for name, each in found.items()
        },
    }


def table(results: Sequence[Mapping[str, Any]]) -> Table:
    """A line a run."""
    head = f"{results[0]['set']} (dev), {results[0]['queries']} questions, packed into {BUDGET:,} tokens"
    shown = Table(box=None, title=head, title_justify="left", pad_edge=False)
    shown.add_column("texts", no_wrap=True)
    for name in (*MEASURES, "tokens"):
        shown.add_column(name, justify="right", no_wrap=True)
    for each in results:
        figures = [figure(each["metrics"][name], each["intervals"][name]) for name in MEASURES]
        shown.add_row(each["texts"], *figures, f"{each['metrics']['tokens']:,.0f}")
    return shown


def figure(mean: float, ends: Sequence[float]) -> str:
    """`.461 [.431 .490]`."""
    return f"{short(mean, 3)} [{' '.join(short(end, 3) for end in ends)}]"


def main() -> None:
    """Print a table, or one JSON line a measurement."""
    places = [Path(each).resolve() for each in sys.argv[1:] if not each.startswith("--")]
    if len(places) not in (1, 2) or not spanned(places[0]):
        raise SystemExit(__doc__)
    cache = places[1] if len(places) > 1 else None
    results = [asyncio.run(measure(places[0], cache, shared=shared)) for shared in (False, True)]
    if "--json" in sys.argv:
        for each in results:
            print(json.dumps(each))
    else:
        Console().print(table(results))


if __name__ == "__main__":
    main()
