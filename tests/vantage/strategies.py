"""Descriptors, limits and routings that hypothesis makes: all that the service could meet, and worse."""

from hypothesis import strategies as st

from app.vantage.features import STAKES
from app.vantage.risk import RISKS
from app.vantage.terms import Descriptors, Finding, Limits, Params, ResponseClass, Routing

SHARES = st.one_of(
    st.floats(0, 1),
    st.sampled_from([0.0, 0.2, 0.39, 0.4, 0.5, 0.6, 0.7, 1.0]),
)
ODD = st.one_of(SHARES, st.floats(), st.integers(-3, 3))
"""No number, infinite, below 0, above 1."""
WORDS = st.sampled_from(["kayak", "gambling", "law", "tax", "atmet", "nicht"])
KINDS = st.sampled_from(list(ResponseClass))


def descriptors(share: st.SearchStrategy[float]) -> st.SearchStrategy[Descriptors]:
    """Categories may be missing, or unheard of."""
    return st.builds(
        Descriptors,
        clarity=share,
        specificity=share,
        risk=st.dictionaries(st.sampled_from([*RISKS, "unheard"]), share),
        stakes=st.dictionaries(st.sampled_from([*STAKES, "unheard"]), share),
        pressure=share,
        affect=share,
        breadth=share,
        findings=st.sampled_from([(), (Finding("risk.selfharm", "despair", 0.6),)]),
        terms=st.lists(WORDS, max_size=6).map(tuple),
    )


TOPICS = st.lists(st.lists(WORDS, min_size=1, max_size=2).map(" ".join), max_size=2).map(tuple)
LIMITS = st.builds(
    Limits,
    refuse=TOPICS,
    negotiate=TOPICS,
    token_target=st.none() | st.integers(),
    hedge_budget=st.none() | st.integers(),
    question_budget=st.none() | st.integers(-1, 12),
)
ROUTINGS = st.builds(
    Routing,
    force=st.none() | KINDS,
    forbid=st.lists(KINDS, max_size=5).map(tuple),
    redirect=st.dictionaries(KINDS, KINDS),
)
PARAMS = st.builds(Params, st.integers(), st.integers(), st.integers(-1, 10), ODD, ODD)
