"""The page at `/`, its files under /web/, and the reference at /docs: nothing from elsewhere, nothing inline.

Content-Security-Policy says so to the browser: no script but ours runs, whatever an answer contains, and no
other site can frame the page. These routes need no key: they hold no data.
"""

import asyncio
import re
from pathlib import Path

from fastapi import APIRouter, Request
from starlette.responses import FileResponse, HTMLResponse, Response

from app.api.reference import STYLE_HASH, rendered
from app.api.wire import Json
from app.domain.errors import Missing

FOLDER = Path(__file__).parent.parent / "web"
FILE = re.compile(r"[a-z0-9-]+\.(js|css|svg|png|woff2)")
COMMON = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Checked again each time: the page and the service change together.
    "Cache-Control": "no-cache",
}
CLOSED = "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self';"
    f" connect-src 'self'; {CLOSED}"
)
DOCS_POLICY = f"default-src 'none'; style-src '{STYLE_HASH}'; {CLOSED}"

READ = ["GET", "HEAD"]

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=READ)
async def page() -> Response:
    """The chat page."""
    return await served("index.html", {"Content-Security-Policy": PAGE_POLICY})


@router.api_route("/web/{name}", methods=READ)
async def asset(name: str) -> Response:
    """What the page is made of."""
    if not FILE.fullmatch(name):
        raise Missing
    return await served(name, {})


@router.api_route("/docs", methods=READ)
async def docs(request: Request) -> Response:
    """The reference, written from the OpenAPI document; it works without a network."""
    body = await asyncio.to_thread(lambda: rendered(request.app.openapi()))
    return HTMLResponse(body, headers={**COMMON, "Content-Security-Policy": DOCS_POLICY})


@router.api_route("/openapi.json", methods=READ)
async def document(request: Request) -> Response:
    """The OpenAPI document. Made when first asked for: a tenth of a second, so in a thread."""
    return Json(await asyncio.to_thread(request.app.openapi), headers=COMMON)


async def served(name: str, headers: dict[str, str]) -> Response:
    """A file of the page."""
    path = FOLDER / name
    if not await asyncio.to_thread(path.is_file):
        raise Missing
    return FileResponse(path, headers={**COMMON, **headers})
