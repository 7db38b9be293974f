"""The page at `/` and its files, Swagger UI at /docs, the OpenAPI document, and a page for unknown addresses.

All files come from this service, none is inline, and Content-Security-Policy enforces that: no other script
runs, whatever an answer contains, and no other site can frame the pages. These routes need no key, since they
show no data.
"""

import asyncio
import gzip
import re
from dataclasses import dataclass
from functools import lru_cache
from hashlib import sha256
from importlib import resources
from mimetypes import guess_type
from pathlib import Path

from fastapi import APIRouter, FastAPI, Request
from starlette.responses import Response

from app.api.bodies import Json
from app.errors import Missing
from app.problems import response

FOLDER = Path(__file__).parent.parent / "web"
SWAGGER = Path(str(resources.files("fastapi_swagger.resources")))
"""Swagger UI's files in its wheel; its code is not used."""
SWAGGER_FILES = ("swagger-ui-bundle.js", "swagger-ui.css")
FILE = re.compile(r"[a-z0-9-]+\.(js|css|svg|png|woff2|pdf)")
COMMON = {
    "X-Content-Type-Options": "nosniff",
    "Cross-Origin-Resource-Policy": "same-origin",
    # Revalidated each time: the page and the service change together.
    "Cache-Control": "no-cache",
    "Vary": "Accept-Encoding",
}
DOCUMENT = {"Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin"}
"""Headers that mean something only for a page."""
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
async def page(request: Request) -> Response:
    return await served(request, FOLDER / "index.html", PAGE_POLICY)


@router.api_route("/web/{name}", methods=READ)
async def asset(request: Request, name: str) -> Response:
    return await served(request, FOLDER / named(name))


@router.api_route("/web/vendor/{name}", methods=READ)
async def vendored(request: Request, name: str) -> Response:
    """Scripts of others (`web/vendor/README.md`)."""
    return await served(request, FOLDER / "vendor" / named(name))


@router.api_route("/favicon.ico", methods=READ)
async def icon(request: Request) -> Response:
    return await served(request, FOLDER / "icon.svg")


@router.api_route("/docs", methods=READ)
async def docs(request: Request) -> Response:
    return await served(request, FOLDER / "docs.html", DOCS_POLICY)


@router.api_route("/docs/{name}", methods=READ)
async def swagger(request: Request, name: str) -> Response:
    if name not in SWAGGER_FILES:
        raise Missing
    return await served(request, SWAGGER / name)


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
    return await served(request, FOLDER / "missing.html", MISSING_POLICY, 404)


def named(name: str) -> str:
    """The name of a file of the page. Raises `Missing` for any other text."""
    if not FILE.fullmatch(name):
        raise Missing
    return name


@dataclass(frozen=True, slots=True)
class Asset:
    """A file as it is sent, whole and packed; `packed` is empty where gzip would save nothing."""

    body: bytes
    packed: bytes
    etag: str
    kind: str


@lru_cache(maxsize=256)
def stored(path: Path, _changed_ns: int) -> Asset:
    """Read and packed once for each version of the file."""
    body = path.read_bytes()
    packed = gzip.compress(body, mtime=0)
    kind = guess_type(path.name)[0] or "application/octet-stream"
    return Asset(body, packed if len(packed) < len(body) * 0.9 else b"", sha256(body).hexdigest()[:20], kind)


def looked_up(path: Path) -> Asset:
    """Raises `Missing` if there is no such file."""
    if not path.is_file():
        raise Missing
    return stored(path, path.stat().st_mtime_ns)


async def served(request: Request, path: Path, policy: str = "", status: int = 200) -> Response:
    """A file, packed for clients that unpack it; 304 for those that have it. Pages have a policy.
    Each of the two forms has an ETag of its own (RFC 9110 §8.8.1)."""
    file = await asyncio.to_thread(looked_up, path)
    packs = bool(file.packed) and "gzip" in request.headers.get("accept-encoding", "")
    etag = f'"{file.etag}{"-gzip" if packs else ""}"'
    headers = COMMON | {"ETag": etag} | (DOCUMENT | {"Content-Security-Policy": policy} if policy else {})
    if packs:
        headers["Content-Encoding"] = "gzip"
    if status == 200 and etag in request.headers.get("if-none-match", ""):
        return Response(status_code=304, headers=headers)
    return Response(file.packed if packs else file.body, status, headers, file.kind)
