"""The page in headless Chromium: what it loads, when it is painted, whether it keeps up with a long answer.

usage: python -m bench.browser. Bytes over the wire, with their headers; milliseconds. The scripted model of
the tests streams 100 kB of Markdown with a citation in each paragraph. Wanted: first paint under 1 s, at most
120 kB of files, no request to elsewhere, no message in the console, no task over 50 ms of the processor.
"""

import asyncio
import json
import shutil
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
from playwright.async_api import Browser, CDPSession, Page, async_playwright

from bench.figures import keep, machine, median
from bench.promise import Found
from bench.service import service
from bench.table import table
from tests.fakes.model import Fault, model_server
from tests.fakes.pdfs import text_pdf

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-background-networking")
ROUNDS = 3
SIZE = 100_000
PACE_SECONDS = 0.0005
FIRST_PAINT_MS, BYTES, TASK_MS = 1000, 120_000, 50
PARAGRAPH = (
    "The mill was **built in 1843** [mill.pdf#1], *rebuilt* twice, and `closed` in 1960.\n\n"
    "| Year | What |\n|:--|--:|\n| 1843 | built [mill.pdf#1] |\n| 1960 | closed |\n\n"
    "- It ground rye, wheat and oats for eleven villages.\n- Its wheel was made of larch.\n\n"
)
ROWS = "".join(f"| {n} | built [mill.pdf#1] | {n * 7} |\n" for n in range(500))
LONG = f"\n\n| Year | What | Sacks |\n|--:|:--|--:|\n{ROWS}\n\n```python\n" + (
    "for year in range(1843, 1960): print(year)\n" * 500 + "```\n\nThat is all [mill.pdf#1].\n"
)
"""A long table, and long code: the last block is drawn again with each piece."""
ITEM = "In {} the mill ground **rye** for the villages [mill.pdf#1], and `oats` for their horses"
ITEMS = [ITEM.format(n) for n in range(SIZE // len(ITEM))]
BLOCKS = {
    "list": "".join(f"- {item}.\n" for item in ITEMS),
    "nested list": "".join(f"{'- ' if n % 5 == 0 else '  - '}{item}.\n" for n, item in enumerate(ITEMS)),
    "paragraph": f"{'; '.join(ITEMS)}.",
}
"""Answers that are one block."""
TRACED = ["toplevel", "devtools.timeline", "disabled-by-default-devtools.timeline"]
PAINTED = "performance.getEntriesByName('first-contentful-paint')[0]?.startTime ?? null"


@asynccontextmanager
async def opened(browser: Browser, url: str) -> AsyncIterator[tuple[Page, CDPSession]]:
    """A page of a new visitor, whose network is observed."""
    context = await browser.new_context(base_url=url, viewport={"width": 1280, "height": 860})
    try:
        page = await context.new_page()
        network = await context.new_cdp_session(page)
        await network.send("Network.enable")
        yield page, network
    finally:
        await context.close()


def file(event: dict[str, Any]) -> dict[str, str]:
    """The id of a response that is a file of the page, not data."""
    return {event["requestId"]: event["type"]} if event["type"] not in ("Fetch", "XHR", "EventSource") else {}


def busy(trace: bytes) -> list[float]:
    """Milliseconds of the processor of each task of a page's main thread: what else runs does not count."""
    events = json.loads(trace)["traceEvents"]
    main = {
        (event["pid"], event["tid"])
        for event in events
        if event["name"] == "thread_name" and event["args"]["name"] == "CrRendererMain"
    }
    return [
        event.get("tdur", event["dur"]) / 1000
        for event in events
        if event["name"] == "RunTask" and event["ph"] == "X" and (event["pid"], event["tid"]) in main
    ]


async def answered(browser: Browser, page: Page) -> tuple[list[float], str]:
    """The tasks while an answer comes, and its text."""
    await browser.start_tracing(page=page, categories=TRACED)
    await page.fill("#message", "When was the mill built?")
    await page.press("#message", "Enter")
    await page.locator(".turn[aria-busy=false]").wait_for(timeout=240_000)
    tasks = busy(await browser.stop_tracing())
    return tasks, await page.locator(".answer").inner_text()


async def one_block(browser: Browser, url: str) -> float:
    """The longest task of an answer that is one block."""
    async with opened(browser, url) as (page, _):
        await page.goto("/#/c/bench")
        await page.locator(".welcome h2").wait_for()
        await page.wait_for_load_state("networkidle")
        tasks, _ = await answered(browser, page)
        return max(tasks)


async def visited(browser: Browser, url: str) -> dict[str, Any]:
    """A first visit, and a question whose answer is long."""
    async with opened(browser, url) as (page, network):
        sizes: dict[str, float] = {}
        files: dict[str, str] = {}
        asked: list[str] = []
        said: list[str] = []
        network.on("Network.responseReceived", lambda event: files.update(file(event)))
        network.on(
            "Network.loadingFinished",
            lambda event: sizes.update({event["requestId"]: event["encodedDataLength"]}),
        )
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: said.append(message.text))
        page.on("pageerror", lambda error: said.append(str(error)))
        await page.goto("/#/c/bench")
        await page.locator(".welcome h2").wait_for()
        await page.wait_for_load_state("networkidle")
        found = {
            "paint": await page.evaluate(PAINTED),
            "bytes": sum(size for each, size in sizes.items() if each in files),
            "files": len(files),
            "data": sum(size for each, size in sizes.items() if each not in files),
        }
        tasks, shown = await answered(browser, page)
        return found | {
            "longest": max(tasks),
            "long": sum(task > TASK_MS for task in tasks),
            "shown": len(shown),
            "elsewhere": sum(not each.startswith((url, "blob:", "data:")) for each in asked),
            "messages": said,
        }


async def prepared(client: httpx.AsyncClient) -> str:
    """The service's address, with a document for the question."""
    files = {"file": ("mill.pdf", text_pdf("The mill was built in 1843 by Anna Keller."))}
    (await client.post("/api/documents", files=files, data={"scope": "global"})).raise_for_status()
    return str(client.base_url).rstrip("/")


async def forget(client: httpx.AsyncClient) -> None:
    """Each round's chat is a new one."""
    (await client.delete("/api/sessions/bench")).raise_for_status()


async def measure(rounds: int = ROUNDS) -> dict[str, Any]:
    """Medians over the rounds; of tasks, and of what must not be, the worst."""
    reply = PARAGRAPH * ((SIZE - len(LONG)) // len(PARAGRAPH) + 1) + LONG
    async with (
        model_server(reply) as model,
        service(CHAT_BASE_URL=model.url) as client,
        async_playwright() as playwright,
    ):
        model.fault = Fault(only="chat", pace=PACE_SECONDS)
        browser = await playwright.chromium.launch(executable_path=PROGRAM, args=[*FLAGS])
        url = await prepared(client)
        found = []
        for _ in range(rounds):
            found.append(await visited(browser, url))
            await forget(client)
        blocks = {}
        for name, model.reply in BLOCKS.items():
            blocks[name] = await one_block(browser, url)
            await forget(client)
        await browser.close()
    middle = {key: median(one[key] for one in found) for key in ("paint", "bytes", "files", "data", "shown")}
    worst = {key: max(one[key] for one in found) for key in ("longest", "long", "elsewhere")}
    messages = sorted({text for one in found for text in one["messages"]})
    return {
        "machine": machine(),
        "rounds": rounds,
        **middle,
        **worst,
        "messages": messages,
        "blocks": blocks,
    }


def section(found: Found) -> str:
    """For measurements/bench.md."""
    rows = [
        ("first paint, ms", f"< {FIRST_PAINT_MS:,}", round(found["paint"])),
        ("bytes of its files", f"≤ {BYTES:,}", round(found["bytes"])),
        ("files", "", found["files"]),
        ("bytes of data on a first visit", "", round(found["data"])),
        ("requests to elsewhere", "0", found["elsewhere"]),
        ("messages in the console", "0", len(found["messages"])),
        (
            f"longest task while {SIZE // 1000} kB stream, ms of the processor",
            f"< {TASK_MS}",
            round(found["longest"]),
        ),
        (f"tasks over {TASK_MS} ms meanwhile", "0", found["long"]),
        *(
            (f"longest task where they are one {name}, ms", f"< {TASK_MS}", round(longest))
            for name, longest in found.get("blocks", {}).items()
        ),
    ]
    at = found["machine"]
    where = f"{at['date']}, {at['cores']} cores, load {at['load']} before."
    what = f"Headless Chromium, {found['rounds']} first visits, each with a question. {where}"
    return f"## The page\n\n{what}\n\n{table(('', 'wanted', 'measured'), rows)}"


async def main() -> None:
    """Measure, keep, print."""
    if PROGRAM is None:
        raise SystemExit("install chromium to measure the page")
    found = await measure()
    keep("browser", found)
    print(section(found), *found["messages"], sep="\n")


if __name__ == "__main__":
    asyncio.run(main())
