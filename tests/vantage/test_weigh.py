"""A message weighed whole."""

from app.vantage.decision import decide
from app.vantage.features import extract_sd_features
from app.vantage.overlay import build_overlay_text, derive_params
from app.vantage.terms import Limits, ResponseClass, Routing
from app.vantage.weigh import weigh


def test_the_steps_are_taken_in_order() -> None:
    """Each is handed what the one before gave."""
    limits, routing = Limits(refuse=("gambling",), token_target=90), Routing(forbid=(ResponseClass.COMPLY,))
    sd = extract_sd_features("what is gambling?", ("hello",), "be brief")
    params = derive_params(sd, limits)
    decision = decide(sd, params, limits, routing)
    overlay = build_overlay_text(sd, limits, params, decision)
    assert weigh("what is gambling?", ("hello",), "be brief", limits, routing) == (
        sd,
        params,
        decision,
        overlay,
        None,
    )


def test_nothing_need_be_set() -> None:
    """No limits, no routing, no thread."""
    found = weigh("How many moons does Neptune have?")
    assert found.decision.response_class is ResponseClass.COMPLY
    assert "[Policy] COMPLY" in found.overlay_text
