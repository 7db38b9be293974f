"""A message weighed whole: features -> params -> decide -> overlay, in the one order there is.

The services and the replay of an answer call this and nothing below it, so that both see the same. Pure; a
few milliseconds for the longest message. Nothing here raises.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from app.vantage.decision import decide
from app.vantage.features import extract_sd_features
from app.vantage.overlay import build_overlay_text, derive_params
from app.vantage.terms import (
    Decision,
    Descriptors,
    Evidence,
    Limits,
    Params,
    ResponseClass,
    Rival,
    Routing,
)


class Weighed(NamedTuple):
    """What was found, and what follows of it."""

    sd: Descriptors
    params: Params
    decision: Decision
    overlay_text: str
    """The system block of the policy; it holds no word of the message."""
    evidence: Evidence | None = None
    """What the decision rests on beside the text."""


def weigh(
    message: str,
    thread: Sequence[str] = (),
    overlay: str = "",
    limits: Limits | None = None,
    routing: Routing | None = None,
    *,
    evidence: Evidence | None = None,
) -> Weighed:
    """`thread`: the asker's earlier turns, oldest first; `overlay`: theirs, as text; `evidence`: an outside
    service's, and the search's. None: nothing is set."""
    limits = limits or Limits()
    sd = extract_sd_features(message, thread, overlay)
    return _decided(sd, derive_params(sd, limits), limits, routing or Routing(), evidence)


def rivalled(weighed: Weighed, limits: Limits, routing: Routing, rivals: tuple[Rival, ...]) -> Weighed | None:
    """The same message once the search has found rivals; None: it is not asked back for them, since another
    rule, the asker's limits or routing decide otherwise."""
    if not rivals or weighed.decision.response_class is not ResponseClass.COMPLY:
        return None
    evidence = replace(weighed.evidence or Evidence(), rivals=rivals)
    again = _decided(weighed.sd, weighed.params, limits, routing, evidence)
    return again if again.decision.names else None


def _decided(
    sd: Descriptors, params: Params, limits: Limits, routing: Routing, evidence: Evidence | None
) -> Weighed:
    decision = decide(sd, params, limits, routing, evidence)
    return Weighed(sd, params, decision, build_overlay_text(sd, limits, params, decision), evidence)
