"""What the asker's routing does to a class that is not final: redirect, then force, then forbid.

Redirect is one look-up in the asker's table, not a chain, so a ring of redirects swaps classes and ends.
Forbid comes last: what is forbidden is never given, even if it was forced. Source: CONTRACT §3. Nothing here
raises.
"""

from collections.abc import Iterator, Mapping

from app.vantage.rules import CLARIFY, COMPLY, NEGOTIATE, REDIRECT, REFUSE
from app.vantage.terms import ResponseClass, Routing

ORDER = (
    "A rule that is final gives REFUSE, and nothing below touches it.",
    "Else the strictest class of all rules that fire; COMPLY if none does.",
    "routing.redirect: one look-up of that class; its result is not looked up again.",
    "routing.force: that class instead.",
    "routing.forbid: if that class is forbidden, the first of its detours that is not; else REFUSE.",
)
"""How one class comes of many rules, step by step."""
DETOURS: Mapping[ResponseClass, tuple[ResponseClass, ...]] = {
    COMPLY: (NEGOTIATE, REDIRECT, CLARIFY, REFUSE),
    REDIRECT: (NEGOTIATE, CLARIFY, REFUSE, COMPLY),
    CLARIFY: (NEGOTIATE, REFUSE, REDIRECT, COMPLY),
    NEGOTIATE: (REFUSE, CLARIFY, REDIRECT, COMPLY),
    REFUSE: (NEGOTIATE, CLARIFY, REDIRECT, COMPLY),
}
"""What is given instead of a class that the asker forbids. Stricter ones first, and of those the one that
still serves: what is clear is rather answered in part than asked back; what is not, answered on a stated
reading."""


def routed(given: ResponseClass, routing: Routing) -> Iterator[tuple[str, ResponseClass]]:
    """Each step that changes the class, in order: (its id, the class it gives)."""
    now = given
    wishes = {"routing.redirect": routing.redirect.get(given), "routing.force": routing.force}
    for name, wish in wishes.items():
        if wish is not None and wish is not now:
            now = wish
            yield name, now
    if now in routing.forbid:
        allowed = (kind for kind in DETOURS[now] if kind not in routing.forbid)
        then = next(allowed, REFUSE)
        if then is not now:
            yield "routing.forbid", then
