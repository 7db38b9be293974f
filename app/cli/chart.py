"""The picture of `ibid eval`, written by hand as SVG: readable on a light page and on a dark one.

A panel a measure, from 0 to 1; a group a set, a line a way, a dot for the mean on the bar of
its 95 % interval. No script, no font, nothing to install.
"""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any

from app.domain.benchmark import ABLATIONS, MEASURES, SERVED

STYLE = """<style>
.page{fill:#ffffff;stroke:#d0d7de}.text{fill:#1f2328}.quiet{fill:#59636e}.grid{stroke:#d8dee4}
.words{fill:#bc4c00;stroke:#bc4c00}.meaning{fill:#0969da;stroke:#0969da}.fused{fill:#8c959f;stroke:#8c959f}
.all{fill:#1a7f37;stroke:#1a7f37}text{font:12px ui-sans-serif,system-ui,sans-serif;stroke:none}
.head{font-weight:600;font-size:13px}.end{text-anchor:end}.middle{text-anchor:middle}
@media (prefers-color-scheme:dark){.page{fill:#0d1117;stroke:#30363d}.text{fill:#f0f6fc}.quiet{fill:#9198a1}
.grid{stroke:#262c36}.words{fill:#f0883e;stroke:#f0883e}.meaning{fill:#58a6ff;stroke:#58a6ff}
.fused{fill:#768390;stroke:#768390}.all{fill:#3fb950;stroke:#3fb950}}
</style>"""
ROW, GAP, TOP = 17, 14, 66
LEFT, PANEL, BETWEEN = 210, 190, 30
PANELS = {
    name: (LEFT + n * (PANEL + BETWEEN), LEFT + n * (PANEL + BETWEEN) + PANEL)
    for n, name in enumerate(MEASURES)
}
"""Where each begins and ends."""
WIDTH = LEFT + len(PANELS) * (PANEL + BETWEEN)
TITLES = {"ndcg@10": "nDCG@10", "mrr": "reciprocal rank", "failure@20": "failure@20 (less is better)"}
"""Of those that are not called as they are named."""


def picture(results: Sequence[Mapping[str, Any]]) -> str:
    """The whole file."""
    height = TOP + len(results) * (len(ABLATIONS) * ROW + GAP) + 24
    said = "Six measures by set and way, with 95 % intervals"
    head = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}" role="img"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {head} aria-label="{escape(said)}">',
            STYLE,
            f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8" class="page"/>',
            *scale(height - 30),
            *(part for place, result in enumerate(results) for part in group(place, result)),
            text(20, height - 12, "● mean, ─ 95 % bootstrap interval; all: what the service gives", "quiet"),
            "</svg>\n",
        ]
    )


def scale(bottom: float) -> Iterator[str]:
    """Titles and grid."""
    for measure, panel in PANELS.items():
        yield text(panel[0], 26, TITLES.get(measure, measure), "text head")
        for fifth in range(6):
            x = across(fifth / 5, panel)
            yield f'<line x1="{x:.1f}" y1="{TOP - 18}" x2="{x:.1f}" y2="{bottom}" class="grid"/>'
            yield text(x, TOP - 24, f"{fifth / 5:.1f}", "quiet middle")


def group(place: int, result: Mapping[str, Any]) -> Iterator[str]:
    """A set: its name, and a line a way."""
    top = TOP + place * (len(ABLATIONS) * ROW + GAP)
    yield text(20, top + 4, str(result["set"]), "text head")
    yield text(20, top + 4 + ROW, result["source"], "quiet")
    yield text(20, top + 4 + 2 * ROW, f"{result['queries']:,} questions", "quiet")
    for line, way in enumerate(ABLATIONS):
        y = top + line * ROW
        yield text(200, y + 4, way, "text head end" if way == SERVED else "text end")
        for measure, panel in PANELS.items():
            yield from mark(y, way, result["ablations"][way], measure, panel)


def mark(y: float, way: str, found: Mapping[str, Any], measure: str, panel: tuple[int, int]) -> Iterator[str]:
    """A mean on its interval, and the figure beside it."""
    mean = found["metrics"][measure]
    low, high = (across(each, panel) for each in found["intervals"][measure])
    yield f'<line x1="{low:.1f}" y1="{y}" x2="{high:.1f}" y2="{y}" class="{way}" stroke-width="2"/>'
    yield f'<circle cx="{across(mean, panel):.1f}" cy="{y}" r="4" class="{way}"/>'
    near = (high + 8, "quiet") if high < panel[1] - 40 else (low - 8, "quiet end")
    yield text(near[0], y + 4, f"{mean:.3f}", near[1])


def across(share: float, panel: tuple[int, int]) -> float:
    """Where a figure stands in a panel."""
    return panel[0] + share * (panel[1] - panel[0])


def text(x: float, y: float, said: str, kind: str) -> str:
    """A line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(said)}</text>'
