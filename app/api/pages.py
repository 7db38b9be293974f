"""The page at `/`, its files under /web/, and the reference at /docs: nothing from elsewhere, nothing inline.
And the page that a browser is shown at an address that does not exist.

Content-Security-Policy says so to the browser: no script but ours runs, whatever an answer contains, and no
other site can frame the page. These routes need no key: they hold no data.
"""

import asyncio
import re
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import FileResponse, HTMLResponse, Response

from app.api.reference import STYLE_HASH, rendered
from app.api.wire import Json
from app.errors import Missing
from app.problems import response

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
    f" connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; {CLOSED}"
)
MISSING_POLICY = f"default-src 'none'; style-src 'self'; img-src 'self'; {CLOSED}"
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


@router.api_route("/web/vendor/{name}", methods=READ)
async def vendored(name: str) -> Response:
    """Other people's scripts (`web/vendor/README.md`)."""
    if not FILE.fullmatch(name):
        raise Missing
    return await served(f"vendor/{name}", {})


@router.api_route("/favicon.ico", methods=READ)
async def icon() -> Response:
    """Where browsers look for one unasked."""
    return await served("icon.svg", {})


@router.api_route("/docs", methods=READ)
async def docs(request: Request) -> Response:
    """The reference, written from the OpenAPI document; it works without a network."""
    body = await asyncio.to_thread(lambda: rendered(request.app.openapi()))
    return HTMLResponse(body, headers={**COMMON, "Content-Security-Policy": DOCS_POLICY})


@router.api_route("/openapi.json", methods=READ)
async def document(request: Request) -> Response:
    """The OpenAPI document. Made when first asked for: a tenth of a second, so in a thread."""
    return Json(await asyncio.to_thread(request.app.openapi), headers=COMMON)


def install(app: FastAPI) -> None:
    """Show browsers a page at addresses that no route has. Raised by the router alone: what is missing at an
    address of the API is a problem of ours."""
    app.exception_handler(404)(unknown)


async def unknown(request: Request, _error: Exception) -> Response:
    """A page for a browser that goes there, the problem document for everybody else."""
    if request.method not in READ or "text/html" not in request.headers.get("accept", ""):
        return response(Missing(), request.scope)
    return await served("missing.html", {"Content-Security-Policy": MISSING_POLICY}, 404)


async def served(name: str, headers: dict[str, str], status: int = 200) -> Response:
    """A file of the page."""
    path = FOLDER / name
    if not await asyncio.to_thread(path.is_file):
        raise Missing
    return FileResponse(path, status, headers={**COMMON, **headers})
