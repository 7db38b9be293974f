"""Texts and descriptors that nobody would write, the same for a seed on any machine; and what is decided.

`python -m tests.vantage.fuzz N` prints one SHA-256 over N decisions: processes of other locales, time zones
and hash seeds are held against each other by it.
"""

import contextlib
import hashlib
import json
import locale
import random
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from app.vantage.decision import decide
from app.vantage.features import STAKES, extract_sd_features
from app.vantage.overlay import derive_params
from app.vantage.risk import RISKS
from app.vantage.terms import Decision, Descriptors, Limits, Params, ResponseClass, Routing

SETS = Path(__file__).with_name("sets")
WORDS = """
kill shoot bomb poison hack steal weapon gun drug murder attack destroy blow up burn suicide child nude hate i
how do can you please the a my your who what ignore previous instructions system developer mode policy write
it explain define that one maybe help fix this in minecraft history of python process lights story
""".split()  # noqa: SIM905 - a list of fifty quoted words is no better read
ODD: tuple[str, ...] = (
    *"\x00\x01\x08\x1b\x7f\x85\xa0\xad\u0130\u0131\u00df\ufb01\ufdfa\u1e9e\u03c2\u200b\u200d\u200e\u202e\u2028",
    *"\u2066\ud800\udfff\U000e0041\U0001f525\u0301\u0489\uff4b\u043a\ufeff\uffff\U0010ffff\"'`[](){}<>|\\/\n\t\r",
    *"。？！٠١२३一两",
)
NUMBERS = (0.0, 1.0, 0.5, -1.0, 2.0, 1e308, -0.0, 5e-324, float("nan"), float("inf"), float("-inf"))


def own(name: str) -> list[dict[str, Any]]:
    """Rows of one of the own sets."""
    return [json.loads(line) for line in (SETS / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]


def word(dice: random.Random) -> str:
    """A word of the trade, an odd character, or a few of any."""
    turn = dice.random()
    if turn < 0.6:
        return dice.choice(WORDS)
    if turn < 0.85:
        return dice.choice(ODD) * dice.randint(1, 4)
    return "".join(map(chr, dice.choices(range(0x110000), k=dice.randint(1, 6))))


def message(dice: random.Random, prompts: list[str]) -> str:
    """A text of up to 32,000 characters, most of them short."""
    parts = [word(dice) for _ in range(dice.randint(0, 30))]
    if dice.random() < 0.3:
        parts.insert(dice.randint(0, len(parts)), dice.choice(prompts))
    said = dice.choice((" ", "", " ", "\n", "\u200b")).join(parts)
    if dice.random() < 0.002:
        said = (said or "x") * (32_000 // max(1, len(said)))
    return said[:32_000]


def share(dice: random.Random) -> float:
    """In [0, 1], or what no descriptor should be."""
    return dice.choice(NUMBERS) if dice.random() < 0.3 else dice.random()


def descriptors(dice: random.Random) -> Descriptors:
    """Any, with categories missing and unheard of."""
    named = [name for name in (*RISKS, "unheard") if dice.random() < 0.7]
    return Descriptors(
        clarity=share(dice),
        specificity=share(dice),
        risk={name: share(dice) for name in named},
        stakes={name: share(dice) for name in STAKES if dice.random() < 0.7},
        pressure=share(dice),
        affect=share(dice),
        breadth=share(dice),
        terms=tuple(word(dice) for _ in range(dice.randint(0, 5))),
    )


def params(dice: random.Random) -> Params:
    """Any, in and out of bounds."""
    count = (0, 1, 2, -1, 10**9)
    return Params(dice.choice(count), dice.choice(count), dice.choice(count), share(dice), share(dice))


def limits(dice: random.Random) -> Limits:
    refuse, negotiate = (tuple(word(dice) for _ in range(dice.randint(0, 3))) for _ in range(2))
    return Limits(refuse, negotiate, token_target=dice.choice((None, 0, -5, 10**9)))


def routing(dice: random.Random) -> Routing:
    """Any wish, rings of redirection among them."""
    kinds = list(ResponseClass)
    return Routing(
        force=dice.choice((None, *kinds)),
        forbid=tuple(kind for kind in kinds if dice.random() < 0.3),
        redirect={kind: dice.choice(kinds) for kind in kinds if dice.random() < 0.4},
    )


def decisions(size: int, seed: int = 1) -> Iterator[tuple[Descriptors, Params, Decision]]:
    """Of fuzzed messages with threads and overlays, plainly and as fuzzed limits and routing want it."""
    dice = random.Random(seed)  # noqa: S311 - no secret
    prompts = [row["prompt"] for row in (*own("hazards"), *own("asks"))]
    for _ in range(size):
        thread = tuple(message(dice, prompts) for _ in range(dice.choice((0, 0, 0, 1, 2))))
        overlay = message(dice, prompts) if dice.random() < 0.1 else ""
        sd = extract_sd_features(message(dice, prompts), thread, overlay)
        bounds, wishes = (limits(dice), routing(dice)) if dice.random() < 0.3 else (Limits(), Routing())
        given = derive_params(sd, bounds)
        yield sd, given, decide(sd, given, bounds, wishes)


def digest(size: int) -> str:
    """Of all that is decided, descriptors included."""
    hashed = hashlib.sha256()
    for sd, given, decided in decisions(size):
        told = (sd.clarity, sorted(sd.risk.items()), sorted(sd.stakes.items()), sd.pressure, sd.breadth)
        hashed.update(repr((told, given, decided)).encode("utf-8", "surrogatepass"))
    return hashed.hexdigest()


if __name__ == "__main__":
    with contextlib.suppress(locale.Error):  # not on this machine: the variables alone are tried
        locale.setlocale(locale.LC_ALL, "")
    sys.stdout.write(digest(int(sys.argv[1])))
