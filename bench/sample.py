"""One server at one load in one round, and what many of those come to: medians, and ratios within a round.

Milliseconds, bytes, requests a second. Pure.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from bench.figures import median

LEGS = ("model", "relay", "by hand", "ibid", "by hand, repeated", "ibid, repeated")
"""Measurements, in the order of display."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One leg of one round."""

    leg: str
    clients: int
    round: int
    requests_s: float
    first_p50: float
    first_p95: float
    last_p50: float
    cpu: float
    """Milliseconds of processor a request, of the server's process."""
    cpu_children: float
    """The same of its children: Postgres, workers."""
    prompt: float
    """Bytes that reached the model, a request."""


def summary(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Medians over the rounds, a row a leg and load."""
    figures = ("requests_s", "first_p50", "first_p95", "last_p50", "cpu", "cpu_children", "prompt")
    return [
        {"leg": leg, "clients": clients}
        | {name: round(median(getattr(item, name) for item in items), 2) for name in figures}
        for leg, clients in sorted({(item.leg, item.clients) for item in samples}, key=order)
        if (items := [item for item in samples if (item.leg, item.clients) == (leg, clients)])
    ]


def order(cell: tuple[str, int]) -> tuple[int, int]:
    """By load, then as LEGS has them."""
    return cell[1], LEGS.index(cell[0])


def ratio(samples: Sequence[Sample], clients: int, figure: str, above: str, below: str) -> float:
    """Of two servers in one round, the median over the rounds."""
    found = {(item.leg, item.round): getattr(item, figure) for item in samples if item.clients == clients}
    turns = sorted({turn for _, turn in found})
    return round(median(found[above, turn] / (found[below, turn] or 1) for turn in turns), 3)


def ratios(samples: Sequence[Sample]) -> list[dict[str, Any]]:
    """Each load's: shares of the model's requests a second, and Ibid against the by-hand app."""
    return [
        {"clients": clients}
        | {f"{leg} of the model": ratio(samples, clients, "requests_s", leg, "model") for leg in LEGS[1:]}
        | {
            "requests": ratio(samples, clients, "requests_s", "ibid", "by hand"),
            "first byte p95": ratio(samples, clients, "first_p95", "ibid", "by hand"),
            "processor": ratio(samples, clients, "cpu", "ibid", "by hand"),
            "requests, repeated": ratio(
                samples, clients, "requests_s", "ibid, repeated", "by hand, repeated"
            ),
        }
        for clients in sorted({item.clients for item in samples})
    ]
