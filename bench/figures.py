"""Figures of a sample, and where they are kept: `bench/out/NAME.json`, a file a measurement, for the page."""

import json
import os
import platform
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

OUT = Path(__file__).with_name("out")


def percentile(values: Iterable[float], share: float) -> float:
    """The value that `share` of the sample does not exceed (nearest rank); 0 of an empty one."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))] if ordered else 0.0


def median(values: Iterable[float]) -> float:
    """The middle one."""
    return percentile(values, 0.5)


def spread(values: Sequence[float], digits: int = 1) -> dict[str, float]:
    """{p50, p95}, rounded."""
    return {"p50": round(median(values), digits), "p95": round(percentile(values, 0.95), digits)}


def machine() -> dict[str, Any]:
    """Where and when: cores, what else ran, versions."""
    return {
        "cores": os.cpu_count(),
        "load": round(os.getloadavg()[0], 2),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "date": datetime.now(UTC).date().isoformat(),
    }


def keep(name: str, found: Mapping[str, Any]) -> None:
    """Write a measurement for `bench/page.py`."""
    OUT.mkdir(exist_ok=True)
    (OUT / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def kept(name: str) -> dict[str, Any] | None:
    """A measurement that was made; None: it was not."""
    path = OUT / f"{name}.json"
    return dict(json.loads(path.read_text())) if path.is_file() else None
