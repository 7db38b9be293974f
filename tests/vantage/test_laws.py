"""Laws of the policy: total, the same everywhere, never talked out of a refusal.

The suite looks at some texts; as many as are wanted: `REQUESTS=100000 python -m pytest -n 0 --timeout 0
tests/vantage/test_laws.py`.
"""

import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

from app.vantage.decision import decide
from app.vantage.features import STAKES, extract_sd_features
from app.vantage.overlay import derive_params
from app.vantage.risk import RISKS
from app.vantage.terms import Decision, Limits, ResponseClass, Routing
from tests.vantage import fuzz

REQUESTS = int(os.environ.get("REQUESTS", "800"))
ALONE = "REQUESTS" in os.environ
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


def decided(message: str, overlay: str = "", routing: Routing | None = None) -> Decision:
    """As the service decides, without limits."""
    sd = extract_sd_features(message, (), overlay)
    return decide(sd, derive_params(sd, Limits()), Limits(), routing or Routing())


@cache
def refused() -> list[str]:
    """Own unsafe prompts that are refused bare."""
    told = [row["prompt"] for row in fuzz.own("hazards") if row["label"] == "REFUSE"]
    return [prompt for prompt in told if decided(prompt).response_class is ResponseClass.REFUSE]


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
