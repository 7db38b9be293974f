"""Dependencies of routes: the services, the caller, the caller's scope, and paging.

An API key identifies a tenant, and perhaps one of its users. While no key exists the service is open, but
only to this machine's users, not to web pages they visit. A foreign page can make a browser call 127.0.0.1 by
a form, an image or DNS rebinding, so a call without a key is checked by its peer address, its `Host`, and
`Origin` and `Sec-Fetch-Site` (Fetch Metadata). A reverse proxy would make the whole internet look local, so
calls with a proxy's headers are refused. Raises `Unauthorized` for an unknown key (even while the service is
open), `Forbidden` for what a key may not do, `NotLocal` (403) and `Misdirected` (421) for calls without a
key, `RateLimited` for a key over its limits, `InvalidField` for unknown parameters.
"""

import hmac
import ipaddress
import re
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Query, Request
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPBearer

from app.api.schemas import PastTime, read
from app.breaker import CALLER
from app.db.history import Span
from app.db.keys import Caller
from app.errors import Forbidden, InvalidField, Misdirected, NotLocal, Unauthorized, Unavailable
from app.problems import pattern, phrase, speaks_openai
from app.services.limits import refusal
from app.services.services import Services
from app.types import DEFAULT_TENANT, Scope

BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="A tenant or user key (`ibid keys create`). Not needed while the service is open: until the"
    " first key exists, it serves this machine only.",
)
OPEN = "open"
"""All calls without a key share the limits of this one."""
FOREIGN = frozenset({"cross-site", "same-site"})
"""Values of Sec-Fetch-Site; `same-site` too, since another port of localhost is another program."""
AUTHORITY = re.compile(r"[A-Za-z0-9._:\[\]-]+")
"""A `Host` without a user, a path, or blanks that a URL parser would drop."""
FORWARDING = re.compile(
    r"via|.*-via|.*forwarded.*|.*-?client-?ip|.*-(?:ip|ips|socketip|external-address)|x-original-.*|x-host"
    r"|cf-.*|cdn-loop|x-varnish|tailscale-.*|ngrok-.*|fly-.*|x-amzn-.*|x-cloud-trace-context"
)
"""Headers by which a proxy names its client: Forwarded (RFC 7239), Via, X-Forwarded-*, X-Real-IP, and those
of vendors' proxies, tunnels and content networks."""


async def services(request: Request) -> Services:
    """Dependencies are coroutines: FastAPI calls plain functions in a thread, and under load waiting for the
    thread takes longer than the rest of the request."""
    opened: Services = request.app.state.services
    return opened


async def caller(request: Request, _shown: Annotated[object, Depends(BEARER)]) -> Caller:
    found = await authenticate(request)
    refuse_unknown_parameters(request)
    return found


async def unlimited(request: Request, _shown: Annotated[object, Depends(BEARER)]) -> Caller:
    """The caller of a route without limits."""
    found = await _identified(request, await services(request))
    refuse_unknown_parameters(request)
    return found


Opened = Annotated[Services, Depends(services)]
Asker = Annotated[Caller, Depends(caller)]
Observer = Annotated[Caller, Depends(unlimited)]
Cursor = Annotated[
    str | None,
    Query(
        max_length=500,
        pattern=pattern(r"^[\x21-\x7e]+$", "must be the `next` value of an earlier page"),
        description="`next` of the page before.",
    ),
]
Limit = Annotated[int, Query(ge=1, le=200, description="Entries of a page, at most.")]
Since = Annotated[
    PastTime | None,
    Query(
        description="Only what was written, changed or deleted after this time (RFC 3339). `gone` has what"
        " was deleted."
    ),
]
AsOf = Annotated[
    PastTime | None,
    Query(
        description="What was stored at this time (RFC 3339); of what was replaced or deleted since, id and"
        " times, in `gone`."
    ),
]


def span_of(since: str | None, as_of: str | None = None) -> Span:
    return Span(read(since) if since else None, read(as_of) if as_of else None)


async def authenticate(request: Request) -> Caller:
    """The caller, looked up and counted by its limits once per request: `JsonRoute` needs it before it reads
    the body. Raises `RateLimited`."""
    if not hasattr(request.state, "caller"):
        opened = await services(request)
        found = await _identified(request, opened)
        await _admit(request, opened, found)
        request.state.caller = found
    asker: Caller = request.state.caller
    CALLER.set((asker.tenant, asker.user or ""))  # breakers count each caller's failures separately
    return asker


async def _admit(request: Request, opened: Services, who: Caller) -> None:
    """The grant ends in `api/middleware.py`, with the response."""
    limiter = opened.limiter
    grant = await limiter.admit(who.key) if who.key else None
    request.state.grant = grant
    if grant and grant.refused and limiter.quotas:
        for limit in grant.refused:
            opened.metrics.count_limited(limit)
        raise refusal(limiter.quotas, grant)


async def _identified(request: Request, opened: Services) -> Caller:
    given = request.headers.get("authorization")
    if given is not None:
        try:
            return await _holder(given, opened)
        except Unauthorized:
            # OpenAI's clients always send a key; the open service ignores one that it does not know.
            if not speaks_openai(request.url.path) or await opened.keys.any():
                raise
    elif await opened.keys.any():
        raise Unauthorized("Send Authorization: Bearer <key>.")
    local_only(request)
    return Caller(DEFAULT_TENANT, None, key=OPEN)


async def _holder(given: str, opened: Services) -> Caller:
    key = bearer(given)
    if not key or not key.isprintable() or not key.isascii():
        raise Unauthorized("Send Authorization: Bearer <key>.")
    # Commands of this machine use the running service with the data folder's own token.
    if opened.token and hmac.compare_digest(key.encode(), opened.token.encode()):
        return Caller(DEFAULT_TENANT, None)
    found = await opened.keys.find(key)
    if found is None:
        raise Unauthorized("This key is unknown or was revoked.")
    return found


def bearer(header: str) -> str:
    """The key of an `Authorization: Bearer` header; "" for another scheme."""
    scheme, _, key = header.partition(" ")
    return key.strip() if scheme.lower() == "bearer" else ""


def refuse_unknown_parameters(request: Request) -> None:
    """Refuse a misspelt parameter: ignoring it could lengthen a list, or widen a removal."""
    if request.method not in {"GET", "DELETE"} or not request.query_params:
        return
    if unknown := sorted(set(request.query_params) - _declared(request.scope["route"].dependant)):
        name = unknown[0][:100]
        raise InvalidField(f"{name} is not a known parameter", field=f"query.{name}")


def _declared(dependant: Dependant) -> set[str]:
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*map(_declared, dependant.dependencies))


def scope_of(
    who: Caller,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    thread_id: str | None = None,
    project: str | None = None,
) -> Scope:
    """Raises `Forbidden` if a user key names another user."""
    if who.user is not None and user_id not in (None, who.user):
        raise Forbidden("This key acts for one user only, and the request names another.")
    return Scope(
        tenant=who.tenant,
        owner=who.user or "",
        user_id=who.user or user_id,
        session_id=session_id,
        thread_id=thread_id,
        project=project,
    )


def scope_of_user(
    who: Caller, user_id: str | None, *, thread_id: str | None = None, field: str = "body.user_id"
) -> Scope:
    """`scope_of` for a request about one user: a user key implies them, a tenant key must name one."""
    scope = scope_of(who, user_id=user_id, thread_id=thread_id)
    if scope.user_id is None:
        raise InvalidField("user_id is required: only a user key implies it", field=field)
    return scope


def tenant_of(who: Caller, request: Request, opened: Services, tenant: str | None) -> str:
    """The tenant whose users a tenant key may manage. Raises `Forbidden` for a user key, and for another
    tenant unless the data folder's own token was sent: its reader can read the stores anyway."""
    if who.user is not None:
        raise Forbidden("This needs a tenant key.")
    if tenant in (None, who.tenant):
        return who.tenant
    given = bearer(request.headers.get("authorization", ""))
    if opened.token and hmac.compare_digest(given.encode(), opened.token.encode()):
        return str(tenant)
    raise Forbidden("This key acts for its own tenant only.")


def within(top_k: int | None, most: int) -> None:
    """Raises `InvalidField` above RAG_TOP_K_MAX."""
    if top_k is not None and top_k > most:
        limit = phrase({"type": "less_than_equal", "ctx": {"le": most}})
        raise InvalidField(f"top_k {limit}", field="body.top_k")


async def shows_debug(opened: Services) -> bool:
    """True if replies carry `debug`: RAG_DEBUG_MODE, or if that is unset, while no key exists."""
    if opened.debug is not None:
        return opened.debug
    try:
        return not await opened.keys.any()
    except Unavailable:
        return False


def local_only(request: Request) -> None:
    """Accept a call from this machine, to its own name, from our own page or from no page."""
    if request.client is not None and not is_loopback(request.client.host):
        raise NotLocal("Make a key (ibid keys create) to be served from another machine.")
    for name in request.headers:
        if FORWARDING.fullmatch(name):
            raise NotLocal(
                f"The request came through a proxy ({name[:100]}). Call the service directly, or make a key"
                " (ibid keys create) to be served through one."
            )
    hosts = request.headers.getlist("host")
    if len(hosts) != 1 or not is_local_name(hosts[0]):
        raise Misdirected("Call it 127.0.0.1 or localhost, or make a key (ibid keys create).")
    ours = all(_is_ours(origin, hosts[0]) for origin in request.headers.getlist("origin"))
    if not ours or _is_foreign(request):
        raise NotLocal("A page of another site may not use the open service.")


def _is_ours(origin: str, host: str) -> bool:
    try:
        return urlsplit(origin).netloc.lower() == host.lower()
    except ValueError:
        return False


def _is_foreign(request: Request) -> bool:
    """True if the browser reports a call by another site's page. Following a link does not count."""
    if request.headers.get("sec-fetch-site") not in FOREIGN:
        return False
    return request.method != "GET" or request.headers.get("sec-fetch-mode") != "navigate"


def is_loopback(address: str) -> bool:
    """127.0.0.0/8, ::1, and the former written as IPv6."""
    try:
        ip = ipaddress.ip_address(address)
    except ValueError:
        return False
    mapped = ip.ipv4_mapped if isinstance(ip, ipaddress.IPv6Address) else None
    return (mapped or ip).is_loopback


def is_local_name(host: str) -> bool:
    """True for localhost, *.localhost (RFC 6761 §6.3) or a loopback address."""
    if not AUTHORITY.fullmatch(host):
        return False
    try:
        name = urlsplit(f"//{host}").hostname or ""
    except ValueError:
        return False
    return name == "localhost" or name.endswith(".localhost") or is_loopback(name)
