"""Where a question is looked for."""

import pytest

from app.answering.question import Question
from app.types import Scope


@pytest.mark.parametrize(
    ("project", "sources", "searched", "projected"),
    [
        pytest.param(None, None, ("documents",), False, id="nothing said"),
        pytest.param(None, ("code",), ("code",), False, id="sources"),
        pytest.param("THN", ("code",), ("code",), False, id="both"),
        pytest.param("THN", (), (), False, id="no sources"),
        pytest.param("THN", None, ("documents",), True, id="project"),
    ],
)
def test_the_default_is_the_project_s_or_documents(
    project: str | None, sources: tuple[str, ...] | None, searched: tuple[str, ...], projected: bool
) -> None:
    """A project's own context is shown where no sources are named; an empty list names none of them."""
    question = Question(Scope(project=project), "m", sources=sources)
    assert (question.searched, question.projected) == (searched, projected)
