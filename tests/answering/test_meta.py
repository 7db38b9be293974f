"""Why these memories."""

from datetime import UTC, datetime

import pytest

from app.answering.meta import Used, build_meta_explanation, consistency
from app.db.memories import Moment, Tally
from app.retrieval.tags import Gravity

LIST, PROSE = ("format:skeleton",), ("format:prose", "vb:rest")


def test_the_facts_of_an_answer() -> None:
    """Tags, votes summed, the form, gravity and time."""
    far = Gravity(0.5, "drifting")
    moment = Moment("days", datetime(2026, 1, 2, tzinfo=UTC), 90_000.0)
    used = [Used(LIST, Tally(2, 1)), Used((), Tally(0, 3))]
    found = build_meta_explanation(("vb:rest",), used, {"vb:rest": 1.0, "format:skeleton": 0.4}, far, moment)
    assert found.query_tags == ("vb:rest",)
    assert (found.feedback, found.feedback.net) == (Tally(2, 4), -2)
    assert found.format_consistency == 1.0
    assert found.gravity is far
    assert found.temporal is moment


def test_nothing_is_known() -> None:
    """Zeros, and None where there is nothing to tell."""
    found = build_meta_explanation((), (), {}, Gravity(), None)
    assert (found.feedback, found.format_consistency, found.temporal) == (Tally(), None, None)
    assert found.gravity == Gravity(0.0, "unknown")


@pytest.mark.parametrize(
    ("tags", "forms", "weights", "expected"),
    [
        pytest.param(LIST, [LIST, PROSE], {}, 0.5, id="the form asked for"),
        pytest.param(LIST, [LIST, PROSE, ()], {}, 0.5, id="memories without a form do not count"),
        pytest.param((), [PROSE], {"format:prose": 0.2, "format:skeleton": 0.1}, 1.0, id="the usual form"),
        pytest.param((), [LIST], {"format:prose": 0.2, "format:skeleton": 0.1}, 0.0, id="not the usual form"),
        pytest.param(LIST, [PROSE], {"format:prose": 1.0}, 0.0, id="what is asked goes before what is usual"),
        pytest.param((), [PROSE], {"format:prose": 0.2, "format:skeleton": 0.2}, 1.0, id="both are usual"),
        pytest.param((), [PROSE], {}, None, id="no form expected"),
        pytest.param(LIST, [()], {}, None, id="no memory has one"),
        pytest.param(LIST, [], {}, None, id="no memory"),
    ],
)
def test_format_consistency(
    tags: tuple[str, ...],
    forms: list[tuple[str, ...]],
    weights: dict[str, float],
    expected: float | None,
) -> None:
    """The share of the used memories with a form that have the one expected."""
    assert consistency(tags, [Used(form) for form in forms], weights) == expected
