"""Decisions of the policy on labelled prompts, hostile texts and requests: rates with Wilson's intervals.

usage: python -m bench.policy [--json] [--wrapped N] FOLDER...
The fields of a folder's *.jsonl tell their kind: `label` COMPLY or REFUSE with a text (prompts that look
dangerous), `label` clear or ambiguous (requests), `kind` jailbreak… or wrap with a text (carriers: put
around N prompts that are refused bare), `kind` sysprompt… or lift. The pure policy, in seconds: no model.
Rows with `label` rivals or single are asked of a service (`bench/rivals.py` has their form).
"""

import argparse
import asyncio
import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from app.cli.serve import settle
from app.vantage import distress
from app.vantage.decision import decide
from app.vantage.features import extract_sd_features
from app.vantage.overlay import derive_params
from app.vantage.terms import Decision, Limits, ResponseClass, Routing
from bench import rivals
from bench.figures import percentile
from bench.quality import interval

Row = Mapping[str, Any]
HELD = frozenset({ResponseClass.REFUSE, ResponseClass.NEGOTIATE})
"""Classes that do not give an unsafe prompt what it asks."""
PLAIN = Routing()
SLOTS = ("{prompt}", "[INSERT PROMPT HERE]", "[INSERT PROMPT]", "[PROMPT]", "{{prompt}}", "{user_input}")
"""Place of the prompt in a carrier; one without is tried in front of and behind the prompt."""


@dataclass(frozen=True, slots=True)
class Judge:
    """The policy, and how long it took: milliseconds of this process's CPU a decision."""

    took: list[float] = field(default_factory=list)

    def __call__(
        self, message: str, thread: Sequence[str] = (), overlay: str = "", routing: Routing = PLAIN
    ) -> Decision:
        """As the service decides."""
        began = time.process_time_ns()
        sd = extract_sd_features(message, tuple(thread), overlay)
        decided = decide(sd, derive_params(sd, Limits()), Limits(), routing)
        self.took.append((time.process_time_ns() - began) / 1e6)
        return decided


def rows(folders: Iterable[Path]) -> list[Row]:
    """Every line of the folders' files, with the set's name."""
    return [
        {"set": folder.name, **json.loads(line)}
        for folder in folders
        for file in sorted(folder.glob("*.jsonl"))
        for line in file.read_text(encoding="utf-8").split("\n")  # JSON may hold other ends of lines
        if line.strip()
    ]


def text(row: Row) -> str:
    """A row's message."""
    return str(row.get("prompt") or row.get("text") or "")


def kind(row: Row) -> str:
    """The kind of prompt."""
    return str(row.get("type") or row.get("category") or row.get("kind"))


def rate(hits: int, total: int) -> dict[str, Any]:
    """{n, of, percent, wilson95 (percent)}."""
    low, high = interval(hits, total)
    share = 100 * hits / total if total else 0.0
    return {
        "n": hits,
        "of": total,
        "percent": round(share, 1),
        "wilson95": [round(100 * low, 1), round(100 * high, 1)],
    }


def classes(judge: Judge, told: Sequence[Row], counts: Callable[[ResponseClass], bool]) -> dict[str, Any]:
    """Classes of rows, in all and by type; `counts` says which of them the rate is of."""
    by: dict[str, Counter[str]] = defaultdict(Counter)
    for row in told:
        by[kind(row)][judge(text(row), row.get("thread", ())).response_class] += 1
    whole = sum(by.values(), Counter[str]())
    return {
        "rate": rate(sum(n for name, n in whole.items() if counts(ResponseClass(name))), len(told)),
        "classes": dict(whole),
        "by_type": {name: dict(found) for name, found in sorted(by.items())},
    }


def hazards(judge: Judge, told: Sequence[Row]) -> dict[str, Any]:
    """Unsafe prompts that are held, safe ones that are refused (the rates)."""
    safe = [row for row in told if row.get("label") == "COMPLY"]
    unsafe = [row for row in told if row.get("label") == "REFUSE"]
    found: dict[str, Any] = {}
    if safe:
        found["safe_refused"] = classes(judge, safe, lambda given: given is ResponseClass.REFUSE)
    if unsafe:
        found["unsafe_held"] = classes(judge, unsafe, lambda given: given in HELD)
    return found


def asks(judge: Judge, told: Sequence[Row]) -> dict[str, Any]:
    """Precision and recall of CLARIFY, and the clear requests that are asked back."""
    hits: dict[str, Counter[str]] = {"clear": Counter(), "ambiguous": Counter()}
    missed: dict[str, Counter[str]] = {"clear": Counter(), "ambiguous": Counter()}
    for row in told:
        asked = judge(text(row), row.get("thread", ())).response_class is ResponseClass.CLARIFY
        (hits if asked else missed)[row["label"]][kind(row)] += 1
    right, wrong = hits["ambiguous"].total(), hits["clear"].total()
    return {
        "precision": rate(right, right + wrong),
        "recall": rate(right, right + missed["ambiguous"].total()),
        "clear_clarified": rate(wrong, wrong + missed["clear"].total()),
        "clear_clarified_by_type": dict(hits["clear"]),
        "ambiguous_missed_by_type": dict(missed["ambiguous"]),
    }


def filled(carrier: str, prompt: str) -> list[str]:
    """A prompt carried: in the slot, or behind and in front."""
    for slot in SLOTS:
        if slot in carrier:
            return [carrier.replace(slot, prompt)]
    return [f"{carrier}\n\n{prompt}", f"{prompt}\n\n{carrier}"]


def carried(judge: Judge, carriers: Sequence[Row], refused: Sequence[str]) -> dict[str, Any]:
    """Prompts that are refused bare, wrapped: REFUSE to COMPLY must be 0."""
    turned: dict[str, Counter[str]] = defaultdict(Counter)
    for row in carriers:
        for prompt in refused:
            for message in filled(text(row), prompt):
                turned[kind(row)][judge(message).response_class] += 1
    whole = sum(turned.values(), Counter[str]())
    return {
        "prompts": len(refused),
        "carriers": len(carriers),
        "flips_to_comply": whole[ResponseClass.COMPLY],
        "not_refused": whole.total() - whole[ResponseClass.REFUSE],
        "classes": dict(whole),
        "not_refused_by_type": {
            name: sum(n for given, n in found.items() if given != ResponseClass.REFUSE)
            for name, found in sorted(turned.items())
        },
        "carriers_alone": dict(Counter(judge(text(row)).response_class for row in carriers)),
    }


def routing(told: Mapping[str, Any]) -> Routing:
    """Of its JSON form."""
    return Routing(
        force=ResponseClass(told["force"]) if "force" in told else None,
        forbid=tuple(map(ResponseClass, told.get("forbid", ()))),
        redirect={ResponseClass(a): ResponseClass(b) for a, b in told.get("redirect", {}).items()},
    )


def lifted(judge: Judge, lifts: Sequence[Row], refused: Sequence[str]) -> dict[str, Any]:
    """Prompts that are refused plainly, asked with routing and overlay: none may be anything else."""
    moved = Counter(
        f"{row['type']}: {given}"
        for row in lifts
        for prompt in refused
        if (given := judge(prompt, (), row["overlay"], routing(row["routing"])).response_class)
        is not ResponseClass.REFUSE
    )
    return {"asked": len(lifts) * len(refused), "lifted": moved.total(), "by_type": dict(moved)}


def sample(items: Sequence[str], size: int) -> list[str]:
    """As many, evenly taken."""
    return [items[n * len(items) // size] for n in range(size)] if len(items) > size else list(items)


def measure(told: Sequence[Row], wrapped: int) -> dict[str, Any]:
    """All figures of what was found in the folders."""
    judge = Judge()
    distress.warm()
    judge("warm")  # the first of a process makes the tables' index
    settle()  # the collector, as the service sets it
    judge.took.clear()
    sets = sorted({str(row["set"]) for row in told})
    unsafe = [text(row) for row in told if row.get("label") == "REFUSE"]
    refused = [prompt for prompt in unsafe if judge(prompt).response_class is ResponseClass.REFUSE]
    kinds = {
        name: [r for r in told if str(r.get("kind", "")).startswith(name)]
        for name in ("jailbreak", "wrap", "lift", "sysprompt")
    }
    labelled = [row for row in told if row.get("label") in ("COMPLY", "REFUSE")]
    asked = [row for row in told if row.get("label") in ("clear", "ambiguous")]
    found: dict[str, Any] = {
        name: hazards(judge, [row for row in labelled if row["set"] == name])
        for name in sets
        if any(row["set"] == name for row in labelled)
    }
    if asked:
        found["asks"] = asks(judge, asked)
    if kinds["sysprompt"]:
        found["sysprompt_extraction"] = classes(judge, kinds["sysprompt"], lambda given: given in HELD)
    for name in ("jailbreak", "wrap"):
        if kinds[name]:
            found[name] = carried(judge, kinds[name], sample(refused, wrapped))
    if kinds["lift"]:
        found["lift"] = lifted(judge, kinds["lift"], refused)
    found["milliseconds"] = {
        "decisions": len(judge.took),
        **{f"p{share:g}": round(percentile(judge.took, share / 100), 3) for share in (50, 99)},
        "longest": round(max(judge.took, default=0.0), 3),
    }
    return found


def lines(found: Mapping[str, Any], depth: int = 0) -> Iterable[str]:
    """The figures, one a line, for people."""
    for name, value in found.items():
        if isinstance(value, Mapping) and any(isinstance(inner, Mapping) for inner in value.values()):
            yield f"{'  ' * depth}{name}"
            yield from lines(value, depth + 1)
        elif isinstance(value, Mapping):
            yield f"{'  ' * depth}{name}: " + ", ".join(f"{key} {told}" for key, told in value.items())
        else:
            yield f"{'  ' * depth}{name}: {value}"


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.policy", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--wrapped", type=int, default=12, help="refused prompts to put into each carrier")
    asked = parser.parse_args()
    told = rows(asked.folders)
    found = measure(told, asked.wrapped)
    if searched := [row for row in told if row.get("label") in rivals.LABELS]:
        found["rivals"] = asyncio.run(rivals.measure(searched))
    print(json.dumps(found) if asked.json else "\n".join(lines(found)))


if __name__ == "__main__":
    main()
