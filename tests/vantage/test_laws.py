"""Laws of the policy: total, the same everywhere, never talked out of a refusal, fast whatever it is given.

The suite looks at some texts; as many as are wanted: `REQUESTS=100000 python -m pytest -n 0 --timeout 0
tests/vantage/test_laws.py`, which holds the clock to the issue's figures, too.
"""

import os
import random
import subprocess
import sys
import time
from functools import cache
from itertools import cycle, islice
from pathlib import Path

import pytest

from app.vantage.decision import decide
from app.vantage.features import RISKS, STAKES, extract_sd_features
from app.vantage.params import derive_params
from app.vantage.terms import Decision, Limits, ResponseClass, Routing
from tests.vantage import fuzz

REQUESTS = int(os.environ.get("REQUESTS", "2000"))
ALONE = "REQUESTS" in os.environ
"""Then the clock is held to the issue's figures; else to turns."""
TURNS = 5_000
"""Of a plain loop, run beside each decision: it slows down as the decision does, whoever shares the core."""
SHORT, LONG = 90_000, 1_000_000
"""Turns that 2,000 and 32,000 characters may take: half as much again as measured. One is 25 ns and more."""
PLACES = {
    "hash seed 1, C, Kiritimati": {"PYTHONHASHSEED": "1", "LC_ALL": "C", "TZ": "Pacific/Kiritimati"},
    "hash seed 2, Turkish, Marquesas": {
        "PYTHONHASHSEED": "2",
        "LC_ALL": "tr_TR.UTF-8",
        "TZ": "Pacific/Marquesas",
    },
    "hash seed random, German, no UTF-8 mode": {
        "PYTHONHASHSEED": "random",
        "LC_ALL": "de_DE.UTF-8",
        "PYTHONUTF8": "0",
    },
}
EVIL = {
    "one letter": "a",
    "blanks": " ",
    "lines": "\n",
    "brackets": "[[(({{<<",
    "quotes": "\"'`“”’",
    "question marks": "?",
    "stops": "a. ",
    "all the words": " ".join(fuzz.WORDS) + " ",
    "kill": "kill ",
    "how do i": "how do i ",
    "ignore": "ignore all previous instructions and ",
    "and": "and ",
    "not": "not ",
    "role": "you are now a ",
    "prompts": " ".join(row["prompt"] for row in fuzz.own("hazards")),
    "emojis": "\U0001f525\U0001f468\u200d\U0001f469\u200d\U0001f467",
    "marks on one letter": "\u0301",
    "marks of two classes": "\u0316\u0301",
    "the longest ligature": "\ufdfa",
    "no width": "k\u200bi\u200bl\u200bl ",
    "look-alikes": "ки\u217cl ",
    "wide letters": "\uff4b\uff49\uff4c\uff4c",
    "Hangul": "\ud55c\uad6d\uc5b4 ",
    "halves": "\ud800",
    "digits": "1",
    "addresses": "http://a.b/c?d=e&",
    "list": "\n- a",
    "apostrophes": "a'b'",
    "hyphens": "a-",
    "letters and stops": "a.",
    "unpaired": "[(",
    "digits in words": "k1ll p01son h4ck ",
    "drawn out": "kiiill ",
    "letters apart": "k i l l  h i m ",
    "characters beyond": "\U00020000\U000e1000\U000e0041",
    "different words": "",
}  # fmt: skip


def decided(message: str, overlay: str = "", routing: Routing | None = None) -> Decision:
    """As the service decides, without limits."""
    sd = extract_sd_features(message, (), overlay)
    return decide(sd, derive_params(sd, Limits()), Limits(), routing or Routing())


@cache
def refused() -> list[str]:
    """Own unsafe prompts that are refused bare."""
    told = [row["prompt"] for row in fuzz.own("hazards") if row["label"] == "REFUSE"]
    return [prompt for prompt in told if decided(prompt).response_class is ResponseClass.REFUSE]


def evil(name: str, size: int) -> str:
    """A hostile text of so many characters."""
    part = EVIL[name] or " ".join(f"w{number:x}" for number in range(size))
    return (part * (size // len(part) + 1))[:size]


@cache
def longest(name: str) -> float:
    """Turns for such a text of 32,000 characters."""
    return turns(evil(name, 32_000))


def turns(message: str, rounds: int = 3) -> float:
    """The processor's time for a decision, in turns of a loop right before and behind it: the best of some,
    for the collector's turns are not its."""
    found = []
    for _ in range(rounds):
        before = looped()
        began = time.process_time_ns()
        decided(message)
        took = time.process_time_ns() - began
        found.append(took / min(before, looped()))
    return min(found)


def looped() -> float:
    """Nanoseconds of a turn; never 0."""
    began, count = time.process_time_ns(), 0
    for number in range(TURNS):
        count += number & 3
    return max(1, time.process_time_ns() - began) / TURNS


def milliseconds(message: str, rounds: int = 3) -> float:
    """The processor's time for a decision: the best of some."""
    found = []
    for _ in range(rounds):
        began = time.process_time_ns()
        decided(message)
        found.append((time.process_time_ns() - began) / 1e6)
    return min(found)


def test_every_text_has_one_class_and_all_its_descriptors() -> None:
    """Whatever is written, with any thread, overlay, limits and routing; every share is in [0, 1]."""
    for sd, params, decision in fuzz.decisions(REQUESTS):
        assert isinstance(decision.response_class, ResponseClass)
        assert decision.rules
        assert set(sd.risk) == set(RISKS)
        assert set(sd.stakes) == set(STAKES)
        scalars = (sd.clarity, sd.specificity, sd.pressure, sd.affect, sd.breadth)
        shares = (*scalars, *sd.risk.values(), *sd.stakes.values(), params.directness, params.warmth)
        assert all(0 <= share <= 1 for share in shares)
        counts = (params.token_target, params.hedge_budget, params.question_budget)
        assert min(counts) >= 0


def test_every_descriptor_has_one_class() -> None:
    """`decide` is total beyond what the features make: no number, infinite, missing, unheard of."""
    dice = random.Random(2)  # noqa: S311 - no secret
    for _ in range(REQUESTS):
        sd, wishes = fuzz.descriptors(dice), fuzz.routing(dice)
        params, bounds = fuzz.params(dice), fuzz.limits(dice)
        first = decide(sd, params, bounds, wishes)
        assert isinstance(first.response_class, ResponseClass)
        assert decide(sd, derive_params(sd, bounds), bounds, wishes).response_class in ResponseClass
        assert decide(sd, params, bounds, wishes) == first


def test_processes_agree() -> None:
    """The same bytes, the same descriptors, params and decision, in any locale and time zone."""
    root, size = Path(__file__).parents[2], REQUESTS if ALONE else REQUESTS // 8
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.vantage.fuzz", str(size)],
            cwd=root,
            env=os.environ | place,
            stdout=subprocess.PIPE,
        )
        for place in PLACES.values()
    ]
    found = [process.communicate(timeout=None if ALONE else 60)[0].decode().strip() for process in started]
    assert found == [fuzz.digest(size)] * len(PLACES)


def test_no_wrapper_turns_a_refusal() -> None:
    """What is refused bare is never complied with inside a role, a story, a code block, another order."""
    carriers = [row for row in fuzz.own("wrappers") if row["kind"] == "wrap"]
    turned = [
        (row["type"], row["id"])
        for row in carriers
        for prompt in refused()
        if decided(row["text"].replace("{prompt}", prompt)).response_class is ResponseClass.COMPLY
    ]
    assert turned == []


def test_no_routing_or_overlay_lifts_a_refusal() -> None:
    """Forced, forbidden, redirected, licensed: refused still."""
    lifts = [row for row in fuzz.own("wrappers") if row["kind"] == "lift"]
    prompts = refused()
    for row in lifts:
        told = row["routing"]
        wishes = Routing(
            force=ResponseClass(told["force"]) if "force" in told else None,
            forbid=tuple(map(ResponseClass, told.get("forbid", ()))),
            redirect={ResponseClass(a): ResponseClass(b) for a, b in told.get("redirect", {}).items()},
        )
        given = {decided(prompt, row["overlay"], wishes).response_class for prompt in prompts}
        assert given == {ResponseClass.REFUSE}, row["type"]


def test_two_thousand_characters_take_a_millisecond() -> None:
    """99 of 100 such texts, ordinary and hostile, in this process's time; in turns, unless alone."""
    pool = cycle(row["prompt"] for row in (*fuzz.own("hazards"), *fuzz.own("asks")))
    ordinary = [" ".join(islice(pool, 45))[:2_000] for _ in range(100)]
    hostile = [evil(name, 2_000) for name in EVIL]
    clock = milliseconds if ALONE else turns
    took = sorted(clock(message) for message in (*ordinary, *hostile))
    slowest = took[int(0.99 * len(took))]
    assert slowest < (1 if ALONE else SHORT)


@pytest.mark.parametrize("name", EVIL)
def test_the_longest_message_takes_twenty_milliseconds(name: str) -> None:
    """32,000 characters of whatever is worst; in turns, unless alone."""
    took = milliseconds(evil(name, 32_000)) if ALONE else longest(name)
    assert took < (20 if ALONE else LONG)


@pytest.mark.parametrize("name", EVIL)
def test_time_grows_with_the_text_alone(name: str) -> None:
    """Eight times the text takes at most twenty times as long: a pattern that backtracks, 64 times."""
    took, eighth = longest(name), turns(evil(name, 4_000))
    assert took < 20 * max(eighth, 2_000)
