"""A message weighed whole: features -> params -> decide -> overlay, in the one order there is.

The services and the replay of an answer call this and nothing below it, so that both see the same. Pure; a
few milliseconds for the longest message. Nothing here raises.
"""

from collections.abc import Sequence
from typing import NamedTuple

from app.vantage.decision import decide
from app.vantage.features import extract_sd_features
from app.vantage.overlay import build_overlay_text
from app.vantage.params import derive_params
from app.vantage.terms import Decision, Descriptors, Evidence, Limits, Params, Routing


class Weighed(NamedTuple):
    """What was found, and what follows of it."""

    sd: Descriptors
    params: Params
    decision: Decision
    overlay_text: str
    """The system block of the policy; it holds no word of the message."""
    evidence: Evidence | None = None
    """What the decision rests on beside the text."""


def weigh(  # noqa: PLR0917 - a message, and all that may be known beside it
    message: str,
    thread: Sequence[str] = (),
    overlay: str = "",
    limits: Limits | None = None,
    routing: Routing | None = None,
    evidence: Evidence | None = None,
) -> Weighed:
    """`thread`: the asker's earlier turns, oldest first; `overlay`: theirs, as text; `evidence`: an outside
    service's. None: nothing is set."""
    limits = limits or Limits()
    sd = extract_sd_features(message, thread, overlay)
    params = derive_params(sd, limits)
    decision = decide(sd, params, limits, routing or Routing(), evidence)
    return Weighed(sd, params, decision, build_overlay_text(sd, limits, params, decision), evidence)
