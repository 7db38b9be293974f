"""create_app(): middleware, handlers, routers; and the lifetime of the services.

Order, outermost first: the request's id and its log line, the last resort, the size of bodies. The routes'
own problems are told inside of them. Raises `StartError` when the services cannot be opened.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import APIRouter, FastAPI
from fastapi.telemetry import TelemetryConfig
from starlette.middleware import Middleware

from app import problems
from app.api import (
    answers,
    cards,
    chat,
    code,
    context,
    conversations,
    corpus,
    documents,
    feedback,
    health,
    knowledge,
    memories,
    mix,
    pages,
    profiles,
    rag,
    schema,
    sessions,
    temporal,
    users,
    vantage,
    votes,
)
from app.api.limits import FORM_BYTES, MIB, BodyLimit
from app.logging import RequestLog
from app.services.services import Services
from app.settings import Settings
from app.wiring import open_services

ROUTERS = (
    chat.router,
    documents.router,
    sessions.router,
    memories.router,
    profiles.router,
    corpus.router,
    context.router,
    code.router,
    conversations.router,
    knowledge.router,
    answers.router,
    rag.router,
    feedback.router,
    votes.router,
    temporal.router,
    users.router,
    health.router,
    pages.router,
)
VANTAGE: tuple[APIRouter, ...] = (vantage.router, cards.router, mix.router)
"""Only with ENABLE_VANTAGE_ENDPOINTS: else these paths are unknown, and /docs does not show them."""
SILENT = TelemetryConfig(
    tracing=False, metrics=False, logs=False, operation_spans=False, auto_configure=False
)
"""FastAPI's own telemetry would hold whole bodies, and read the environment."""


def create_app(settings: Settings, services: Services | None = None) -> FastAPI:
    """The service. Given services stay their owner's; else they are opened and closed with the app."""

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
        # `api/pages.py` serves both: made in a thread, and without scripts from elsewhere.
        openapi_url=None,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        telemetry=SILENT,
    )
    app.state.settings, app.state.services = settings, services
    routers = (*ROUTERS, *VANTAGE) if settings.enable.vantage_endpoints else ROUTERS
    for router in routers:
        app.router.routes.extend(router.routes)
    problems.install(app)
    pages.install(app)
    schema.install(app, routers, top_k_max=settings.rag.top_k_max)
    return app


def middleware(settings: Settings) -> list[Middleware]:
    """Outermost first."""
    upload = settings.document.max_mb * MIB + FORM_BYTES
    return [
        Middleware(RequestLog),
        Middleware(problems.LastResort),
        Middleware(BodyLimit, paths={"/api/documents": upload}),
    ]
