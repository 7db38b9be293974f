"""What routes ask for: the services, who calls, and the scope that follows from it.

Raises `Unauthorized` for a key that is not known (even while the service is open: who sends a key means to
be somebody), `Forbidden` for what the key may not do, `InvalidField` for parameters that nobody knows, and
what `guard.py` raises for calls without a key.
"""

import hmac
from typing import Annotated

from fastapi import Depends, Request
from fastapi.dependencies.models import Dependant
from fastapi.security import HTTPBearer

from app.api.guard import local_only
from app.breaker import CALLER
from app.db.keys import Caller
from app.errors import Forbidden, InvalidField, Unauthorized, Unavailable
from app.services.services import Services
from app.types import DEFAULT_TENANT, Scope

BEARER = HTTPBearer(
    auto_error=False,
    scheme_name="key",
    description="A tenant or user key (`ibid keys create`). Not needed while the service is open: before the"
    " first key exists, it serves this machine only.",
)


async def services(request: Request) -> Services:
    """The services of this process. Like every dependency on the loop: a plain function would be called in a
    thread, and under load that waits for the interpreter longer than the rest of the request takes."""
    opened: Services = request.app.state.services
    return opened


Opened = Annotated[Services, Depends(services)]


async def caller(request: Request, _shown: Annotated[object, Depends(BEARER)]) -> Caller:
    """Whom the request acts for."""
    found = await authenticate(request)
    refuse_unknown_parameters(request)
    return found


async def authenticate(request: Request) -> Caller:
    """Whom the request acts for; looked up once, by `JsonRoute` before it reads the body."""
    if not hasattr(request.state, "caller"):
        request.state.caller = await identified(request, await services(request))
    found: Caller = request.state.caller
    CALLER.set((found.tenant, found.user or ""))  # breakers count each caller's failures by themselves
    return found


async def identified(request: Request, opened: Services) -> Caller:
    """By the key; without one by the address."""
    given = request.headers.get("authorization")
    if given is not None:
        return await holder(given, opened)
    if await opened.keys.any():
        raise Unauthorized("Send Authorization: Bearer <key>.")
    local_only(request)
    return Caller(DEFAULT_TENANT, None)


async def holder(given: str, opened: Services) -> Caller:
    """Whom the Authorization header stands for."""
    scheme, _, key = given.partition(" ")
    key = key.strip()
    if scheme.lower() != "bearer" or not key or not key.isprintable() or not key.isascii():
        raise Unauthorized("Send Authorization: Bearer <key>.")
    # Commands of this machine work through the running service with the data folder's own token.
    if opened.token and hmac.compare_digest(key.encode(), opened.token.encode()):
        return Caller(DEFAULT_TENANT, None)
    found = await opened.keys.find(key)
    if found is None:
        raise Unauthorized("This key is not known, or was revoked.")
    return found


def refuse_unknown_parameters(request: Request) -> None:
    """A misspelt parameter must not make a list longer, or a removal wider, than was meant."""
    if request.method not in {"GET", "DELETE"} or not request.query_params:
        return
    if unknown := sorted(set(request.query_params) - declared(request.scope["route"].dependant)):
        raise InvalidField("there is no such parameter here", field=f"query.{unknown[0][:100]}")


def declared(dependant: Dependant) -> set[str]:
    """The query parameters of an operation, its dependencies' too."""
    own = {parameter.alias for parameter in dependant.query_params}
    return own.union(*map(declared, dependant.dependencies))


Asker = Annotated[Caller, Depends(caller)]


def scope_of(
    who: Caller,
    *,
    user_id: str | None = None,
    session_id: str | None = None,
    thread_id: str | None = None,
    project: str | None = None,
) -> Scope:
    """The caller's scope. A user key may act for its own user only, else `Forbidden`."""
    if who.user is not None and user_id not in (None, who.user):
        raise Forbidden("This key acts for one user only, and not for that one.")
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
    """`scope_of` where the request is about one user: a user key implies them; else `InvalidField`."""
    scope = scope_of(who, user_id=user_id, thread_id=thread_id)
    if scope.user_id is None:
        raise InvalidField("name the user: only a user key implies it", field=field)
    return scope


async def shows_debug(opened: Services) -> bool:
    """Whether replies carry `debug`: as set; unset, while there is no key at all."""
    if opened.debug is not None:
        return opened.debug
    try:
        return not await opened.keys.any()
    except Unavailable:
        return False
