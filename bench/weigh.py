"""How long a message is weighed, by kind and length: p50, p99 and the longest, of this process's own time.

usage: python -m bench.weigh [--json] [--texts N] [FOLDER...]
The collector is set as the service sets it at its start (`app.cli.serve.settle`): what is loaded is frozen,
and the youngest generation is collected after 50,000 allocations. Texts are strung together from the own sets
of prompts, the own documents (ordinary prose), and, where given, the prompts of other folders' *.jsonl; each
is weighed once, after a warm-up with others. Milliseconds, and turns of an empty loop run beside each: these
hardly depend on the machine, or on who else is at it.
"""

import argparse
import json
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from app.cli.serve import settle
from app.vantage import distress
from app.vantage.weigh import weigh
from bench.figures import percentile
from bench.policy import rows, text

ROOT = Path(__file__).parents[1]
SETS = ROOT / "tests" / "vantage" / "sets"
LENGTHS = (2_000, 32_000)
"""Characters: a long message, and the longest there may be."""
WARM = 20
"""Texts weighed before the clock counts."""
TURNS = 5_000
HOSTILE = (
    "kill ",
    "k i l l  h i m ",
    "kiiill ",
    "k1ll p01son ",
    "a.",
    "not ",
    "[(",
    "\U000e1000",
    "w\u0301 ",
    "'a",
    "\n",
    ";",
)
"""Repeated to the length; the laws (tests/vantage/test_laws.py) hold three times as many."""


def prose() -> list[str]:
    """Paragraphs of the own documents."""
    files = sorted((ROOT / "docs" / "adr").glob("*.md"))
    parts = [part for file in files for part in file.read_text(encoding="utf-8").split("\n\n")]
    return [" ".join(part.split()) for part in parts if part[:1].isalpha()]


def strung(pool: Sequence[str], length: int, count: int) -> list[str]:
    """As many texts of a length; the same at each run."""
    dice = random.Random(length)
    found = []
    for _ in range(count):
        parts = [dice.choice(pool)]
        while sum(map(len, parts)) + len(parts) < length:
            parts.append(dice.choice(pool))
        found.append(" ".join(parts)[:length])
    return found


def texts(folders: Sequence[Path], count: int) -> Iterator[tuple[str, list[str]]]:
    """By kind and length."""
    own = [text(row) for row in rows([SETS]) if text(row)]
    pools = {"prompts": own, "prose": prose(), "given": [text(row) for row in rows(folders) if text(row)]}
    yield "questions", [said for said in own if "?" in said and len(said) < 120][:count]
    for length in LENGTHS:
        many = max(4, count * LENGTHS[0] // length)
        for kind, pool in pools.items():
            if pool:
                yield f"{kind}, {length}", strung(pool, length, many)
        yield f"hostile, {length}", [(part * length)[:length] for part in HOSTILE]


def turn() -> float:
    """Nanoseconds of a turn of an empty loop, now."""
    began, count = time.process_time_ns(), 0
    for number in range(TURNS):
        count += number & 3
    return max(1, time.process_time_ns() - began) / TURNS


def timed(messages: Sequence[str]) -> Mapping[str, Any]:
    """Milliseconds and turns of each, once."""
    took: list[float] = []
    turned: list[float] = []
    for message in messages:
        before = turn()
        began = time.process_time_ns()
        weigh(message)
        spent = time.process_time_ns() - began
        took.append(spent / 1e6)
        turned.append(spent / min(before, turn()))
    shares = {"p50": 0.5, "p99": 0.99, "longest": 1.0}
    return {
        "texts": len(took),
        **{f"{name}_ms": round(percentile(took, share), 2) for name, share in shares.items()},
        **{f"{name}_turns": round(percentile(turned, share)) for name, share in shares.items()},
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.weigh", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folders", nargs="*", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--texts", type=int, default=200, help="texts of 2,000 characters; fewer longer ones")
    asked = parser.parse_args()
    distress.warm()
    for message in strung(prose(), LENGTHS[0], WARM):
        weigh(message)
    settle()
    found = {name: timed(messages) for name, messages in texts(asked.folders, asked.texts)}
    if asked.json:
        print(json.dumps(found))
    for name, told in () if asked.json else found.items():
        print(f"{name:16}", "  ".join(f"{key} {value}" for key, value in told.items()))


if __name__ == "__main__":
    main()
