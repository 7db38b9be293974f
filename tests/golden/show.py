"""Differences as a reader wants them: by request, each with the few words that changed."""

import json
import re
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from tests.golden.record import Difference

AROUND, LONG = 60, 200
"""Characters shown beside what changed in a text; characters of any value."""


def shown(configuration: str, found: Sequence[Difference], requests: int) -> str:
    """Every difference under its request."""
    by_name: dict[str, list[Difference]] = defaultdict(list)
    for each in found:
        by_name[each.name].append(each)
    lines = [f"{configuration}: {len(by_name)} of {requests} requests differ, in {len(found)} places"]
    for name, changes in by_name.items():
        lines.append(f"  {name}")
        for change in changes:
            before, after = window(change.before, change.after)
            lines += [f"    {change.path}", f"      - {before}", f"      + {after}"]
    return "\n".join(lines) + "\n"


def window(before: Any, after: Any) -> tuple[str, str]:
    """Both values, each cut to what is around the first and the last place that changed."""
    if not (isinstance(before, str) and isinstance(after, str)):
        return cut(json.dumps(before, ensure_ascii=False)), cut(json.dumps(after, ensure_ascii=False))
    start = alike(before, after)
    end = alike(before[start:][::-1], after[start:][::-1])
    parts = []
    for text in (before, after):
        first, last = max(0, start - AROUND), min(len(text), len(text) - end + AROUND)
        part = ("…" if first else "") + text[first:last] + ("…" if last < len(text) else "")
        parts.append(cut(json.dumps(part, ensure_ascii=False), 3 * LONG))
    return parts[0], parts[1]


def alike(one: str, other: str) -> int:
    """How many characters two texts begin with in common."""
    return next(
        (n for n, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def cut(text: str, most: int = LONG) -> str:
    """At most so many characters."""
    return text if len(text) <= most else f"{text[:most]}… ({len(text)} characters)"


def grouped(found: Sequence[Difference]) -> str:
    """The places that changed, over all requests, the commonest first: where to begin with differences.md."""
    names: dict[str, dict[str, None]] = defaultdict(dict)
    for each in found:
        names[re.sub(r"\.\d+(?=\.|$)", ".*", each.path)][each.name] = None
    lines = ["places, and the requests in which they differ:"] if names else []
    for path, inside in sorted(names.items(), key=lambda item: -len(item[1])):
        lines.append(f"  {path} ({len(inside)}): {cut(' '.join(inside), 400)}")
    return "\n".join(lines) + "\n" if lines else ""
