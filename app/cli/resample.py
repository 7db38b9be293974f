"""How far chance may have made a mean, and a difference of two: resampling over questions.

Seeded, so that the same figures give the same intervals to the digit. Percentile bootstrap, 95 %; the paired
randomisation test flips the signs of differences (Smucker, Allan, Carterette 2007). Pure computing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

SEED = 17
TIMES = 5_000
"""Resamples, and flips: a p-value is told to its third digit."""
AT_ONCE = 1 << 21
"""Draws held at a time: 16 MiB."""
NOISE = 1e-9
"""Differences below it are none: the last bits of sums."""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Paired:
    """The same questions measured twice."""

    difference: float
    """After minus before, the mean."""
    low: float
    high: float
    """Its 95 % interval."""
    wins: int
    """Questions with a greater figure than before."""
    losses: int
    ties: int
    p: float
    """How often chance alone would make a difference as large, either way."""


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Of the mean; (0, 0) of nothing."""
    if not values:
        return 0.0, 0.0
    known, chance = np.asarray(values, dtype=np.float64), np.random.default_rng(SEED)
    size = len(known)
    means = [known[chance.integers(0, size, (rows, size))].mean(axis=1) for rows in portions(size)]
    low, high = np.percentile(np.concatenate(means), (2.5, 97.5))
    return float(low), float(high)


def paired(before: Sequence[float], after: Sequence[float]) -> Paired:
    """Two runs of the same questions, in the same order."""
    gains: Values = np.subtract(after, before, dtype=np.float64)
    low, high = interval(gains.tolist())
    wins, losses = int((gains > NOISE).sum()), int((gains < -NOISE).sum())
    mean = float(gains.mean()) if len(gains) else 0.0
    return Paired(mean, low, high, wins, losses, len(gains) - wins - losses, chance_of(gains))


def chance_of(gains: Values) -> float:
    """The two-sided p-value; 1 where nothing differs."""
    moved = gains[np.abs(gains) > NOISE]
    if not len(moved):
        return 1.0
    chance, seen, least = np.random.default_rng(SEED), 0, abs(moved.sum()) - NOISE
    for rows in portions(len(moved)):
        signs = 2 * chance.integers(0, 2, (rows, len(moved))) - 1
        seen += int((np.abs((signs * moved).sum(axis=1)) >= least).sum())
    return (seen + 1) / (TIMES + 1)


def portions(size: int) -> Iterator[int]:
    """TIMES, in parts that fit into memory: the same ones for the same number of questions."""
    rows = max(1, AT_ONCE // size)
    for start in range(0, TIMES, rows):
        yield min(rows, TIMES - start)
