"""measurements/bench.md from `bench/out/*.json`: `python -m bench.page` after `make bench` (memory, health).

The text between the page's two marks is replaced, the words around them stay; pictures are copied
beside it. A measurement that was not made has no section.
"""

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from bench import browser
from bench.figures import OUT, kept
from bench.promise import Found, cell, excess, promised
from bench.table import Cell, table

DOCS = Path(__file__).parents[1] / "docs" / "measurements"
BEGIN, END = "<!-- figures: written by python -m bench.page -->", "<!-- end of figures -->"
SPEED_HEAD = (
    "server",
    "clients",
    "requests/s",
    "of the model",
    "first byte p50",
    "p95",
    "last byte p50",
    "processor",
    "children's",
    "prompt kB",
)


def where(found: Found) -> str:
    """The machine, in a line."""
    at = found["machine"]
    return (
        f"{at['date']}, {at['cores']} cores, {at['system']}, Python {at['python']}, load {at['load']} before."
    )


def speed(found: Found, parts: Found) -> str:
    """First byte, requests a second, ratios, promises, stages."""
    model = {item["clients"]: item["requests_s"] for item in found["figures"] if item["leg"] == "model"}
    rows: list[Sequence[Cell]] = [
        (
            item["leg"],
            item["clients"],
            item["requests_s"],
            f"{item['requests_s'] / model[item['clients']]:.0%}",
            item["first_p50"],
            item["first_p95"],
            item["last_p50"],
            item["cpu"],
            item["cpu_children"],
            item["prompt"] / 1000,
        )
        for item in found["figures"]
    ]
    sections = [
        f"## Speed\n\n{where(found)} Milliseconds, processor a request too.",
        "![First byte and requests a second](bench.svg)",
        table(SPEED_HEAD, rows),
        "Ratios, each taken within a round, medians of the rounds:",
        compared(found["ratios"]),
        "Promises:",
        table(("promise", "wanted", "measured", "kept"), promised(found, parts)),
        stages(found, parts),
        "Megabytes at the end (the service resident, its children by their share):",
        sizes(found["megabytes"]),
    ]
    return "\n\n".join(sections)


def compared(ratios: Sequence[Found]) -> str:
    """A row a ratio, a column a load."""
    head = ["", *(f"clients: {item['clients']}" for item in ratios)]
    told = {
        "requests": "Ibid ÷ by hand, requests a second",
        "first byte p95": "Ibid ÷ by hand, first byte p95",
        "processor": "Ibid ÷ by hand, processor a request",
        "requests, repeated": "Ibid ÷ by hand, requests a second, messages repeated",
    }
    keys = [key for key in ratios[0] if key != "clients"]
    named = {
        key: told.get(key, f"{key.removesuffix(' of the model')} ÷ model, requests a second") for key in keys
    }
    return table(head, [(named[key], *(item[key] for item in ratios)) for key in keys])


def stages(found: Found, parts: Found) -> str:
    """Milliseconds of every stage at every load, as the service kept them with its answers."""
    loads = {name: parts["stages"][name] for name in sorted(parts["stages"], key=by_load)}
    head = ["stage, p50 / p95 ms", *(name.replace("/", ", ") for name in loads)]
    rows = [
        (
            stage,
            *(
                f"{told['p50']:g} / {told['p95']:g}" if (told := load.get(stage)) else "–"
                for load in loads.values()
            ),
        )
        for stage in names(loads)
    ]
    alone = parts["alone"]
    ours, model = cell(found, "ibid", 1), cell(found, "model", 1)
    shown = "Where an answer's time goes, as kept with the answers (ibid, clients):\n\n" + table(head, rows)
    if not ours or not model:
        return shown
    first = f"the first byte (`meta`) comes after {ours['first_p50']:.1f} ms"
    embedding, search = alone["embedding"]["p50"], alone["search"]["p50"]
    return f"""{shown}

At one client {first}: the query's embedding alone takes {embedding:.1f},
the search alone {search:.1f}, the model's first byte {model["first_p50"]:.1f}:
{excess(found, parts):.1f} ms are beyond that sum."""


def names(stages: Mapping[str, Found]) -> Sequence[str]:
    """Every stage that any load tells of, in the order they came."""
    return list(dict.fromkeys(stage for load in stages.values() for stage in load))


def by_load(name: str) -> tuple[str, int]:
    """`ibid/16` after `ibid/1`."""
    leg, _, clients = name.rpartition("/")
    return leg, int(clients)


def sizes(megabytes: Mapping[str, Mapping[str, int]]) -> str:
    """A row a server."""
    rows = [
        (
            leg,
            own["service"],
            ", ".join(f"{name} {size}" for name, size in own.items() if name != "service") or "–",
        )
        for leg, own in megabytes.items()
    ]
    return table(("server", "service", "children"), rows)


def growth(found: Found) -> str:
    """Search and load by size."""
    rows = [
        (
            f"{item['rows']:,}" + (" in one part" if item["layout"] == "one" else ""),
            item["search"]["p50"],
            item["search"]["p95"],
            item["load_s"],
            item["megabytes"],
            item["disk_mb"],
            f"{item['recall']:.3f}",
            f"{item['recall_worst']:.2f}",
        )
        for item in found["sizes"]
    ]
    head = (
        "passages in reach",
        "search p50 ms",
        "p95",
        "first load s",
        "memory MB",
        "disk MB",
        "recall@40",
        "worst",
    )
    what = f"{where(found)} One search after another, without the query's embedding."
    return f"## Growth\n\n{what}\n\n{table(head, rows)}"


def memory(found: Found) -> str:
    """The verdict, and its picture."""
    flat = "flat" if found["flat"] else "not flat"
    load = f"{found['requests']:,} requests in {found['seconds']} s over {found['rows']:,} passages"
    settled = f"{found['start_mb']:.0f} MB after a fifth of them"
    end = f"{found['end_mb']:.0f} MB at the end ({found['growth']:+.1%}: {flat})"
    return f"""## Memory

{where(found)} {load}: {settled},
{end}, {found["peak_mb"]:.0f} MB at the most; its children {found["children_mb"]:.0f} MB.
Wanted: under 5 %, and under 600 MB.

![Memory over requests](memory.svg)"""


def health(found: Found) -> str:
    """Alone, and beside an upload."""
    told = {"alone": f"{found['clients']} clients chat", "beside": "and a file is uploaded and embedded"}
    rows = [
        (name, item["p50"], item["p99"], item["max"], item["first_p50"], item["first_p95"])
        for key, name in told.items()
        if (item := found[key])
    ]
    head = ("while", "/healthz p50 ms", "p99", "most", "chat's first byte p50", "p95")
    what = f"{found['megabytes']} MB, {found['chunks']} passages, searchable after {found['seconds']} s"
    return f"## Health\n\n{where(found)} The file: {what}. Wanted: p99 < 100 ms.\n\n{table(head, rows)}"


def memories(found: Found) -> str:
    """The memory search by size."""
    rows = [
        (f"{item['rows']:,}", name, item[key]["p50"], item[key]["p95"], item[key]["cpu"])
        for item in found["sizes"]
        for key, name in (("engine", "the engine's, both legs"), ("source", "the source's, whole"))
    ]
    head = ("memories", "search", "p50 ms", "p95", "processor")
    what = f"Over {found['users']:,} users, embedded, vectors given. Wanted: p95 < {found['wanted']:g} ms."
    return f"## Memories\n\n{where(found)} {what}\n\n{table(head, rows)}"


def figures() -> str:
    """All sections there are figures for."""
    spoken, parts = kept("speed"), kept("stages")
    sections = [speed(spoken, parts)] if spoken and parts else []
    for name, section in SECTIONS:
        if found := kept(name):
            sections.append(section(found))
    return "\n\n".join(sections)


SECTIONS = (
    ("browser", browser.section),
    ("growth", growth),
    ("memories", memories),
    ("memory", memory),
    ("health", health),
)


def main() -> None:
    """Write the page."""
    page = DOCS / "bench.md"
    before, _, rest = page.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    page.write_text(f"{before}{BEGIN}\n\n{figures()}\n\n{END}{after}", encoding="utf-8")
    for picture in OUT.glob("*.svg"):
        shutil.copy(picture, DOCS)


if __name__ == "__main__":
    main()
