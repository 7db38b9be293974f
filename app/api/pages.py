"""The page at `/` and its files, Swagger UI at /docs, the OpenAPI document, and a page for unknown addresses.

All files come from this service, none is inline, and Content-Security-Policy enforces that: no other script
runs, whatever an answer contains, and no other site can frame the pages. These routes need no key, since they
show no data.
"""

import asyncio
import re
from importlib import resources
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import FileResponse, Response

from app.api.bodies import Json
from app.errors import Missing
from app.problems import response

FOLDER = Path(__file__).parent.parent / "web"
SWAGGER = Path(str(resources.files("fastapi_swagger.resources")))
"""Swagger UI's files in its wheel; its code is not used."""
SWAGGER_FILES = ("swagger-ui-bundle.js", "swagger-ui.css")
FILE = re.compile(r"[a-z0-9-]+\.(js|css|svg|png|woff2)")
COMMON = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Revalidated each time: the page and the service change together.
    "Cache-Control": "no-cache",
}
CLOSED = "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; object-src 'none'"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; font-src 'self';"
    f" connect-src 'self'; require-trusted-types-for 'script'; trusted-types 'none'; {CLOSED}"
)
MISSING_POLICY = f"default-src 'none'; style-src 'self'; img-src 'self'; {CLOSED}"
DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self';"
    f" {CLOSED}"
)
"""Swagger UI's style sheet has images as data: addresses."""

READ = ["GET", "HEAD"]

router = APIRouter(include_in_schema=False)


@router.api_route("/", methods=READ)
async def page() -> Response:
    return await served(FOLDER / "index.html", PAGE_POLICY)


@router.api_route("/web/{name}", methods=READ)
async def asset(name: str) -> Response:
    return await served(FOLDER / named(name))


@router.api_route("/web/vendor/{name}", methods=READ)
async def vendored(name: str) -> Response:
    """Scripts of others (`web/vendor/README.md`)."""
    return await served(FOLDER / "vendor" / named(name))


@router.api_route("/favicon.ico", methods=READ)
async def icon() -> Response:
    return await served(FOLDER / "icon.svg")


@router.api_route("/docs", methods=READ)
async def docs() -> Response:
    return await served(FOLDER / "docs.html", DOCS_POLICY)


@router.api_route("/docs/{name}", methods=READ)
async def swagger(name: str) -> Response:
    if name not in SWAGGER_FILES:
        raise Missing
    return await served(SWAGGER / name)


@router.api_route("/openapi.json", methods=READ)
async def document(request: Request) -> Response:
    """Built at the first request, in a thread, since it takes a tenth of a second."""
    return Json(await asyncio.to_thread(request.app.openapi), headers=COMMON)


def install(app: FastAPI) -> None:
    """Shows browsers a page at addresses without a route. Only the router raises this 404: missing items of
    the API are problem documents."""
    app.exception_handler(404)(unknown)


async def unknown(request: Request, _error: Exception) -> Response:
    """A page for a browser that navigates, the problem document for other clients."""
    if request.method not in READ or "text/html" not in request.headers.get("accept", ""):
        return response(Missing(), request.scope)
    return await served(FOLDER / "missing.html", MISSING_POLICY, 404)


def named(name: str) -> str:
    """The name of a file of the page. Raises `Missing` for any other text."""
    if not FILE.fullmatch(name):
        raise Missing
    return name


async def served(path: Path, policy: str = "", status: int = 200) -> Response:
    """A file, with a Content-Security-Policy if it is a page."""
    if not await asyncio.to_thread(path.is_file):
        raise Missing
    headers = COMMON | ({"Content-Security-Policy": policy} if policy else {})
    return FileResponse(path, status, headers=headers)
