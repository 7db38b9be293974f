"""Pictures, written by hand as SVG: readable on a light page and on a dark one, without a script or a font.

`draw` puts first byte (p50 to p95, a logarithmic scale) beside requests a second, a row a server and load;
`chart` is the line of memory over requests. Both go to `bench/out/`.
"""

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from bench.figures import OUT

STYLE = """<style>
.page{fill:#ffffff;stroke:#d0d7de}.text{fill:#1f2328}.quiet{fill:#59636e}.grid{stroke:#d8dee4}
.c0{fill:#8c959f;stroke:#8c959f}.c1{fill:#6e7781;stroke:#6e7781}.c2{fill:#bc4c00;stroke:#bc4c00}
.c3{fill:#0969da;stroke:#0969da}.c4{fill:#1a7f37;stroke:#1a7f37}.open{fill:#ffffff}
.line{fill:none;stroke-width:2}text{font:12px ui-sans-serif,system-ui,sans-serif;stroke:none}
.head{font-weight:600;font-size:13px}.end{text-anchor:end}.middle{text-anchor:middle}
@media (prefers-color-scheme:dark){.page{fill:#0d1117;stroke:#30363d}.text{fill:#f0f6fc}.quiet{fill:#9198a1}
.grid{stroke:#262c36}.c0{fill:#768390;stroke:#768390}.c1{fill:#9ea7b3;stroke:#9ea7b3}
.c2{fill:#f0883e;stroke:#f0883e}.c3{fill:#58a6ff;stroke:#58a6ff}.c4{fill:#3fb950;stroke:#3fb950}
.open{fill:#0d1117}}
</style>"""
SHOWN = {
    "model": "model stub alone",
    "relay": "bare ASGI relay",
    "by hand": "FastAPI + chromadb + openai",
    "ibid": "Ibid",
    "ibid, repeated": "Ibid, messages repeated",
}
WIDTH, ROW, TOP, GAP = 900, 19, 84, 30
LEFT, MIDDLE, RIGHT = 200, 520, 850
"""Where the first panel begins, where it ends, and where the second ends."""
BEGIN = 570
LEAST_MS = 40.0
TICKS = (50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000)


def text(x: float, y: float, said: str, kind: str = "text") -> str:
    """A line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}">{escape(said)}</text>'


def line(x: float, y: float, to_x: float, to_y: float, kind: str = "grid") -> str:
    """A straight line."""
    return f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{to_x:.1f}" y2="{to_y:.1f}" class="{kind}"/>'


def document(height: float, said: str, parts: Sequence[str]) -> str:
    """The whole file."""
    size = f'viewBox="0 0 {WIDTH} {height:.0f}" width="{WIDTH}" height="{height:.0f}"'
    page = f'<rect x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1:.0f}" rx="8" class="page"/>'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" aria-label="{escape(said)}">',
            STYLE,
            page,
            *parts,
            "</svg>\n",
        ]
    )


def milliseconds(value: float, most: float) -> float:
    """Position of a time in the first panel; logarithmic."""
    share = math.log(max(value, LEAST_MS) / LEAST_MS) / math.log(most / LEAST_MS)
    return LEFT + min(1.0, share) * (MIDDLE - LEFT)


def row(y: float, place: int, figures: Mapping[str, Any], most_ms: float, most_s: float) -> list[str]:
    """A server at a load: both panels."""
    first, last = (milliseconds(figures[name], most_ms) for name in ("first_p50", "first_p95"))
    end = BEGIN + figures["requests_s"] / most_s * (RIGHT - BEGIN)
    near = f"{figures['first_p50']:,.0f} / {figures['first_p95']:,.0f}"
    return [
        text(LEFT - 12, y + 4, SHOWN[figures["leg"]], "text end"),
        line(first, y, last, y, f"c{place} line"),
        f'<circle cx="{last:.1f}" cy="{y}" r="4" class="c{place} open" stroke-width="1.5"/>',
        f'<circle cx="{first:.1f}" cy="{y}" r="4" class="c{place}"/>',
        text(*((last + 9, y + 4) if last < MIDDLE - 70 else (first - 9, y + 4)), near, side(last)),
        f'<rect x="{BEGIN}" y="{y - 6}" width="{end - BEGIN + 1:.1f}" height="12" class="c{place}"/>',
        text(end + 6, y + 4, f"{figures['requests_s']:,.1f}", "quiet"),
    ]


def side(last: float) -> str:
    """Figures are right of their dots where there is room."""
    return "quiet" if last < MIDDLE - 70 else "quiet end"


def scale(most_ms: float, bottom: float) -> list[str]:
    """The grid of the first panel."""
    ticks = [tick for tick in TICKS if tick <= most_ms]
    at = {tick: milliseconds(tick, most_ms) for tick in ticks}
    return [line(x, TOP - 14, x, bottom) for x in at.values()] + [
        text(x, TOP - 20, f"{tick:,}", "quiet middle") for tick, x in at.items()
    ]


def speed(found: Mapping[str, Any]) -> str:
    """First byte and requests a second."""
    figures = [item for item in found["figures"] if item["leg"] in SHOWN]
    loads = sorted({item["clients"] for item in figures})
    most_ms = max(1_000.0, 1.3 * max(item["first_p95"] for item in figures))
    parts, y = list[str](), TOP + 0.0
    for clients in loads:
        rows = [item for item in figures if item["clients"] == clients]
        most_s = 1.25 * max(item["requests_s"] for item in rows)
        parts.append(text(20, y + 4, f"{clients} client{'s' if clients > 1 else ''}", "text head"))
        for place, name in enumerate(SHOWN):
            y += ROW
            parts += [
                part for item in rows if item["leg"] == name for part in row(y, place, item, most_ms, most_s)
            ]
        y += GAP
    under = "half in reach; the model takes 50 ms to the first of 32 tokens, 10 ms to each of the others"
    head = [
        text(LEFT, 28, "First byte, milliseconds: ● median  ○ 95 of 100", "text head"),
        text(BEGIN, 28, "Requests a second", "text head"),
        text(LEFT, 46, "logarithmic", "quiet"),
        text(BEGIN, 46, "a scale of its own for each load", "quiet"),
        text(20, y, f"{found['plan']['rows']:,} passages, {under}; one worker each.", "quiet"),
    ]
    return document(
        y + 16, "First byte and requests a second", [*scale(most_ms, y - GAP + 10), *head, *parts]
    )


def memory(series: Sequence[Sequence[float]], requests: int) -> str:
    """Megabytes over requests, from nought: the service, and its children."""
    top, bottom, most = 60.0, 280.0, 1.2 * max(600.0, *(max(own, beside) for _, own, beside in series))

    def x(asked: float) -> float:
        return 70 + min(1.0, asked / requests) * 780

    def y(megabytes: float) -> float:
        return bottom - megabytes / most * (bottom - top)

    parts = [text(70, 30, "Memory over requests, megabytes resident", "text head")]
    for tick in range(0, int(most), 200):
        parts += [line(70, y(tick), 850, y(tick)), text(60, y(tick) + 4, str(tick), "quiet end")]
    parts += [
        text(x(share * requests), bottom + 18, f"{share * requests:,.0f}", "quiet middle")
        for share in (0, 0.5, 1)
    ]
    for place, column, name in ((3, 1, "the service"), (0, 2, "its children")):
        points = " ".join(f"{x(point[0]):.1f},{y(point[column]):.1f}" for point in series)
        parts.append(f'<polyline points="{points}" class="line c{place}" style="fill:none"/>')
        parts.append(text(848, y(series[-1][column]) - 8, name, "text end"))
    return document(bottom + 34, "Memory over requests", parts)


def draw(found: Mapping[str, Any]) -> None:
    """The picture of a speed run."""
    (OUT / "bench.svg").write_text(speed(found))


def chart(series: Sequence[Sequence[float]], requests: int) -> None:
    """The picture of a memory run."""
    (OUT / "memory.svg").write_text(memory(series, requests))
