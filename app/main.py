"""create_app(): middleware, handlers, routers; and the lifetime of the services.

Middleware, outermost first: the request's id and its log line; CORS; metrics, the answer to uncaught
exceptions, the limits of bodies. Within them the routes handle their own errors. Raises `StartError` if
services cannot be opened.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from app import problems
from app.api import (
    answers,
    chat,
    corpus,
    documents,
    health,
    mcp,
    memories,
    metrics,
    openai,
    openapi,
    pages,
    projects,
    rag,
    responses,
    search,
    sessions,
    ui,
    users,
    vantage,
)
from app.api.middleware import FORM_BYTES, MIB, Requests
from app.logging import RequestLog
from app.services.services import Services
from app.settings import Settings, listed
from app.wiring import open_services

ROUTERS = (
    chat.router,
    search.router,
    mcp.router,
    ui.router,
    documents.router,
    sessions.router,
    memories.router,
    corpus.router,
    projects.router,
    answers.router,
    rag.router,
    openai.router,
    responses.router,
    users.router,
    health.router,
    metrics.router,
    pages.router,
)
CORS_EXPOSED = (
    "X-Request-ID",
    "RateLimit",
    "RateLimit-Policy",
    "Retry-After",
    "WWW-Authenticate",
    "Location",
    "ETag",
    "Content-Range",
    "Content-Disposition",
    "Mcp-Session-Id",
)
"""Response headers that a page of another origin may read."""
PREFLIGHT_SECONDS = 600
SILENT = TelemetryConfig(
    tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False
)
"""FastAPI's own telemetry would keep whole bodies, and read the environment."""


def create_app(settings: Settings, services: Services | None = None) -> FastAPI:
    """Services passed in stay open; otherwise they open and close with the app."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        if services is not None:
            yield
            return
        async with open_services(settings, apart=True) as opened:
            app.state.services = opened
            yield

    app = FastAPI(
        title="Ibid",
        version=health.VERSION,
        lifespan=lifespan,
        middleware=middleware(settings),
        # `api/pages.py` serves both: the document is made in a thread, and no script comes from elsewhere.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=SILENT,
    )
    app.state.settings, app.state.services = settings, services
    # Without ENABLE_VANTAGE_ENDPOINTS these paths are unknown, and /docs does not show them.
    routers = (*ROUTERS, vantage.router) if settings.enable.vantage_endpoints else ROUTERS
    for router in routers:
        app.router.routes.extend(router.routes)
    problems.install(app)
    pages.install(app)
    openapi.install(app, routers, top_k_max=settings.rag.top_k_max)
    return app


def cors(settings: Settings) -> list[Middleware]:
    """Lets pages of IBID_CORS_ORIGINS call the service. Their calls need a key: `dependencies.local_only`
    refuses foreign pages without one. No cookies exist, so no credentials are allowed. Outside of whatever
    answers, so that pages can read errors too."""
    if not settings.ibid.cors_origins:
        return []
    allowed = Middleware(
        CORSMiddleware,
        allow_origins=listed(settings.ibid.cors_origins),
        allow_methods=problems.METHODS,
        allow_headers=("*",),  # any: clients send their own, and none acts for the user without a key
        allow_private_network=True,
        expose_headers=CORS_EXPOSED,
        max_age=PREFLIGHT_SECONDS,
    )
    return [allowed]


def middleware(settings: Settings) -> list[Middleware]:
    upload = settings.document.max_mb * MIB + FORM_BYTES
    return [
        Middleware(RequestLog),
        *cors(settings),
        Middleware(Requests, paths={"/api/documents": upload}),
    ]
