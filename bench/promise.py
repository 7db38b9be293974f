"""Bounds of the service against the by-hand app and the model, and a run's figures. Milliseconds."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from bench.table import Cell

Found = Mapping[str, Any]


def cell(found: Found, leg: str, clients: int) -> Found | None:
    """A leg at a load."""
    return next((item for item in found["figures"] if (item["leg"], item["clients"]) == (leg, clients)), None)


def promised(found: Found, parts: Found) -> list[Sequence[Cell]]:
    """Bounds, and the measured figures."""
    most = max(item["clients"] for item in found["ratios"])
    ratio = next(item for item in found["ratios"] if item["clients"] == most)
    beyond = excess(found, parts)
    kept_by: list[tuple[str, str, float | None, Callable[[float], bool]]] = [
        (f"{most} clients: requests/s ÷ by hand", "≥ 1.8", ratio["requests"], lambda value: value >= 1.8),
        (f"{most} clients: of the model's", "≥ 0.40", ratio["ibid of the model"], lambda value: value >= 0.4),
        (
            f"{most} clients: first byte p95 ÷ by hand",
            "< 0.5",
            ratio["first byte p95"],
            lambda value: value < 0.5,
        ),
        ("1 client: meta beyond its parts, ms", "≤ 15", beyond, lambda value: value <= 15),
    ]
    return [
        (name, wanted, value, "–" if value is None else "yes" if is_kept(value) else "no")
        for name, wanted, value, is_kept in kept_by
    ]


def excess(found: Found, parts: Found) -> float | None:
    """Milliseconds of the first byte at one client beyond embedding + search + the model's first byte."""
    ours, model = cell(found, "ibid", 1), cell(found, "model", 1)
    return over(ours["first_p50"], model["first_p50"], parts["alone"]) if ours and model else None


def over(first: float, model: float, parts: Mapping[str, Mapping[str, float]]) -> float:
    """Milliseconds that the first byte takes beyond the sum of its parts, all medians at one client."""
    return round(first - model - sum(part["p50"] for part in parts.values()), 1)
